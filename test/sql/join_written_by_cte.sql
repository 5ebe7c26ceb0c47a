-- trap 24: a read of a table that a data-modifying CTE of the same statement
-- writes sees the state before the statement, so no join asks for its keys by
-- batches.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE w AS SELECT i AS id, i AS v FROM generate_series(1, 40) i;
CREATE TABLE other AS SELECT i AS id, i * 10 AS v FROM generate_series(1, 40) i;
CREATE INDEX ON w (id);
CALL test.mirror('w', 'other');
CREATE FOREIGN TABLE engine.alias (id int, v int) SERVER engine OPTIONS (schema_name 'local', table_name 'w');
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (20);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (20) TO (100);
INSERT INTO parts SELECT * FROM w;
CALL test.mirror_partitions('parts');
SET shuttle.debug_force_batched_join = on;
SET search_path = engine, local;
BEGIN;
WITH u AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id)
SELECT u.id, w.v FROM u LEFT JOIN w ON w.id = u.id ORDER BY 1;
SELECT v FROM w WHERE id < 4;
ROLLBACK;

-- under another name, in a subquery, and beside another CTE
BEGIN;
WITH u AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id)
SELECT u.id, (SELECT sum(a.v) FROM local.other o JOIN alias a ON a.id = o.id WHERE o.id = 2) FROM u ORDER BY 1;
WITH u AS (INSERT INTO w VALUES (100, 100), (101, 101) RETURNING id), o AS MATERIALIZED (SELECT id + 99 AS id FROM local.other)
SELECT o.id, w.v FROM o LEFT JOIN w ON w.id = o.id WHERE o.id < 103 ORDER BY 1;
WITH u AS (DELETE FROM alias WHERE id = 6 RETURNING id), x AS (INSERT INTO local.w SELECT u.id, w.v FROM u JOIN w ON w.id = u.id RETURNING id, v)
SELECT * FROM x;
ROLLBACK;

-- partitions, all of them or one
BEGIN;
WITH u AS (UPDATE parts SET v = 0 WHERE id IN (1, 30) RETURNING id)
SELECT u.id, p.v FROM u LEFT JOIN parts p ON p.id = u.id ORDER BY 1;
WITH u AS (UPDATE parts SET v = -1 WHERE id IN (1, 30) RETURNING id)
SELECT u.id, p.v FROM u LEFT JOIN engine.parts1 p ON p.id = u.id ORDER BY 1;
ROLLBACK;

-- Other tables are asked by batches.
SELECT * FROM test.plan_shape($$
	WITH u AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) SELECT u.id, o.v FROM u JOIN other o ON o.id = u.id $$);
SELECT * FROM test.plan_shape($$
	WITH u AS (UPDATE w SET v = 0 WHERE id < 4 RETURNING id) SELECT u.id, w.v FROM u JOIN w ON w.id = u.id $$);
DROP TABLE local.w, local.other, local.parts;
