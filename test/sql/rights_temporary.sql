-- A temporary object never stands for one of the server in SQL of ours, here or on a node.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
-- functions of a CHECK, which a node calls, leave some in its session
CREATE FUNCTION plant(v int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF current_database() = 'tablets_n1' AND to_regtype('pg_temp.text') IS NULL THEN
		EXECUTE 'CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (VALUE <> ''b'')';
		EXECUTE 'CREATE TEMP VIEW pg_class AS SELECT * FROM pg_catalog.pg_class WHERE false';
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION is_fine(v int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN shop.plant(v); END';
SELECT shuttle.distribute_function('plant(int)');
CREATE TABLE evil (id int PRIMARY KEY CHECK (is_fine(id)));
CREATE TABLE good (id int PRIMARY KEY, v text);
SELECT shuttle.distribute_tables('{evil.id, good.id}', 2);
INSERT INTO good VALUES (1, 'a'), (2, 'b'), (3, 'b');
INSERT INTO evil VALUES (1), (2), (3), (4);
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) AS planted FROM pg_type AS t
	JOIN pg_namespace AS n ON n.oid = typnamespace WHERE typname IN ('text', 'pg_class') AND nspname LIKE 'pg\_temp%'$$, '{n1}');
SELECT id FROM good WHERE v = 'b' ORDER BY id;
SELECT id FROM good WHERE id = 2 AND v || 'c' = 'bc';
SELECT v, count(*) FROM good GROUP BY v ORDER BY v;
UPDATE good SET v = v || 'b' WHERE id = 1 RETURNING v;
ANALYZE good;
SELECT problem FROM shuttle.check() ORDER BY 1;

-- a superuser's call in a session in which another role was active
SET client_min_messages = warning;
DROP ROLE IF EXISTS temporary_other;
CREATE ROLE temporary_other;
CREATE SCHEMA lure AUTHORIZATION temporary_other;
RESET client_min_messages;
SET ROLE temporary_other;
CREATE FUNCTION lure.seize() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user) THEN
		ALTER ROLE temporary_other SUPERUSER;
	END IF;
	RETURN true;
END $$;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (lure.seize());
CREATE TEMP VIEW pg_settings AS SELECT * FROM pg_catalog.pg_settings WHERE lure.seize();
CREATE TEMP VIEW pg_replication_slots AS SELECT * FROM pg_catalog.pg_replication_slots WHERE lure.seize();
RESET ROLE;
CREATE FUNCTION is_seized() RETURNS bool LANGUAGE sql AS
	'SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = ''temporary_other''';
BEGIN;
SELECT shuttle.new_identity();
SELECT is_seized();
ROLLBACK;
BEGIN;
SELECT shuttle.register_query_node('temporary_none');
SELECT is_seized();
ROLLBACK;
-- the slot is still there
BEGIN;
SELECT shuttle.forget_query_node('temporary_none');
SELECT is_seized();
ROLLBACK;
BEGIN;
SELECT shuttle.install_citus_names('lure');
SELECT is_seized(), 'lure.undistribute_table'::regproc IS NOT NULL AS is_made;
ROLLBACK;
DROP DOMAIN pg_temp.text;
DROP VIEW pg_temp.pg_settings, pg_temp.pg_replication_slots;
SET client_min_messages = warning;
DROP SCHEMA lure CASCADE;
DROP ROLE temporary_other;
DROP SCHEMA shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP DATABASE tablets_n3 WITH (FORCE);
