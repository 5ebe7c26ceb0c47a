-- Errors that come from a definition that differs from the node's, or from a role without a mapping, say what to do.
-- storage_hints_1.out: 19 says a part of its hint as a detail.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE PROCEDURE there(statement text) LANGUAGE plpgsql AS $f$
BEGIN
	PERFORM FROM shuttle.run_on_nodes(statement, '{n1}') AS r WHERE NOT ok;
	ASSERT NOT FOUND, statement;
END $f$;
CALL there('CREATE TABLE item (id int PRIMARY KEY, n int, "when" date)');
CREATE FOREIGN TABLE item (id int, n int, "when" date) SERVER n1 OPTIONS (schema_name 'public');
CREATE FOREIGN TABLE gone (id int) SERVER n1 OPTIONS (schema_name 'public');
CALL there('ALTER TABLE item ALTER n TYPE text');
SELECT * FROM item WHERE n = 7;
SELECT sum(n) FROM item;
SELECT * FROM item WHERE greatest(n, id) > 7;
UPDATE item SET n = n + 1;
CALL there('ALTER TABLE item ALTER n TYPE int USING n::int, DROP "when"');
SELECT "when" FROM item;
SELECT * FROM gone;
ALTER FOREIGN TABLE item DROP "when";
-- the node's own errors need no hint of ours
CALL there('CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN now() + 1; END''');
CALL there('CREATE TRIGGER fails BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION fails()');
INSERT INTO item (id) VALUES (1);
-- a role without a user mapping
CREATE ROLE "no one";
GRANT USAGE ON FOREIGN SERVER n2 TO "no one";
GRANT USAGE ON SCHEMA shop, shuttle TO "no one";
GRANT EXECUTE ON FUNCTION shuttle.run_on_nodes TO "no one";
GRANT SELECT ON gone TO "no one";
DROP USER MAPPING FOR PUBLIC SERVER n1;
DROP USER MAPPING FOR PUBLIC SERVER n2;
SET ROLE "no one";
SELECT server, ok, sqlstate, error FROM shuttle.run_on_nodes('SELECT 1', '{n1, n2}');
SELECT * FROM shop.gone;
RESET ROLE;
\set VERBOSITY terse
DROP SCHEMA shop CASCADE;
DROP OWNED BY "no one";
DROP ROLE "no one";
