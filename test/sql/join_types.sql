-- Inner, left, semi and anti joins, with rows that match never, once and often.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 9, 0) AS k FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, 'b ' || i AS name FROM generate_series(1, 20) i;
CREATE INDEX ON b (k);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id, b.name FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id, b.name FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.* FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT a.* FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.id > a.id)');
SELECT test.same_rows('SELECT a.* FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT a.* FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.id > a.id)');
SELECT test.same_rows('SELECT a.id FROM a LEFT JOIN b ON b.k = a.k WHERE b.k IS NULL');
SELECT test.same_rows('SELECT count(*) FROM a JOIN b ON b.k = a.k');
-- an outer side that has no rows, and an inner side that has none
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id < 0');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 0');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.id < 0)');
SET shuttle.debug_force_batched_join = on;
SELECT test.plan_shape('SELECT a.id, b.name FROM a JOIN b ON b.k = a.k');
SELECT test.plan_shape('SELECT a.id, b.name FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.plan_shape('SELECT a.* FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT test.plan_shape('SELECT a.* FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k)');
