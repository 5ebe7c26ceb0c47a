-- shuttle.disconnect() closes idle connections, and leaves those in use.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE here AS SELECT 1 AS id;
CALL test.loopback('one');
CALL test.loopback('two');
CALL test.loopback('stock', 'postgres_fdw');
CREATE FOREIGN TABLE f_one (id int) SERVER one OPTIONS (table_name 'here');
CREATE FOREIGN TABLE f_two (id int) SERVER two OPTIONS (table_name 'here');
CREATE FOREIGN TABLE f_stock (id int) SERVER stock OPTIONS (table_name 'here');
CREATE FUNCTION test.connected() RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(server || ' ' || state, ', ' ORDER BY server) FROM shuttle.nodes WHERE pid = pg_backend_pid() $$;
SELECT shuttle.disconnect('one') AS one, shuttle.disconnect() AS all;
SELECT f_one.id FROM f_one, f_two, f_stock;
SELECT test.connected();
SELECT shuttle.disconnect('one');
SELECT test.connected();
SELECT shuttle.disconnect('one');
SELECT f_one.id FROM f_one, f_two;
SELECT shuttle.disconnect();
SELECT test.connected();

-- in use: by an open transaction, a savepoint, this statement
BEGIN;
SELECT id FROM f_two;
SAVEPOINT s;
SELECT id FROM f_one;
SELECT shuttle.disconnect('one');
SELECT shuttle.disconnect();
ROLLBACK TO s;
SELECT shuttle.disconnect('one');
INSERT INTO f_two VALUES (2);
SELECT shuttle.disconnect();
COMMIT;
SELECT id FROM f_two ORDER BY id;
SELECT test.connected();
SELECT shuttle.disconnect('one') AS one, id FROM f_one WHERE id = 1;
SELECT test.connected();

-- the connections of postgres_fdw are not ours
SELECT postgres_fdw_disconnect('stock');
SELECT state, message, hint FROM test.raised($$SELECT shuttle.disconnect('stock')$$);
SELECT state, message FROM test.raised($$SELECT shuttle.disconnect('nowhere')$$);

-- everybody may close connections of the own session
CREATE ROLE disconnector;
SET ROLE disconnector;
SELECT shuttle.disconnect();
RESET ROLE;
DROP ROLE disconnector;
DROP SERVER one, two, stock CASCADE;
DROP TABLE here;
