-- Notices and warnings of nodes are shown with the node's name.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
SET client_min_messages = notice;
CREATE FUNCTION test.speak() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'a notice with 100 %%' USING DETAIL = 'its detail', HINT = 'its hint', ERRCODE = 'SH123';
	RAISE WARNING 'a warning';
	RAISE INFO 'an information';
	RAISE LOG 'only for the log';
	RAISE DEBUG 'not wanted';
	RETURN 1;
END $$;
CREATE VIEW speaking AS SELECT test.speak() AS id;
CREATE TABLE writing (id int);
CREATE FUNCTION test.speak_at_commit() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RAISE NOTICE ''written: %'', NEW.id; RETURN NEW; END';
CREATE CONSTRAINT TRIGGER speak AFTER INSERT ON writing DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION test.speak_at_commit();
CREATE FUNCTION test.speak_and_fail() RETURNS int LANGUAGE plpgsql AS
	'BEGIN RAISE NOTICE ''before the error''; RAISE EXCEPTION ''the error''; END';
CREATE VIEW failing AS SELECT test.speak_and_fail() AS id;
CALL test.loopback('far');
CREATE FOREIGN TABLE f_speaking (id int) SERVER far OPTIONS (table_name 'speaking');
CREATE FOREIGN TABLE f_writing (id int) SERVER far OPTIONS (table_name 'writing');
CREATE FOREIGN TABLE f_failing (id int) SERVER far OPTIONS (table_name 'failing');
\set SHOW_CONTEXT never
SELECT id FROM f_speaking;
SET client_min_messages = warning;
SELECT id FROM f_speaking;
SET client_min_messages = notice;

-- in front of an error
SELECT id FROM f_failing;

-- at the end of a transaction, in the order in which they came
BEGIN;
INSERT INTO f_writing VALUES (1), (2);
COMMIT;
BEGIN;
INSERT INTO f_writing VALUES (3);
ROLLBACK;

DROP SERVER far CASCADE;
DROP TABLE writing;
