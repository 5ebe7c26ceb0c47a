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
-- keys, beside ordinary tables: what is shown depends on the rights on their columns
CREATE SCHEMA plain;
CREATE TABLE parent (id int PRIMARY KEY, code text UNIQUE, "odd, name" int);
CREATE TABLE child (id int, parent_id int REFERENCES parent, code text, n int, PRIMARY KEY (id, parent_id));
CREATE TABLE other (id int PRIMARY KEY, parent_id int REFERENCES parent, code text REFERENCES parent (code));
CREATE TABLE plain.parent (LIKE parent INCLUDING ALL);
CREATE TABLE plain.child (LIKE child INCLUDING ALL);
CREATE TABLE plain.other (LIKE other INCLUDING ALL);
ALTER TABLE plain.child ADD CONSTRAINT child_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES plain.parent;
ALTER TABLE plain.other ADD CONSTRAINT other_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES plain.parent,
	ADD CONSTRAINT other_code_fkey FOREIGN KEY (code) REFERENCES plain.parent (code);
CREATE UNIQUE INDEX parent_odd ON parent (id, "odd, name");
CREATE UNIQUE INDEX parent_odd ON plain.parent (id, "odd, name");
SELECT shuttle.distribute_tables('{parent.id, child.parent_id, other.id}');
INSERT INTO parent SELECT i, 'code ' || i, i FROM generate_series(1, 9) AS i;
INSERT INTO child SELECT i, i, 'code ' || i, i FROM generate_series(1, 5) AS i;
INSERT INTO plain.parent TABLE parent;
INSERT INTO plain.child TABLE child;
INSERT INTO other VALUES (1, 8, 'code 9');
INSERT INTO plain.other TABLE other;
CREATE TABLE keyed (n serial, statement text);
INSERT INTO keyed (statement) VALUES
	('INSERT INTO parent VALUES (1, ''word'')'),
	('INSERT INTO parent VALUES (11, ''code 2'')'),
	('UPDATE parent SET code = ''code 2'' WHERE id = 1'),
	('INSERT INTO child VALUES (1, 1, ''word'')'),
	('INSERT INTO child VALUES (11, 99, ''word'')'),
	('UPDATE child SET parent_id = 99 WHERE id = 1'),
	('INSERT INTO other VALUES (2, 99, NULL)'),
	('INSERT INTO other VALUES (2, 1, ''word'')'),
	('UPDATE other SET code = ''word'' WHERE id = 1'),
	('DELETE FROM parent WHERE id = 1'),
	('DELETE FROM parent WHERE id = 8'),
	('DELETE FROM parent WHERE id = 9'),
	('UPDATE parent SET code = ''word'' WHERE id = 9'),
	('INSERT INTO parent VALUES (11, '') is not present in table "x".''), (12, '') is not present in table "x".'')');
