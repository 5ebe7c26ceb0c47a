-- A batched join is chosen where it wins and not where it loses: by how far the
-- node is, by whether the first keys have to wait, by keys, rows and pages.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
-- here and there; r: a key of the large table, k: of a hundred
CREATE TABLE small AS SELECT i AS id, (i * 7919) % 50000 + 1 AS r, i % 100 + 1 AS k FROM generate_series(1, 500) i;
CREATE TABLE middle AS SELECT i AS id, (i * 7919) % 50000 + 1 AS r, i % 100 + 1 AS k FROM generate_series(1, 5000) i;
CREATE TABLE large AS SELECT i AS id, (i * 31) % 1000 AS n, (i + 9) / 10 AS ten FROM generate_series(1, 50000) i;
CREATE UNIQUE INDEX ON large (id);
CREATE INDEX ON large (ten);
CALL test.mirror('small', 'middle', 'large');
ANALYZE engine.small, engine.middle, engine.large, guest.small, guest.middle, guest.large;
-- How the engine's tables are joined, where a round trip costs so many units;
-- a unit is some 3 microseconds.
CREATE FUNCTION choice(trip float, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	EXECUTE format('ALTER SERVER engine OPTIONS (%s shuttle_round_trip_cost %L)',
		(SELECT CASE WHEN srvoptions::text LIKE '%round_trip_cost%' THEN 'SET' ELSE 'ADD' END
		FROM pg_foreign_server WHERE srvname = 'engine'), trip);
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO printed;
	RETURN (SELECT string_agg(CASE WHEN node -> 'Plans' @@ '$[*]."Custom Plan Provider" == "Look Ahead"'
			THEN 'batched' ELSE node ->> 'Node Type' END, ', ')
		FROM jsonb_path_query(printed::jsonb, 'strict $.** ? (@."Node Type" like_regex "Loop|Join")') AS node);
END $$;
CREATE FUNCTION choices(VARIADIC queries text[]) RETURNS TABLE (nr bigint, near text, far text) LANGUAGE sql AS $$
	SELECT nr, choice(30, query), choice(30000, query) FROM unnest(queries) WITH ORDINALITY AS q (query, nr) ORDER BY nr
$$;
-- scans do not have to wait for more than their first row
SET shuttle.fetch_ahead = '64MB';
SELECT * FROM choices(
	-- keys that are known here go out at once, as a scan would: however far the node is
	'SELECT 1 FROM small a JOIN engine.large b ON b.id = a.r',
	-- those of another node have to come first
	'SELECT 1 FROM engine.small a JOIN engine.large b ON b.id = a.r',
	-- and rows of all sides cost no less than those of one
	'SELECT 1 FROM middle a JOIN engine.small b ON b.id = a.k',
	'SELECT 1 FROM middle a JOIN engine.middle b ON b.id = a.r',
	-- a key that repeats is asked for once a batch
	'SELECT 1 FROM middle a JOIN engine.large b ON b.id = a.k',
	-- ten rows a key
	'SELECT 1 FROM small a JOIN engine.large b ON b.ten = a.r',
	'SELECT 1 FROM middle a JOIN engine.large b ON b.ten = a.r',
	-- of what nobody has statistics of, no repeats are hoped for
	'SELECT 1 FROM generate_series(1, 40000) g (id) JOIN engine.large b ON b.id = g.id');
SELECT * FROM choices(
	'SELECT 1 FROM small a LEFT JOIN engine.large b ON b.id = a.r',
	'SELECT 1 FROM small a WHERE EXISTS (SELECT FROM engine.large b WHERE b.ten = a.r)',
	'SELECT 1 FROM small a WHERE NOT EXISTS (SELECT FROM engine.large b WHERE b.id = a.r)',
	-- the few rows of a LIMIT
	'SELECT a.id, b.n FROM middle a JOIN engine.large b ON b.id = a.r LIMIT 10',
	'SELECT a.id, b.n FROM middle a JOIN engine.large b ON b.id = a.r ORDER BY a.id LIMIT 10',
	-- a range of outer values is narrow, as one of unknown constants
	'SELECT 1 FROM small a JOIN engine.large b ON b.id BETWEEN a.r AND a.r + 9',
	'SELECT 1 FROM small a JOIN engine.large b ON a.r <= b.id AND a.r + 9 > b.id',
	-- what is below a subquery or WITH has to come first as well
	'SELECT 1 FROM (SELECT r FROM engine.small OFFSET 0) a JOIN engine.middle b ON b.id = a.r',
	'WITH a AS MATERIALIZED (SELECT r FROM engine.small) SELECT 1 FROM a JOIN engine.middle b ON b.id = a.r',
	'SELECT 1 FROM (SELECT r FROM small OFFSET 0) a JOIN engine.large b ON b.id = a.r');
-- batches that cannot be in flight together are waited for one by one
SELECT choice(3000, 'SELECT 1 FROM middle a JOIN engine.large b ON b.id = a.r') AS many;
SET shuttle.batches_in_flight = 1;
SELECT choice(3000, 'SELECT 1 FROM middle a JOIN engine.large b ON b.id = a.r') AS one;
RESET shuttle.batches_in_flight;
SET shuttle.batch_size = 10;
SELECT choice(3000, 'SELECT 1 FROM middle a JOIN engine.large b ON b.id = a.r') AS small_ones;
RESET shuttle.batch_size;
-- a key that comes in many batches is asked for once, where its answer can be kept
CREATE TABLE many AS SELECT i AS id, i % 100 + 1 AS k FROM generate_series(1, 20000) i;
ANALYZE many;
SELECT choice(30, 'SELECT 1 FROM many a JOIN engine.middle b ON b.id = a.k') AS kept;
SET shuttle.enable_key_cache = off;
SELECT choice(30, 'SELECT 1 FROM many a JOIN engine.middle b ON b.id = a.k') AS asked_again;
RESET shuttle.enable_key_cache;
-- a scan whose rows come in several flights waits for each
SELECT choice(30000, 'SELECT 1 FROM engine.middle a JOIN engine.large b ON b.id = a.r') AS one_flight;
SET shuttle.fetch_ahead = '1MB';
SELECT choice(30000, 'SELECT 1 FROM engine.middle a JOIN engine.large b ON b.id = a.r') AS several;
SET shuttle.fetch_ahead = '64MB';
SELECT choice(30, 'SELECT 1 FROM engine.middle a JOIN engine.middle b ON b.id = a.r LIMIT 10') AS near;
-- of two sides that are alike, the one is asked by key whose rows lie in the key's order
CREATE FUNCTION plan(query text, OUT plan jsonb) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
END $$;
SELECT jsonb_path_query(plan(query), 'strict $.** ? (@."Node Type" == "Nested Loop").Plans[1].Alias') AS inner_side
FROM unnest(ARRAY['SELECT a.id, b.id FROM engine.middle a JOIN engine.middle b ON b.id = a.r LIMIT 10',
	'SELECT a.id, b.id FROM engine.middle a JOIN engine.middle b ON b.r = a.id LIMIT 10']) AS query;
-- stock servers wait for each request: not where answers are kept
CREATE FUNCTION guest_choice() RETURNS SETOF jsonb LANGUAGE sql AS $$
	SELECT jsonb_path_query(plan('SELECT 1 FROM many a JOIN guest.middle b ON b.id = a.k'),
		'strict $.** ? (@."Node Type" like_regex "Loop|Join")."Node Type"')
$$;
SELECT guest_choice() AS kept;
SET shuttle.enable_key_cache = off;
SELECT guest_choice() AS asked_again;
RESET shuttle.enable_key_cache;
-- and two round trips longer where what they compute may fail
CREATE FUNCTION first_request(query text) RETURNS numeric LANGUAGE sql AS $$
	SELECT (jsonb_path_query(plan(query), 'strict $.** ? (@."Custom Plan Provider" == "Look Ahead")."Startup Cost"'))::numeric
		- 0.05 * 1600 * 0.21
$$;
SELECT round(first_request('SELECT 1 FROM small a JOIN guest.large b ON b.id = a.r AND 10 / b.id < a.k')
	/ first_request('SELECT 1 FROM small a JOIN guest.large b ON b.id = a.r AND b.n < a.k'), 1) AS five_of_three;
-- enable_nestloop is obeyed
SET enable_nestloop = off;
SELECT choice(30, 'SELECT 1 FROM small a JOIN engine.large b ON b.id = a.r');
RESET enable_nestloop;
-- a partitioned inner side
CREATE TABLE parts (id int, n int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE parts%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s)', i, i * 10000 + 1, i * 10000 + 10001)
FROM generate_series(0, 4) i \gexec
INSERT INTO parts SELECT id, n FROM large;
CALL test.mirror_partitions('parts');
ANALYZE engine.parts;
SELECT * FROM choices(
	'SELECT 1 FROM small a JOIN engine.parts b ON b.id = a.r',
	'SELECT 1 FROM engine.small a JOIN engine.parts b ON b.id = a.r');
