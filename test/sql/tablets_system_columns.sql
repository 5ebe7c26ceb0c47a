-- xmin, xmax, cmin and cmax of rows come from their node. So xmin says if a row was changed, as
-- applications use it that lock nothing.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE t (id int PRIMARY KEY, v text, g int);
CREATE TABLE u (id int PRIMARY KEY, w int);
INSERT INTO t SELECT i, 'v' || i, i % 3 FROM generate_series(1, 20) AS i;
INSERT INTO u SELECT i, i FROM generate_series(1, 20) AS i;
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{t.id, u.id}');
RESET client_min_messages;
ANALYZE t, u;

-- a token, in conditions, prepared statements and functions
SELECT xmin AS token FROM t WHERE id = 1 \gset
UPDATE t SET v = 'first' WHERE id = 1 AND xmin = :'token';
UPDATE t SET v = 'second' WHERE id = 1 AND xmin = :'token';
DELETE FROM t WHERE id = 1 AND xmin = :'token';
DELETE FROM t WHERE id = 1 AND (id, xmin::text) = (1, :'token');
UPDATE t SET v = 'third' FROM u WHERE u.id = t.id AND u.w = 1 AND t.xmin = :'token';
UPDATE t SET v = 'fourth' WHERE id = 1 AND xmin = '0';
SELECT * FROM t WHERE id = 1 AND xmin = :'token';
UPDATE t SET v = 'fifth' WHERE id = 1 AND xmin <> :'token' RETURNING v, xmin AS token, xmin <> :'token' AS is_new \gset
\echo :v :is_new
UPDATE t SET v = 'sixth' WHERE id = 1 AND xmin = :'token' RETURNING v;
SELECT xmin AS token FROM t WHERE id = 1 \gset
PREPARE change(int, xid) AS UPDATE t SET v = v || '.' WHERE id = $1 AND xmin = $2 RETURNING v;
EXECUTE change(1, :'token');
EXECUTE change(1, :'token');
CREATE FUNCTION change(key int, token xid) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET v = v || '!' WHERE id = key AND xmin = token;
	RETURN FOUND;
END $$;
SELECT xmin AS token FROM t WHERE id = 1 \gset
SELECT change(1, :'token');
SELECT change(1, :'token');
SELECT v FROM t WHERE id = 1;

-- with other system columns, rows, joins, groups, limits and windows
SELECT count(*), count(*) FILTER (WHERE xmin = '0') AS zero FROM t;
SELECT id, xmin <> '0' AS x, ctid IS NOT NULL AS c, tableoid <> 0 AS o, t FROM t WHERE id < 4 ORDER BY id;
SELECT t.id, t.xmin <> '0' AS t, u.xmin <> '0' AS u, u.ctid IS NULL AS c FROM t LEFT JOIN u ON u.id = t.id + 18 WHERE t.id < 4 ORDER BY 1;
SELECT t.id, t.xmin <> '0' AS t, u.xmin <> '0' AS u FROM t JOIN u USING (id) ORDER BY 1 LIMIT 2;
SELECT xmin <> '0' AS x, id FROM t LIMIT 1 OFFSET 19;
SELECT g, min(xmin::text::bigint) > 0 AS x, count(*) FROM t GROUP BY g HAVING max(xmin::text::bigint) > 0 ORDER BY g;
SELECT xmin <> '0' AS x, sum(1) FROM t GROUP BY 1;
SELECT sum(n) FROM (SELECT xmin, count(*) AS n FROM t GROUP BY xmin) AS x;
SELECT id, x <> '0' AS x FROM (SELECT id, xmin AS x, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t) AS s WHERE n = 1 ORDER BY 1;
SET shuttle.debug_force_batched_join = on;
SELECT u.id, t.xmin <> '0' AS t FROM u JOIN t ON t.id = u.w WHERE u.id < 4 ORDER BY 1;
SELECT count(*) FROM u WHERE EXISTS (SELECT FROM t WHERE t.id = u.w AND t.xmin <> '0');
RESET shuttle.debug_force_batched_join;

-- commands of a transaction, and its locks
BEGIN;
SELECT id FROM t WHERE id = 2 FOR UPDATE;
SELECT xmax <> '0' AS locked FROM t WHERE id = 2;
UPDATE t SET v = 'a' WHERE id = 2 RETURNING cmin = cmax AS same;
SELECT cmin AS first FROM t WHERE id = 2 \gset
UPDATE t SET v = 'b' WHERE id = 2;
SELECT cmin::text::int > :first AS later FROM t WHERE id = 2;
COMMIT;

-- RETURNING
INSERT INTO t SELECT i, 'new', 1 FROM generate_series(101, 104) AS i RETURNING id, xmin <> '0' AS x, xmax, ctid IS NULL AS c;
INSERT INTO t VALUES (105, 'new', 1) RETURNING xmin <> '0' AS x, xmax;
INSERT INTO t VALUES (105, 'new', 1), (106, 'new', 1) ON CONFLICT (id) DO UPDATE SET v = 'again' RETURNING id, v, xmin <> '0' AS x, xmax <> '0' AS updated;
UPDATE t SET v = 'changed' WHERE id > 102 RETURNING id, xmin <> '0' AS x;
UPDATE t SET v = 'joined' FROM u WHERE u.w = t.id - 100 RETURNING t.id, t.xmin <> '0' AS t, u.xmin <> '0' AS u;
UPDATE t SET id = id + 100 WHERE id > 100 RETURNING id, xmin <> '0' AS x;
DELETE FROM t WHERE id > 200 RETURNING id, xmin <> '0' AS x, xmax <> '0' AS deleted;
INSERT INTO t VALUES (1, 'new', 1) ON CONFLICT (id) DO UPDATE SET v = 'again' WHERE t.xmin = '1';
EXPLAIN (VERBOSE, COSTS OFF) UPDATE t SET v = 'x' WHERE id = 1 AND xmin = '7' RETURNING xmin;
SELECT shuttle.local_tables('{t, u}');
DROP TABLE t, u;
DROP SCHEMA shop CASCADE;
