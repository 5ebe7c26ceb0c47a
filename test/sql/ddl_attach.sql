-- ATTACH PARTITION of tables that are spread otherwise than the partitions are: these become ordinary tables
-- first, with all that they have, and are distributed as the partitions are.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE TABLE region (id int PRIMARY KEY);
SELECT shuttle.reference_table('region');
INSERT INTO region SELECT generate_series(0, 9);
CREATE TABLE m (id int NOT NULL, device int NOT NULL, at date NOT NULL, region int NOT NULL, note text, PRIMARY KEY (device, at, region, id)) PARTITION BY RANGE (at);
SELECT shuttle.distribute_table('m', 'device', tablets => 4);
CREATE TABLE m_1 PARTITION OF m FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO m SELECT i, i % 7, '2026-01-05', i % 10, 'old' FROM generate_series(1, 50) AS i;

-- as auto_distribute has distributed it, by another column
SET shuttle.auto_distribute = 'region';
CREATE TABLE m_2 (LIKE m INCLUDING ALL);
SELECT pg_get_partkeydef('m_2'::regclass);
ALTER TABLE m ATTACH PARTITION m_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');

-- with rows, an index and a comment; by the same column, and another number of tablets
CREATE TABLE m_3 (LIKE m INCLUDING ALL);
SELECT shuttle.local_table('m_3');
SELECT shuttle.distribute_table('m_3', 'device', tablets => 3);
CREATE INDEX m_3_note ON m_3 (note);
COMMENT ON COLUMN m_3.note IS 'third';
INSERT INTO m_3 SELECT i, i % 7, '2026-03-05', i % 10, 'third' FROM generate_series(1, 60) AS i;
ALTER TABLE m_3 ADD CONSTRAINT m_3_region FOREIGN KEY (region) REFERENCES region;
ALTER TABLE m ATTACH PARTITION m_3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
ALTER TABLE m_3 DROP CONSTRAINT m_3_region;
BEGIN;
ALTER TABLE m ATTACH PARTITION m_3 FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
ROLLBACK;
SELECT count(*) AS tablets FROM shuttle.tablets WHERE relation = 'm_3'::regclass;
BEGIN;
SAVEPOINT s;
ALTER TABLE m ATTACH PARTITION m_3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
ROLLBACK TO s;
SELECT count(*) FROM m_3;
ALTER TABLE m ATTACH PARTITION m_3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
COMMIT;

-- a tree: its own partitions follow, those that it gets later, too
CREATE TABLE m_4 (LIKE m) PARTITION BY LIST (region);
CREATE TABLE m_4_1 PARTITION OF m_4 FOR VALUES IN (1, 2);
INSERT INTO m_4 SELECT i, i % 7, '2026-04-05', 1 + i % 2, 'fourth' FROM generate_series(1, 20) AS i;
ALTER TABLE m ATTACH PARTITION m_4 FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
CREATE TABLE m_4_2 PARTITION OF m_4 DEFAULT;
CREATE TABLE m_5 (LIKE m) PARTITION BY LIST (region);
ALTER TABLE m ATTACH PARTITION m_5 FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
CREATE TABLE m_5_1 PARTITION OF m_5 DEFAULT;
INSERT INTO m SELECT i, i % 7, date '2026-02-05' + 30 * (i % 4), i % 10, 'new' FROM generate_series(1, 40) AS i;
SELECT relation, kind, group_id = (SELECT group_id FROM shuttle.tables WHERE relation = 'm_1'::regclass) AS with_others,
	CASE WHEN kind = 'distributed' THEN pg_get_partkeydef(relation) ELSE key END AS key FROM shuttle.tables WHERE relation <> 'region'::regclass ORDER BY relation::text;
SELECT tableoid::regclass, note, count(*) FROM m WHERE device = 3 AND at > '2026-02-01' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT note, count(*) FROM m GROUP BY 1 ORDER BY 1;
SELECT indexrelid::regclass::text COLLATE "C" AS index FROM pg_index WHERE indrelid = 'm_3'::regclass ORDER BY 1;
SELECT col_description('m_3'::regclass, 5);
SELECT * FROM shuttle.check();

-- a key that nodes check with another table of the group is not lost
CREATE TABLE head (device int PRIMARY KEY);
SELECT shuttle.distribute_table('head', 'device', tablets => 2, colocate_with => NULL);
CREATE TABLE m_6 (LIKE m);
SELECT shuttle.local_table('m_6');
SELECT shuttle.distribute_table('m_6', 'device', colocate_with => 'head');
ALTER TABLE m_6 ADD CONSTRAINT m_6_head FOREIGN KEY (device) REFERENCES head;
\set VERBOSITY default
ALTER TABLE m ATTACH PARTITION m_6 FOR VALUES FROM ('2026-06-01') TO ('2026-07-01');
\set VERBOSITY terse
SELECT shuttle.local_tables('{head, m_6}');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM region;
CREATE TABLE m_7 (LIKE m);
ALTER TABLE m ATTACH PARTITION m_7 FOR VALUES FROM ('2026-07-01') TO ('2026-08-01');
ROLLBACK;
