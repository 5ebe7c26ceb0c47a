-- Prefetching for local index scans changes no row and no order: joins.
\getenv test PG_ABS_SRCDIR
\i :test/include/local.sql
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 1000 AS k, nullif(i % 9, 0) AS n, i % 4 AS v FROM generate_series(1, 300) i;
CREATE TABLE b AS SELECT i AS id, i % 500 AS k, i % 11 AS n, repeat('b', 300) AS pad FROM generate_series(1, 2000) i;
CREATE INDEX b_id ON b (id);
CREATE INDEX b_k ON b (k);
CREATE INDEX b_n_k ON b (n, k DESC);
CREATE TABLE c AS SELECT i AS id, (i * 31) % 2000 + 1 AS b_id, 'c' || i AS name FROM generate_series(1, 600) i;
CREATE UNIQUE INDEX c_id ON c (id) INCLUDE (name);
CREATE INDEX c_b_id ON c (b_id);
VACUUM ANALYZE a, b, c;
-- join types
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k');
SELECT test.same_local('SELECT a.id, b.id, b.pad FROM a LEFT JOIN b ON b.id = a.k');
SELECT test.same_local('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND b.n > 3)');
SELECT test.same_local('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.n <> a.v)');
SELECT test.same_local('SELECT a.id, b.id FROM a LEFT JOIN b ON b.id = a.k AND b.n > a.v');
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.n = a.n AND b.k = a.k');
-- several in a row, and one below another
SELECT test.same_local('SELECT a.id, b.id, c.name FROM a JOIN b ON b.k = a.k JOIN c ON c.id = b.n');
SELECT test.same_local('SELECT a.id, s.* FROM a LEFT JOIN (SELECT b.id, b.k, c.name FROM b JOIN c ON c.b_id = b.id) s ON s.k = a.k');
SELECT test.same_local('SELECT a.id, b.id, c.id FROM a JOIN b ON b.id = a.k JOIN c ON c.b_id = b.id AND c.id > a.v');
-- lateral, with nodes in between
SELECT test.same_local('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 2) s');
SELECT test.same_local('SELECT a.id, s.* FROM a, LATERAL (SELECT count(*), max(b.id) FROM b WHERE b.k = a.k) s');
SELECT test.same_local('SELECT a.id, s.* FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k UNION ALL SELECT id FROM c WHERE c.b_id = a.k) s');
-- index only, some of whose pages are not all visible
SELECT test.same_local('SELECT a.id, b.k FROM a JOIN b ON b.k = a.k');
UPDATE b SET n = n + 1 WHERE id % 50 = 0;
SELECT test.same_local('SELECT a.id, b.k FROM a JOIN b ON b.k = a.k');
SELECT test.same_local('SELECT a.id, c.name FROM a JOIN c ON c.id = a.k');
-- Memoize and Material in between
SET enable_memoize = on;
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.id = a.v');
RESET enable_memoize;
SET enable_memoize = off;
-- started again, stopped early
SELECT test.same_local('SELECT a.id, (SELECT count(*) FROM a AS x JOIN b ON b.id = x.k WHERE x.v = a.v) FROM a WHERE a.id < 20');
SELECT test.same_local('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM a AS x JOIN b ON b.id = x.k WHERE x.id > a.id LIMIT 3) s WHERE a.id < 30');
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k LIMIT 100');
SELECT test.same_local('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k OFFSET 200');
-- recursion, whose working table is the outer side
SELECT test.same_local('WITH RECURSIVE r AS (SELECT id, k, 1 AS depth FROM a UNION ALL
	SELECT b.id, b.n, depth + 1 FROM r JOIN b ON b.id = r.k WHERE depth < 4) SELECT * FROM r');
-- ordered by the outer side
SELECT test.same_local('SELECT a.id, b.id FROM (SELECT * FROM a ORDER BY k, id OFFSET 0) a JOIN b ON b.k = a.k');
-- written to
CREATE TABLE w AS SELECT * FROM a;
UPDATE w SET v = b.n FROM b WHERE b.id = w.k;
SELECT count(*) FROM w JOIN a USING (id) LEFT JOIN b ON b.id = a.k WHERE w.v IS DISTINCT FROM coalesce(b.n, a.v);
DELETE FROM w USING b WHERE b.id = w.k AND b.n > 5;
SELECT count(*) FROM w LEFT JOIN b ON b.id = w.k WHERE b.n > 5;
-- cursors
BEGIN;
DECLARE forth NO SCROLL CURSOR FOR SELECT a.id, b.id FROM a JOIN b ON b.id = a.k;
DECLARE again SCROLL CURSOR FOR SELECT a.id, b.id FROM a JOIN b ON b.id = a.k;
FETCH 3 FROM forth;
MOVE 100 FROM forth;
FETCH 2 FROM forth;
MOVE 100 FROM again;
FETCH 1 FROM again;
FETCH BACKWARD 2 FROM again;
FETCH FORWARD 2 FROM again;
COMMIT;
-- prepared, and switched off between executions
SET shuttle.debug_force_batched_join = on;
SET plan_cache_mode = force_generic_plan;
PREPARE p (int) AS SELECT count(*), sum(b.id) FROM a JOIN b ON b.id = a.k WHERE a.v <> $1;
EXECUTE p (1);
SET shuttle.enable_local_look_ahead = off;
EXECUTE p (1);
RESET shuttle.enable_local_look_ahead;
EXECUTE p (2);
-- a key of a prepared statement's parameter beside one of the loop
PREPARE q (int) AS SELECT count(*), sum(b.id) FROM a JOIN b ON b.n = a.n AND b.k > $1;
EXECUTE q (400);
EXECUTE q (NULL);
