-- DISCARD reaches the sessions on nodes, and what we set there stays.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
-- What a function leaves behind in the session on the node.
CREATE SEQUENCE counting;
CREATE FUNCTION test.leave_behind() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE IF NOT EXISTS left_behind (id int);
	PERFORM set_config('test.left_behind', 'yes', false), pg_advisory_lock(4711), nextval('public.counting');
	RETURN 1;
END $$;
CREATE FUNCTION test.last() RETURNS bigint LANGUAGE plpgsql AS
	'BEGIN RETURN lastval(); EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN NULL; END';
CREATE VIEW leaving AS SELECT test.leave_behind() AS id;
CREATE VIEW found AS SELECT pg_backend_pid() AS pid, to_regclass('pg_temp.left_behind') IS NOT NULL AS temp,
	nullif(current_setting('test.left_behind', true), '') AS setting, test.last() AS last,
	(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND pid = pg_backend_pid()) AS locks,
	(SELECT count(*) FROM pg_prepared_statements) AS prepared,
	current_setting('search_path') AS path, current_setting('TimeZone') AS zone, current_setting('extra_float_digits') AS digits,
	current_setting('parallel_setup_cost') AS setup_cost;
CALL test.loopback('far');
CREATE FOREIGN TABLE f_leaving (id int) SERVER far OPTIONS (table_name 'leaving', shuttle_volatile 'on');
CREATE FOREIGN TABLE f_found (pid int, temp bool, setting text, last bigint, locks bigint, prepared bigint, path text, zone text, digits text,
	setup_cost text)
	SERVER far OPTIONS (table_name 'found');
SELECT id FROM f_leaving;
SELECT pid FROM f_found \gset before_
SELECT temp, setting, last, locks, prepared > 0 AS prepared, path, zone, digits, setup_cost FROM f_found;

DISCARD TEMP;
SELECT temp, setting, last, locks FROM f_found;
SELECT id FROM f_leaving;
DISCARD SEQUENCES;
SELECT temp, setting, last, locks FROM f_found;
DISCARD PLANS;
SELECT temp, setting, last, locks FROM f_found;
DISCARD ALL;
SELECT temp, setting, last, locks, prepared, path, zone, digits, setup_cost, pid = :before_pid AS same FROM f_found;

-- a part belongs to the transaction
SELECT id FROM f_leaving;
BEGIN;
DISCARD TEMP;
SELECT temp FROM f_found;
ROLLBACK;
SELECT temp FROM f_found;
BEGIN;
SELECT temp FROM f_found;
DISCARD TEMP;
COMMIT;
SELECT temp FROM f_found;

-- statements that were prepared there are prepared anew
PREPARE again(text) AS SELECT digits FROM f_found WHERE digits = $1;
EXECUTE again('3');
EXECUTE again('3');
EXECUTE again('3');
SELECT prepared > 0 AS prepared FROM f_found WHERE digits = '3';
SELECT prepared > 0 AS prepared FROM f_found WHERE digits = '3';
SELECT prepared > 0 AS prepared FROM f_found WHERE digits = '3';
DISCARD ALL;
SELECT digits FROM f_found WHERE digits = '3';
SELECT digits FROM f_found WHERE digits = '3';
SELECT digits FROM f_found WHERE digits = '3';

-- a connection that is gone has nothing to discard
SELECT pid FROM f_found \gset
SELECT pg_terminate_backend(:pid, 10000);
DISCARD TEMP;
DISCARD ALL;
SELECT temp, setting FROM f_found;

-- what a node was told about the price of workers stays; through a pooler it is set for each transaction
CALL test.loopback('priced', options => $$, options '-c parallel_setup_cost=500'$$);
CALL test.loopback('pooled', options => $$, shuttle_pooler 'transaction'$$);
CREATE FOREIGN TABLE f_priced (setup_cost text) SERVER priced OPTIONS (table_name 'found');
CREATE FOREIGN TABLE f_pooled (setup_cost text) SERVER pooled OPTIONS (table_name 'found');
SELECT setup_cost, (SELECT setup_cost FROM f_pooled) AS pooled FROM f_priced;
SET client_min_messages = warning;
DROP SERVER far, priced, pooled CASCADE;
DROP VIEW leaving, found;
DROP SEQUENCE counting;
