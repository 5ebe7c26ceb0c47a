\set ECHO none
-- Compares queries over local tables with and without prefetching for their
-- nested loops.  Small tables count as not cached, and prefetching goes on
-- whether it pays or not.
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;
CREATE SCHEMA test;
CREATE SCHEMA local;
SET search_path = local, public;
SET effective_cache_size = '8kB';
SET effective_io_concurrency = 4;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_material = off;
SET enable_memoize = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- How a query is run.
CREATE FUNCTION test.set_local_way(ahead bool, batch_size int, spoil bool, forced bool) RETURNS void
LANGUAGE sql AS $$
	SELECT set_config('shuttle.enable_local_look_ahead', ahead::text, true),
		set_config('shuttle.batch_size', batch_size::text, true),
		set_config('shuttle.debug_spoil_look_ahead', spoil::text, true),
		set_config('shuttle.debug_force_batched_join', forced::text, true)
$$;

-- The rows of a query as texts, in their order.
CREATE FUNCTION test.local_answer(query text, ahead bool, batch_size int, spoil bool, forced bool, OUT answer text[])
LANGUAGE plpgsql
SET shuttle.enable_local_look_ahead FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
AS $$
BEGIN
	PERFORM test.set_local_way(ahead, batch_size, spoil, forced);
	EXECUTE 'SELECT coalesce(array_agg(test_row::text), ''{}'') FROM (' || query || E'\n) AS test_row' INTO answer;
END $$;

-- All Look Ahead nodes of a query that was executed in batches of 64 rows.
CREATE FUNCTION test.local_looks(query text) RETURNS SETOF jsonb
LANGUAGE plpgsql
SET shuttle.enable_local_look_ahead FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
AS $$
DECLARE
	printed json;
BEGIN
	PERFORM test.set_local_way(true, 64, false, true);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO printed;
	RETURN QUERY SELECT jsonb_path_query((printed -> 0)::jsonb, 'strict $.** ? (@."Custom Plan Provider" == "Look Ahead")');
END $$;

-- Runs a query in all ways; says what came out, and how many Look Aheads made
-- batches, of how many there are.
CREATE FUNCTION test.same_local(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text[] := test.local_answer(query, false, 1024, false, false);
	nwrong int := 0;
	way record;
	verdict text;
BEGIN
	FOR way IN SELECT * FROM (VALUES (1024, false, false), (1024, false, true), (2, false, true), (3, true, true),
			(7, false, true), (64, true, true)) AS w (batch_size, spoil, forced) LOOP
		IF test.local_answer(query, true, way.batch_size, way.spoil, way.forced) IS DISTINCT FROM expected THEN
			nwrong := nwrong + 1;
			RETURN NEXT 'DIFFERENT: ' || way::text;
		END IF;
	END LOOP;
	SELECT format('%s of %s ahead', count(*) FILTER (WHERE (look ->> 'Batches')::int > 0), count(*)) INTO verdict
		FROM test.local_looks(query) AS look;
	IF nwrong = 0 THEN
		RETURN NEXT format('%s, %s', CASE WHEN expected = '{}' THEN 'no rows' ELSE 'same rows' END, verdict);
	END IF;
END $$;

\i :test/include/plans.sql

CREATE FUNCTION test.local_shape(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO printed;
	RETURN QUERY SELECT test.node_lines((printed -> 0 -> 'Plan')::jsonb, 0);
END $$;
RESET client_min_messages;
\set ECHO all
