-- trap 21: TABLESAMPLE of a table with foreign children is taken on their nodes.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
SET search_path = ours, pair;
SELECT * FROM account TABLESAMPLE BERNOULLI (10);

CREATE TABLE node."Sample 1" AS SELECT i AS id, 'r2 TABLESAMPLE (' || i AS word FROM generate_series(1, 10000) i;
CREATE TABLE node.sample2 AS SELECT i AS id, 'word' AS word FROM generate_series(10001, 20000) i;
ANALYZE node."Sample 1", node.sample2;
CREATE TABLE number (id int, word text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE number1 PARTITION OF number FOR VALUES FROM (1) TO (10001)
	SERVER our_node OPTIONS (schema_name 'node', table_name 'Sample 1');
CREATE FOREIGN TABLE number2 PARTITION OF number FOR VALUES FROM (10001) TO (20001)
	SERVER our_node OPTIONS (schema_name 'node', table_name 'sample2');
CREATE TABLE number3 PARTITION OF number FOR VALUES FROM (20001) TO (30001);
INSERT INTO number3 SELECT i, 'here' FROM generate_series(20001, 30000) i;

CREATE FUNCTION pair.sent(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'Remote SQL' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SELECT * FROM pair.sent('SELECT id FROM number TABLESAMPLE BERNOULLI (10) WHERE id > 5');
SELECT * FROM pair.sent('SELECT id FROM number TABLESAMPLE SYSTEM (2.5) REPEATABLE (7)');

-- each child has its share
SELECT tableoid::regclass, count(*) BETWEEN 800 AND 1200 AS about_a_tenth FROM number TABLESAMPLE BERNOULLI (10) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM number TABLESAMPLE BERNOULLI (100);
SELECT count(*) FROM number TABLESAMPLE SYSTEM (0);
SELECT count(*) BETWEEN 1 AND 29999 FROM number TABLESAMPLE SYSTEM (50);
-- on the node and here one seed finds the same rows of the same table
SELECT (SELECT array_agg(id ORDER BY id) FROM number TABLESAMPLE BERNOULLI (1) REPEATABLE (42) WHERE id <= 10000)
	= (SELECT array_agg(id ORDER BY id) FROM node."Sample 1" TABLESAMPLE BERNOULLI (1) REPEATABLE (42)) AS same;

-- arguments that are known later
PREPARE taken(float4, float8) AS SELECT count(*) FROM number TABLESAMPLE BERNOULLI ($1) REPEATABLE ($2) WHERE id <= 20000;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pair.sent('EXECUTE taken(5, 3)');
EXECUTE taken(100, 1);
EXECUTE taken(0, 1);
EXECUTE taken(NULL, 1);
EXECUTE taken(101, 1);
RESET plan_cache_mode;
SELECT count(*) FROM number TABLESAMPLE BERNOULLI ((SELECT 100)) WHERE id <= 20000;

-- two draws differ, and what one statement draws stays
SELECT (SELECT array_agg(id) FROM number TABLESAMPLE BERNOULLI (10) WHERE id < 10000)
	<> (SELECT array_agg(id) FROM number TABLESAMPLE BERNOULLI (10) WHERE id < 10000) AS differ;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET shuttle.fetch_limit = 10;
SELECT count(*) AS sizes FROM (
	SELECT i, count(*) FROM generate_series(1, 5) i
	LEFT JOIN (SELECT id FROM number TABLESAMPLE BERNOULLI (1) WHERE id <= 20000) s ON i + s.id > 0
	GROUP BY i) x
GROUP BY count;
RESET shuttle.fetch_limit;

-- joins, also on the node, and aggregates there
SET enable_nestloop = off;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT * FROM pair.sent('SELECT a.id FROM number a TABLESAMPLE BERNOULLI (1) JOIN number b TABLESAMPLE SYSTEM (90) REPEATABLE (1) ON a.id = b.id WHERE a.id <= 20000');
SELECT * FROM pair.sent('SELECT a.id FROM number a JOIN number b TABLESAMPLE SYSTEM (50) ON a.id = b.id WHERE a.id <= 10000 AND a.word <> ''r3 ''');
SELECT count(*) BETWEEN 100 AND 300 FROM number a TABLESAMPLE BERNOULLI (1) JOIN number b ON a.id = b.id WHERE a.id <= 20000;
RESET enable_nestloop;
SELECT * FROM pair.sent('SELECT id, count(*) FROM number TABLESAMPLE BERNOULLI (1) WHERE id < 20000 GROUP BY id');
SELECT count(*) BETWEEN 100 AND 300 FROM (SELECT id, count(*) FROM number TABLESAMPLE BERNOULLI (1) WHERE id < 20000 GROUP BY id) x;
SELECT * FROM pair.sent('SELECT id FROM number TABLESAMPLE BERNOULLI (1) WHERE id < 10000 FOR SHARE');

-- never by batches of keys, for each of which the sample would be taken
CREATE TABLE pair.want AS SELECT i AS id FROM generate_series(1, 10) i;
ANALYZE pair.want;
SET shuttle.enable_batched_join = on;
SET shuttle.debug_force_batched_join = on;
SELECT count(*) FROM pair.want w JOIN number n TABLESAMPLE BERNOULLI (100) ON n.id = w.id;

-- refused: arguments of other tables, and methods that nodes might not have
SELECT count(*) FROM generate_series(1, 2) i, LATERAL (SELECT * FROM number TABLESAMPLE BERNOULLI (i)) x;
CREATE EXTENSION tsm_system_rows;
SELECT count(*) FROM number TABLESAMPLE system_rows (10);
SELECT count(*) FROM number3 TABLESAMPLE system_rows (10);

-- inherited tables, as children of a table with rows of its own
CREATE TABLE pair.parent AS SELECT id FROM node.sample2;
CREATE FOREIGN TABLE pair.child () INHERITS (pair.parent) SERVER our_node OPTIONS (schema_name 'node', table_name 'sample2');
SELECT tableoid::regclass, count(*) BETWEEN 800 AND 1200 AS about_a_tenth FROM pair.parent TABLESAMPLE BERNOULLI (10) GROUP BY 1 ORDER BY 1;
DROP EXTENSION tsm_system_rows;
