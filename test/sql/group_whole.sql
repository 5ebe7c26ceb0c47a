-- Where the partition key is grouped by, no group has rows of two nodes: each node
-- has any aggregate of its own, and HAVING, and nothing is combined here.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, t text COLLATE "C", n numeric);
INSERT INTO here.t SELECT i % 400, nullif(i % 7, 0), 't' || i % 13, i / 7.0 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{0,101,201,400,500}');  -- the fourth node is empty
SET search_path = dist;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, count(DISTINCT g), max(n) FROM t GROUP BY k HAVING count(*) > 3;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT k, count(DISTINCT g), max(n) FROM t GROUP BY k HAVING count(*) > 3',
	'SELECT k, count(DISTINCT g), count(DISTINCT t) FILTER (WHERE n > 100) FROM t GROUP BY k',
	'SELECT g, k, sum(n), avg(n), stddev(n), corr(g, n::float8) FROM t WHERE g > 1 GROUP BY k, g',
	'SELECT k, array_agg(n ORDER BY n), string_agg(t, '','' ORDER BY t, n) FROM t GROUP BY k',
	'SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t GROUP BY k',
	'SELECT k FROM t GROUP BY k HAVING sum(n) > 1000 ORDER BY k DESC LIMIT 5',
	'SELECT k, count(*) FROM t WHERE k < 150 GROUP BY k',
	'SELECT k, count(*) FROM t WHERE k IN (7, 150) GROUP BY k',
	'SELECT k + 1, count(DISTINCT g) + 1, max(n) / 2 FROM t GROUP BY k',
	'SELECT k * 2, count(*), count(*) > 2 FROM t GROUP BY k, g HAVING count(*) > 1 OR g IS NULL',
	'SELECT k, count(*), rank() OVER (ORDER BY sum(n)) FROM t GROUP BY k',
	'SELECT DISTINCT k, g FROM t',
	'SELECT DISTINCT k FROM t ORDER BY k DESC LIMIT 3',
	'SELECT count(*), max(c) FROM (SELECT k, count(DISTINCT g) c FROM t GROUP BY k) s',
	'SELECT x, s.* FROM generate_series(1, 500, 100) x, LATERAL (SELECT k, count(DISTINCT g) FROM t WHERE k > x AND k < x + 5 GROUP BY k) s',
	'SELECT k, count(*) FROM t GROUP BY k HAVING min(n) > (SELECT 10)',
	'SELECT k, sum(n) FROM t WHERE k * 0 > 1 GROUP BY k']) q;
-- not whole: an expression of the key, other columns (their different rows come), no
-- shippable aggregate
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT k % 10, count(DISTINCT g) FROM t GROUP BY k % 10',
	'SELECT g, count(DISTINCT k) FROM t GROUP BY g',
	'SELECT k, count(*) FROM t GROUP BY ROLLUP (k)',
	'SELECT k, count(*) FILTER (WHERE to_char(n, ''9'') <> ''x'') FROM t GROUP BY k']) q;
-- pruned at run time
SET plan_cache_mode = force_generic_plan;
PREPARE part(int) AS SELECT k, count(DISTINCT g) FROM t WHERE k BETWEEN $1 AND $1 + 2 GROUP BY k ORDER BY k;
EXECUTE part(200);
EXECUTE part(1000);
RESET plan_cache_mode;
-- two levels: the key of each has to be there; a local partition among them
CREATE TABLE dist.l (k int, g int, n int) PARTITION BY LIST (k);
CREATE TABLE dist.l1 PARTITION OF dist.l FOR VALUES IN (1, 2) PARTITION BY LIST (g);
CREATE TABLE dist.l3 PARTITION OF dist.l FOR VALUES IN (3);
CREATE TABLE dist.l13 PARTITION OF dist.l1 DEFAULT;
CREATE TABLE node1.l11 (k int, g int, n int);
CREATE TABLE node2.l12 (k int, g int, n int);
CREATE FOREIGN TABLE dist.l11 PARTITION OF dist.l1 FOR VALUES IN (1) SERVER smart1 OPTIONS (schema_name 'node1');
CREATE FOREIGN TABLE dist.l12 PARTITION OF dist.l1 FOR VALUES IN (2) SERVER smart2 OPTIONS (schema_name 'node2');
CREATE TABLE here.l (k int, g int, n int);
INSERT INTO here.l SELECT i % 3 + 1, i % 4 + 1, i FROM generate_series(1, 600) i;
INSERT INTO dist.l SELECT * FROM here.l;
ANALYZE dist.l;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT k, g, count(DISTINCT n), sum(n) FROM l GROUP BY k, g',
	'SELECT k, g, array_agg(n ORDER BY n DESC) FROM l GROUP BY k, g HAVING count(*) > 1',
	'SELECT k, sum(n) FROM l GROUP BY k',
	'SELECT k, count(DISTINCT n) FROM l GROUP BY k',
	'SELECT DISTINCT k, g FROM l',
	-- one group, with rows of here
	'SELECT k, sum(n) FROM l WHERE k = 1 GROUP BY k']) q;
