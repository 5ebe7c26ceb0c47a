-- Aggregates over a UNION ALL whose branches have conditions, constants, casts and
-- joins of their own: nodes make the groups of each branch. Branches of other forms
-- are aggregated here.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric, i4 int, gone bool, txt text, v varchar(10));
INSERT INTO here.t SELECT i, nullif(i % 7, 0), CASE WHEN i % 9 > 0 THEN i / 7.0 END, i * 3 - 4000, CASE WHEN i % 8 > 0 THEN i % 10 = 0 END, 'x' || i % 11, 'v' || i % 5
FROM generate_series(1, 4000) i;
CREATE TABLE here.c (k int, name text);
INSERT INTO here.c SELECT i, 'c' || i % 5 FROM generate_series(1, 4000, 3) i;
CALL smart.distribute('t', '{1,1501,3001,4001,5001}');  -- the fourth node is empty
CALL smart.distribute('c', '{1,1501,3001,4001,5001}');
-- the same names here, as tables
DO $$ BEGIN
	FOR i IN 1..4 LOOP
		EXECUTE format('CREATE TABLE here.t%1$s AS SELECT * FROM node%1$s.t; CREATE TABLE here.c%1$s AS SELECT * FROM node%1$s.c', i);
	END LOOP;
END $$;
CREATE PROCEDURE smart.view(name text, query text) LANGUAGE plpgsql AS $$
BEGIN
	SET search_path = here, public;
	EXECUTE format('CREATE VIEW %I AS %s', name, query);
	SET search_path = dist, public;
	EXECUTE format('CREATE VIEW %I AS %s', name, query);
