-- Deferred keys of several roles: each key is looked for over the connections of the role that wrote it.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set SHOW_CONTEXT never
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE ROLE keys_writer;
CREATE ROLE keys_reader;
CREATE SCHEMA plain;
GRANT USAGE ON SCHEMA shop, plain TO keys_writer, keys_reader;
CREATE TABLE person (id int PRIMARY KEY, boss int CONSTRAINT has_boss REFERENCES person (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER TABLE plain.person ADD CONSTRAINT has_boss FOREIGN KEY (boss) REFERENCES plain.person (id) DEFERRABLE INITIALLY DEFERRED;
SELECT shuttle.distribute_table('person', 'id', 2);
GRANT INSERT, DELETE, SELECT (id) ON person, plain.person TO keys_writer;
GRANT ALL ON person, plain.person TO keys_reader;
-- the detail shows what the role may read that core's trigger would run for, which depends on the version
CREATE FUNCTION detail(path text, writer name, checker name) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text;
BEGIN
	PERFORM set_config('search_path', path, true);
	PERFORM set_config('role', writer, true);
	INSERT INTO person VALUES (7, 77);
	PERFORM set_config('role', checker, true);
	SET CONSTRAINTS ALL IMMEDIATE;
EXCEPTION WHEN foreign_key_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN detail;
END $$;
SELECT writer, checker, detail('shop', writer, checker) = detail('plain', writer, checker) AS is_same
FROM unnest('{keys_writer,keys_reader}'::name[]) AS writer, unnest('{keys_writer,keys_reader}'::name[]) AS checker;
BEGIN;
SELECT detail('shop', 'keys_reader', 'keys_reader');
SELECT detail('shop', 'keys_writer', 'keys_writer');
ROLLBACK;
-- the writer has mappings of his own
CREATE USER MAPPING FOR keys_writer SERVER n1 OPTIONS (user :'USER', password_required 'false');
CREATE USER MAPPING FOR keys_writer SERVER n2 OPTIONS (user :'USER', password_required 'false');
BEGIN;
SET LOCAL ROLE keys_writer;
INSERT INTO person VALUES (1, 9);
RESET ROLE;
COMMIT;
BEGIN;
INSERT INTO person VALUES (1, 9);
SET LOCAL ROLE keys_writer;
INSERT INTO person VALUES (2, 9);
RESET ROLE;
DELETE FROM person WHERE id = 1;
COMMIT;
BEGIN;
SET LOCAL ROLE keys_writer;
INSERT INTO person VALUES (1, 2), (2, 1);
RESET ROLE;
INSERT INTO person VALUES (3, 4), (4, 3);
COMMIT;
BEGIN;
SET LOCAL ROLE keys_writer;
DELETE FROM person WHERE id = 1;
RESET ROLE;
COMMIT;
SELECT * FROM person ORDER BY id;
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA plain, shop CASCADE;
DROP USER MAPPING FOR keys_writer SERVER n1;
DROP USER MAPPING FOR keys_writer SERVER n2;
DROP ROLE keys_writer, keys_reader;
