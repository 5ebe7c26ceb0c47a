-- With row_number() <= n each node returns only its own first n rows of each partition
-- of the window; the same for rank() and dense_rank(). Answers are those of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, h smallint, n numeric, t text COLLATE "C", u text, f float8, d date, l int8);
INSERT INTO here.t SELECT i % 400, nullif(i % 7, 0), i % 3, i * 7919 % 4001 / 7.0, 't' || i % 13, CASE WHEN i % 11 > 0 THEN 'ä' || i % 5 END,
	CASE WHEN i % 5 > 0 THEN i / 3.0 END, date '2020-01-01' + i % 100, i FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{0,101,201,400,500}');  -- the fourth node is empty
SET search_path = dist;
SELECT line AS asked FROM smart.asked('SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n DESC, l) AS rn FROM t WHERE h < 2) s WHERE rn <= 2') line WHERE line ~ 'Merge Append|Foreign Scan|Remote SQL';
SELECT q, a.shipped LIKE '%OVER%' AS numbered, a.returned, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn = 1',
	'SELECT l FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn < 3',
	'SELECT g, l FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE 2 >= rn',
	'SELECT * FROM (SELECT g, h, l, row_number() OVER (PARTITION BY h, g ORDER BY n DESC, l) AS rn FROM t WHERE d > ''2020-03-01'') s WHERE rn <= 1 AND h > 0',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY f DESC, l) AS rn FROM t) s WHERE rn <= 3',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY f DESC NULLS LAST, l) AS rn FROM t) s WHERE rn <= 3',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY f NULLS FIRST, l DESC) AS rn FROM t) s WHERE rn <= 3',
	'SELECT * FROM (SELECT g, h, rank() OVER (PARTITION BY g ORDER BY h) AS r FROM t) s WHERE r <= 1',
	'SELECT * FROM (SELECT g, k, rank() OVER (PARTITION BY g ORDER BY k DESC) AS r FROM t) s WHERE r <= 3',
	'SELECT * FROM (SELECT g, k, dense_rank() OVER (PARTITION BY g ORDER BY k) AS r FROM t) s WHERE r <= 2',
	'SELECT * FROM (SELECT t, u, dense_rank() OVER (ORDER BY t DESC, u) AS r FROM t) s WHERE r < 3',
	'SELECT * FROM (SELECT g, u, l, row_number() OVER (PARTITION BY u ORDER BY u, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, rank() OVER w, dense_rank() OVER w, row_number() OVER w AS rn FROM t WINDOW w AS (PARTITION BY g ORDER BY k, l)) s WHERE rn <= 3',
	'SELECT * FROM (SELECT g, k, rank() OVER w AS r, dense_rank() OVER w AS d FROM t WINDOW w AS (PARTITION BY g ORDER BY k)) s WHERE r <= 30 AND d <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE g = 3) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g + 1 AS x, upper(t) AS y, row_number() OVER (PARTITION BY g ORDER BY n, l) * 10 AS z, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT count(*), count(DISTINCT p) FROM (SELECT p, row_number() OVER (PARTITION BY p.g ORDER BY p.n, p.l) AS rn FROM t p) s WHERE rn <= 2',
	'SELECT g, sum(l) FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 5 GROUP BY g',
	'SELECT DISTINCT g FROM (SELECT DISTINCT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 5',
	'SELECT * FROM (SELECT g, l, row_number() OVER (ORDER BY n, l) AS rn FROM (SELECT * FROM t WHERE g > 2) x) s WHERE rn <= 2 AND l > 2000',
	'SELECT * FROM (SELECT s.*, rank() OVER (ORDER BY l) AS r FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 3) x WHERE r <= 4',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE d < now() - interval ''1 day'') s WHERE rn <= 2',
	'WITH s AS (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) SELECT * FROM s WHERE rn <= 2',
	'SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY g) AS rn FROM t) s WHERE rn <= 7',
	'SELECT count(*) FROM (SELECT rank() OVER () AS rn FROM t) s WHERE rn <= 1']) q, smart.sent(q, 'OVER \(') a;
