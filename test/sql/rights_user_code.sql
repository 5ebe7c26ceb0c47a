-- Code of a role that is no superuser goes to nodes only if the role has USAGE there, and the remote user is an ordinary one.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS user_code_writer, user_code_other, user_code_remote, user_code_powers;
CREATE ROLE user_code_writer;
CREATE ROLE user_code_other;
CREATE ROLE user_code_remote LOGIN;
CREATE ROLE user_code_powers;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO user_code_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON FOREIGN SERVER n1, n2 TO user_code_writer;
CREATE SCHEMA code AUTHORIZATION user_code_writer;
GRANT ALL ON SCHEMA code TO user_code_other;
RESET client_min_messages;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET search_path = code;

-- the remote user is a superuser
SET ROLE user_code_writer;
CREATE FUNCTION f(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN v; END';
CREATE FUNCTION run(v int) RETURNS bool LANGUAGE sql AS 'SELECT v > 0';
CREATE DOMAIN positive AS int CHECK (f(VALUE) > 0);
CREATE DOMAIN whatever AS int CHECK (query_to_xml('SELECT 1', false, false, '') IS NOT NULL);
CREATE DOMAIN plain AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a positive, b int);
CREATE TABLE checks (id int PRIMARY KEY, v int CHECK (f(v) > 0));
CREATE TABLE generates (id int PRIMARY KEY, v int GENERATED ALWAYS AS (f(id)) STORED);
CREATE TABLE indexes (id int PRIMARY KEY, v int);
CREATE INDEX ON indexes (f(v));
CREATE TABLE partly (id int PRIMARY KEY, v int);
CREATE INDEX ON partly (v) WHERE f(v) > 0;
CREATE TABLE domains (id int PRIMARY KEY, v positive);
CREATE TABLE arrays (id int PRIMARY KEY, v pair[]);
CREATE TABLE sql (id int PRIMARY KEY, v whatever);
SELECT shuttle.distribute_table('checks', 'id', 2);
\echo :LAST_ERROR_MESSAGE :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT shuttle.distribute_table('generates', 'id', 2);
SELECT shuttle.distribute_table('indexes', 'id', 2);
SELECT shuttle.distribute_table('partly', 'id', 2);
SELECT shuttle.distribute_table('domains', 'id', 2);
SELECT shuttle.distribute_table('arrays', 'id', 2);
SELECT shuttle.distribute_table('sql', 'id', 2);
SELECT shuttle.distribute_tables('{generates.id, domains.id}');
SELECT shuttle.reference_table('checks');
SELECT shuttle.distribute_function('run(int)');
SET shuttle.auto_distribute = 'id';
\set VERBOSITY default
CREATE TABLE stays (id int PRIMARY KEY, v int CHECK (f(v) > 0));
\set VERBOSITY terse
RESET shuttle.auto_distribute;

