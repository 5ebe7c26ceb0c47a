-- Outer sides that end before, at and behind the border of a batch.  A
-- sequential scan that is asked once more after its end starts again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS k FROM generate_series(1, 2049) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 6) i;
CALL test.mirror('b');
SELECT n, test.same_rows(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id <= %s', n))
FROM unnest('{0,1,2,3,4,5,6,7,8,13,14,15}'::int[]) AS n;
SELECT n, test.same_rows(format('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.id > a.id %% 3 WHERE a.id <= %s', n))
FROM unnest('{0,1,2,3,6,7,14}'::int[]) AS n;
-- the default batch
SET shuttle.debug_force_batched_join = on;
SELECT n, r.transport, r.batches, r.largest_batch, r.keys, r.distinct_keys, r.served, r.alone
FROM unnest('{0,1,1023,1024,1025,2047,2048,2049}'::int[]) AS n,
	test.numbers(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id <= %s', n)) AS r;
