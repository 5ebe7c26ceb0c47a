-- The order of the outer side is kept, with duplicates and without a match.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, (i * 37) % 101 AS k, i % 4 AS g FROM generate_series(1, 60) i;
CREATE INDEX ON a (k);
CREATE TABLE b AS SELECT i AS id, (i * 7) % 60 AS k, i % 3 AS v FROM generate_series(1, 60) i;
CALL test.mirror('b');
SET enable_sort = off;
SELECT test.same_order('SELECT a.k, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.k, b.id');
SELECT test.same_order('SELECT a.k FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k');
SELECT test.same_order('SELECT a.k, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k DESC, b.id LIMIT 20');
SELECT test.same_order('SELECT a.k FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k) ORDER BY a.k');
SELECT test.same_order('SELECT a.k FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k) ORDER BY a.k DESC OFFSET 3 LIMIT 9');
SELECT test.same_order('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY b.v NULLS FIRST, a.id, b.id');
-- an order over two columns, of which the outer side has the first
SELECT test.same_order('SELECT a.k, b.v, b.id FROM a LEFT JOIN b ON b.k <= a.k AND b.id < 9 ORDER BY a.k, b.v, b.id');
-- rows that come in the order of an index without a sort
SET enable_seqscan = off;
SET shuttle.debug_force_batched_join = on;
SELECT test.plan_shape('SELECT a.k FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k');
SELECT test.plan_shape('SELECT a.k FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k DESC');
SELECT test.plan_shape('SELECT a.k, b.v FROM a LEFT JOIN b ON b.k = a.k ORDER BY b.v');
SELECT test.plan_shape('SELECT a.k FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k LIMIT 5');
