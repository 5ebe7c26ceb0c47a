-- Connections fail with postgres_fdw's words; ours add what to do.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('theirs', 'postgres_fdw');
CALL test.loopback('ours');
CREATE ROLE test_nobody LOGIN;
CREATE TABLE here (id int);
CREATE FOREIGN TABLE their_table (id int) SERVER theirs OPTIONS (table_name 'here');
CREATE FOREIGN TABLE our_table (id int) SERVER ours OPTIONS (table_name 'here');
GRANT SELECT ON here, their_table, our_table TO test_nobody;
GRANT USAGE ON SCHEMA test TO test_nobody;
-- the texts of libpq are left out
CREATE FUNCTION test.told(command text) RETURNS TABLE (server text, state text, message text, detail text, hint text)
LANGUAGE sql AS $$
	SELECT server, raised.state, raised.message, raised.detail, raised.hint
	FROM unnest('{theirs,ours}'::text[]) server, test.raised(format(command, server, left(server, -1) || '_table')) AS raised
$$;
\x on
-- nobody has a mapping
SET ROLE test_nobody;
SELECT server, state, hint FROM test.told('SELECT * FROM %2$s');
RESET ROLE;
-- a mapping without a password
CREATE USER MAPPING FOR test_nobody SERVER theirs;
CREATE USER MAPPING FOR test_nobody SERVER ours;
SET ROLE test_nobody;
SELECT count(DISTINCT (state, message, detail, hint)) FROM test.told('SELECT * FROM %2$s');
RESET ROLE;
-- no such database
ALTER SERVER theirs OPTIONS (SET dbname 'no such database');
ALTER SERVER ours OPTIONS (SET dbname 'no such database');
SELECT server, state, message, hint FROM test.told('SELECT * FROM %2$s');
\x off
-- two-phase commit by hand
DROP SERVER theirs, ours CASCADE;
CALL test.loopback('theirs', 'postgres_fdw');
CALL test.loopback('ours');
CREATE FOREIGN TABLE their_table (id int) SERVER theirs OPTIONS (table_name 'here');
CREATE FOREIGN TABLE our_table (id int) SERVER ours OPTIONS (table_name 'here');
BEGIN;
SELECT * FROM their_table;
PREPARE TRANSACTION 'theirs';
BEGIN;
SELECT * FROM our_table;
PREPARE TRANSACTION 'ours';
ROLLBACK PREPARED 'ours';
DROP SERVER theirs, ours CASCADE;
DROP TABLE here;
DROP FUNCTION test.told;
REVOKE USAGE ON SCHEMA test FROM test_nobody;
DROP ROLE test_nobody;
