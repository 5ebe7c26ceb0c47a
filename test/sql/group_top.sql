-- Of GROUP BY the partition key with ORDER BY ... LIMIT n each node sends its first n
-- groups, in order. Where a node may sort otherwise, or more groups may be wanted than
-- the LIMIT says, they come as without.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric, t text COLLATE "C", f float8, d date);
INSERT INTO here.t SELECT i % 400, nullif(i % 7, 0), i * 7919 % 4001 / 7.0, 't' || i % 13,
	CASE WHEN i % 5 > 0 THEN i / 3.0 END, date '2020-01-01' + i % 100 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{0,101,201,400,500}');  -- the fourth node is empty
SET search_path = dist;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT 3;
SELECT q, a.*, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT 3',
	'SELECT k, sum(n) AS s FROM t GROUP BY k ORDER BY s, k LIMIT 3 OFFSET 4',
	'SELECT k FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT 3',
	'SELECT g, count(*) FROM t GROUP BY k, g ORDER BY count(*), g NULLS FIRST, k LIMIT 4',
	'SELECT k, g, max(n) FROM t GROUP BY g, k ORDER BY g DESC NULLS LAST, max(n), k LIMIT 4',
	'SELECT k, avg(f) FROM t WHERE g = 3 GROUP BY k ORDER BY avg(f) NULLS FIRST, k LIMIT 4',
	'SELECT k, max(t) FROM t GROUP BY k ORDER BY max(t) DESC, k DESC LIMIT 4',
	'SELECT k, count(DISTINCT g), min(d) FROM t GROUP BY k ORDER BY 2 DESC, 3, 1 LIMIT 4',
	'SELECT k, sum(n) FROM t GROUP BY k HAVING sum(n) < 2000 AND count(*) > 5 ORDER BY 2 DESC, 1 LIMIT 4',
	'SELECT k, sum(n) * 2 + k FROM t GROUP BY k ORDER BY sum(n) * 2 + k, k LIMIT 4',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY k + 0 DESC LIMIT 4',
	'SELECT k, sum(n) FROM t WHERE k > 190 AND k < 205 GROUP BY k ORDER BY 2, 1 LIMIT 40',
	'SELECT k, sum(n) FROM t WHERE k = 7 GROUP BY k ORDER BY 2 LIMIT 4',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2, 1 LIMIT 0',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2, 1 LIMIT 3 OFFSET 500',
	'SELECT k, to_char(sum(n), ''FM9990.0'') FROM t GROUP BY k ORDER BY sum(n), k LIMIT 3',
	'SELECT * FROM (SELECT k, sum(n) AS s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 20) q LIMIT 2 OFFSET 1',
	'SELECT count(*), sum(s) FROM (SELECT k, sum(n) AS s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 9) q']) q, smart.sent(q, 'ORDER BY') a;
-- not shipped: no number of rows; ties; a condition, an order or a column of this server; windows and DISTINCT of groups; groups of several nodes
SELECT q, a.shipped, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2, 1 LIMIT NULL',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2, 1 LIMIT (SELECT 3)',
	'SELECT k % 3, count(*) FROM t GROUP BY k ORDER BY 2, 1 FETCH FIRST 3 ROWS WITH TIES',
	'SELECT k, sum(n) FROM t GROUP BY k HAVING to_char(sum(n), ''FM9990'') > ''2'' ORDER BY 2, 1 LIMIT 3',
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY to_char(sum(n), ''FM9990''), 1 LIMIT 3',
	'SELECT k, max(t) FROM t GROUP BY k ORDER BY max(t) COLLATE "POSIX" DESC, k LIMIT 3',
	'SELECT k, max(t COLLATE "POSIX") FROM t GROUP BY k ORDER BY 2 DESC, k LIMIT 3',
	'SELECT k, rank() OVER (ORDER BY sum(n)) FROM t GROUP BY k ORDER BY 2, 1 LIMIT 3',
	'SELECT DISTINCT k % 10, count(*) FROM t GROUP BY k ORDER BY 1, 2 LIMIT 3',
	'SELECT k, generate_series(1, 2) FROM t GROUP BY k ORDER BY k DESC, 2 LIMIT 3',
	'SELECT k % 10, sum(n) FROM t GROUP BY k % 10 ORDER BY 2 LIMIT 3']) q, smart.sent(q, 'ORDER BY') a;
