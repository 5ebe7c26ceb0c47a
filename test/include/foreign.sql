\set ECHO none
-- Tables of a storage node (schema node, this database) and foreign tables
-- over them: stock.* by postgres_fdw, ours.* by the wrapper shuttle. What a
-- statement does through the one must be what it does through the other.
\set QUIET on
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;

-- Foreign tables that are not analyzed keep their default sizes, as on stock servers.
SET shuttle.enable_row_counts = off;
DROP SERVER IF EXISTS stock_node CASCADE;
DROP SERVER IF EXISTS our_node CASCADE;
CREATE SCHEMA node;
CREATE SCHEMA stock;
CREATE SCHEMA ours;
CREATE SCHEMA pair;

DO $$
DECLARE
	host text := coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost');
BEGIN
	EXECUTE format('CREATE SERVER stock_node FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost ''0.2'')', host, current_setting('port'), current_database());
	EXECUTE format('CREATE SERVER our_node FOREIGN DATA WRAPPER shuttle
		OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost ''0.2'')', host, current_setting('port'), current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER stock_node;
CREATE USER MAPPING FOR CURRENT_USER SERVER our_node;

CREATE TABLE node.account (
	id int PRIMARY KEY,
	branch int,
	owner text,
	balance numeric(12, 2),
	opened timestamptz,
	weights float8[]);
INSERT INTO node.account
SELECT i, nullif(i % 7, 0), CASE WHEN i % 11 = 0 THEN NULL ELSE 'owner "' || i || E'\\''' END,
	i * 1.25, timestamptz '2024-02-28 23:30:00+00' + i * interval '7 hours 1 second',
	ARRAY[i / 3.0, 1e-300, 'NaN']
FROM generate_series(1, 300) i;
CREATE TABLE node.branch (id int PRIMARY KEY, city varchar(20), span interval, extra jsonb);
INSERT INTO node.branch
SELECT i, 'city ' || i, i * interval '1 month 2 days 03:04:05.678', jsonb_build_object('n', i, 'q', '"')
FROM generate_series(1, 9) i;
ANALYZE node.account;
ANALYZE node.branch;

-- Makes foreign tables of the same definition over a table of node.
CREATE FUNCTION pair.tables(name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	columns text;
BEGIN
	SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
	INTO columns FROM pg_attribute
	WHERE attrelid = ('node.' || name)::regclass AND attnum > 0 AND NOT attisdropped;
	EXECUTE format('CREATE FOREIGN TABLE stock.%1$s (%2$s) SERVER stock_node OPTIONS (schema_name ''node'')',
		name, columns);
	EXECUTE format('CREATE FOREIGN TABLE ours.%1$s (%2$s) SERVER our_node OPTIONS (schema_name ''node'')',
		name, columns);
END $$;
SELECT pair.tables('account'), pair.tables('branch') \g /dev/null

-- A function that is never shipped.
CREATE FUNCTION pair.here(i int) RETURNS int IMMUTABLE STRICT
LANGUAGE plpgsql AS 'BEGIN RETURN i; END';

-- Does the same on both sides: %1$s is the schema, %2$s the server.
CREATE FUNCTION pair.both(command text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format(command, 'stock', 'stock_node');
	EXECUTE format(command, 'ours', 'our_node');
END $$;

-- The rows of a statement, in their order, and what it told.
CREATE FUNCTION pair.run(side text, statement text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	answer text[] := '{}';
	one record;
	nrows bigint;
BEGIN
	PERFORM set_config('search_path', side, true);
	IF statement ~* '^\s*(select|values|with|table)' OR statement ~* '\mreturning\M' THEN
		FOR one IN EXECUTE statement LOOP
			answer := answer || coalesce(one::text, '<null>');
		END LOOP;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS nrows = ROW_COUNT;
		answer := answer || ('count ' || nrows);
	END IF;
	-- Rows that a statement returns have no order of their own.
	IF statement ~* '\mreturning\M' THEN
		answer := array(SELECT unnest(answer) ORDER BY 1);
	END IF;
	RETURN answer;
EXCEPTION WHEN query_canceled OR assert_failure THEN
	RAISE;
WHEN OTHERS THEN
	RETURN ARRAY['error ' || SQLSTATE || ' ' || SQLERRM];
END $$;

CREATE FUNCTION pair.judge(theirs text[], ours text[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	IF theirs IS NOT DISTINCT FROM ours THEN
		RETURN CASE WHEN theirs[1] LIKE 'error%' THEN 'same: ' || theirs[1]
			WHEN theirs[1] LIKE 'count%' THEN 'same: ' || theirs[1]
			ELSE 'same: rows ' || cardinality(theirs) END;
	END IF;
	RETURN format('DIFFERENT: stock %s, ours %s, first rows %s and %s',
		cardinality(theirs), cardinality(ours), theirs[1:2], ours[1:2]);
END $$;

-- A query through both, by a cursor and as the input of an aggregate.
CREATE FUNCTION pair.same(query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	whole text := 'SELECT array_agg(pair_row::text) FROM (' || query || ') AS pair_row';
	verdict text;
BEGIN
	verdict := pair.judge(pair.run('stock', whole), pair.run('ours', whole));
	IF verdict NOT LIKE 'same%' THEN
		RETURN 'whole: ' || verdict;
	END IF;
	RETURN pair.judge(pair.run('stock', query), pair.run('ours', query));
END $$;

-- Statements that write: what they tell, and what a query finds afterwards;
-- rolled back.
CREATE FUNCTION pair.try(side text, statements text[], query text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	answer text[] := '{}';
	statement text;
BEGIN
	BEGIN
		FOREACH statement IN ARRAY statements LOOP
			answer := answer || pair.run(side, statement);
		END LOOP;
		answer := answer || '|'::text || pair.run(side, query);
		RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
	EXCEPTION WHEN SQLSTATE 'SH001' THEN
		NULL;
	END;
	RETURN answer;
END $$;

CREATE FUNCTION pair.same_write(query text, VARIADIC statements text[]) RETURNS text
LANGUAGE sql AS $$
	SELECT pair.judge(pair.try('stock', statements, query), pair.try('ours', statements, query));
$$;

-- The same compared with what the tables of the node do by themselves.
CREATE FUNCTION pair.same_here(query text, VARIADIC statements text[]) RETURNS text
LANGUAGE sql AS $$
	SELECT replace(pair.judge(pair.try('node', statements, query), pair.try('ours', statements, query)), 'stock', 'local');
$$;

-- A plan through our wrapper, without the schema's name.
CREATE FUNCTION pair.plan(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	theirs text := '';
	ours text := '';
BEGIN
	PERFORM set_config('search_path', 'stock', true);
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		theirs := theirs || replace(line, 'stock.', '') || E'\n';
	END LOOP;
	PERFORM set_config('search_path', 'ours', true);
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		ours := ours || replace(line, 'ours.', '') || E'\n';
	END LOOP;
	RETURN NEXT CASE WHEN theirs = ours THEN 'same plan' ELSE theirs || 'OURS ' || ours END;
END $$;
-- Plans are to be postgres_fdw's.
SET shuttle.enable_batched_join = off;
RESET client_min_messages;
\set QUIET off
\set ECHO all
