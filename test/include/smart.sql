\set ECHO none
-- Tables of several storage nodes (schemas node1 to node4 of this database), in
-- schema dist a partitioned table over them, and in schema here a local table of
-- the same rows. smart.check() runs a query over both.
\set QUIET on
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;

-- Plans go by default sizes of tables that are not analyzed.
SET shuttle.enable_row_counts = off;
CREATE SCHEMA smart;
CREATE SCHEMA dist;
CREATE SCHEMA here;
SET jit = off;

DO $$
DECLARE
	host text := coalesce(nullif(split_part(current_setting('unix_socket_directories'), ',', 1), ''), 'localhost');
BEGIN
	FOR i IN 1..4 LOOP
		EXECUTE format('DROP SERVER IF EXISTS smart%s CASCADE', i);
		EXECUTE format('CREATE SERVER smart%s FOREIGN DATA WRAPPER shuttle
			OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost ''0.2'', shuttle_round_trip_cost ''168'')', i, host, current_setting('port'), current_database());
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER smart%s', i);
		EXECUTE format('CREATE SCHEMA node%s', i);
	END LOOP;
END $$;

-- Makes dist.<name> over the nodes, of the rows of here.<name> with a column k:
-- those from borders[i] up to borders[i + 1] are on node i. Analyzed.
CREATE PROCEDURE smart.distribute(name text, borders int[])
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE dist.%1$I (LIKE here.%1$I) PARTITION BY RANGE (k)', name);
	FOR i IN 1..4 LOOP
		EXECUTE format('CREATE TABLE node%1$s.%2$I AS SELECT * FROM here.%2$I WHERE k >= %3$s AND k < %4$s',
			i, name, borders[i], borders[i + 1]);
		EXECUTE format('CREATE FOREIGN TABLE dist.%2$I PARTITION OF dist.%1$I FOR VALUES FROM (%3$s) TO (%4$s)
			SERVER smart%5$s OPTIONS (schema_name %6$L, table_name %1$L)',
			name, name || i, borders[i], borders[i + 1], i, 'node' || i);
		EXECUTE format('ANALYZE node%s.%I', i, name);
	END LOOP;
	COMMIT;						-- nodes are asked on connections of their own
	EXECUTE format('ANALYZE here.%I', name);
	EXECUTE format('ANALYZE dist.%I', name);
END $$;

-- The rows of a query as texts, in the schema that goes first.
CREATE FUNCTION smart.rows(query text, schema text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', schema || ', public', true);
	RETURN QUERY EXECUTE format('SELECT q::text FROM (%s) q', query);
	PERFORM set_config('search_path', before, true);
END $$;

-- The lines of a query's plan.
CREATE FUNCTION smart.asked(query text) RETURNS SETOF text
LANGUAGE plpgsql AS 'BEGIN RETURN QUERY EXECUTE ''EXPLAIN (VERBOSE, COSTS OFF) '' || query; END';

-- The rows that a query is expected to return.
CREATE FUNCTION smart.estimated(query text) RETURNS numeric
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;

-- How many scans of a query's plan aggregate on their node.
CREATE FUNCTION smart.pushed(query text) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		found := found + (line ~ '^ *Relations: Aggregate on')::int;
	END LOOP;
	RETURN found;
END $$;

-- "4 same": four scans aggregate on their nodes, and the rows are those of the
-- local table, as often, to the last digit.
CREATE FUNCTION smart.check(query text) RETURNS text
LANGUAGE plpgsql
SET search_path = dist, public
SET client_min_messages = error
AS $$
DECLARE
	differing bigint;
	scans int := smart.pushed(query);
BEGIN
	DROP TABLE IF EXISTS pg_temp.ours, pg_temp.theirs;
	CREATE TEMP TABLE ours AS SELECT r FROM smart.rows(query, 'dist') r;
	CREATE TEMP TABLE theirs AS SELECT r FROM smart.rows(query, 'here') r;
	SELECT count(*) INTO differing FROM (
		(SELECT r FROM pg_temp.ours EXCEPT ALL SELECT r FROM pg_temp.theirs)
		UNION ALL
		(SELECT r FROM pg_temp.theirs EXCEPT ALL SELECT r FROM pg_temp.ours)) d;
	IF differing = 0 THEN
		RETURN scans || ' same';
	END IF;
	RETURN format('%s differ: %s instead of %s', scans, (SELECT min(r) FROM (SELECT r FROM pg_temp.ours EXCEPT ALL SELECT r FROM pg_temp.theirs) a),
		(SELECT min(r) FROM (SELECT r FROM pg_temp.theirs EXCEPT ALL SELECT r FROM pg_temp.ours) b));
END $$;
-- what nodes were asked, from some word of the SQL on, and the rows that each of them sent
CREATE FUNCTION smart.sent(query text, part text, OUT shipped text, OUT returned text)
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, DIST, FORMAT JSON) ' || query INTO plan;
	SELECT string_agg(DISTINCT coalesce(regexp_replace(substring(s ->> 'Remote SQL' FROM part || '.*'), '\mr\d+\.', 'r.', 'g'), '-'), '|'),
		string_agg(s ->> 'Storage Rows Returned', ' ' ORDER BY s ->> 'Alias', s ->> 'Storage Node')
	INTO shipped, returned FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Foreign Scan")') s;
END $$;
-- the rows are those of the local table, in the same order
CREATE FUNCTION smart.in_order(query text) RETURNS text
LANGUAGE sql AS $$ SELECT smart.check(format('SELECT row_number() OVER (), q.* FROM (%s) q', query)) $$;
RESET client_min_messages;
\set QUIET off
\set ECHO all
