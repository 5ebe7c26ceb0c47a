-- The same key many times: in one batch, in several, many rows for a key.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, (i / 4) % 3 AS k, i % 2 AS v FROM generate_series(1, 48) i;
CREATE TABLE b AS SELECT i % 6 AS id, i % 4 AS k, i % 2 AS v FROM generate_series(1, 36) i;
CREATE TABLE one AS SELECT i AS id, 1 AS k FROM generate_series(1, 30) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id, b.v FROM a LEFT JOIN b ON b.k = a.k AND b.v = a.v');
-- bags: rows that are equal in every column
SELECT test.same_rows('SELECT a.k, b.id FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT 1 FROM a JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.k FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)');
-- one key for all rows
SELECT test.same_rows('SELECT one.id, b.id FROM one JOIN b ON b.k = one.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k - a.k');
-- two scans of the same table below one join
SELECT test.same_rows('SELECT a.id, b.id, x.id FROM a JOIN b ON b.k = a.k JOIN b AS x ON x.k = a.k AND x.v = b.v');
-- a key is asked for once
SET shuttle.debug_force_batched_join = on;
SELECT * FROM test.numbers('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SET shuttle.batch_size = 5;
SELECT * FROM test.numbers('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SET shuttle.request_limit = 1;
SELECT * FROM test.numbers('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