-- whatever each group has, a volatile order is made here
SELECT shipped, returned FROM smart.sent('SELECT k, sum(n) FROM t GROUP BY k ORDER BY random() LIMIT 3', 'ORDER BY');
-- statements that are prepared, with numbers of rows that come later
SET plan_cache_mode = force_generic_plan;
PREPARE top(int, bigint) AS SELECT k, sum(n) FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT $1 OFFSET $2;
SELECT * FROM smart.sent('EXECUTE top(1, 0)', 'ORDER BY'), smart.sent('EXECUTE top(2, 3)', 'ORDER BY') b;
EXECUTE top(2, 3);
EXECUTE top(0, 0);
EXECUTE top(1, NULL);
SELECT returned FROM smart.sent('EXECUTE top(NULL, 0)', 'ORDER BY');
PREPARE part(int, int) AS SELECT k, sum(n) FROM t WHERE k BETWEEN $1 AND $1 + 2 GROUP BY k ORDER BY 2, 1 LIMIT $2;
SELECT * FROM smart.sent('EXECUTE part(200, 2)', 'ORDER BY');
EXECUTE part(200, 2);
EXECUTE part(1000, 2);
RESET plan_cache_mode;
-- cursors in both directions, rescans
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, count(*) FROM t GROUP BY k ORDER BY count(*), k LIMIT 5;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
COMMIT;
SELECT smart.check('SELECT x, s.* FROM generate_series(50, 350, 100) x, LATERAL (SELECT k, sum(n) FROM t WHERE k > x GROUP BY k ORDER BY 2, k LIMIT 2) s');
SELECT smart.check('SELECT x, (SELECT sum(n) FROM t WHERE k > x GROUP BY k ORDER BY 1 LIMIT 1) FROM generate_series(50, 350, 100) x');
-- partitions of here among them, which are sorted here; and none of a node's
CREATE TABLE dist.t5 PARTITION OF dist.t FOR VALUES FROM (500) TO (600);
INSERT INTO dist.t SELECT 500 + i % 50, i, i, 't', i, '2020-01-01' FROM generate_series(1, 300) i;
INSERT INTO here.t SELECT * FROM dist.t5;
ANALYZE dist.t5;
SELECT q, a.*, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT 3',
	'SELECT k, count(*) FROM t GROUP BY k ORDER BY count(*), k LIMIT 60',
	'SELECT k, count(*) FROM t WHERE k > 480 GROUP BY k ORDER BY count(*), k LIMIT 3']) q, smart.sent(q, 'ORDER BY') a;
-- joins on nodes; columns that are equal
CREATE TABLE here.u (k int, m int, w text COLLATE "C");
INSERT INTO here.u SELECT i, i * 31 % 97, 'w' || i % 5 FROM generate_series(0, 399) i;
CALL smart.distribute('u', '{0,101,201,400,500}');
SET enable_partitionwise_join = on;
DROP TABLE dist.t5;
DELETE FROM here.t WHERE k >= 500;
SELECT q, a.*, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT t.k, sum(n * m), w FROM t JOIN u ON u.k = t.k GROUP BY t.k, u.k, w ORDER BY 2 DESC, w, u.k LIMIT 3',
	'SELECT u.k, sum(n), m FROM t JOIN u ON u.k = t.k WHERE w = ''w3'' GROUP BY u.k, m ORDER BY 2 DESC, m LIMIT 3',
	'SELECT t.k, m, count(*) FROM t LEFT JOIN u ON u.k = t.k AND m > 50 GROUP BY t.k, m ORDER BY count(*), m DESC, t.k LIMIT 3']) q, smart.sent(q, 'ORDER BY') a;
RESET enable_partitionwise_join;
-- switched off
SET shuttle.enable_storage_aggregate = off;
SELECT shipped FROM smart.sent('SELECT k, sum(n) FROM t GROUP BY k ORDER BY sum(n) DESC, k LIMIT 3', 'ORDER BY');