GRANT SELECT ON keyed TO rights_clerk;
GRANT USAGE ON SCHEMA plain TO rights_clerk;
GRANT INSERT, UPDATE, DELETE, SELECT (id) ON parent, child, other, plain.parent, plain.child, plain.other TO rights_clerk;
CREATE FUNCTION compared(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
BEGIN
	PERFORM set_config('search_path', 'plain, shop', true);
	theirs := error_of(statement);
	PERFORM set_config('search_path', 'shop', true);
	ours := error_of(statement);
	RETURN CASE WHEN ours = theirs THEN 'same: ' || ours ELSE 'here: ' || ours || ', there: ' || theirs END;
END $$;
SET ROLE rights_clerk;
SELECT statement, compared(statement) FROM keyed ORDER BY n;
RESET ROLE;
GRANT SELECT (code) ON parent, plain.parent TO rights_clerk;
GRANT SELECT (parent_id, code) ON child, other, plain.child, plain.other TO rights_clerk;
SET ROLE rights_clerk;
SELECT statement, compared(statement) FROM keyed ORDER BY n;
RESET ROLE;
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
ALTER TABLE plain.parent ENABLE ROW LEVEL SECURITY;
CREATE POLICY clerk ON parent USING (true);
CREATE POLICY clerk ON plain.parent USING (true);
GRANT SELECT ON parent, plain.parent, child, plain.child, other, plain.other TO rights_clerk;
SET ROLE rights_clerk;
SELECT statement, compared(statement) FROM keyed ORDER BY n;
RESET ROLE;
DROP SCHEMA plain CASCADE;
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
-- what a function has read with its owner's rights is in the requests that it makes, and not in what its caller is told
CREATE TABLE vault (id int PRIMARY KEY, code numeric, word text, at date, raw bytea, sure bool, list text[], n int CHECK (n > 0));
SELECT shuttle.distribute_table('vault', 'id', 2);
INSERT INTO vault VALUES (1, 7770001, 'secret', '2077-07-07', 'secret', true, '{secret,it''s \\ secret}', 1);
CREATE TABLE requests (n serial, request text);
INSERT INTO requests (request) VALUES
	('UPDATE vault SET n = -1 WHERE word = r.word'),
	('UPDATE vault SET n = -1 WHERE code = r.code AND at = r.at'),
	('UPDATE vault SET n = -1 WHERE raw = r.raw OR sure = r.sure'),
	('UPDATE vault SET n = -1 WHERE list = r.list'),
	('UPDATE vault SET n = -1 WHERE word = ANY (r.list)'),
	('UPDATE vault SET n = -1, word = r.word || r.word'),
	('UPDATE vault SET n = 1 / (id - 1) WHERE word = (SELECT max(word) FROM vault)'),
	('UPDATE vault SET n = -1 WHERE id = 1 AND word = r.word'),
	('DELETE FROM vault WHERE word = r.word AND 1 / (id - 1) > 0'),
	('INSERT INTO vault (id, word, n) VALUES (2, r.word, -1)'),
	('INSERT INTO vault (id, word) VALUES (1, r.word) ON CONFLICT (id) DO UPDATE SET n = -1, word = r.word || EXCLUDED.word'),
	('INSERT INTO vault (id, word, n) SELECT 3, word, -1 FROM vault WHERE word = r.word'),
	('PERFORM FROM vault WHERE word = r.word AND 1 / (id - 1) > 0'),
	('PERFORM FROM vault WHERE id = 1 AND word = r.word AND 1 / (id - 1) > 0'),
	('PERFORM count(*) FROM vault WHERE code = r.code GROUP BY 1 / (id - 1)'),
	('PERFORM FROM vault AS a JOIN vault AS b USING (id) WHERE a.word = r.word AND b.code = r.code AND 1 / (id - 1) > 0'),
	('PERFORM FROM vault WHERE word = r.word AND 1 / (id - 1) > 0 FOR UPDATE'),
	('EXECUTE format(''UPDATE vault SET n = -1 WHERE word = %L /* %s */'', r.word, r.word)'),
	('EXECUTE ''UPDATE vault SET n = -1 WHERE word = $1'' USING r.word'),
	('MERGE INTO vault AS v USING (VALUES (1)) AS s (id) ON v.id = s.id AND v.word = r.word WHEN MATCHED THEN UPDATE SET n = -1');
CREATE FUNCTION make_function(request text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION reads() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = shop AS %L',
		'DECLARE r vault; BEGIN SELECT * INTO r FROM vault; ' || request || '; END');
END $$;
CREATE FUNCTION told(setting text, value text) RETURNS TABLE (request text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
	rec record;
	c text;
	m text;
BEGIN
	FOR rec IN SELECT * FROM requests ORDER BY n LOOP
		request := rec.request;
		PERFORM set_config('role', 'none', true), make_function(request);
		PERFORM set_config('role', 'rights_clerk', true), set_config(setting, value, true);
		BEGIN
			PERFORM reads();
			outcome := 'done';
		EXCEPTION WHEN others THEN
			GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, c = PG_EXCEPTION_CONTEXT;
			c := m || E'\n' || regexp_replace(c, '(^|\n)SQL statement [^\n]*', '', 'g'); -- as core shows it
			outcome := SQLSTATE || CASE WHEN c ~ 'request: ' THEN ' of a request' ELSE '' END ||
				CASE WHEN c ~ 'secret|777|2077-|x736563' THEN ' shows ' || c ELSE '' END;
		END;
		RETURN NEXT;
	END LOOP;
	PERFORM set_config('role', 'none', true);
END $$;
SELECT * FROM told('shuttle.enable_router', 'on');
SELECT request, outcome FROM told('shuttle.enable_router', 'off') WHERE outcome ~ 'shows' OR outcome !~ '^(22012|23514)';
SELECT request, outcome FROM told('plan_cache_mode', 'force_generic_plan') WHERE outcome ~ 'shows' OR outcome !~ '^(22012|23514)';
SELECT request, outcome FROM told('shuttle.enable_write_buffer', 'off') WHERE outcome ~ 'shows' OR outcome !~ '^(22012|23514)';
-- nor if a node adds values of parameters to its errors
ALTER DATABASE tablets_n1 SET log_parameter_max_length_on_error = -1;
ALTER DATABASE tablets_n2 SET log_parameter_max_length_on_error = -1;
\c -
SET search_path = shop;
SELECT DISTINCT request, outcome FROM told('plan_cache_mode', 'force_generic_plan') WHERE outcome ~ 'shows';
SELECT request, outcome FROM told('shuttle.enable_router', 'on') WHERE outcome ~ 'shows';
CREATE FUNCTION said(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c text;
BEGIN
	EXECUTE statement;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS c = PG_EXCEPTION_CONTEXT;
	RETURN split_part(c, E'\n', 1);
END $$;
CREATE FOREIGN TABLE typed (id int, raw text) SERVER n1 OPTIONS (table_name 'vault_t0');
SELECT said($$INSERT INTO typed VALUES (1, 'secret\9')$$);
SELECT said('SELECT id FROM vault WHERE 1 / (id - 1) > -7 AND id-1 < +7 AND code > -.5');
\set VERBOSITY default
UPDATE vault SET n = -1, word = E'it''s \\' || $q$sec'ret$q$, sure = true, raw = NULL WHERE id = 1 AND "word" <> 'x' AND sure IS NOT FALSE AND code > -1.5e+3;
SELECT id FROM vault WHERE 1 / (id - 1) > 0 AND list[1] = 'secret' AND word = U&'\0073ecret' /* 'no */;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP ROLE rights_clerk;