END $$;
CREATE TABLE smart.queries (o serial, q text);
INSERT INTO smart.queries (q) VALUES
	('SELECT g, count(*), sum(i4), avg(n), stddev(n), stddev(i4), max(k) FROM % GROUP BY g HAVING count(*) > 2'),
	('SELECT region, count(*), avg(n) FROM % GROUP BY region'),
	('SELECT count(*), sum(k), avg(n), min(txt) FROM %'),
	('SELECT region, g + 1, sum(n) FILTER (WHERE i4 > 0) FROM % WHERE i4 < 6000 GROUP BY 1, 2'),
	('SELECT count(*) FROM % WHERE region = ''a'''),
	('SELECT count(*), avg(n) FROM % WHERE k * 0 > 1'),
	('SELECT DISTINCT region, g FROM %'),
	('SELECT g, count(DISTINCT txt) FROM % GROUP BY g'),
	('SELECT region, array_length(array_agg(n), 1), string_agg(region, '''') FROM % WHERE g = 3 GROUP BY region'),
	('SELECT lower(region), count(k) FROM % GROUP BY 1 ORDER BY 1 LIMIT 2');
CREATE FUNCTION smart.check_view(name text) RETURNS TABLE (o int, "check" text) LANGUAGE sql AS
	$$ SELECT o, smart.check(replace(q, '%', name)) FROM smart.queries ORDER BY o $$;
SET search_path = dist;
-- conditions and constants
CALL smart.view('own', $$SELECT 'a' AS region, * FROM t1 WHERE NOT gone UNION ALL SELECT 'b', * FROM t2 WHERE NOT gone
	UNION ALL SELECT 'c', * FROM t3 WHERE gone IS NULL OR k > 3500 UNION ALL SELECT NULL, * FROM t4 WHERE NOT gone$$);
EXPLAIN (VERBOSE, COSTS OFF) SELECT region, count(*), avg(n) FROM own WHERE i4 > 0 GROUP BY region;
SELECT * FROM smart.check_view('own');
-- columns that are computed, and renamed; a branch without a condition beside them
CALL smart.view('computed', $$SELECT upper('a') AS region, k, g, n * 2 AS n, i4 - g AS i4, txt || v AS txt FROM t1 WHERE k > 10
	UNION ALL SELECT v, k + 1, CASE WHEN gone THEN g END, n, g, lower(txt) FROM t2 WHERE i4 > 10
	UNION ALL SELECT 'c', k, g, n, i4, txt FROM t3 UNION ALL SELECT NULL, NULL, 1, 2, 3, 'four' FROM t1 WHERE k < 100$$);
SELECT * FROM smart.check_view('computed');
-- columns that differ in type
CREATE FUNCTION smart.odd(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 2 = 1; END';
CREATE TABLE here.c_here AS SELECT * FROM here.t WHERE k < 50;
CREATE TABLE dist.c_here AS SELECT * FROM here.t WHERE k < 50;
CALL smart.view('types', $$SELECT 'a' AS region, k, g, n, i4, txt FROM t1 UNION ALL SELECT v, k::int8, g::int2, i4, n, v FROM t2 UNION ALL SELECT 'c', 5, g, k, i4, txt FROM t3 WHERE NOT gone$$);
EXPLAIN (VERBOSE, COSTS OFF) SELECT region, count(*), sum(g::bigint) FROM types GROUP BY region;
SELECT * FROM smart.check_view('types');
SELECT smart.check('SELECT max(x), count(*) FROM (SELECT v AS x FROM t1 WHERE NOT gone UNION ALL SELECT txt || ''z'' FROM t2 WHERE k % 2 = 0 UNION ALL SELECT txt || ''z'' FROM c_here UNION ALL SELECT v FROM t3 WHERE smart.odd(k)) s'),
	smart.check('SELECT x, count(*) FROM (SELECT txt AS x FROM t1 UNION ALL SELECT txt::char(5) FROM t2 WHERE NOT gone UNION ALL SELECT ''x1''::char(4) FROM t3) s GROUP BY x');
-- a type on the way to another one: its rounding is not left out
CALL smart.view('ways', $$(SELECT n AS x FROM t1 UNION ALL SELECT k::float4 FROM t2) UNION ALL SELECT k::float8 FROM t3$$);
SELECT smart.check('SELECT round(sum(x)::numeric, 3), count(*) FROM ways'), smart.check('SELECT DISTINCT x FROM ways WHERE x < 100');
-- joins that nodes make
CALL smart.view('joined', $$SELECT name AS region, t.* FROM t1 t JOIN c1 c USING (k) UNION ALL SELECT name, t.* FROM t2 t LEFT JOIN c2 c ON c.k = t.k AND c.name <> 'c1' WHERE t.k < 2500
	UNION ALL SELECT 'c', t.* FROM t3 t, c3 c WHERE t.k = c.k AND NOT gone$$);
EXPLAIN (VERBOSE, COSTS OFF) SELECT region, count(*) FROM joined GROUP BY region;
SELECT * FROM smart.check_view('joined');
-- branches of other forms, and those that a node cannot be asked for
CALL smart.view('others', $$SELECT 'a' AS region, * FROM t1 WHERE NOT gone UNION ALL SELECT * FROM (SELECT 'b', * FROM t2 ORDER BY k LIMIT 20) s
	UNION ALL SELECT 'c', * FROM t3 WHERE smart.odd(k) UNION ALL SELECT DISTINCT 'd', k, g, n, i4, gone, txt, v FROM t1 WHERE k < 5
	UNION ALL SELECT 'e', 1, 2, 3, 4, false, 'five', 'six' UNION ALL SELECT 'f', k, g, n, generate_series(1, 3), gone, txt, v FROM t1 WHERE k IN (7, 8)
	UNION ALL SELECT 'g', k, g, max(n), max(i4), gone, txt, v FROM t3 WHERE k < 3050 GROUP BY k, g, gone, txt, v
	UNION ALL SELECT 'h', k, g, n, i4 + (random() < 0)::int, gone, txt, v FROM t2 WHERE NOT gone UNION ALL SELECT 'i', * FROM t2 WHERE random() < 2
	UNION ALL SELECT 'j', k, g, n, i4, gone, txt, v FROM t2 WHERE NOT gone AND k IN (SELECT k FROM t1)
	UNION ALL SELECT 'k', x, x, x, x, true, 'x', 'y' FROM generate_series(1, 5) x WHERE x > 2$$);
SELECT * FROM smart.check_view('others') WHERE o <> 5;
-- a table of here
ALTER FOREIGN TABLE t3 RENAME TO far;
CREATE TABLE dist.t3 AS SELECT * FROM here.t3;
CALL smart.view('beside', $$SELECT 'a' AS region, * FROM t1 WHERE NOT gone UNION ALL SELECT 'b', * FROM t2 UNION ALL SELECT 'c', * FROM t3 WHERE NOT gone$$);
SELECT * FROM smart.check_view('beside');
DROP VIEW here.beside, dist.beside;
DROP TABLE dist.t3;
ALTER FOREIGN TABLE far RENAME TO t3;
-- views of views, and of partitioned tables
CALL smart.view('nested', $$SELECT * FROM own WHERE k > 100 UNION ALL SELECT 'n', k, g, n, i4, gone, txt, v FROM t WHERE k < 2000 AND NOT gone UNION ALL SELECT region || 'x', k, g, n, i4, gone, txt, v FROM own WHERE region < 'c'$$);
EXPLAIN (COSTS OFF) SELECT region, count(*) FROM nested GROUP BY region;
SELECT * FROM smart.check_view('nested');
-- conditions that stay above a branch
CALL smart.view('barred', $$SELECT 'a' AS region, * FROM t1 WHERE NOT gone UNION ALL SELECT 'b', * FROM t2 WHERE NOT gone$$);
SELECT smart.check('SELECT region, sum(n) FROM barred WHERE smart.odd(k) GROUP BY 1'), smart.check('SELECT region, sum(n) FROM barred WHERE random() < 2 GROUP BY 1'),
	smart.check('SELECT region, sum(n) FROM barred b WHERE EXISTS (SELECT FROM c1 WHERE c1.k = b.k) GROUP BY 1');
ALTER VIEW dist.barred SET (security_barrier);
SELECT smart.check('SELECT region, sum(n), count(*) FROM barred GROUP BY 1'), smart.check('SELECT region, sum(n) FROM barred WHERE n > 100 GROUP BY 1'),
	smart.check('SELECT region, sum(n) FROM barred WHERE k > 100 GROUP BY 1');
-- the whole row, and more
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT count(own), count(own.*) FROM own',
	'SELECT own::text, count(*) FROM own WHERE g = 1 AND k < 100 GROUP BY 1',
	'SELECT region || txt, max(n) - min(n) FROM own GROUP BY 1',
	'SELECT region, sum(c) OVER (ORDER BY region) FROM (SELECT region, count(*) AS c FROM own GROUP BY 1) s',
	'SELECT region, count(*) FROM own GROUP BY ROLLUP (region)',
	'SELECT region, count(*) FROM own GROUP BY region ORDER BY count(*) DESC, region LIMIT 1',
	'SELECT region COLLATE "C", count(*) FROM own GROUP BY 1',
	'SELECT max(region), min(region) FROM own',
	'SELECT g, count(*) FILTER (WHERE region = ''a''), count(*) FILTER (WHERE region = ''b''), sum(CASE WHEN region < ''c'' THEN n END) FROM own GROUP BY g',
	'SELECT region IS NULL, region = ''a'', count(*) FROM own GROUP BY 1, 2',
	'SELECT count(*) FROM own JOIN generate_series(1, 5) g USING (g)',
	'SELECT now() - now(), count(*) FILTER (WHERE now() > ''2020-01-01'') FROM own GROUP BY 1']) q;
-- outer references and rescans, in a branch and above
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT x, (SELECT avg(n) FROM own WHERE i4 > x) FROM generate_series(-4000, 6000, 1500) x',
	'SELECT x, s.* FROM generate_series(-4000, 6000, 1500) x LEFT JOIN LATERAL (SELECT region, count(*) FILTER (WHERE k > x), avg(n) FROM own WHERE i4 > x GROUP BY 1) s ON true',
	'SELECT x, s.* FROM generate_series(1, 4000, 900) x, LATERAL (SELECT g, count(*), sum(k - x) FROM (SELECT g, k FROM t1 WHERE k > x UNION ALL SELECT g + x, k FROM t2 WHERE k < x UNION ALL SELECT x, k FROM t3 WHERE NOT gone) u GROUP BY g) s',
	'SELECT x, (SELECT string_agg(g || '':'' || c, '','' ORDER BY g) FROM (SELECT g, count(*) AS c FROM (SELECT g FROM t1 WHERE k > x UNION ALL SELECT g FROM t2 WHERE k < x) u GROUP BY g) s) FROM generate_series(1, 4000, 900) x',
	'SELECT count(*), sum(k) FROM (SELECT k FROM t1 WHERE k > (SELECT min(k) + 50 FROM here.t) UNION ALL SELECT k FROM t2 WHERE k < (SELECT max(k) - 50 FROM here.t)) u',
	'SELECT g, count(*) FILTER (WHERE k > (SELECT avg(k) FROM here.t)) FROM own GROUP BY g',
	'WITH w AS (SELECT g, sum(n) AS n FROM own GROUP BY g) SELECT * FROM w WHERE n > (SELECT avg(n) FROM w)']) q;
-- parameters
SET plan_cache_mode = force_generic_plan;
PREPARE by_value(int, text) AS SELECT region, count(*), sum(k) FROM (SELECT 'a' AS region, k FROM t1 WHERE k > $1 UNION ALL SELECT $2, k FROM t2 WHERE k < $1 + 1000) s GROUP BY region ORDER BY region;
SELECT smart.pushed('EXECUTE by_value(5, ''x'')');
EXECUTE by_value(1000, 'b');
EXECUTE by_value(1400, 'a');
EXECUTE by_value(5000, NULL);
PREPARE by_region(text, int) AS SELECT region, count(*), avg(k) FROM own WHERE region = $1 AND $2 > 1 GROUP BY region;
EXECUTE by_region('a', 2);
EXECUTE by_region('b', 2);
EXECUTE by_region('b', 1);
PREPARE count_all(int) AS SELECT count(*), sum(k) FROM own WHERE $1 > 1;
EXPLAIN (COSTS OFF) EXECUTE count_all(2);
EXECUTE count_all(2);
EXECUTE count_all(1);
RESET plan_cache_mode;
-- row security
CREATE ROLE smart_reader;
GRANT USAGE ON SCHEMA dist TO smart_reader;
GRANT SELECT ON dist.t1, dist.t2 TO smart_reader;
DO $$ BEGIN FOR i IN 1..2 LOOP EXECUTE format('CREATE USER MAPPING FOR smart_reader SERVER smart%s OPTIONS (user %L, password_required ''false'')', i, current_user); END LOOP; END $$;
CREATE TABLE dist.mine (k int, owner name, n numeric);
INSERT INTO dist.mine VALUES (1, 'smart_reader', 10), (2, 'smart_reader', 20), (3, 'other', 30);
ALTER TABLE dist.mine ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON dist.mine USING (owner = current_user);
GRANT SELECT ON dist.mine TO smart_reader;
SET ROLE smart_reader;
SELECT r, count(*), sum(n) FROM (SELECT 1 AS r, n FROM t1 WHERE k < 20 UNION ALL SELECT 2, n FROM mine UNION ALL SELECT 3, n FROM mine WHERE k > 1) s GROUP BY r ORDER BY r;
RESET ROLE;
DROP TABLE dist.mine;
DROP OWNED BY smart_reader;
DROP ROLE smart_reader;
-- a branch is asked for its rows
SET shuttle.enable_storage_aggregate = off;
SELECT * FROM smart.check_view('own') LIMIT 3;
SELECT smart.check('SELECT region, count(*), sum(k) FROM types GROUP BY region');
RESET shuttle.enable_storage_aggregate;
-- a node fails
\set VERBOSITY terse
SELECT region, sum(1 / (k - 2501)) FROM own GROUP BY region;
SELECT * FROM smart.check_view('own') LIMIT 1;
