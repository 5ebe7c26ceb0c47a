-- A key that an earlier batch has asked for is not asked for again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 17, 0) AS k, 'name ' || i % 11 AS name FROM generate_series(1, 400) i;
CREATE TABLE b AS SELECT i AS id, i % 13 AS k, 'name ' || i % 9 AS name, repeat('x', 100 * (i % 5)) AS filler FROM generate_series(1, 120) i;
CALL test.mirror('b');
SET shuttle.debug_force_batched_join = on;
-- Look Ahead's numbers over both transports.
CREATE FUNCTION test.hits(query text, OUT transport text, OUT batches int, OUT keys int,
	OUT distinct_keys int, OUT hits int, OUT alone int, OUT rows_returned int)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT transport, (look ->> 'Batches')::int, (look ->> 'Keys')::int, (look ->> 'Distinct Keys')::int,
		(look ->> 'Hits')::int, (look ->> 'Alone')::int, (plan ->> 'Storage Rows Returned')::int
	FROM test.looks(query)
$$;
-- one batch: nothing to remember
SELECT * FROM test.hits('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SET shuttle.batch_size = 20;
SELECT * FROM test.hits('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
SELECT * FROM test.hits('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT * FROM test.hits('SELECT a.id, (SELECT max(b.id) FROM b WHERE b.name = a.name) FROM a');
SELECT * FROM test.hits('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 2) s');
SET shuttle.batches_in_flight = 1;
SELECT * FROM test.hits('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
RESET shuttle.batches_in_flight;
SET shuttle.enable_key_cache = off;
SELECT * FROM test.hits('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k');
RESET shuttle.enable_key_cache;
-- row locks are taken when they are needed
SELECT * FROM test.hits('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k FOR SHARE OF b');
-- each run of an inner side goes on with what the runs before have
SET enable_material = off;
SELECT * FROM test.hits('SELECT a.id, s.n FROM (SELECT id FROM a LIMIT 5) a, LATERAL (SELECT sum(b.id) AS n FROM (SELECT k FROM a AS x WHERE x.id > a.id OFFSET 0) c JOIN b ON b.k = c.k) s');
RESET enable_material;
RESET shuttle.debug_force_batched_join;
RESET shuttle.batch_size;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.* FROM a JOIN b ON b.name = a.name AND b.k > 3');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.name = a.name');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT a.id, (SELECT max(b.id) FROM b WHERE b.name = a.name) FROM a');
SELECT test.same_order('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC) s');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND 10 / (b.id - a.k * 14) > 0');
-- what fits into memory stays; the rest is asked for in each batch
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
CREATE TABLE c AS SELECT i AS id, i % 350 AS k FROM generate_series(1, 2000) i;
CREATE TABLE d AS SELECT i AS k, repeat(chr(65 + i % 26), 300) AS filler FROM generate_series(0, 320) i;
CALL test.mirror('d');
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 100;
-- an answer that did not fit is asked for again, for all rows of a batch together
SELECT transport, keys, alone, hits BETWEEN 50 AND 1500 AS some_hits, distinct_keys > 400 AS asked_again
FROM test.hits('SELECT c.id, d.filler FROM c JOIN d ON d.k = c.k');
RESET shuttle.batch_size;
SELECT test.same_rows('SELECT c.id, md5(d.filler) FROM c LEFT JOIN d ON d.k = c.k WHERE c.id < 200');
CREATE TABLE w AS SELECT i % 12 AS k, repeat('x', 900) AS wide FROM generate_series(1, 240) i;
CALL test.mirror('w');
SET shuttle.batch_size = 20;
SELECT transport, keys, alone FROM test.hits('SELECT a.id, count(*) FROM a JOIN w ON w.k = a.k GROUP BY a.id');
RESET shuttle.batch_size;
SELECT test.same_rows('SELECT a.id, count(w), sum(length(w.wide)) FROM a LEFT JOIN w ON w.k = a.k WHERE a.id < 100 GROUP BY a.id');
-- it is given up where no key comes twice
SET work_mem = '4MB';
CREATE TABLE e AS SELECT i AS id FROM generate_series(1, 30000) i;
CALL test.mirror('e');
SELECT keys, distinct_keys, hits, alone FROM test.hits('SELECT count(*) FROM e x JOIN e ON e.id = x.id + 5') WHERE transport = 'engine';