-- what has no code of users gets there, and gets none later
CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v > 0), d plain, g int GENERATED ALWAYS AS (id + 1) STORED, at timestamptz DEFAULT now() CHECK (at <= now()));
SELECT shuttle.distribute_table('t', 'id', 2);
CREATE TABLE r (id int PRIMARY KEY, v int);
SELECT shuttle.reference_table('r');
INSERT INTO t SELECT i, i, i FROM generate_series(1, 4) AS i;
ALTER TABLE t ADD CHECK (f(v) > 0);
ALTER TABLE t ADD COLUMN w int GENERATED ALWAYS AS (f(id)) STORED;
ALTER TABLE t ADD COLUMN w positive;
ALTER TABLE t ALTER COLUMN v TYPE positive;
ALTER TABLE r ADD CHECK (f(v) > 0);
CREATE INDEX ON t (f(v));
CREATE INDEX CONCURRENTLY ON t (f(v));
CREATE INDEX CONCURRENTLY ON r (f(v));
ALTER DOMAIN plain ADD CHECK (f(VALUE) < 100);
ALTER DOMAIN plain ADD CHECK (query_to_xml('SELECT 1', false, false, '') IS NOT NULL);
ALTER DOMAIN plain ADD CHECK (VALUE < 100);
ALTER TABLE t ADD COLUMN w int, ADD CHECK (w < 100);
SELECT count(*), sum(g) FROM t;
-- nor if a superuser sends it
RESET ROLE;
SELECT shuttle.distribute_table('checks', 'id', 2);
SELECT shuttle.reference_table('domains');
SELECT shuttle.distribute_function('run(int)');
ALTER TABLE t ADD CHECK (f(v) > 0);
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_proc WHERE proname IN ('f', 'run') AND pronamespace <> 'pg_catalog'::regnamespace$$, '{n1,n2}');
-- a superuser's own code may run there, but not SQL that others give it
CREATE FUNCTION trusted(v int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN v > 0; END';
CREATE FUNCTION runs(sql text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN EXECUTE sql; RETURN true; END';
ALTER TABLE t ADD CHECK (trusted(v));
SET ROLE user_code_writer;
ALTER TABLE t DROP CONSTRAINT t_v_check1, ADD CONSTRAINT trusted CHECK (trusted(w));
CREATE TABLE dynamic (id int PRIMARY KEY CHECK (runs('SELECT 1')));
SELECT shuttle.distribute_table('dynamic', 'id', 2);
-- a function of a superuser that becomes another one's does not change there
RESET ROLE;
ALTER FUNCTION trusted(int) OWNER TO user_code_writer;
SET ROLE user_code_writer;
CREATE OR REPLACE FUNCTION trusted(v int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
ALTER TABLE t DROP CONSTRAINT trusted;
RESET ROLE;
DROP TABLE t, r;

-- roles that are as good as a superuser
CREATE FUNCTION tries(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	SET LOCAL ROLE user_code_writer;
	PERFORM shuttle.distribute_table('code.checks', 'id', 2);
	RAISE EXCEPTION USING ERRCODE = 'RS001', MESSAGE = 'made';
EXCEPTION WHEN insufficient_privilege OR SQLSTATE 'RS001' THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN what || ': ' || coalesce(nullif(detail, ''), sqlerrm);
END $$;
SELECT server, ok FROM shuttle.run_on_nodes('GRANT ALL ON SCHEMA code TO user_code_remote', '{n1,n2}');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'user_code_remote');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user 'user_code_remote');
SELECT tries('ordinary');
GRANT pg_execute_server_program TO user_code_powers;
GRANT user_code_powers TO user_code_remote;
SELECT tries('programs');
REVOKE pg_execute_server_program FROM user_code_powers;
GRANT pg_write_server_files TO user_code_powers;
SELECT tries('writes');
REVOKE pg_write_server_files FROM user_code_powers;
GRANT pg_read_server_files TO user_code_powers;
SELECT tries('reads');
REVOKE pg_read_server_files FROM user_code_powers;
ALTER ROLE user_code_powers SUPERUSER;
ALTER ROLE user_code_remote NOINHERIT;
SELECT tries('member of a superuser');
ALTER ROLE user_code_powers NOSUPERUSER;
SELECT format('ALTER ROLE %I IN DATABASE tablets_n1 SET role = user_code_remote', current_user) \gexec
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user %L)', current_user) \gexec
SELECT tries('superuser that takes another role');
SELECT format('ALTER ROLE %I IN DATABASE tablets_n1 RESET role', current_user) \gexec
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'user_code_remote');
-- the sender's user is ordinary, the author's own is not
SELECT format('CREATE USER MAPPING FOR user_code_writer SERVER n2 OPTIONS (user %L, password_required ''false'')', current_user) \gexec
SELECT shuttle.distribute_table('checks', 'id', 2);
DROP USER MAPPING FOR user_code_writer SERVER n2;
-- the author has no USAGE, the table's owner has
SET ROLE user_code_other;
CREATE FUNCTION of_other(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v';
SET ROLE user_code_writer;
CREATE TABLE others (id int PRIMARY KEY, v int CHECK (of_other(v) > 0));
\set VERBOSITY default
SELECT shuttle.distribute_table('others', 'id', 2);
\set VERBOSITY terse

-- with an ordinary remote user all of it works, and does what that user can
SELECT shuttle.distribute_table('checks', 'id', 2);
SELECT shuttle.distribute_tables('{generates.id, domains.id}');
SELECT shuttle.distribute_table('sql', 'id', 2);
SELECT shuttle.reference_table('indexes');
SELECT shuttle.distribute_function('run(int)');
CREATE TABLE attack (id int PRIMARY KEY, v text);
CREATE FUNCTION attempt(v text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF current_database() LIKE 'tablets_n_' THEN
		EXECUTE v;
		RAISE EXCEPTION 'done as %', current_user;
	END IF;
	RETURN true;
END $$;
-- nodes compute what is immutable
CREATE FUNCTION immutable_attempt(v text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN code.attempt(v); END';
CREATE FUNCTION definer(v text) RETURNS bool LANGUAGE plpgsql SECURITY DEFINER IMMUTABLE AS 'BEGIN RETURN code.attempt(v); END';
SELECT shuttle.distribute_function('attempt(text)');
ALTER TABLE attack ADD CHECK (immutable_attempt(v));
SELECT shuttle.distribute_table('attack', 'id', 1);
INSERT INTO attack VALUES (1, 'SELECT 1');
INSERT INTO attack VALUES (1, 'RESET ROLE');
INSERT INTO attack VALUES (1, 'SET ROLE user_code_powers');
INSERT INTO attack VALUES (1, 'SET ROLE NONE');
INSERT INTO attack VALUES (1, 'RESET SESSION AUTHORIZATION');
SELECT format('INSERT INTO attack VALUES (1, ''SET ROLE %I'')', session_user),
	format('INSERT INTO attack VALUES (1, ''SET SESSION AUTHORIZATION %I'')', session_user) \gexec
\set VERBOSITY sqlstate
INSERT INTO attack VALUES (1, $$COPY (SELECT 1) TO PROGRAM 'true'$$);
INSERT INTO attack VALUES (1, $$SELECT pg_read_file('postgresql.conf')$$);
INSERT INTO attack VALUES (1, 'ALTER ROLE user_code_writer SUPERUSER');
\set VERBOSITY terse
ALTER TABLE attack DROP CONSTRAINT attack_v_check, ADD CHECK (definer(v));
INSERT INTO attack VALUES (1, 'RESET ROLE');
RESET ROLE;
SELECT rolsuper FROM pg_roles WHERE rolname = 'user_code_writer';
-- the remote user becomes more than he was when the code came there
SELECT count(*) FROM shuttle.check() WHERE problem ~ '^has code';
GRANT pg_read_server_files TO user_code_powers;
SELECT DISTINCT node, problem, repaired, hint FROM shuttle.check() WHERE problem ~ '^has code';
REVOKE pg_read_server_files FROM user_code_powers;
SET client_min_messages = warning;
RESET search_path;
DROP SCHEMA code CASCADE;
DROP SCHEMA shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP ROLE user_code_writer, user_code_other, user_code_remote, user_code_powers;
