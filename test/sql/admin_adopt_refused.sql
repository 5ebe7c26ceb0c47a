-- trap 41: where, by whom and with which options a server may not be moved.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id FROM generate_series(1, 20) i;
CALL test.loopback('far', 'postgres_fdw');
CREATE FOREIGN TABLE ft (id int) SERVER far OPTIONS (table_name 'remote');
-- only as a statement of its own
BEGIN;
SELECT * FROM shuttle.adopt_server('far');
ROLLBACK;
SELECT 1\; SELECT * FROM shuttle.adopt_server('far');
CREATE FUNCTION test.by_perform() RETURNS void LANGUAGE plpgsql AS $$BEGIN PERFORM shuttle.adopt_server('far'); END$$;
SELECT test.by_perform();
CREATE FUNCTION test.by_cursor() RETURNS void LANGUAGE plpgsql AS
$$DECLARE r record; BEGIN FOR r IN SELECT * FROM shuttle.adopt_server('far') LOOP END LOOP; END$$;
SELECT test.by_cursor();
CREATE FUNCTION test.by_sql() RETURNS bigint LANGUAGE sql AS
$$SELECT 1; SELECT count(*) FROM shuttle.adopt_server('far')$$;
SELECT test.by_sql();
PREPARE p AS SELECT * FROM shuttle.adopt_server('far');
EXECUTE p;
DO $$BEGIN EXECUTE 'EXECUTE p'; END$$;
CREATE TABLE copy AS SELECT * FROM shuttle.adopt_server('far');
COPY (SELECT * FROM shuttle.adopt_server('far')) TO STDOUT;
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM shuttle.adopt_server('far');
EXPLAIN (ANALYZE) SELECT * FROM shuttle.adopt_server('far');
-- not where the same statement uses the server
SELECT (SELECT count(*) FROM ft), (shuttle.adopt_server('far')).changed;
SELECT shuttle.adopt_server('far') FROM ft;
CREATE FUNCTION test.uses_server() RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT count(*) FROM ft); END$$;
SELECT test.uses_server(), shuttle.adopt_server('far');
-- not in a read-only transaction
SET default_transaction_read_only = on;
SELECT * FROM shuttle.adopt_server('far');
RESET default_transaction_read_only;
-- only what is there, and on the right wrapper
SELECT * FROM shuttle.adopt_server('nosuch');
SELECT * FROM shuttle.release_server('far');
SELECT * FROM shuttle.adopt_server(NULL);
-- only by the owner, with USAGE on the wrapper it goes to
CREATE ROLE test_mover;
SET ROLE test_mover;
SELECT * FROM shuttle.adopt_server('far');
RESET ROLE;
GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO test_mover;
ALTER SERVER far OWNER TO test_mover;
SET ROLE test_mover;
SELECT * FROM shuttle.adopt_server('far');
RESET ROLE;
GRANT USAGE ON FOREIGN DATA WRAPPER shuttle TO test_mover;
-- a mapping that only a superuser may have set
ALTER USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (password_required 'false');
SET ROLE test_mover;
\set SHOW_CONTEXT never
SELECT * FROM shuttle.adopt_server('far');
RESET ROLE;
ALTER USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (DROP password_required);
SET ROLE test_mover;
SELECT * FROM shuttle.adopt_server('far');
SELECT * FROM shuttle.adopt_server('far');
RESET ROLE;
REVOKE USAGE ON FOREIGN DATA WRAPPER postgres_fdw FROM test_mover;
SET ROLE test_mover;
SELECT * FROM shuttle.release_server('far');
RESET ROLE;
SELECT * FROM shuttle.release_server('far');
DROP SERVER far CASCADE;
DROP TABLE remote;
DROP FUNCTION test.by_perform, test.by_cursor, test.by_sql, test.uses_server;
DEALLOCATE p;
REVOKE ALL ON SCHEMA test FROM test_mover;
REVOKE USAGE ON FOREIGN DATA WRAPPER shuttle FROM test_mover;
DROP ROLE test_mover;