-- no rows; more rows than there are
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY n) AS rn FROM t) s WHERE rn < 1',
	'SELECT * FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY n) AS rn FROM t) s WHERE rn <= -7',
	'SELECT * FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY n) AS rn FROM t) s WHERE rn <= NULL',
	'SELECT * FROM (SELECT l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 9223372036854775807',
	'SELECT * FROM (SELECT l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 300',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY n, l) AS rn FROM t) s WHERE rn <= 3::int2',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY n, l) AS rn FROM t) s WHERE rn BETWEEN 3 AND 5',
	'SELECT * FROM (SELECT l, row_number() OVER (ORDER BY n, l) AS rn FROM t) s WHERE rn IN (1, 3)']) q;
-- nodes return all rows: of other functions and windows; groups and series below; conditions,
-- keys and orders of this server; conditions from below, and on something else
SELECT q, a.shipped LIKE '%OVER%' AS numbered, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT g, l, row_number() OVER w AS rn, sum(l) OVER w AS s FROM t WINDOW w AS (PARTITION BY g ORDER BY n, l)) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER w AS rn, lead(l) OVER w AS s FROM t WINDOW w AS (PARTITION BY g ORDER BY n, l)) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, count(*) OVER w AS rn FROM t WINDOW w AS (PARTITION BY g ORDER BY n, l)) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn, row_number() OVER (ORDER BY l) AS s FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t ORDER BY row_number() OVER (ORDER BY l)) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, row_number() OVER (ORDER BY g) AS rn FROM t GROUP BY g) s WHERE rn <= 2',
	'SELECT * FROM (SELECT l, generate_series(1, 2) AS x, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE to_char(l, ''999'') > '' 3'') s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE EXISTS (SELECT FROM (VALUES (1), (2)) x (a) WHERE a <> t.g OFFSET 0)) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY u COLLATE "POSIX", l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g % 2 ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, t, rank() OVER (PARTITION BY g ORDER BY t USING ~<~) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn >= 60',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2 OR l = 7',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t LIMIT 100000) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= (SELECT 2)',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= l']) q, smart.sent(q, 'OVER \(') a;
-- functions with effects are called as often as over plain tables
CREATE SEQUENCE public.calls;
CREATE SEQUENCE public.plain_calls;
SELECT smart.sent('SELECT * FROM (SELECT nextval(''public.calls'') AS x, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2', 'OVER');
SELECT count(*) FROM (SELECT nextval('public.plain_calls') AS x, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM here.t) s WHERE rn <= 2;
SELECT c.last_value = p.last_value AS same FROM public.calls c, public.plain_calls p;
-- statements that are prepared
SET plan_cache_mode = force_generic_plan;
PREPARE first(int) AS SELECT l FROM (SELECT *, row_number() OVER (ORDER BY n, l) AS rn FROM t WHERE h < $1) s WHERE rn <= $1 ORDER BY 1;
PREPARE below(bigint, smallint) AS SELECT g, k FROM (SELECT *, dense_rank() OVER (PARTITION BY g ORDER BY k) AS rn FROM t WHERE h = $2) s WHERE $1 > rn ORDER BY 1, 2;
SELECT * FROM smart.sent('EXECUTE first(1)', 'OVER \('), smart.sent('EXECUTE below(2, 1::int2)', 'OVER \(') b;
EXECUTE first(2);
EXECUTE first(0);
EXECUTE first(NULL);
EXECUTE below(2, 1);
SET plan_cache_mode = force_custom_plan;
EXECUTE first(2);
EXECUTE below(2, 1);
SELECT * FROM smart.sent('EXECUTE first(1)', 'OVER \('), smart.sent('EXECUTE below(2, 1::int2)', 'OVER \(') b;
RESET plan_cache_mode;
-- cursors in both directions; rescans; the first rows of each outer row
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT l FROM (SELECT *, row_number() OVER (ORDER BY n, l) AS rn FROM t) s WHERE rn <= 4;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
COMMIT;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT x, s.* FROM generate_series(50, 350, 100) x, LATERAL (SELECT * FROM (SELECT k, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE k > x) y WHERE rn <= 2) s',
	'SELECT x, s.* FROM generate_series(50, 350, 100) x, LATERAL (SELECT * FROM (SELECT k, l, rank() OVER (ORDER BY h, l) AS rn FROM t WHERE k = x) y WHERE rn <= 3) s',
	'SELECT x, s.* FROM generate_series(1, 4) x, LATERAL (SELECT * FROM (SELECT k, l, rank() OVER (ORDER BY h, l) AS rn FROM t WHERE g = x) y WHERE rn <= x) s',
	'SELECT x, (SELECT sum(l) FROM (SELECT l, row_number() OVER (ORDER BY n, l) AS rn FROM t WHERE k > x) y WHERE rn <= 3) FROM generate_series(50, 350, 100) x',
	'SELECT s.l, t.n FROM (SELECT l, k, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s JOIN t ON t.k = s.k AND t.l = s.l WHERE rn <= 2',
	'SELECT l FROM t WHERE l IN (SELECT l FROM (SELECT l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2)']) q;
