-- trap 32: application_name on a node tells query node, backend and transaction.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE VIEW name_view AS SELECT current_setting('application_name') AS name, pg_backend_pid() AS pid;
CALL test.loopback('plain');
CALL test.loopback('other');
CALL test.loopback('named', options => $$, application_name 'shop %p'$$);
CALL test.loopback('marked', options => $$, application_name 'the shop at the end of the world %x'$$);
CREATE FOREIGN TABLE plain_name (name text, pid int) SERVER plain OPTIONS (table_name 'name_view');
CREATE FOREIGN TABLE other_name (name text, pid int) SERVER other OPTIONS (table_name 'name_view');
CREATE FOREIGN TABLE named_name (name text) SERVER named OPTIONS (table_name 'name_view');
CREATE FOREIGN TABLE marked_name (name text) SERVER marked OPTIONS (table_name 'name_view');

-- What the name of this transaction is to be.
CREATE FUNCTION test.own_name() RETURNS text LANGUAGE sql AS $$
	SELECT format('%s:%s %s/%s',
		(SELECT lpad(to_hex(system_identifier), 16, '0') FROM pg_control_system()), pg_backend_pid(),
		(extract(epoch FROM transaction_timestamp()) * 1000000)::bigint,
		(SELECT split_part(virtualtransaction, '/', 2) FROM pg_locks WHERE pid = pg_backend_pid() LIMIT 1))
$$;
SELECT name = 'pg_shuttle ' || test.own_name() AS own, octet_length(name) < 64 AS fits FROM plain_name;

-- one for all nodes, statements and savepoints of a transaction, written or read
CREATE TABLE written (name text);
CREATE FOREIGN TABLE plain_written (name text) SERVER plain OPTIONS (table_name 'written');
BEGIN;
CREATE TEMP TABLE names AS SELECT name FROM plain_name;
INSERT INTO names SELECT name FROM plain_name;
INSERT INTO names SELECT name FROM other_name;
SAVEPOINT s;
INSERT INTO plain_written SELECT 'x';
SELECT count(*), min(name) = 'pg_shuttle ' || test.own_name() AS own FROM plain_name;
ROLLBACK TO s;
INSERT INTO names SELECT name FROM plain_name;
INSERT INTO plain_written SELECT 'x';
INSERT INTO names SELECT name FROM plain_name;
SELECT count(*), count(DISTINCT name), min(name) = 'pg_shuttle ' || test.own_name() AS own FROM names;
COMMIT;
SELECT count(*) FROM names, plain_name WHERE names.name = plain_name.name;

-- between transactions it tells the session
SELECT pid AS node_pid FROM plain_name \gset
CREATE FUNCTION test.idle_name(node_pid int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text;
BEGIN
	-- nobody waits for the COMMIT of a transaction that only read
	FOR i IN 1 .. 1000 LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		SELECT application_name INTO name FROM pg_stat_activity WHERE pid = node_pid;
		EXIT WHEN name NOT LIKE '%/%';
	END LOOP;
	RETURN name;
END $$;
SELECT test.idle_name(:node_pid) = 'pg_shuttle ' || split_part(test.own_name(), ' ', 1) AS idle;

-- a name of the user's stays, and can ask for it
SELECT name = 'shop ' || pg_backend_pid() AS kept FROM named_name;
SELECT name = left('the shop at the end of the world ', 63 - octet_length(test.own_name())) || test.own_name() AS marked FROM marked_name;
SET postgres_fdw.application_name = 'shop %%%x!';
ALTER SERVER marked OPTIONS (ADD fdw_startup_cost '1');
SELECT name = left('shop %' || test.own_name() || '!', 63) AS from_setting FROM marked_name;
RESET postgres_fdw.application_name;

-- and cannot pass for another session
CREATE FUNCTION test.read_name(setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('postgres_fdw.application_name', setting, true);
	EXECUTE format('ALTER SERVER marked OPTIONS (SET fdw_startup_cost %L)', length(setting) + 1);
	SELECT name INTO found FROM marked_name;
	RETURN replace(replace(found, test.own_name(), '<own>'), split_part(test.own_name(), ' ', 1), '<own session>') ||
		CASE WHEN regexp_replace(found, test.own_name() || '([^0-9]|$)', '\1') ~ '[0-9a-f]{16}:[0-9]' THEN ' looks like another' ELSE '' END;
END $$;
SET application_name = 'deadbeefdeadbeef:2 1/1';
SELECT test.read_name('deadbeefdeadbeef:1 x');
SELECT test.read_name('00deadbeefdeadbeef:1 x');
SELECT test.read_name('%a');
SELECT test.read_name(U&'\00A423456789abcdef:7 1/2');
SELECT test.read_name(U&'\00A423456789abcdef:7%x');
SELECT test.read_name('deadbeef:1 DEADBEEFDEADBEEF:1');
SELECT test.read_name('deadbeefdeadbeef:%x');
SELECT test.read_name('dead%x');
SELECT test.read_name('%x99');
SELECT test.read_name('%x 5/6');
SELECT test.read_name('%x-5/6');
RESET application_name;
DROP SERVER plain, other, named, marked CASCADE;
DROP VIEW name_view;
DROP TABLE written;
