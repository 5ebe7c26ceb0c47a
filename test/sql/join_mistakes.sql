-- trap 6: what others got wrong.  Two batches alive at once have a test of their
-- own, and so have the keys' images and LIMIT.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k, i % 3 + 1 AS v FROM generate_series(1, 40) i;
CREATE INDEX ON a (k, id);
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, (i * 7) % 10 AS n FROM generate_series(1, 50) i;
CREATE INDEX ON b (k);
CREATE TABLE c AS SELECT i AS id, i % 4 AS n FROM generate_series(1, 14) i;
CREATE FUNCTION test.here(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN ($1 + $2) % 2 = 0; END';
CALL test.mirror('b', 'c');
-- a key that is also used as a single value below the inner side: in a filter
-- here, a LIMIT, an expression, a subquery, another scan, a VALUES list
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, b.n + a.k AS x FROM b WHERE b.k = a.k AND test.here(b.n, a.k) OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.v ORDER BY b.id LIMIT a.v) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.v ORDER BY b.id OFFSET a.v) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, (SELECT max(c.id) FROM c WHERE c.n = a.k) FROM b WHERE b.k = a.k OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, c.id AS c FROM b, c WHERE b.k = a.k AND c.n = a.k) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, x FROM b, (VALUES (a.k), (a.v)) AS y (x) WHERE b.k = a.k AND b.n > x) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k AND a.k > 2 OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT g, b.id FROM generate_series(1, a.k) g LEFT JOIN b ON b.k = a.k AND b.n = g) s');
-- a condition that the key seems to have checked: on the same columns, of another
-- type, on both sides of an outer join
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.k <= a.v');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND test.here(b.k, a.v)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND a.k <> 3');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE b.k = a.k OR b.k IS NULL');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.k::text = a.v::text');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.k = a.k JOIN c ON c.n = b.k AND c.n = a.v');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN (b JOIN c ON c.n = b.k) ON b.k = a.k AND c.n = a.v');
-- an order that a batch would break: by the outer side and then by the inner one
SET enable_sort = off;
SELECT test.same_order('SELECT a.k, b.n, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.k, a.id, b.n, b.id');
SELECT test.same_order('SELECT a.k, b.n FROM a LEFT JOIN b ON b.k = a.k ORDER BY b.n, a.k, a.id, b.id');
SELECT test.same_order('SELECT a.k, s.* FROM a, LATERAL (SELECT b.n, b.id FROM b WHERE b.k = a.k ORDER BY b.n DESC, b.id LIMIT 3) s ORDER BY a.k, a.id, s.n DESC, s.id');
RESET enable_sort;
SELECT test.same_rows('SELECT DISTINCT ON (a.k) a.k, b.n, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.k, b.n DESC, b.id');
SELECT test.same_rows('SELECT a.k, array_agg(b.id ORDER BY b.n, b.id, a.id) FROM a JOIN b ON b.k = a.k GROUP BY a.k');
-- whole batches asked for again and again by a LIMIT that starts again
CREATE TABLE o AS SELECT i AS id FROM generate_series(1, 20) i;
CREATE TABLE far AS SELECT i AS id, i AS k FROM generate_series(1, 3000) i;
CREATE INDEX ON far (k);
CREATE TABLE near AS SELECT i AS id, i AS k FROM generate_series(1, 3000) i;
CREATE INDEX ON near (id);
CALL test.mirror('far');
SET shuttle.debug_force_batched_join = on;
SELECT transport, max(keys) <= 80 AS few_keys FROM test.numbers('SELECT o.id, s.* FROM o, LATERAL
	(SELECT far.id FROM near JOIN far ON far.k = near.k WHERE near.id > o.id * 100 ORDER BY near.id LIMIT 2) s') GROUP BY 1 ORDER BY 1;
SELECT transport, max(keys) <= 80 AS few_keys FROM test.numbers('SELECT o.id FROM o WHERE EXISTS
	(SELECT FROM near JOIN far ON far.k = near.k WHERE near.id > o.id * 100 OFFSET 1)') GROUP BY 1 ORDER BY 1;
