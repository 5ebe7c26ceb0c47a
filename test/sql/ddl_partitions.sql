-- DDL on a partitioned table reaches what nodes have of its partitions; partitions come and go.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
SELECT count(*) > 0 FROM shuttle.use_node('n3');
CREATE FUNCTION there(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT DISTINCT result::text FROM shuttle.run_on_nodes(query, '{n1,n2,n3}') ORDER BY 1 $$;
CREATE FUNCTION columns_there(relation text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT there(format('SELECT string_agg(attname || '' '' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN '' not null'' ELSE '''' END, '', '' ORDER BY attname)
		FROM pg_attribute WHERE attrelid = ''shop.%s''::regclass AND attnum > 0 AND NOT attisdropped', relation)) $$;
CREATE FUNCTION parts_there(relation text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT there(format('SELECT string_agg(name, '', '' ORDER BY name) FROM (SELECT conname || '' '' || pg_get_constraintdef(oid) AS name FROM pg_constraint
		WHERE conrelid = ''shop.%1$s''::regclass AND contype IN (''c'', ''p'', ''u'') UNION ALL SELECT substring(pg_get_indexdef(indexrelid) FROM ''INDEX.*'') FROM pg_index
		WHERE indrelid = ''shop.%1$s''::regclass AND NOT indisunique) AS a', relation)) $$;

-- before there is a partition
CREATE TABLE m (id int, device int, at date NOT NULL, x int) PARTITION BY RANGE (at);
SELECT shuttle.distribute_table('m', 'device', nodes => '{n1}');
SELECT shuttle.distribute_table('m', 'nothing');
SELECT shuttle.distribute_table('m', 'device', tablets => 3);
SELECT relation, kind, group_id, key, tablets FROM shuttle.tables;
CREATE TABLE m_1 PARTITION OF m FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE m_2 PARTITION OF m FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY LIST (x);
CREATE TABLE m_2_1 PARTITION OF m_2 FOR VALUES IN (1);
CREATE TABLE m_2_rest PARTITION OF m_2 DEFAULT;
CREATE TABLE m_default PARTITION OF m DEFAULT;
CREATE UNLOGGED TABLE m_u PARTITION OF m FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
SELECT relation, kind, key FROM shuttle.tables ORDER BY relation::text COLLATE "C";
SELECT count(DISTINCT group_id) FROM shuttle.tables WHERE kind = 'distributed';
SELECT relation, count(*) FROM shuttle.tablets GROUP BY 1 ORDER BY relation::text COLLATE "C";
DROP TABLE m_u;
INSERT INTO m SELECT i, i % 10, '2026-01-01'::date + i % 70, i % 3 FROM generate_series(1, 210) AS i;
SELECT tableoid::regclass::text ~ '\mm_1_t' AS first, count(*) FROM m GROUP BY 1 ORDER BY 1;

-- columns, constraints, indexes
ALTER TABLE m ADD COLUMN name text DEFAULT 'n' NOT NULL, ADD COLUMN r float8 DEFAULT random();
SELECT columns_there('m_1');
SELECT columns_there('m_2_rest');
SELECT count(*), count(DISTINCT r) > 200, min(name) FROM m;
ALTER TABLE m RENAME COLUMN name TO label;
\set VERBOSITY sqlstate
ALTER TABLE m ALTER COLUMN label TYPE varchar(20), ALTER COLUMN x TYPE bigint;
\set VERBOSITY terse
ALTER TABLE m ALTER COLUMN label TYPE varchar(20), ALTER COLUMN id TYPE bigint, ALTER COLUMN label DROP NOT NULL, ALTER COLUMN label SET DEFAULT 'z';
ALTER TABLE m DROP COLUMN r;
SELECT columns_there('m_1');
SELECT columns_there('m_2_1');
ALTER TABLE m ADD CONSTRAINT positive CHECK (id > 0);
ALTER TABLE m ADD CONSTRAINT small CHECK (id < 100);
ALTER TABLE m ADD CHECK (id < 1000000) NOT VALID;
ALTER TABLE m VALIDATE CONSTRAINT m_id_check;
ALTER TABLE m RENAME CONSTRAINT positive TO above;
\set VERBOSITY sqlstate
ALTER TABLE m ADD PRIMARY KEY (id, device, at);
\set VERBOSITY terse
ALTER TABLE m ADD PRIMARY KEY (id, device, at, x);
ALTER TABLE m_2 ADD PRIMARY KEY (id, device, at, x);
CREATE INDEX m_label ON m (label) WHERE id > 5;
CREATE UNIQUE INDEX ON m (id, device, at, x, label);
CREATE UNIQUE INDEX ON m (id, at, x);
CREATE INDEX CONCURRENTLY ON m (label);
SELECT parts_there('m_1');
SELECT parts_there('m_2_rest');
SELECT indexrelid::regclass FROM pg_index AS i JOIN pg_class AS c ON c.oid = indrelid WHERE relname IN ('m', 'm_2') AND NOT indisvalid;
SELECT inhparent::regclass, inhrelid::regclass FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid ORDER BY 1, 2;
INSERT INTO m VALUES (1, 1, '2026-01-02', 1), (1, 1, '2026-01-02', 1);
INSERT INTO m VALUES (-1, 1, '2026-01-02', 1);
INSERT INTO m VALUES (5000, 1, '2026-01-02', 1), (5000, 1, '2026-02-02', 1) ON CONFLICT (id, device, at, x) DO UPDATE SET label = 'twice' RETURNING *;
INSERT INTO m VALUES (5000, 1, '2026-01-02', 1), (5000, 1, '2026-02-02', 1) ON CONFLICT (id, device, at, x) DO UPDATE SET label = 'twice' RETURNING *;
ALTER TABLE m ALTER COLUMN id TYPE int;
DROP INDEX m_label;
ALTER TABLE m DROP CONSTRAINT above, DROP CONSTRAINT small;
ALTER TABLE m DROP CONSTRAINT above;
SELECT parts_there('m_1');
SELECT * FROM shuttle.check();

-- what is refused
ALTER TABLE m DROP COLUMN device;
ALTER TABLE m ALTER COLUMN device TYPE bigint;
ALTER TABLE m ADD COLUMN u int UNIQUE;
ALTER TABLE m ADD UNIQUE (id, at, x);
ALTER TABLE m ADD EXCLUDE USING btree (id WITH =);
ALTER TABLE m ADD FOREIGN KEY (id) REFERENCES m_1;
ALTER TABLE m SET SCHEMA public;
ALTER TABLE m_1 ADD UNIQUE (id);
CREATE UNIQUE INDEX ON m_1 (id);
ALTER TABLE m_1 ADD FOREIGN KEY (id) REFERENCES m_1 (id);
ALTER TABLE m_1 ADD COLUMN y int;
REINDEX TABLE m;
CREATE RULE r AS ON INSERT TO m DO NOTHING;
SELECT shuttle.distribute_table('m', 'device');
SELECT shuttle.reference_table('m_1');
ALTER TABLE m DETACH PARTITION m_1 CONCURRENTLY;
ALTER TABLE m RENAME COLUMN device TO dev;
SELECT relation, key FROM shuttle.tables WHERE kind = 'partitioned' ORDER BY 1;

-- partitions leave and come
CREATE TABLE m_3 PARTITION OF m FOR VALUES FROM ('2026-03-01') TO ('2026-03-10');
CREATE TABLE m_3 PARTITION OF m FOR VALUES FROM ('2027-03-01') TO ('2027-04-01');
CREATE TABLE l (id bigint NOT NULL, dev int NOT NULL, at date NOT NULL, x int NOT NULL, label varchar(20), CONSTRAINT m_id_check CHECK (id < 1000000));
INSERT INTO l VALUES (7, 7, '2027-05-05', 1, 'l'), (8, 8, '2027-05-06', 1, 'l');
ALTER TABLE m ATTACH PARTITION l FOR VALUES FROM ('2027-06-01') TO ('2027-07-01');
ALTER TABLE m ATTACH PARTITION l FOR VALUES FROM ('2027-05-01') TO ('2027-06-01');
SELECT kind FROM shuttle.tables WHERE relation = 'l'::regclass;
SELECT parts_there('l');
SELECT dev, label FROM m WHERE at BETWEEN '2027-05-01' AND '2027-05-30' ORDER BY 1;
ALTER TABLE m DETACH PARTITION m_1;
SELECT count(*) FROM m WHERE at < '2026-02-01';
SELECT count(*) FROM m_1;
INSERT INTO m_1 VALUES (9000, 1, '2030-01-01', 1);
ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
DELETE FROM m_1 WHERE id = 9000;
ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT count(*) FROM m WHERE at < '2026-02-01';
ALTER TABLE m DETACH PARTITION m_1;
INSERT INTO m VALUES (6000, 1, '2026-01-30', 1);
ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
DELETE FROM m WHERE id = 6000;
ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
ALTER TABLE m DETACH PARTITION m_2;
SELECT count(*) FROM m_2;
ALTER TABLE m ATTACH PARTITION m_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE other (id bigint NOT NULL, dev int NOT NULL, at date NOT NULL, x int NOT NULL, label varchar(20), CONSTRAINT m_id_check CHECK (id < 1000000));
SELECT shuttle.distribute_table('other', 'dev', colocate_with => 'm_1');
CREATE UNIQUE INDEX ON other (id, dev, at, x, label);
ALTER TABLE m ATTACH PARTITION other FOR VALUES FROM ('2028-05-01') TO ('2028-06-01');
SELECT parts_there('other');
SELECT * FROM shuttle.check();
-- a row that nobody has routed
SELECT ok FROM shuttle.run_on_nodes('INSERT INTO shop.other SELECT 1, dev, ''2020-01-01'', 1 FROM generate_series(1, 30) AS dev
	WHERE satisfies_hash_partition(''shop.other''::regclass, 3, 0, dev) LIMIT 1', '{n1}');
SELECT relation, problem, hint FROM shuttle.check();
DROP TABLE other;
BEGIN;
DROP TABLE m_1;
SELECT count(*) FROM m WHERE at < '2026-02-01';
ROLLBACK;
SELECT count(*) FROM m WHERE at < '2026-02-01';
DROP TABLE m_1;
SELECT there('SELECT to_regclass(''shop.m_1'')');
TRUNCATE m_2;
VACUUM m;
ANALYZE m;
SELECT count(*) FROM m;
SELECT relation, kind FROM shuttle.tables ORDER BY relation::text COLLATE "C";
CREATE VIEW v AS SELECT * FROM m;
DROP TABLE m;
DROP TABLE m CASCADE;
SELECT * FROM shuttle.tables;
SELECT there('SELECT count(*) FROM pg_class WHERE relnamespace = ''shop''::regnamespace');

-- hash partitions, triggers, session checks, auto_distribute
SET shuttle.auto_distribute = 'device';
SET shuttle.tablets = 3;
CREATE TABLE h (id int, device int, d text, PRIMARY KEY (id, device)) PARTITION BY HASH (id);
CREATE TABLE h_0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE h_1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE stays (id int, device int, UNIQUE (id)) PARTITION BY HASH (id);
SELECT relation, kind FROM shuttle.tables ORDER BY relation::text COLLATE "C";
CREATE TABLE notes (what text, id int);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO notes VALUES (TG_OP || ' ' || TG_LEVEL, CASE TG_LEVEL WHEN 'ROW' THEN coalesce(NEW.id, OLD.id) END); RETURN NEW; END$$;
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON h FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER s AFTER DELETE ON h FOR EACH STATEMENT EXECUTE FUNCTION note();
INSERT INTO h SELECT i, i, 'd' FROM generate_series(1, 6) AS i;
UPDATE h SET d = 'e' WHERE device = 3 AND id = 3;
DELETE FROM h WHERE device = 4 AND id = 4;
SELECT what, count(*), min(id), max(id) FROM notes GROUP BY 1 ORDER BY 1;
ALTER TABLE h DETACH PARTITION h_0;
ALTER TABLE h ATTACH PARTITION h_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
ALTER TABLE h DETACH PARTITION h_0;
ALTER TABLE h DETACH PARTITION h_1;
ALTER TABLE h ATTACH PARTITION h_0 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE h ATTACH PARTITION h_0 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
ALTER TABLE h ADD CONSTRAINT of_session CHECK (d <> current_user);
ALTER TABLE h ATTACH PARTITION h_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE h_1 ADD CONSTRAINT of_session CHECK (d <> current_user);
ALTER TABLE h ATTACH PARTITION h_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO h VALUES (100, 100, current_user);
UPDATE h SET d = current_user WHERE device = 3;
SELECT * FROM shuttle.check();
SELECT count(*) FROM h;
DROP SCHEMA shop CASCADE;
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*) FROM pg_class WHERE relname ~ ''^(h|m)_''', '{n1,n2,n3}') ORDER BY 1;
