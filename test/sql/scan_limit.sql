-- Of ORDER BY ... LIMIT n each node sends its first n rows, in order; a LIMIT
-- alone asks as many nodes at once as it may need. What could drop rows above
-- keeps a LIMIT here.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, n numeric, t text COLLATE "C");
INSERT INTO here.t SELECT i, nullif(i % 7, 0), CASE WHEN i % 9 > 0 THEN i * 7919 % 4001 END, 't' || i * 7919 % 4001 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
SET search_path = dist;
SELECT q, a.*, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT k, n FROM t ORDER BY n DESC, k LIMIT 5',
	'SELECT k, n FROM t ORDER BY n NULLS FIRST, k LIMIT 5 OFFSET 20',
	'SELECT t, k FROM t WHERE g = 3 ORDER BY t LIMIT 7',
	'SELECT * FROM (SELECT k, n FROM t ORDER BY k DESC LIMIT 20) s LIMIT 5 OFFSET 2',
	'SELECT k, n FROM t ORDER BY k LIMIT 0',
	'SELECT k, n FROM t ORDER BY k LIMIT NULL',
	'SELECT k, n FROM t WHERE k > 3990 ORDER BY k LIMIT 20',
	'SELECT k, g FROM t ORDER BY g, k LIMIT 6000',
	'SELECT count(*) FROM (SELECT FROM t LIMIT 10) s',
	'SELECT count(*) FROM (SELECT FROM t LIMIT 2500) s',
	'SELECT count(*) FROM (SELECT FROM t OFFSET 10 LIMIT 10) s',
	'SELECT min(k), max(n) FROM t']) q, smart.sent(q, 'LIMIT') a;
-- not shipped: with ties, filters of this server, a LIMIT below a filter, what reads all rows
SELECT q, a.shipped, smart.in_order(q) FROM unnest(ARRAY[
	'SELECT g FROM t WHERE k < 3000 ORDER BY g FETCH FIRST 3 ROWS WITH TIES',
	'SELECT k FROM t WHERE to_char(k, ''FM9999'') <> ''x'' ORDER BY k LIMIT 3',
	'SELECT k FROM (SELECT k, n FROM t ORDER BY k LIMIT 50) s WHERE n > 2000 LIMIT 3',
	'SELECT g, count(*) FROM t GROUP BY g ORDER BY g LIMIT 3']) q, smart.sent(q, 'LIMIT') a;
-- an unlucky estimate: the first node has no such row, the others are read nonetheless
DELETE FROM node1.t WHERE g = 3;
SELECT count(*) FROM (SELECT FROM t WHERE g = 3 LIMIT 100) s;
-- parameters, cursors in both directions, rescans
SET plan_cache_mode = force_generic_plan;
PREPARE top(int, bigint) AS SELECT k, n FROM t ORDER BY k DESC LIMIT $1 OFFSET $2;
SELECT * FROM smart.sent('EXECUTE top(1, 0)', 'LIMIT'), smart.sent('EXECUTE top(2, 3)', 'LIMIT') b;
EXECUTE top(2, 3);
EXECUTE top(0, 0);
EXECUTE top(1, NULL);
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM t ORDER BY k LIMIT 5;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
FETCH ALL FROM c;
FETCH BACKWARD ALL FROM c;
COMMIT;
SELECT smart.check('SELECT x, s.k FROM generate_series(900, 3900, 1000) x, LATERAL (SELECT k FROM t WHERE k > x ORDER BY k LIMIT 2) s');
SELECT smart.check('SELECT x, (SELECT t FROM t WHERE t.k > x ORDER BY t LIMIT 1) FROM generate_series(1, 3999, 800) x');
-- rows are locked one by one
BEGIN;
SELECT k FROM dist.t1 WHERE g = 2 ORDER BY k LIMIT 1 FOR UPDATE;
COMMIT;
