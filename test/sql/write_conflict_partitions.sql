-- INSERT ... ON CONFLICT into a table whose partitions are foreign.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
\set state '''SELECT tableoid::regclass::text LIKE $$%low$$, * FROM part ORDER BY id, kind'''
CREATE TABLE node.part (kind int, id int, note text, n int DEFAULT 5, PRIMARY KEY (id, kind)) PARTITION BY RANGE (id);
CREATE TABLE node.low PARTITION OF node.part FOR VALUES FROM (0) TO (100);
CREATE TABLE node.high (n int DEFAULT 5, id int NOT NULL, gone int, kind int NOT NULL, note text);
ALTER TABLE node.high DROP COLUMN gone;
ALTER TABLE node.part ATTACH PARTITION node.high FOR VALUES FROM (100) TO (200);
INSERT INTO node.part SELECT i % 3, i, 'note ' || i, i FROM generate_series(0, 190, 5) i;
CREATE TABLE ours.part (kind int NOT NULL, id int NOT NULL, note text, n int DEFAULT 5) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE ours.low PARTITION OF ours.part FOR VALUES FROM (0) TO (100) SERVER our_node OPTIONS (schema_name 'node');
-- columns of another order and other names, on another level
CREATE TABLE ours.upper (remark int, id int NOT NULL, kind int NOT NULL, note text, n int DEFAULT 5) PARTITION BY LIST (kind);
ALTER TABLE ours.upper DROP COLUMN remark;
CREATE FOREIGN TABLE ours.high (note text, number int OPTIONS (column_name 'n') DEFAULT 5, kind int NOT NULL, id int NOT NULL) SERVER our_node OPTIONS (schema_name 'node');
ALTER FOREIGN TABLE ours.high RENAME number TO n;
ALTER TABLE ours.upper ATTACH PARTITION ours.high DEFAULT;
ALTER TABLE ours.part ATTACH PARTITION ours.upper FOR VALUES FROM (100) TO (200);

SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT (id, kind) DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT (id, kind) DO NOTHING RETURNING id, note, n');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(120, 80, -1) i ON CONFLICT (kind, id) DO UPDATE SET n = part.n + excluded.n, note = excluded.id || part.note');
SELECT pair.same_here(:state, 'INSERT INTO part AS p (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT (id, kind) DO UPDATE SET n = p.n + excluded.n WHERE p.id % 2 = 1 RETURNING p.*, p.n * 2');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) VALUES (0, 0), (1, 100), (0, 0) ON CONFLICT (id, kind) DO UPDATE SET n = 0');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) VALUES (1, 500) ON CONFLICT (id, kind) DO UPDATE SET n = 0');
SELECT pair.same_here(:state, 'WITH new AS (INSERT INTO part (kind, id) VALUES (0, 0), (1, 100), (2, 7) ON CONFLICT (id, kind) DO UPDATE SET n = 1000 RETURNING *) SELECT count(*), sum(new.n) FROM new, part');
SET shuttle.write_buffer_size = '1kB';
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(1, 199) i ON CONFLICT (id, kind) DO UPDATE SET n = part.n + excluded.n RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i % 150 FROM generate_series(1, 199) i ON CONFLICT (id, kind) DO UPDATE SET n = part.n + excluded.n RETURNING *');
RESET shuttle.write_buffer_size;

-- by name of a constraint, which can only be declared for the parent alone
SET search_path = ours;
ALTER TABLE ONLY part ADD CONSTRAINT part_key PRIMARY KEY (id, kind);
ALTER TABLE node.part RENAME CONSTRAINT part_pkey TO part_key;
RESET search_path;
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT ON CONSTRAINT part_key DO NOTHING');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT ON CONSTRAINT part_key DO UPDATE SET note = NULL WHERE part.n > excluded.n RETURNING *');

-- the columns have to hold the keys of all partitions
SET search_path = ours;
INSERT INTO part (kind, id) VALUES (0, 0) ON CONFLICT (id) DO NOTHING;
INSERT INTO part (kind, id) VALUES (0, 0) ON CONFLICT (kind) DO UPDATE SET n = 1;
CREATE TABLE pair.mixed (id int) PARTITION BY RANGE ((id + 1));
CREATE FOREIGN TABLE pair.mixed1 PARTITION OF pair.mixed FOR VALUES FROM (0) TO (10) SERVER our_node OPTIONS (schema_name 'node', table_name 'low');
INSERT INTO pair.mixed VALUES (1) ON CONFLICT (id) DO NOTHING;
CREATE TABLE pair.mixed2 PARTITION OF pair.mixed FOR VALUES FROM (10) TO (20);
INSERT INTO pair.mixed VALUES (1) ON CONFLICT (id) DO NOTHING;

