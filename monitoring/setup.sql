-- What postgres_exporter needs in a database of the query node. Run it there as
-- a superuser: psql -d DATABASE -f setup.sql. It may be run again.
--
-- The role shuttle_monitor logs in and sees numbers only. What only superusers
-- may call is behind functions that run with the rights of their owner, who
-- needs a user mapping (or PUBLIC does) for each server.

\set ON_ERROR_STOP on
BEGIN;

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'shuttle_monitor') THEN
		CREATE ROLE shuttle_monitor LOGIN CONNECTION LIMIT 5;
	END IF;
END
$$;
GRANT pg_monitor TO shuttle_monitor;

CREATE SCHEMA IF NOT EXISTS shuttle_monitor;
REVOKE ALL ON SCHEMA shuttle_monitor FROM PUBLIC;
GRANT USAGE ON SCHEMA shuttle_monitor, shuttle TO shuttle_monitor;

-- Asks all nodes at once, and then each node that answers for the time that a
-- new connection takes.
DROP FUNCTION IF EXISTS shuttle_monitor.nodes();	-- it had other columns
CREATE FUNCTION shuttle_monitor.nodes(
	OUT server pg_catalog.name,
	OUT up pg_catalog.int4,
	OUT probe_seconds pg_catalog.float8,
	OUT connections pg_catalog.int8,
	OUT max_connections pg_catalog.int8,
	OUT prepared pg_catalog.int8,
	OUT max_prepared pg_catalog.int8,
	OUT powerful pg_catalog.int4)
RETURNS SETOF pg_catalog.record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	answer record;
	began timestamptz;
BEGIN
	FOR answer IN
		SELECT * FROM shuttle.run_on_nodes($sql$
			SELECT (SELECT sum(numbackends) FROM pg_catalog.pg_stat_database) AS connections,
				current_setting('max_connections')::int
					- current_setting('superuser_reserved_connections')::int AS max_connections,
				(SELECT count(*) FROM pg_catalog.pg_prepared_xacts) AS prepared,
				current_setting('max_prepared_transactions') AS max_prepared,
				(SELECT count(*) FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(session_user, oid, 'MEMBER')
					AND (rolsuper OR rolname IN ('pg_execute_server_program', 'pg_write_server_files',
						'pg_read_server_files'))) AS powers
		$sql$)
	LOOP
		server := answer.server;
		up := answer.ok::int;
		connections := answer.result->0->>'connections';
		max_connections := answer.result->0->>'max_connections';
		prepared := answer.result->0->>'prepared';
		max_prepared := answer.result->0->>'max_prepared';
		powerful := ((answer.result->0->>'powers')::int > 0)::int;
		probe_seconds := NULL;
		IF answer.ok THEN
			began := clock_timestamp();
			PERFORM FROM shuttle.run_on_nodes('SELECT 1', ARRAY[answer.server]);
			probe_seconds := extract(epoch FROM clock_timestamp() - began);
		END IF;
		RETURN NEXT;
	END LOOP;
END
$$;

-- Transactions that nodes hold prepared, although no session is committing them.
CREATE OR REPLACE FUNCTION shuttle_monitor.commits(
	OUT server pg_catalog.name,
	OUT in_doubt pg_catalog.int8,
	OUT oldest_seconds pg_catalog.float8)
RETURNS SETOF pg_catalog.record
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT nodes.server, count(left_over.since),
		coalesce(max(extract(epoch FROM now() - left_over.since)), 0)
	FROM (SELECT DISTINCT server FROM shuttle.nodes) AS nodes
		LEFT JOIN shuttle.transactions AS left_over
			ON left_over.server = nodes.server
			AND left_over.state NOT IN ('in progress', 'prepared by a client', 'of another cluster or database')
	GROUP BY nodes.server
$$;

-- Foreign tables whose statistics plans cannot rely on. The largest 1000 tables
-- of each node are compared; those of 1000 rows and fewer do no harm.
CREATE OR REPLACE FUNCTION shuttle_monitor.tables(
	OUT server pg_catalog.name,
	OUT tables pg_catalog.int8,
	OUT never_analyzed pg_catalog.int8,
	OUT stale pg_catalog.int8,
	OUT copy_failed pg_catalog.int8)
RETURNS SETOF pg_catalog.record
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	WITH there AS MATERIALIZED (
		SELECT answer.server, found->>'schemaname' AS schema, found->>'relname' AS name,
			(found->>'n_live_tup')::float8 AS rows
		FROM shuttle.run_on_nodes($sql$
				SELECT schemaname, relname, n_live_tup FROM pg_catalog.pg_stat_user_tables
				ORDER BY n_live_tup DESC LIMIT 1000 $sql$) AS answer,
			json_array_elements(CASE WHEN answer.ok THEN answer.result END) AS found),
	here AS (
		SELECT c.oid, s.srvname, c.reltuples,
			coalesce(o.schema, n.nspname) AS schema, coalesce(o.name, c.relname) AS name
		FROM pg_foreign_table AS f
			JOIN pg_foreign_server AS s ON s.oid = f.ftserver
			JOIN pg_class AS c ON c.oid = f.ftrelid
			JOIN pg_namespace AS n ON n.oid = c.relnamespace,
			LATERAL (
				SELECT max(option_value) FILTER (WHERE option_name = 'schema_name') AS schema,
					max(option_value) FILTER (WHERE option_name = 'table_name') AS name
				FROM pg_options_to_table(f.ftoptions)) AS o)
	SELECT nodes.server, count(here.oid), count(*) FILTER (WHERE here.reltuples < 0),
		count(*) FILTER (WHERE here.reltuples >= 0
			AND greatest(here.reltuples, there.rows) > 1000
			AND greatest(here.reltuples, there.rows) + 1
				>= 2 * (least(here.reltuples, there.rows) + 1)),
		count(copied.error)
	FROM (SELECT DISTINCT server FROM shuttle.nodes) AS nodes
		LEFT JOIN here ON here.srvname = nodes.server
		LEFT JOIN there
			ON (there.server, there.schema, there.name) = (here.srvname, here.schema, here.name)
		LEFT JOIN shuttle.copied_statistics AS copied ON copied.relation = here.oid
	GROUP BY nodes.server
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA shuttle_monitor FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA shuttle_monitor TO shuttle_monitor;

COMMIT;
