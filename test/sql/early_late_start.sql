-- What waits for subqueries that run once is sent together when these have run:
-- scans that take their values, partitions that they leave, and several such subqueries.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/early.sql
CREATE TABLE pair.numbers AS SELECT 3 AS three, 2 AS two, 0 AS none;
-- whoever reads the view "counted" is seen: his session keeps a lock
CREATE VIEW node.counted AS SELECT 3 AS id, pg_try_advisory_lock_shared(4712, 3) AS met;
CREATE FUNCTION pair.reads() RETURNS bigint LANGUAGE sql AS
	'SELECT count(*) FROM pg_locks WHERE locktype = ''advisory'' AND classid = 4712';
CREATE FOREIGN TABLE ours.counted (id int, met bool) SERVER node3 OPTIONS (schema_name 'node');
CREATE TABLE ours.parts (id int, met bool) PARTITION BY LIST (id);
CREATE FOREIGN TABLE ours.parts1 PARTITION OF ours.parts FOR VALUES IN (1) SERVER node1 OPTIONS (schema_name 'node', table_name 'meet1');
CREATE FOREIGN TABLE ours.parts2 PARTITION OF ours.parts FOR VALUES IN (2) SERVER node2 OPTIONS (schema_name 'node', table_name 'meet2');
CREATE FOREIGN TABLE ours.parts3 PARTITION OF ours.parts FOR VALUES IN (3) SERVER node3 OPTIONS (schema_name 'node', table_name 'meet3');
CREATE VIEW node.pair2_as_2 AS SELECT 2 AS id, met FROM node.pair2;
CREATE TABLE ours.fewer (id int, met bool) PARTITION BY LIST (id);
CREATE FOREIGN TABLE ours.fewer1 PARTITION OF ours.fewer FOR VALUES IN (1) SERVER node1 OPTIONS (schema_name 'node', table_name 'pair1');
CREATE FOREIGN TABLE ours.fewer2 PARTITION OF ours.fewer FOR VALUES IN (2) SERVER node2 OPTIONS (schema_name 'node', table_name 'pair2_as_2');
CREATE FOREIGN TABLE ours.fewer3 PARTITION OF ours.fewer FOR VALUES IN (3) SERVER node3 OPTIONS (schema_name 'node', table_name 'counted');
CREATE VIEW ours.three AS SELECT * FROM ours.meet1 UNION ALL SELECT * FROM ours.meet2 UNION ALL SELECT * FROM ours.meet3;

-- partitions are pruned by a subquery's value
SELECT * FROM parts WHERE id <= (SELECT three FROM pair.numbers);
SELECT count(*), bool_and(met) FROM parts WHERE id <= (SELECT three FROM pair.numbers);
SELECT * FROM parts p JOIN pair.numbers ON three >= id WHERE id <= (SELECT three FROM pair.numbers) ORDER BY id;
-- only those that are left, and none
SELECT * FROM fewer WHERE id <= (SELECT two FROM pair.numbers);
SELECT * FROM fewer WHERE id <= (SELECT none FROM pair.numbers);
SELECT * FROM fewer WHERE id = (SELECT none FROM pair.numbers) ORDER BY id LIMIT 3;
SELECT * FROM three WHERE id <= (SELECT three FROM pair.numbers) LIMIT 0;
SELECT * FROM fewer WHERE id <= (SELECT three FROM pair.numbers) LIMIT 0;
UPDATE node.patience SET seconds = 0;
SELECT id FROM fewer WHERE id <= (SELECT three FROM pair.numbers) LIMIT 1;
UPDATE node.patience SET seconds = 20;
SELECT * FROM fewer WHERE id = (SELECT none FROM pair.numbers) AND met = (SELECT met FROM counted);
SELECT CASE WHEN met IS NULL THEN (SELECT met FROM counted) END FROM fewer WHERE id = (SELECT two FROM pair.numbers);
SELECT pair.reads();

