-- Aggregates over children of all kinds: local ones beside foreign ones, those
-- that a node cannot be asked for, UNION ALL, heirs, partitions of partitions;
-- partitions that are pruned when a plan begins and while it runs; parameters;
-- a node that fails.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric, i4 int, iv interval);
INSERT INTO here.t SELECT i, nullif(i % 7, 0), CASE WHEN i % 9 > 0 THEN i / 7.0 END, i, i * interval '1 day 3.5 sec' FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
SET search_path = dist;
CREATE TABLE smart.queries (q text);
INSERT INTO smart.queries VALUES
	('SELECT g, count(*), sum(i4), avg(n), stddev(n), stddev(i4), avg(iv), max(k) FROM t GROUP BY g HAVING count(*) > 2'),
	('SELECT count(*), sum(i4), avg(n), avg(i4), avg(iv) FROM t'),
	('SELECT count(*), avg(i4) FROM t WHERE k BETWEEN 900 AND 2100'),
	('SELECT g + 1, count(*) FROM t GROUP BY g + 1'),
	('SELECT DISTINCT g FROM t');
SELECT q, smart.check(q) FROM smart.queries;
-- a local partition, and one of stock postgres_fdw
CREATE TABLE dist.t_here (LIKE here.t);
INSERT INTO dist.t_here SELECT * FROM here.t WHERE k BETWEEN 1001 AND 2000;
ALTER TABLE dist.t DETACH PARTITION dist.t2;
ALTER TABLE dist.t ATTACH PARTITION dist.t_here FOR VALUES FROM (1001) TO (2001);
DO $$ BEGIN EXECUTE (SELECT format('CREATE SERVER smart_stock FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s)',
	string_agg(format('%s %L', split_part(o, '=', 1), split_part(o, '=', 2)), ', '))
	FROM pg_foreign_server, unnest(srvoptions) o WHERE srvname = 'smart3' AND o NOT LIKE 'shuttle%'); END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER smart_stock;
ALTER TABLE dist.t DETACH PARTITION dist.t3;
CREATE FOREIGN TABLE dist.t_stock PARTITION OF dist.t FOR VALUES FROM (2001) TO (3001) SERVER smart_stock OPTIONS (schema_name 'node3', table_name 't');
SELECT q, smart.check(q) FROM smart.queries;
EXPLAIN (COSTS OFF) SELECT avg(n) FROM t;
-- without hashing
SET enable_hashagg = off;
SELECT q, smart.check(q) FROM smart.queries;
RESET enable_hashagg;
DROP TABLE dist.t_here;
DROP FOREIGN TABLE dist.t_stock;
-- partitions of partitions
CREATE TABLE dist.t_parts PARTITION OF dist.t FOR VALUES FROM (1001) TO (3001) PARTITION BY RANGE (k);
ALTER TABLE dist.t_parts ATTACH PARTITION dist.t2 FOR VALUES FROM (1001) TO (2001);
ALTER TABLE dist.t_parts ATTACH PARTITION dist.t3 FOR VALUES FROM (2001) TO (3001);
SELECT q, smart.check(q) FROM smart.queries;
-- UNION ALL, with computed columns as well; branches of other forms
CREATE VIEW dist.u AS SELECT k, g, n, i4, iv FROM dist.t1 UNION ALL SELECT k, g, n, i4, iv FROM dist.t2
	UNION ALL SELECT k, g, n, i4, iv FROM dist.t3 UNION ALL SELECT k, g, n, i4, iv FROM dist.t4;
CREATE VIEW here.u AS SELECT * FROM here.t;
SELECT replace(q, ' t', ' u'), smart.check(replace(q, ' t', ' u')) FROM smart.queries;
CREATE VIEW dist.v AS SELECT 1 AS node, k, g, n FROM dist.t1 UNION ALL SELECT 2, k + 0, g, n + 1 FROM dist.t2 WHERE k < 1500
	UNION ALL SELECT 3, k, g, n FROM (SELECT * FROM dist.t3 LIMIT 1000000) s;
CREATE VIEW here.v AS SELECT 1 AS node, k, g, n FROM here.t WHERE k < 1001 UNION ALL SELECT 2, k + 0, g, n + 1 FROM here.t WHERE k BETWEEN 1001 AND 1499
	UNION ALL SELECT 3, k, g, n FROM (SELECT * FROM here.t WHERE k BETWEEN 2001 AND 3000 LIMIT 1000000) s;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT node, g, count(*), avg(n), sum(k) FROM v GROUP BY node, g',
	'SELECT g, avg(n), min(node) FROM v GROUP BY g', 'SELECT DISTINCT node FROM v']) q;
