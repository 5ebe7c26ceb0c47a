-- Roles that are dropped, and what they own, beside plain tables: REASSIGN OWNED takes tablets and
-- copies with their table, DROP OWNED drops them on nodes, and takes privileges and policies.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS dropped_owner, dropped_heir, dropped_reader, dropped_remote;
CREATE ROLE dropped_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1 TO dropped_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'dropped_remote', ADD password_required 'false');
SELECT count(*) FROM shuttle.use_node('n1');
CREATE ROLE dropped_owner;
CREATE ROLE dropped_heir;
CREATE ROLE dropped_reader;
CREATE SCHEMA plain;
GRANT ALL ON SCHEMA shop, plain TO dropped_owner, dropped_heir;
GRANT USAGE ON SCHEMA shop, plain TO dropped_reader;
GRANT USAGE ON FOREIGN SERVER n1 TO dropped_owner, dropped_heir;
CREATE PROCEDURE make_tables(side text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', side, true);
	SET LOCAL ROLE dropped_owner;
	CREATE TABLE t (id int PRIMARY KEY, owner text, v int);
	INSERT INTO t SELECT i, CASE i % 2 WHEN 0 THEN 'dropped_reader' ELSE 'x' END, i FROM generate_series(1, 10) AS i;
	CREATE TABLE s (id int PRIMARY KEY, v int);
	INSERT INTO s SELECT i, i FROM generate_series(1, 3) AS i;
	CREATE FUNCTION f(i int) RETURNS int LANGUAGE sql AS 'SELECT i + 1';
	IF side = 'shop' THEN
		PERFORM shuttle.distribute_table('t', 'id', 2), shuttle.reference_table('s'), shuttle.distribute_function('f(int)');
	END IF;
	ALTER TABLE t ENABLE ROW LEVEL SECURITY;
	CREATE POLICY p ON t TO dropped_reader USING (owner = current_user);
	GRANT ALL ON t, s TO dropped_reader;
END $$;
CALL make_tables('shop');
CALL make_tables('plain');
CREATE FUNCTION outcome(side text, act text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	PERFORM set_config('search_path', side, true);
	EXECUTE act;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n || ' rows';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION same(act text) RETURNS text LANGUAGE sql AS
	$$SELECT CASE WHEN a = b THEN 'same: ' || a ELSE format('DIFFERENT: %s, expected %s', b, a) END FROM outcome('plain', act) AS a, outcome('shop', act) AS b$$;
GRANT ALL ON SCHEMA shop TO PUBLIC;
CREATE VIEW owners AS SELECT nspname, regexp_replace(relname, '\d+$', '') AS name, CASE WHEN rolsuper THEN 'superuser' ELSE rolname END AS owner, relacl IS NOT NULL AS granted, count(*)
	FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_roles r ON r.oid = relowner
	WHERE nspname IN ('shop', 'plain', 'shuttle_tablets', 'pg_shuttle_copies') AND relkind IN ('r', 'p', 'f') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2;
RESET client_min_messages;
SET ROLE dropped_reader;
SELECT shop.same('SELECT FROM t'), shop.same('UPDATE t SET v = 0');
RESET ROLE;
SELECT outcome('shop', 'DROP ROLE dropped_reader'), outcome('shop', 'DROP ROLE dropped_owner');
TABLE owners;
REASSIGN OWNED BY dropped_owner TO dropped_heir;
TABLE owners;
SELECT * FROM shuttle.check();
DROP OWNED BY dropped_reader;
TABLE owners;
SELECT count(*) FROM pg_policy;
DROP ROLE dropped_reader;
DROP OWNED BY dropped_owner;
DROP ROLE dropped_owner;
SET ROLE dropped_heir;
SELECT shop.same('SELECT f(id) FROM t'), shop.same('ALTER TABLE t ADD w int DEFAULT 3'), shop.same('UPDATE s SET v = 0'), shop.same('DELETE FROM t WHERE w = 3');
RESET ROLE;
SELECT * FROM shuttle.check();
SELECT count(*) FROM shuttle.run_on_nodes('SELECT FROM shop.s', '{n1}') WHERE ok;
DROP OWNED BY dropped_heir;
TABLE owners;
SELECT relation, kind FROM shuttle.tables;
SELECT routine FROM shuttle.routines;
SELECT result FROM shuttle.run_on_nodes($$SELECT relname FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1}');
DROP ROLE dropped_heir;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP ROLE dropped_remote;
