-- Where a Look Ahead is placed for local index scans, and where not.
\getenv test PG_ABS_SRCDIR
\i :test/include/local.sql
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 2000 AS k, i % 4 AS v FROM generate_series(1, 300) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i % 500 AS k FROM generate_series(1, 2000) i;
ALTER TABLE b ADD PRIMARY KEY (id);
CREATE INDEX ON b (k);
VACUUM ANALYZE a, b;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
-- off, or one row at a time
SET shuttle.enable_local_look_ahead = off;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
RESET shuttle.enable_local_look_ahead;
SET shuttle.batch_size = 1;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
RESET shuttle.batch_size;
-- batched joins with other servers are another matter
SET shuttle.enable_batched_join = off;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
RESET shuttle.enable_batched_join;
-- tables that are surely cached
SET effective_cache_size = '1GB';
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
SET effective_cache_size = '8kB';
-- few outer rows
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k WHERE a.id < 10');
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k LIMIT 10');
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k LIMIT 200');
SELECT test.local_shape('SELECT a.v, count(b.k) FROM a JOIN b ON b.id = a.k GROUP BY a.v ORDER BY a.v LIMIT 2');
-- no loop with a key, a join of another kind
SELECT test.local_shape('SELECT a.id, b.k FROM a CROSS JOIN b WHERE b.id = 5');
SET enable_nestloop = off;
SET enable_hashjoin = on;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
RESET enable_nestloop;
SET enable_hashjoin = off;
-- other indexes, and temporary tables
CREATE TABLE h AS SELECT * FROM b;
CREATE INDEX ON h USING hash (id);
CREATE TEMP TABLE t AS SELECT * FROM b;
CREATE INDEX ON t (id);
ANALYZE h;
ANALYZE t;
SELECT test.local_shape('SELECT a.id, h.k FROM a JOIN h ON h.id = a.k');
SELECT test.local_shape('SELECT a.id, t.k FROM a JOIN t ON t.id = a.k');
SELECT test.same_local('SELECT a.id, h.k FROM a JOIN h ON h.id = a.k');
SELECT test.same_local('SELECT a.id, h.k, b.k FROM a JOIN h ON h.id = a.k JOIN b ON b.id = h.k');
-- partitions: not where a key leads to one of them; all where it leads to all
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (3000);
INSERT INTO parts SELECT id, k FROM b;
CREATE INDEX ON parts (id);
CREATE INDEX ON parts (k);
ANALYZE parts;
SELECT test.local_shape('SELECT a.id, p.k FROM a JOIN parts p ON p.id = a.k');
SELECT test.local_shape('SELECT a.id, p.id FROM a JOIN parts p ON p.k = a.k');
SELECT test.same_local('SELECT a.id, p.k FROM a JOIN parts p ON p.id = a.k');
SELECT test.same_local('SELECT a.id, p.id FROM a JOIN parts p ON p.k = a.k');
-- a table that was never analyzed
CREATE TABLE fresh (id int PRIMARY KEY, k int);
INSERT INTO fresh SELECT id, k FROM b;
SELECT test.local_shape('SELECT a.id, f.k FROM a JOIN fresh f ON f.id = a.k');
-- nothing below a Gather, where workers run it; above it
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
CREATE FUNCTION here_only(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
SELECT test.local_shape('SELECT a.id, b.k FROM a JOIN b ON b.id = a.k AND here_only(b.k) > 100');
SELECT test.same_local('SELECT a.id, b.k FROM (SELECT * FROM a WHERE v > 0 OFFSET 0) a JOIN b ON b.id = a.k AND here_only(b.k) > 100 ORDER BY a.id');
SET max_parallel_workers_per_gather = 0;
-- volatile functions of the outer side are called when they were before
CREATE SEQUENCE s;
CREATE FUNCTION count_up(int) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT $1 + 0 * nextval('local.s')::int $$;
SET shuttle.debug_force_batched_join = on;
SELECT count(*) FROM (SELECT b.id FROM (SELECT id, count_up(k) AS k FROM a OFFSET 0) a JOIN b ON b.id = a.k LIMIT 60) q;
SELECT last_value FROM s;
-- an error in a key comes when its row is joined, not before
SELECT count(*) FROM (SELECT b.id FROM (SELECT id, k, 100 - id AS x FROM a OFFSET 0) a JOIN b ON b.id = a.k + 0 / a.x LIMIT 90) q;
SELECT count(*) FROM (SELECT b.id FROM (SELECT id, k, 100 - id AS x FROM a OFFSET 0) a JOIN b ON b.id = a.k + 0 / a.x) q;
-- what it says of itself
CREATE FUNCTION look_lines(options text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	printed text;
BEGIN
	FOR printed IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, %s) %s', options, query) LOOP
		RETURN QUERY SELECT ltrim(line) FROM string_to_table(printed, E'\n') AS line
			WHERE line ~ '(Batches|Keys|Largest.Batch|Most.In.Flight|Served|Alone|Prefetch)';
	END LOOP;
END $$;
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
SELECT look_lines('FORMAT JSON', 'SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
-- with everything in shared buffers, nothing is looked ahead for
SET shuttle.debug_force_batched_join = off;
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
SET effective_io_concurrency = 0;
SET shuttle.debug_force_batched_join = on;
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.k FROM a JOIN b ON b.id = a.k');