-- a kept plan learns of a partition that was attached below
PREPARE kept AS INSERT INTO part (kind, id) VALUES (1, $1) ON CONFLICT (id, kind) DO UPDATE SET n = -1;
SET plan_cache_mode = force_generic_plan;
BEGIN;
EXECUTE kept (100);
EXECUTE kept (101);
SELECT * FROM part WHERE id IN (100, 101) ORDER BY id;
ALTER TABLE upper DETACH PARTITION high;
CREATE TABLE other PARTITION OF upper DEFAULT;
EXECUTE kept (100);
ROLLBACK;
-- no row leaves its partition
INSERT INTO part (kind, id) VALUES (1, 100) ON CONFLICT (id, kind) DO UPDATE SET id = 1;
INSERT INTO high (kind, id) VALUES (1, 100) ON CONFLICT (id, kind) DO UPDATE SET kind = 1;
INSERT INTO part (kind, id) VALUES (1, 100) ON CONFLICT (id, kind) DO UPDATE SET id = excluded.kind;
RESET search_path;
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT (kind, id) DO UPDATE SET kind = excluded.kind, note = excluded.note, n = -excluded.n, id = excluded.id');

-- with an UPDATE trigger here all is executed here, and does the same
CREATE FUNCTION pair.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION pair.leave() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 200 - NEW.id; RETURN NEW; END';
CREATE TRIGGER keep BEFORE UPDATE ON ours.part FOR EACH ROW EXECUTE FUNCTION pair.keep();
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(120, 80, -1) i ON CONFLICT (kind, id) DO UPDATE SET n = part.n + excluded.n, note = excluded.id || part.note');
SELECT pair.same_here(:state, 'INSERT INTO part AS p (kind, id) SELECT i % 3, i FROM generate_series(80, 130) i ON CONFLICT (id, kind) DO UPDATE SET n = p.n + excluded.n WHERE p.id % 2 = 1 RETURNING p.*, p.n * 2');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) VALUES (0, 0), (1, 100), (0, 0) ON CONFLICT (id, kind) DO UPDATE SET n = 0');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) VALUES (1, 500) ON CONFLICT (id, kind) DO UPDATE SET n = 0');
SELECT pair.same_here(:state, 'WITH new AS (INSERT INTO part (kind, id) VALUES (0, 0), (1, 100), (2, 7) ON CONFLICT (id, kind) DO UPDATE SET n = 1000 RETURNING *) SELECT count(*), sum(new.n) FROM new, part');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(80, 120) i ON CONFLICT ON CONSTRAINT part_key DO UPDATE SET kind = excluded.kind, note = to_jsonb(excluded)::text || to_jsonb(part)::text WHERE part.n > excluded.n RETURNING *');
SET shuttle.write_buffer_size = '1kB';
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i FROM generate_series(1, 199) i ON CONFLICT (id, kind) DO UPDATE SET n = part.n + excluded.n RETURNING *');
SELECT pair.same_here(:state, 'INSERT INTO part (kind, id) SELECT i % 3, i % 150 FROM generate_series(1, 199) i ON CONFLICT (id, kind) DO UPDATE SET n = part.n + excluded.n RETURNING *');
RESET shuttle.write_buffer_size;
CREATE TRIGGER leave BEFORE UPDATE ON ours.part FOR EACH ROW WHEN (NEW.n < 0) EXECUTE FUNCTION pair.leave();
INSERT INTO ours.part (kind, id) VALUES (1, 100), (1, 10) ON CONFLICT (id, kind) DO UPDATE SET n = -1;
INSERT INTO ours.high (kind, id) VALUES (0, 150) ON CONFLICT (id, kind) DO UPDATE SET n = -1;
DROP TRIGGER leave ON ours.part;
-- the node's table is the partitioned one
CREATE FOREIGN TABLE ours.whole (kind int, id int, note text, n int DEFAULT 5) SERVER our_node OPTIONS (schema_name 'node', table_name 'part');
CREATE TRIGGER keep BEFORE UPDATE ON ours.whole FOR EACH ROW EXECUTE FUNCTION pair.keep();
INSERT INTO ours.whole (kind, id) VALUES (1, 100), (0, 0), (1, 190), (0, 199) ON CONFLICT (id, kind) DO UPDATE SET n = 77 RETURNING id, kind, n, xmax = 0 AS is_new;
INSERT INTO ours.whole (kind, id) VALUES (1, 100), (1, 100) ON CONFLICT (id, kind) DO UPDATE SET n = 77;
INSERT INTO ours.whole (kind, id) VALUES (2, 100), (2, 100) ON CONFLICT (id, kind) DO UPDATE SET n = 77;
DROP FOREIGN TABLE ours.whole;
-- not if something on the node may change rows, too
CREATE TRIGGER keep BEFORE INSERT ON node.part FOR EACH ROW EXECUTE FUNCTION pair.keep();
SELECT FROM shuttle.disconnect();
INSERT INTO ours.part (kind, id) VALUES (1, 100), (1, 10) ON CONFLICT (id, kind) DO UPDATE SET n = 1;
DROP TRIGGER keep ON node.part;
DROP TRIGGER keep ON ours.part;