-- a partition of here among them
CREATE TABLE dist.t5 PARTITION OF dist.t FOR VALUES FROM (500) TO (600);
INSERT INTO dist.t SELECT 500 + i % 50, i % 9, 1, i, 't', 'u', i, '2020-01-01', 9000 + i FROM generate_series(1, 300) i;
INSERT INTO here.t SELECT * FROM dist.t5;
ANALYZE dist.t5;
SELECT q, a.shipped LIKE '%OVER%' AS numbered, a.returned, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2',
	'SELECT * FROM (SELECT k, l, rank() OVER (PARTITION BY k ORDER BY n, l) AS rn FROM t WHERE k > 380) s WHERE rn <= 1']) q, smart.sent(q, 'OVER \(') a;
DROP TABLE dist.t5;
DELETE FROM here.t WHERE k >= 500;
-- foreign tables alone, and in a UNION ALL
SELECT q, a.* FROM unnest(ARRAY[
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t2) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM (SELECT * FROM t1 UNION ALL SELECT * FROM t3) u) s WHERE rn <= 2',
	'SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM (SELECT g, n, l FROM t1 UNION ALL SELECT 1, n, l FROM t3) u) s WHERE rn <= 2']) q, smart.sent(q, 'OVER \(') a;
-- joins on nodes; columns that are equal; outer joins; joins that are not
CREATE TABLE here.u (k int, m int, w text COLLATE "C");
INSERT INTO here.u SELECT i, i * 31 % 97, 'w' || i % 5 FROM generate_series(0, 399) i;
CALL smart.distribute('u', '{0,101,201,400,500}');
SET enable_partitionwise_join = on;
SELECT q, a.shipped LIKE '%OVER%' AS numbered, a.returned, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT t.k, l, m, row_number() OVER (PARTITION BY w ORDER BY m, l) AS rn FROM t JOIN u ON u.k = t.k) s WHERE rn <= 2',
	'SELECT * FROM (SELECT u.k, m, row_number() OVER (PARTITION BY u.k ORDER BY n, l) AS rn FROM t JOIN u ON u.k = t.k WHERE w = ''w3'' AND u.k < 30) s WHERE rn <= 1',
	'SELECT * FROM (SELECT t.k, m, rank() OVER (PARTITION BY t.g ORDER BY m DESC NULLS LAST) AS r FROM t LEFT JOIN u ON u.k = t.k AND m > 50) s WHERE r <= 1',
	'SELECT * FROM (SELECT l, m, row_number() OVER (PARTITION BY w ORDER BY m, l) AS rn FROM t JOIN u ON u.m = t.k) s WHERE rn <= 2']) q, smart.sent(q, 'OVER \(') a;