-- heirs: the parent has rows of its own
CREATE TABLE dist.h (k int, g int, n numeric, i4 int, iv interval);
INSERT INTO dist.h SELECT * FROM here.t WHERE k <= 2000;
CREATE FOREIGN TABLE dist.h3 () INHERITS (dist.h) SERVER smart3 OPTIONS (schema_name 'node3', table_name 't');
CREATE FOREIGN TABLE dist.h4 () INHERITS (dist.h) SERVER smart4 OPTIONS (schema_name 'node4', table_name 't');
CREATE VIEW here.h AS SELECT * FROM here.t;
ANALYZE dist.h;
SELECT replace(q, ' t', ' h'), smart.check(replace(q, ' t', ' h')) FROM smart.queries;
-- a condition, and a column, that one node cannot be asked for
CREATE FUNCTION smart.odd(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 2 = 1; END';
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, count(*) FROM t WHERE smart.odd(k) GROUP BY g', 'SELECT g, sum(smart.odd(k)::int) FROM t GROUP BY g']) q;
-- parameters
SET plan_cache_mode = force_generic_plan;
PREPARE by_value(int, int) AS SELECT g, count(*), avg(n + $2) FROM t WHERE i4 > $1 GROUP BY g ORDER BY g;
SELECT smart.pushed('EXECUTE by_value(5, 6)');
EXECUTE by_value(3900, 1);
EXECUTE by_value(5000, 1);
PREPARE by_key(int) AS SELECT count(*), sum(i4), avg(n) FROM t WHERE k < $1;
EXPLAIN (COSTS OFF) EXECUTE by_key(1500);
EXECUTE by_key(1500);
EXECUTE by_key(4000);
EXECUTE by_key(-1);
RESET plan_cache_mode;
-- pruned while it runs, batched and one by one
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT x, (SELECT avg(n) FROM t WHERE k = x) FROM generate_series(1, 4100, 100) x',
	'SELECT x, (SELECT sum(i4) FROM t WHERE k BETWEEN x AND x + 1200 HAVING count(*) > 5) FROM generate_series(1, 4100, 500) x',
	'SELECT x, s.* FROM generate_series(1, 4100, 500) x LEFT JOIN LATERAL (SELECT g, avg(n), stddev(i4) FROM t WHERE k > x GROUP BY g) s ON true']) q;
CREATE FUNCTION smart.explained(query text) RETURNS SETOF text LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(line, 'SubPlan .*', 'SubPlan');  -- 19 names it
	END LOOP;
END $$;
SELECT * FROM smart.explained('SELECT x, (SELECT avg(n) FROM t WHERE i4 > x) FROM generate_series(1, 4100, 500) x');
SET shuttle.enable_batched_join = off;
SELECT smart.check('SELECT x, (SELECT avg(n) FROM t WHERE k = x) FROM generate_series(1, 4100, 100) x');
RESET shuttle.enable_batched_join;
-- numbers without digits
UPDATE node2.t SET n = 'NaN' WHERE k = 1500;
UPDATE here.t SET n = 'NaN' WHERE k = 1500;
UPDATE node1.t SET n = CASE WHEN k = 8 THEN 'Infinity'::numeric ELSE '-Infinity' END WHERE k IN (8, 9);
UPDATE here.t SET n = CASE WHEN k = 8 THEN 'Infinity'::numeric ELSE '-Infinity' END WHERE k IN (8, 9);
SELECT smart.check('SELECT g, sum(n), avg(n), stddev(n), var_pop(n) FROM t GROUP BY g'), smart.check('SELECT sum(n), avg(n), stddev(n) FROM t'),
	smart.check('SELECT k, var_samp(n), var_pop(n) FROM (SELECT k / 10000 * 0 + k % 2 AS k, n FROM t WHERE k IN (8, 9)) s GROUP BY k');
-- what the session wrote and has not committed is seen
BEGIN;
UPDATE dist.t SET i4 = i4 + 1000000 WHERE k IN (1, 3500);
SELECT sum(i4) FROM t;
ROLLBACK;
SELECT sum(i4) FROM t;
-- one node fails in the middle; the session goes on
\set VERBOSITY terse
SELECT sum(1 / (k - 2500)) FROM t;
SELECT g, sum(1 / (k - 3999)) FROM t GROUP BY g;
ALTER TABLE node4.t RENAME TO gone;
SELECT g, avg(n) FROM t GROUP BY g;
ALTER TABLE node4.gone RENAME TO t;
SELECT smart.check(q) FROM smart.queries LIMIT 1;
