-- Memory is bounded: by batches of many rows, by rows of many keys, and by very
-- many outer rows with one key.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i AS k, 1 AS one FROM generate_series(1, 60000) i;
CREATE TABLE b AS SELECT i AS id, i % 2000 + 1 AS k, repeat(md5(i::text), 8) AS t FROM generate_series(1, 50000) i;
CREATE INDEX ON b (k);
CREATE TABLE single AS SELECT 1 AS k, 'one' AS t;
CREATE TABLE heavy AS SELECT 7 AS k, i AS id, repeat('x', 100) AS t FROM generate_series(1, 40000) i;
CALL test.mirror('b', 'single', 'heavy');
SET work_mem = '1MB';
SET shuttle.fetch_ahead = '1MB';
SET shuttle.debug_force_batched_join = on;
-- what a query answers, and its peak in megabytes
CREATE FUNCTION peak(query text, OUT transport text, OUT answer text, OUT batched bool, OUT few_mb bool) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE query INTO answer;
		EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO printed;
		batched := test.look_ahead_verdict((printed -> 0)::jsonb) LIKE 'batched%';
		few_mb := (printed -> 0 ->> 'Peak Memory Usage')::numeric < 8 * 1024;
		RETURN NEXT;
	END LOOP;
END $$;
-- 12 MB of rows, of which a batch of full size would have 6
SELECT * FROM peak('SELECT md5(string_agg(s.h, '''' ORDER BY s.id)) FROM (SELECT a.id, sum(length(b.t))::text AS h FROM a JOIN b ON b.k = a.k WHERE a.id <= 2500 GROUP BY a.id) s');
-- one key for all rows, and a key with very many rows
SELECT * FROM peak('SELECT count(*) FROM a JOIN single s ON s.k = a.one');
SELECT * FROM peak('SELECT sum(h.id) FROM a JOIN heavy h ON h.k = a.k WHERE a.id < 1000');
SELECT * FROM peak('SELECT sum(h.id) FROM (SELECT 7 + id - id AS k FROM a WHERE id < 4 OFFSET 0) s JOIN heavy h ON h.k = s.k');
-- a subquery for each of very many rows
SELECT * FROM peak('SELECT sum((SELECT count(*) FROM single s WHERE s.k = a.one)) FROM a WHERE id < 20000');
-- small rows of many scans, which nobody reads yet
CREATE TABLE parts (id int, t text) PARTITION BY HASH (id);
SELECT format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES WITH (MODULUS 12, REMAINDER %1$s)', i) AS statement FROM generate_series(0, 11) i
\gexec
INSERT INTO parts SELECT i, md5(i::text) FROM generate_series(1, 60000) i;
CALL test.mirror_partitions('parts');
SET shuttle.fetch_ahead = '8MB';
SELECT * FROM peak('SELECT sum(length(t)) FROM (SELECT t FROM parts OFFSET 0) s');
