-- Functions of a table's owner that run while we maintain the table see the session's settings, and leave none behind.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS settings_owner, settings_remote;
CREATE ROLE settings_owner;
CREATE ROLE settings_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO settings_remote;
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (SET user ''settings_remote'', ADD password_required ''false'')', n) FROM generate_series(1, 2) AS n \gexec
GRANT USAGE ON FOREIGN SERVER n1, n2 TO settings_owner;
CREATE SCHEMA settings AUTHORIZATION settings_owner;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE TABLE audited (id int PRIMARY KEY, v int);
CREATE TABLE audits (id int, v int);
CREATE FUNCTION audit() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS 'BEGIN INSERT INTO shop.audits SELECT NEW.*; RETURN NEW; END';
CREATE TRIGGER audit BEFORE INSERT ON audited FOR EACH ROW EXECUTE FUNCTION audit();
GRANT INSERT ON audited TO settings_owner;
GRANT USAGE ON SCHEMA shop TO settings_owner;
CREATE SEQUENCE numbers;
GRANT USAGE ON numbers TO settings_owner;
SET ROLE settings_owner;
SET search_path = settings;
CREATE FUNCTION put(v int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', 'settings', false), set_config('work_mem', '321kB', false);
	INSERT INTO shop.audited VALUES (nextval('shop.numbers'), v);
	RETURN v;
END $$;
CREATE FUNCTION same(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_database() !~ '^tablets_n' THEN
		RETURN settings.put(v);
	END IF;
	RETURN v;
END $$;
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% fired', tg_name; RETURN NEW; END $$;
SELECT format($f$
CREATE TABLE %1$s (id int PRIMARY KEY, v int CHECK (settings.same(v) > 0), h int GENERATED ALWAYS AS (settings.same(v)) STORED);
CREATE INDEX ON %1$s (settings.same(v));
CREATE INDEX ON %1$s (v) WHERE settings.same(1) = 1;
INSERT INTO %1$s SELECT i, i FROM generate_series(1, 3) AS i;
CREATE TRIGGER usual BEFORE INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER always AFTER INSERT OR UPDATE ON %1$s FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER statements AFTER INSERT OR UPDATE ON %1$s EXECUTE FUNCTION fired();
ALTER TABLE %1$s ENABLE ALWAYS TRIGGER always;
$f$, n) FROM unnest('{t,r}'::text[]) AS n \gexec
RESET ROLE;
CREATE FUNCTION shop.left_behind() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', current_setting('search_path'), current_setting('work_mem') <> '321kB', (SELECT count(*) FROM shop.audited) - (SELECT count(*) FROM shop.audits)) $$;
\set QUIET on
\set VERBOSITY terse
\c
SELECT shuttle.distribute_table('settings.t', 'id', 2);
SELECT shop.left_behind();
\c
SELECT shuttle.reference_table('settings.r');
SELECT shop.left_behind();
\c
SELECT * FROM shuttle.check(repair => true);
SELECT shop.left_behind();
\c
CREATE INDEX ON settings.t (settings.same(id));
ALTER TABLE settings.t ADD COLUMN x float DEFAULT random(), ADD CHECK (settings.same(v) < 1000);
SELECT shop.left_behind();
\c
CREATE UNIQUE INDEX ON settings.t (settings.same(v));
SELECT shop.left_behind();
\c
SELECT shuttle.local_table('settings.t');
SELECT shop.left_behind();
SELECT id, v, h, x IS NULL AS no_x FROM settings.t ORDER BY id;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'settings.t'::regclass ORDER BY 1;
\c
SELECT shuttle.local_table('settings.r');
SELECT shop.left_behind();
SELECT count(*) > 20 AS some_ran FROM shop.audits;
SET client_min_messages = warning;
DROP SCHEMA settings, shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP DATABASE tablets_n3 WITH (FORCE);
DROP OWNED BY settings_owner;
DROP ROLE settings_owner, settings_remote;