-- scans that take the value
SELECT * FROM three WHERE id <= (SELECT three FROM pair.numbers);
SELECT * FROM pair1 a JOIN pair2 b USING (id) WHERE id = (SELECT two - 1 FROM pair.numbers);
SELECT * FROM three WHERE id <= (SELECT count(*) + 2 FROM nodes_account WHERE id = 1);
PREPARE q AS SELECT * FROM three WHERE id <= (SELECT three FROM pair.numbers);
EXECUTE q;
EXECUTE q;
-- several subqueries, needed together by the first scan that is left
SELECT * FROM (SELECT * FROM nodes_account UNION ALL SELECT * FROM other_account) u
WHERE id = (SELECT count(*) FROM pair1 WHERE met) AND balance > 0 * (SELECT count(*) FROM pair2 WHERE met);
SELECT * FROM fewer WHERE id = (SELECT three FROM pair.numbers) AND id >= 2 + (SELECT count(*) FROM pair1 WHERE met)
AND id <= 2 + (SELECT count(*) FROM pair2 WHERE met);
-- that was the first read of it
SELECT pair.reads();

-- of a LIMIT as many as are expected to be needed, whatever is above them
UPDATE pg_class SET reltuples = 1, relpages = 1 WHERE relname ~ '^(meet|parts)[123]$' AND relnamespace = 'ours'::regnamespace;
SELECT * FROM three WHERE pair.here(id) > 0 LIMIT 5;
SELECT * FROM three OFFSET 1;
SELECT * FROM parts WHERE id <= (SELECT three FROM pair.numbers) ORDER BY id, met LIMIT 3;
SELECT bool_and(met) FROM meet1 UNION ALL SELECT bool_and(met) FROM meet2 UNION ALL SELECT bool_and(met) FROM meet3 LIMIT 10;
SELECT id, bool_and(met) FROM meet1 GROUP BY id UNION ALL SELECT id, bool_and(met) FROM meet2 GROUP BY id
UNION ALL SELECT id, bool_and(met) FROM meet3 GROUP BY id LIMIT 10;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM three;
FETCH 3 FROM c;
COMMIT;

-- merged scans ask for their next pages together
CREATE TABLE node.rows AS SELECT i AS id FROM generate_series(1, 300) i;
ALTER TABLE node.rows ADD PRIMARY KEY (id);
ANALYZE node.rows;
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		EXECUTE format('CREATE VIEW node.pages%s AS SELECT id, CASE WHEN id = 150 THEN node.meet(%1$s, ''%s'') ELSE true END AS met FROM node.rows',
			i, array_remove('{1,2,3}', i));
		EXECUTE format('CREATE FOREIGN TABLE ours.pages%1$s (id int, met bool) SERVER node%1$s OPTIONS (schema_name ''node'')', i);
	END LOOP;
END $$;
UPDATE pg_class SET reltuples = 300, relpages = 2 WHERE relname LIKE 'pages_' AND relnamespace = 'ours'::regnamespace;
SET shuttle.enable_storage_aggregate = off;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT id, bool_and(met), count(*) FROM (SELECT * FROM pages1 UNION ALL SELECT * FROM pages2 UNION ALL SELECT * FROM pages3) u
GROUP BY id ORDER BY id LIMIT 200;
SELECT bool_and(met), sum(n) FROM (SELECT id, bool_and(met) AS met, count(*) AS n
	FROM (SELECT * FROM pages1 UNION ALL SELECT * FROM pages2 UNION ALL SELECT * FROM pages3) u GROUP BY id ORDER BY id LIMIT 200) g;
RESET enable_hashagg;
RESET shuttle.enable_storage_aggregate;

-- not where it is switched off, and not in a parallel worker
UPDATE node.patience SET seconds = 0.1;
SET shuttle.enable_early_start = off;
CALL node.settle();
SELECT * FROM parts WHERE id <= (SELECT three FROM pair.numbers);
CALL node.settle();
SELECT * FROM three WHERE id <= (SELECT three FROM pair.numbers);
RESET shuttle.enable_early_start;
CREATE FUNCTION pair.meets() RETURNS bool LANGUAGE plpgsql PARALLEL SAFE AS
	'BEGIN RETURN (SELECT bool_and(met) FROM ours.three WHERE id <= (SELECT three FROM pair.numbers)); END';
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode');
CALL node.settle();
SELECT pair.meets();
RESET search_path;
SET client_min_messages = warning;
DROP SERVER node1, node2, node3 CASCADE;
