-- One Look Ahead asks another server and prefetches for local index scans.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET effective_cache_size = '8kB';
SET effective_io_concurrency = 4;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET enable_material = off;
SET enable_memoize = off;
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 400 AS k, nullif(i % 9, 0) AS n FROM generate_series(1, 120) i;
CREATE TABLE b AS SELECT i AS id, i % 200 AS k FROM generate_series(1, 300) i;
CREATE INDEX ON b (k);
CALL test.mirror('b');
CREATE TABLE here AS SELECT i AS id, i % 250 AS k, repeat('h', 200) AS pad FROM generate_series(1, 1000) i;
CREATE INDEX here_k ON here (k);
VACUUM ANALYZE a, here;
-- the foreign table and the local one take their keys from the same rows
SELECT test.same_order('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id AS b_id, h.id AS h_id FROM b, here h WHERE b.k = a.k AND h.k = a.k ORDER BY b.id, h.id OFFSET 0) s ORDER BY a.id, s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k UNION ALL SELECT id FROM here h WHERE h.k = a.k) s');
-- one after the other, in either order
SELECT test.same_rows('SELECT a.id, b.id, h.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN here h ON h.k = b.id');
SELECT test.same_rows('SELECT a.id, b.id, h.id FROM a JOIN here h ON h.k = a.k LEFT JOIN b ON b.k = h.id');
-- a foreign table on the outer side
SELECT test.same_rows('SELECT b.id, h.id FROM b JOIN here h ON h.k = b.k');
SELECT test.same_rows('SELECT b.id, h.id FROM b JOIN here h ON h.k = b.k LIMIT 200000');
-- what one node says that does both
CREATE FUNCTION looks(query text) RETURNS TABLE (asks bool, prefetches bool, served bool, alone int) LANGUAGE sql AS $$
	SELECT look ? 'Keys', look ? 'Prefetched Pages', (look ->> 'Served')::int > 0, (look ->> 'Alone')::int
	FROM test.look_aheads(test.explain(query, ('engine', 'engine', true, 64, 1024, false), 'ANALYZE, TIMING OFF,')) AS look
$$;
SELECT * FROM looks('SELECT a.id, s.* FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k UNION ALL SELECT id FROM here h WHERE h.k = a.k) s');
SELECT * FROM looks('SELECT a.id, b.id, h.id FROM a JOIN here h ON h.k = a.k LEFT JOIN b ON b.k = h.id');
-- without the one, and without the other
SET shuttle.enable_local_look_ahead = off;
SELECT * FROM looks('SELECT a.id, s.* FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k UNION ALL SELECT id FROM here h WHERE h.k = a.k) s');
RESET shuttle.enable_local_look_ahead;
