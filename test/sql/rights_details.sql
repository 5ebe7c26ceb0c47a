-- The details of a node's error show no value to a role that may not read it, and nothing where policies hide rows.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE item (id int PRIMARY KEY, n int CHECK (n > 0), hidden text, UNIQUE (id, hidden));
SELECT shuttle.distribute_table('item', 'id', 4);
INSERT INTO item VALUES (1, 1, 'secret'), (2, 1, 'secret');
CREATE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE m text; d text; h text; c text;
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, c = PG_EXCEPTION_CONTEXT;
	RETURN concat_ws(' | ', SQLSTATE, m, d, h, CASE WHEN c LIKE '%secret%' THEN 'shown in ' || c END);
END $$;
CREATE ROLE rights_clerk;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO rights_clerk;
CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement) VALUES ('UPDATE item SET n = -1 WHERE id = 1'), ('UPDATE item SET n = -1'), ('INSERT INTO item VALUES (1, 1)'),
	('INSERT INTO item (id, n) VALUES (3, -1)'), ('INSERT INTO item (id, n) SELECT i, -i FROM generate_series(3, 4) AS i');
GRANT SELECT ON statements TO rights_clerk;
-- who may read all
SELECT statement, error_of(statement) FROM statements ORDER BY n;
-- who may not read all columns
GRANT INSERT, UPDATE, SELECT (id, n) ON item TO rights_clerk;
SET ROLE rights_clerk;
SELECT statement, error_of(statement) FROM statements ORDER BY n;
RESET ROLE;
-- who has policies
GRANT SELECT ON item TO rights_clerk;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON item FOR SELECT USING (id > 100);
CREATE POLICY writes ON item FOR INSERT WITH CHECK (true);
SET ROLE rights_clerk;
SELECT statement, error_of(statement) FROM statements ORDER BY n;
RESET ROLE;
-- a node's plan has values of rows
CREATE VIEW hints AS SELECT (SELECT count(*) FROM item WHERE hidden = (SELECT max(hidden) FROM shop.item)) AS n;
GRANT SELECT ON hints TO rights_clerk;
REVOKE ALL ON item FROM rights_clerk;
CREATE FUNCTION shows(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE) ' || statement LOOP
		found := found OR line LIKE '%secret%';
	END LOOP;
	RETURN found;
END $$;
SET ROLE rights_clerk;
SET shuttle.explain_remote = on;
SELECT shows('TABLE hints');
RESET ROLE;
GRANT SET ON PARAMETER shuttle.explain_remote TO rights_clerk;
SET ROLE rights_clerk;
SET shuttle.explain_remote = on;
SELECT shows('TABLE hints');
RESET ROLE;
RESET shuttle.explain_remote;
REVOKE SET ON PARAMETER shuttle.explain_remote FROM rights_clerk;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP ROLE rights_clerk;
