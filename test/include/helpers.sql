\set ECHO none
-- Compares queries over foreign tables, batched and not, with the same queries
-- over the local tables that these lead back to.
--
-- A test makes its tables in schema local, which is empty at its start;
-- CALL test.mirror('b', ...) makes foreign tables of the same definition over
-- them, one for each transport, in a schema named like it.  A query that says
-- b reads the local table, or the foreign one where that schema goes first in
-- search_path.
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;
DROP SERVER IF EXISTS guest CASCADE;
DROP SERVER IF EXISTS engine CASCADE;
CREATE SCHEMA test;
CREATE SCHEMA local;
CREATE SCHEMA guest;
CREATE SCHEMA engine;
SET search_path = local, public;

-- Foreign tables here are not analyzed: their plans go by default sizes.
SET shuttle.enable_row_counts = off;

-- Compiling plans that are made expensive on purpose takes longer than running them.
SET jit = off;

-- Schemas, and names of servers, of the transports that are tested.
CREATE FUNCTION test.transports() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY['guest', 'engine'] $$;

-- Two servers that are this database.
DO $$
DECLARE
	options text := format('OPTIONS (host %L, port %L, dbname %L)',
		coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost'),
		current_setting('port'), current_database());
BEGIN
	EXECUTE 'CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw ' || options;
	EXECUTE 'CREATE SERVER engine FOREIGN DATA WRAPPER shuttle ' || options;
	CREATE USER MAPPING FOR CURRENT_USER SERVER guest;
	CREATE USER MAPPING FOR CURRENT_USER SERVER engine;
END $$;

-- Makes foreign tables over local ones, anew where they are there already, and
-- has all local tables analyzed.
CREATE PROCEDURE test.mirror(VARIADIC tables text[])
LANGUAGE plpgsql
SET client_min_messages = warning
AS $$
DECLARE
	name text;
	transport text;
	columns text;
