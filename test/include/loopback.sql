\set ECHO none
-- Servers that lead back to this database, and errors as rows. Notices stay off.
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;
CREATE SCHEMA IF NOT EXISTS test;

-- What other tests left behind would be asked as well.
DO $$
DECLARE
	server name;
BEGIN
	FOR server IN SELECT srvname FROM pg_foreign_server LOOP
		EXECUTE format('DROP SERVER %I CASCADE', server);
	END LOOP;
END $$;

-- Makes a server that is this database, and a user mapping for the caller.
CREATE OR REPLACE PROCEDURE test.loopback(server name, wrapper name DEFAULT 'shuttle', options text DEFAULT '')
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER %I OPTIONS (host %L, port %L, dbname %L%s)',
		server, wrapper, split_part(current_setting('unix_socket_directories'), ',', 1),
		current_setting('port'), current_database(), options);
	EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I OPTIONS (user %L)', server, current_user);
END $$;

-- What a statement raises. A list of names in a hint, which depends on the
-- version, is cut off.
CREATE OR REPLACE FUNCTION test.raised(statement text,
	OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	state := 'none';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	hint := regexp_replace(hint, '(: \w+), .*', '\1, ...');
END $$;

-- The lines of EXPLAIN's text, with every number replaced by N.
CREATE OR REPLACE FUNCTION test.explained(statement text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE statement LOOP
		RETURN NEXT regexp_replace(line, '\m[0-9]+(\.[0-9]+)?\M', 'N', 'g');
	END LOOP;
END $$;

-- EXPLAIN (ANALYZE, DIST) as JSON.
CREATE OR REPLACE FUNCTION test.dist_json(statement text, options text DEFAULT '') RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON' || options || ') ' || statement INTO plan;
	RETURN plan -> 0;
END $$;
\set ECHO all
