-- COALESCE and NULLIF are computed by nodes, in filters, groups, aggregates and UPDATE;
-- postgres_fdw is shown CASE, and plans have them as they were written.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TYPE here.pair AS (a int, b int);
CREATE TABLE here.t (k int, a int, b int, c numeric, s text, l text, p here.pair, f double precision);
INSERT INTO here.t SELECT i, nullif(i % 7, 0), nullif(i % 5, 0), nullif(i % 11, 0) / 3.0, nullif('s' || i % 6, 's0'), nullif('l' || i % 4, 'l0'),
	CASE i % 3 WHEN 1 THEN (NULL, NULL)::here.pair WHEN 2 THEN (i % 5, NULL)::here.pair END, nullif(i % 4, 0) * 0.5 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,4001,5001}');  -- the fourth node is empty
SET search_path = dist;
SELECT substring(line FROM 'SELECT.*') AS asked FROM smart.asked('SELECT coalesce(a, b, 0) AS g, sum(nullif(b, 3)) FROM t WHERE coalesce(s, l) > ''s2'' AND nullif(a, 2) < 5 GROUP BY 1 HAVING coalesce(sum(c), 0) > 1') line WHERE line ~ 'node1';
-- local filters, and groups, are shown as they were written
CREATE FUNCTION smart.local(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i; END';
SELECT line FROM smart.asked('SELECT k FROM t1 WHERE coalesce(smart.local(a), b) = 3 AND nullif(smart.local(a), 2) = 3') line;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT coalesce(a, 0), count(*) FROM t GROUP BY 1',
	'SELECT coalesce(a, b, -1) + 1, nullif(a, b), sum(coalesce(c, 0) * coalesce(a, 1)) FROM t GROUP BY coalesce(a, b, -1), nullif(a, b) ORDER BY 1, 2',
	'SELECT coalesce(s, l, ''none''), max(coalesce(l, s)), count(nullif(a, 3)), count(DISTINCT nullif(s, l)) FROM t GROUP BY 1 HAVING coalesce(sum(c), 0) > 10',
	'SELECT coalesce(sum(coalesce(c, nullif(b, 2)::numeric)), 0), coalesce(avg(a), min(b)) FROM t WHERE coalesce(a = b, false)',
	'SELECT sum(a) FILTER (WHERE coalesce(b, 0) > 1), count(*) FROM t WHERE coalesce(a, b) IS NULL',
	'SELECT coalesce(coalesce(coalesce(coalesce(coalesce(a, b), k), a), b), 1), count(*) FROM t GROUP BY 1',
	'SELECT sum(k / nullif(a, 2)) FROM t WHERE nullif(a, 2) > 0',
	'SELECT DISTINCT coalesce(a, b) FROM t',
	'SELECT count(p), count(coalesce(p, ROW(1, 2)::here.pair)), max((coalesce(p, ROW(7, 2)::here.pair)).a) FROM t WHERE coalesce(p, ROW(1, 2)::here.pair) IS NOT NULL',
	'SELECT k, coalesce(a, 0), count(*) FROM t WHERE k < 500 GROUP BY 1, 2 HAVING coalesce(a, 0) = 3',
	'SELECT y, sum(x) FROM (SELECT coalesce(s, ''-'') y, coalesce(b, 9) x FROM t) q GROUP BY y',
	'SELECT coalesce(s COLLATE "C", l), count(*) FROM t GROUP BY 1',
	'SELECT sum(coalesce(b, extract(year FROM now())::int - extract(year FROM now())::int)) FROM t',
	'SELECT count(*) FROM t WHERE coalesce(CASE WHEN a = 1 THEN NULL ELSE a END, CASE WHEN a IS NOT NULL THEN a ELSE b END) = 1',
	'SELECT CASE WHEN a IS NOT NULL THEN a ELSE 0 END, coalesce(a, 0), count(*) FROM t GROUP BY 1, 2',
	'SELECT coalesce(a, 0), nullif(b, 4), grouping(coalesce(a, 0)), count(*) FROM t GROUP BY ROLLUP (coalesce(a, 0), nullif(b, 4))',
	'SELECT sum(coalesce(a, 0)), sum(CASE WHEN a IS NOT NULL THEN a ELSE 0 END) FROM t',
	'SELECT k, sum(coalesce(a, 0)) FROM t WHERE k < 900 GROUP BY k HAVING sum(CASE WHEN a IS NOT NULL THEN a ELSE 0 END) > 1',
	'SELECT greatest(coalesce(a, 0), b), count(*) FROM t WHERE coalesce(f, 0) > 0.4 GROUP BY 1']) q;
-- each row's function is called once
CREATE SEQUENCE smart.calls;
SELECT count(*) FROM t WHERE coalesce(nextval('smart.calls'), a) > 0 AND coalesce(a, nextval('smart.calls')) IS NOT NULL AND k <= 20;
SELECT last_value FROM smart.calls;
-- parameters, also in generic plans
SET plan_cache_mode = force_generic_plan;
PREPARE filtered (int, text) AS SELECT count(*), sum(coalesce(a, $1)) FROM t WHERE coalesce(a, $1) = $1 AND coalesce(nullif(s, $2), 'x') = 'x';
EXECUTE filtered (3, 's1');
EXECUTE filtered (NULL, 's1');
EXECUTE filtered (2, NULL);
RESET plan_cache_mode;
SELECT count(*), sum(coalesce(a, 3)) FROM here.t WHERE coalesce(a, 3) = 3 AND coalesce(nullif(s, 's1'), 'x') = 'x';
SELECT count(*), sum(coalesce(a, 2)) FROM here.t WHERE coalesce(a, 2) = 2 AND coalesce(nullif(s, NULL), 'x') = 'x';
-- an UPDATE is shipped whole
EXPLAIN (VERBOSE, COSTS OFF) UPDATE t1 SET a = coalesce(a, 0) + 1, b = nullif(b, 3) WHERE coalesce(b, 3) = 3;
BEGIN;
UPDATE t SET a = coalesce(a, 0) + 1, b = nullif(b, 3), s = coalesce(s, l, 'none') WHERE coalesce(b, 3) = 3;
UPDATE here.t SET a = coalesce(a, 0) + 1, b = nullif(b, 3), s = coalesce(s, l, 'none') WHERE coalesce(b, 3) = 3;
SELECT count(*) FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM here.t) d;
SELECT count(*) FROM (SELECT * FROM here.t EXCEPT ALL SELECT * FROM t) d;
ROLLBACK;