BEGIN
	FOREACH name IN ARRAY tables LOOP
		SELECT string_agg(concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod),
				CASE WHEN attcollation <> typcollation
					THEN 'COLLATE ' || attcollation::regcollation END), ', ' ORDER BY attnum)
		INTO columns FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
		WHERE attrelid = format('local.%I', name)::regclass AND attnum > 0 AND NOT attisdropped;
		FOREACH transport IN ARRAY test.transports() LOOP
			EXECUTE format('DROP FOREIGN TABLE IF EXISTS %I.%I', transport, name);
			EXECUTE format('CREATE FOREIGN TABLE %1$I.%2$I (%3$s) SERVER %1$I
				OPTIONS (schema_name ''local'')', transport, name, columns);
		END LOOP;
	END LOOP;
	FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'local'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ANALYZE local.%I', name);
	END LOOP;
END $$;

-- Makes partitioned tables over a local one: of foreign partitions over its
-- own, but for those named, which are copied.
CREATE PROCEDURE test.mirror_partitions(parent text, VARIADIC stay text[] DEFAULT '{}')
LANGUAGE plpgsql
SET client_min_messages = warning
AS $$
DECLARE
	transport text;
	columns text;
	part record;
BEGIN
	SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
	INTO columns FROM pg_attribute
	WHERE attrelid = format('local.%I', parent)::regclass AND attnum > 0 AND NOT attisdropped;
	FOREACH transport IN ARRAY test.transports() LOOP
		EXECUTE format('DROP TABLE IF EXISTS %I.%I', transport, parent);
		EXECUTE format('CREATE TABLE %I.%I (%s) PARTITION BY %s', transport, parent, columns,
			pg_get_partkeydef(format('local.%I', parent)::regclass));
		FOR part IN SELECT c.relname, pg_get_expr(relpartbound, c.oid) AS bound
			FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
			WHERE inhparent = format('local.%I', parent)::regclass ORDER BY c.relname LOOP
			IF part.relname = ANY (stay) THEN
				EXECUTE format('CREATE TABLE %1$I.%2$I PARTITION OF %1$I.%3$I %4$s', transport, part.relname, parent, part.bound);
				EXECUTE format('INSERT INTO %1$I.%2$I SELECT * FROM local.%2$I', transport, part.relname);
				EXECUTE format('ANALYZE %I.%I', transport, part.relname);
			ELSE
				EXECUTE format('CREATE FOREIGN TABLE %1$I.%2$I PARTITION OF %1$I.%3$I %4$s SERVER %1$I
					OPTIONS (schema_name ''local'')', transport, part.relname, parent, part.bound);
			END IF;
		END LOOP;
	END LOOP;
	EXECUTE format('ANALYZE local.%I', parent);
END $$;

-- How a query is run; the settings not named here are the session's.
CREATE TYPE test.way AS (
	label text,				-- what the answers say
	transport text,			-- schema that goes first; null: local tables
	batched bool,
	batch_size int,
	request_limit int,
	spoil bool
);

-- Batch sizes 1, 2, 3, 7 and 1024, each with the request limits 1, 2, 5 and
-- 1024: a limit that is no less than the batch size is as good as none.
CREATE FUNCTION test.ways(transport text) RETURNS SETOF test.way
LANGUAGE sql IMMUTABLE AS $$
	SELECT transport || ', ' || label, transport, label <> 'not batched', batch_size, request_limit, spoil
	FROM (
		VALUES ('not batched', 1024, 1024, false),
			('batch size 3, spoiled', 3, 1024, true),
			('batch size 1024, spoiled', 1024, 1024, true)
		UNION ALL
		SELECT 'batch size ' || batch_size || CASE WHEN request_limit < 1024 THEN ', request limit ' || request_limit ELSE '' END,
			batch_size, request_limit, false
		FROM unnest('{1,2,3,7,1024}'::int[]) AS batch_size, unnest('{1,2,5,1024}'::int[]) AS request_limit
		WHERE request_limit < batch_size OR request_limit = 1024
	) AS w (label, batch_size, request_limit, spoil)
$$;

-- The ways that one query is run in: those that are most unlike, and a third of the
-- others, which depends on the query and on the server's version.  Where test.all_ways
-- is on, all: PGOPTIONS='-c test.all_ways=on' make installcheck.
CREATE FUNCTION test.ways_of(query text, transport text) RETURNS SETOF test.way
LANGUAGE sql STABLE AS $$
	SELECT way FROM test.ways(transport) AS way
	WHERE NOT way.batched OR (way.batch_size, way.request_limit) IN ((1, 1024), (3, 2), (1024, 1024))
		OR hashtext(query || way.label || current_setting('server_version_num')::int / 10000) % 3 = 0
		OR current_setting('test.all_ways', true) = 'on'
$$;

CREATE FUNCTION test.set_way(way test.way) RETURNS void
LANGUAGE sql AS $$
	SELECT set_config('search_path', concat_ws(', ', way.transport, 'local', 'public'), true),
		set_config('shuttle.enable_batched_join', way.batched::text, true),
		set_config('shuttle.debug_force_batched_join', way.batched::text, true),
		set_config('shuttle.batch_size', way.batch_size::text, true),
		set_config('shuttle.request_limit', way.request_limit::text, true),
		set_config('shuttle.debug_spoil_look_ahead', way.spoil::text, true)
	FROM (SELECT way.*) AS way
$$;

-- The rows of a query as texts, in their order.
CREATE FUNCTION test.rows_query(query text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT 'SELECT coalesce(array_agg(test_row::text), ''{}'') FROM (' || query || E'\n) AS test_row'
$$;

-- The settings go back to what they were when the function ends.
CREATE FUNCTION test.answer(query text, way test.way, OUT answer text[])
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET shuttle.enable_batched_join FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.request_limit FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
AS $$
BEGIN
	PERFORM test.set_way(way);
	EXECUTE test.rows_query(query) INTO answer;
END $$;

CREATE FUNCTION test.explain(query text, way test.way, options text, OUT plan jsonb)
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET shuttle.enable_batched_join FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.request_limit FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
AS $$
DECLARE
	printed json;
BEGIN
	PERFORM test.set_way(way);
	EXECUTE format('EXPLAIN (%s FORMAT JSON) %s', options, query) INTO printed;
	plan := printed -> 0;
END $$;

-- All Look Ahead nodes of a plan.
CREATE FUNCTION test.look_aheads(plan jsonb) RETURNS SETOF jsonb
LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "Look Ahead")')
$$;

-- Whether a plan looked ahead, and how many scans had to ask by themselves.
CREATE FUNCTION test.look_ahead_verdict(plan jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN coalesce(sum((look ->> 'Batches')::int), 0) = 0 THEN 'NOT batched'
		WHEN sum((look ->> 'Alone')::int) > 0 THEN format('batched, but %s of %s scans alone',
			sum((look ->> 'Alone')::int), sum((look ->> 'Alone')::int + (look ->> 'Served')::int))
		ELSE 'batched' END
	FROM test.look_aheads(plan) AS look
$$;

-- The transports' verdicts in one line: once where they agree.
CREATE FUNCTION test.batched(query text) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN count(DISTINCT verdict) = 1 THEN min(verdict)
		ELSE string_agg(transport || ' ' || verdict, ', ' ORDER BY transport) END
	FROM unnest(test.transports()) AS transport,
		test.look_ahead_verdict(test.explain(test.rows_query(query),
			(transport, transport, true, 1024, 1024, false), 'ANALYZE, TIMING OFF,')) AS verdict
$$;

CREATE FUNCTION test.count_except(these text[], those text[]) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
	SELECT count(*) FROM (SELECT unnest(these) EXCEPT ALL SELECT unnest(those)) AS d
$$;

-- What is wrong with an answer; null: nothing.
CREATE FUNCTION test.difference(expected text[], answer text[], ordered bool) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	missing bigint;
	too_many bigint;
BEGIN
	IF answer = expected THEN
		RETURN NULL;
	END IF;
	missing := test.count_except(expected, answer);
	too_many := test.count_except(answer, expected);
	IF missing > 0 OR too_many > 0 THEN
		RETURN format('%s rows missing, %s too many', missing, too_many);
	ELSIF ordered THEN
		RETURN 'another order';
	END IF;
	RETURN NULL;
END $$;

-- Runs a query in all ways.  One row where all agree, else a row for each way
-- that does not.
CREATE FUNCTION test.compare(query text, ordered bool, same text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text[] := test.answer(query, ('local', NULL, false, 1024, 1024, false));
	transport text;
	way test.way;
	wrong text;
	nwrong int := 0;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		FOR way IN SELECT * FROM test.ways_of(query, transport) LOOP
			wrong := test.difference(expected, test.answer(query, way), ordered);
			IF wrong IS NOT NULL THEN
				nwrong := nwrong + 1;
				RETURN NEXT format('DIFFERENT: %s: %s', way.label, wrong);
			END IF;
		END LOOP;
	END LOOP;
	IF nwrong = 0 THEN
		RETURN NEXT format('%s, %s', CASE WHEN expected = '{}' THEN 'no rows' ELSE same END,
			test.batched(query));
	END IF;
END $$;

CREATE FUNCTION test.same_rows(query text) RETURNS SETOF text
LANGUAGE sql AS $$ SELECT test.compare(query, false, 'same rows') $$;

CREATE FUNCTION test.same_order(query text) RETURNS SETOF text
LANGUAGE sql AS $$ SELECT test.compare(query, true, 'same order') $$;

-- What a query raises in each way: SQLSTATE and message.
CREATE FUNCTION test.error_of(query text, way test.way) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM test.answer(query, way);
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION test.same_error(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	expected text := test.error_of(query, ('local', NULL, false, 1024, 1024, false));
	wrong text[];
BEGIN
	SELECT array_agg(format('DIFFERENT: %s: %s', way.label, raised)) INTO wrong
	FROM unnest(test.transports()) AS transport, test.ways_of(query, transport) AS way,
		test.error_of(query, way) AS raised
	WHERE raised <> expected;
	RETURN QUERY SELECT unnest(coalesce(wrong, ARRAY['same: ' || expected]));
END $$;

-- Executes a query with a parameter, as a statement that was prepared once for
-- each way: with its own plan for each value, and with one for all.  The
-- settings' change after the first plan is part of it.
CREATE FUNCTION test.same_prepared(query text, type text, VARIADIC args text[]) RETURNS SETOF text
LANGUAGE plpgsql
SET search_path FROM CURRENT
SET plan_cache_mode FROM CURRENT
SET shuttle.enable_batched_join FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.request_limit FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
AS $$
DECLARE
	one record;
	arg text;
	wrong text;
	expected jsonb := '{}';		-- answers by argument
	answer text[];
BEGIN
	FOREACH arg IN ARRAY args LOOP
		expected := expected || jsonb_build_object(coalesce(arg, 'null'),
			test.answer(replace(query, '$1', format('%L::%s', arg, type)), ('local', NULL, false, 1024, 1024, false)));
	END LOOP;
	FOR one IN SELECT way, mode FROM unnest(test.transports()) AS transport,
		unnest('{auto,force_generic_plan,force_custom_plan}'::text[]) AS mode, test.ways_of(query || mode, transport) AS way LOOP
		PERFORM test.set_way(one.way), set_config('plan_cache_mode', one.mode, true);
		EXECUTE format('PREPARE test_prepared (%s) AS %s', type, test.rows_query(query));
		FOREACH arg IN ARRAY args LOOP
			EXECUTE format('EXECUTE test_prepared (%L)', arg) INTO answer;
			wrong := test.difference(ARRAY(SELECT jsonb_array_elements_text(expected -> coalesce(arg, 'null'))), answer, false);
			IF wrong IS NOT NULL THEN
				RETURN NEXT format('DIFFERENT: %s, %s, $1 = %s: %s', (one.way).label, one.mode, arg, wrong);
			END IF;
		END LOOP;
		DEALLOCATE test_prepared;
	END LOOP;
	IF NOT FOUND THEN
		RETURN NEXT 'no way to run it';
	END IF;
	RETURN NEXT 'all values tried, ' || test.batched(replace(query, '$1', format('%L::%s', args[1], type)));
END $$;

\i :test/include/plans.sql

-- Plans of a query over the transports, under the session's settings; printed
-- once where they agree.
CREATE FUNCTION test.plan_shape(query text) RETURNS SETOF text
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
	transport text;
	printed json;
	lines text[];
	first_lines text[];
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO printed;
		lines := ARRAY(SELECT test.node_lines((printed -> 0 -> 'Plan')::jsonb, 0));
		IF first_lines IS NULL THEN
			first_lines := lines;
			RETURN QUERY SELECT unnest(lines);
		ELSIF lines <> first_lines THEN
			RETURN NEXT 'DIFFERENT, ' || transport || ':';
			RETURN QUERY SELECT unnest(lines);
		END IF;
	END LOOP;
END $$;

-- How often the first node was run that stands at or behind a line of the plan like this.
CREATE FUNCTION test.loops(query text, line_like text) RETURNS TABLE (transport text, loops text)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
	line text;
	found bool;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		loops := NULL;
		found := false;
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF, BUFFERS OFF) ' || query LOOP
			found := found OR line ~ line_like;
			IF found THEN
				loops := coalesce(loops, substring(line FROM 'loops=(\d+)'));
			END IF;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;

-- The plan of a query as it ran, and each Look Ahead in it from the top, under
-- the session's settings.
CREATE FUNCTION test.looks(query text, OUT transport text, OUT plan jsonb, OUT look jsonb)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
	printed json;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO printed;
		plan := printed -> 0;
		FOR look IN SELECT test.look_aheads(plan) LOOP
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;

-- Their numbers; requests and rows returned are those of all scans.
CREATE FUNCTION test.numbers(query text, OUT transport text, OUT batches int, OUT keys int,
	OUT distinct_keys int, OUT largest_batch int, OUT served int, OUT alone int, OUT requests int,
	OUT rows_returned int)
RETURNS SETOF record
LANGUAGE sql AS $$
	SELECT transport, (look ->> 'Batches')::int, (look ->> 'Keys')::int, (look ->> 'Distinct Keys')::int,
		(look ->> 'Largest Batch')::int, (look ->> 'Served')::int, (look ->> 'Alone')::int,
		(plan ->> 'Storage Read Requests')::int, (plan ->> 'Storage Rows Returned')::int
	FROM test.looks(query)
$$;
RESET client_min_messages;
\set ECHO all