-- what nodes join, or how far they are read, differs
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT count(*) FROM (SELECT row_number() OVER () AS rn FROM t) s WHERE rn <= 7',
	'SELECT * FROM (SELECT l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t WHERE EXISTS (SELECT FROM u WHERE u.k = t.k AND m > 50)) s WHERE rn <= 2']) q;
RESET enable_partitionwise_join;
-- writes of the rows that are found
BEGIN;
WITH s AS (SELECT k, l FROM (SELECT k, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) x WHERE rn > 0 AND rn <= 1)
	UPDATE t SET t = 'first' FROM s WHERE t.k = s.k AND t.l = s.l RETURNING t.g, t.l;
DELETE FROM t USING (SELECT k, l, rank() OVER (ORDER BY l DESC) AS r FROM t) s WHERE t.k = s.k AND t.l = s.l AND r <= 2 RETURNING t.l;
ROLLBACK;
SELECT * FROM (SELECT l, row_number() OVER (ORDER BY l) AS rn FROM (SELECT l FROM t WHERE k = 7 FOR UPDATE) x) s WHERE rn <= 2;
-- types with numbers of objects, domains and users' types
CREATE DOMAIN public.small AS int;
CREATE TYPE public.mood AS ENUM ('sad', 'glad');
CREATE TABLE here.o (k int, r regclass, a regclass[], s public.small, e public.mood);
INSERT INTO here.o SELECT i, CASE WHEN i % 2 = 0 THEN 'here.t' ELSE 'here.u' END::regclass, ARRAY['here.t'::regclass], i % 3, 'glad' FROM generate_series(0, 399) i;
CALL smart.distribute('o', '{0,101,201,400,500}');
SELECT q, a.shipped LIKE '%OVER%' AS numbered, smart.check(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT k, row_number() OVER (PARTITION BY r ORDER BY k) AS rn FROM o) s WHERE rn <= 2',
	'SELECT * FROM (SELECT k, row_number() OVER (PARTITION BY a ORDER BY k) AS rn FROM o) s WHERE rn <= 2',
	'SELECT * FROM (SELECT k, row_number() OVER (PARTITION BY s ORDER BY k) AS rn FROM o) s WHERE rn <= 2',
	'SELECT * FROM (SELECT k, row_number() OVER (PARTITION BY e ORDER BY k) AS rn FROM o) s WHERE rn <= 2']) q, smart.sent(q, 'OVER \(') a;
-- switched off
SET shuttle.enable_window_limits = off;
SELECT * FROM smart.sent('SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM t) s WHERE rn <= 2', 'OVER \(');
RESET shuttle.enable_window_limits;
-- stock servers
SELECT format('CREATE SERVER window_guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
	split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database()) AS statement \gset
:statement;
CREATE USER MAPPING FOR CURRENT_USER SERVER window_guest;
CREATE FOREIGN TABLE dist.alone (k int, g int, n numeric, l int8) SERVER window_guest OPTIONS (schema_name 'here', table_name 't');
CREATE VIEW here.alone AS SELECT k, g, n, l FROM here.t;
ANALYZE dist.alone;
SELECT line AS asked FROM smart.asked('SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM alone) s WHERE rn <= 2') line WHERE line ~ 'Merge Append|Foreign Scan|Remote SQL';
SELECT smart.check('SELECT * FROM (SELECT g, l, row_number() OVER (PARTITION BY g ORDER BY n, l) AS rn FROM alone) s WHERE rn <= 2');
SELECT smart.check('SELECT x, s.* FROM generate_series(50, 350, 100) x, LATERAL (SELECT * FROM (SELECT k, l, rank() OVER (ORDER BY g, l) AS rn FROM alone WHERE k = x) y WHERE rn <= 3) s');
DROP SERVER window_guest CASCADE;
DROP SEQUENCE public.calls, public.plain_calls;
