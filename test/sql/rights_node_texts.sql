-- A node's text becomes a part of one statement here, or nothing: a node that lies about its
-- foreign keys, comments, options and checks has no statement of its own run.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
CREATE TABLE a (id int PRIMARY KEY) WITH (fillfactor = 70);
CREATE TABLE b (id int PRIMARY KEY REFERENCES a, v int, CHECK (v > 0), g int GENERATED ALWAYS AS (v + 1) STORED);
CREATE TABLE c (id int PRIMARY KEY);
COMMENT ON CONSTRAINT b_id_fkey ON b IS 'it''s a key';
INSERT INTO a VALUES (1), (2);
INSERT INTO b VALUES (1, 1);
SELECT shuttle.distribute_tables('{a.id, b.id}', 2);

-- one of the node's functions says another thing while the tables are brought back and checked
CREATE FUNCTION lies(function text, answer text, OUT "local" text, OUT "check" text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM shuttle.run_on_nodes(format('CREATE OR REPLACE FUNCTION pg_catalog.%s RETURNS text LANGUAGE sql STABLE AS %L', function, 'SELECT ' || answer), '{n1}');
	BEGIN
		PERFORM shuttle.local_tables('{a, b}');
		RAISE 'done';
	EXCEPTION WHEN OTHERS THEN
		"local" := SQLSTATE || ' ' || SQLERRM;
	END;
	BEGIN
		"check" := (SELECT string_agg(DISTINCT left(problem, 50), ', ') FROM shuttle.check());
	EXCEPTION WHEN OTHERS THEN
		"check" := SQLSTATE || ' ' || SQLERRM;
	END;
END $$;
-- plans that a session on the node has kept know the functions of before
\set forget 'DO $$BEGIN PERFORM shuttle.disconnect(); END$$;'
CREATE FUNCTION tells(function text, source text) RETURNS bool LANGUAGE sql AS $$
	SELECT bool_and(ok) FROM shuttle.run_on_nodes(format('CREATE OR REPLACE FUNCTION pg_catalog.%s RETURNS text LANGUAGE internal STABLE STRICT AS %L', function, source), '{n1}')
$$;
:forget
SELECT "local" FROM lies('pg_get_constraintdef(oid)', $$'FOREIGN KEY (id) REFERENCES shop.a; CREATE TABLE shop.taken ()'$$);
:forget
SELECT "local" FROM lies('pg_get_constraintdef(oid)', $$'FOREIGN KEY (id) REFERENCES shop.a, ADD COLUMN taken int'$$);
:forget
SELECT "local" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (id > 0)'$$);
:forget
SELECT "local" FROM lies('pg_get_constraintdef(oid)', $$'FOREIGN KEY (id) REFERENCES shop.c'$$);
:forget
SELECT * FROM lies('pg_get_constraintdef(oid)', $$'CHECK (v > 0); CREATE TABLE shop.taken ()'$$);
:forget
SELECT tells('pg_get_constraintdef(oid)', 'pg_get_constraintdef');
:forget
SELECT "local" FROM lies('quote_nullable(text)', $$'NULL; CREATE TABLE shop.taken ()'$$);
:forget
SELECT "local" FROM lies('quote_nullable(text)', $$'NULL -- ' || chr(10) || '; CREATE TABLE shop.taken ()'$$);
:forget
SELECT "local" FROM lies('quote_nullable(text)', $$'1'$$);
SELECT count(*) FROM shuttle.run_on_nodes($$CREATE OR REPLACE FUNCTION pg_catalog.quote_nullable(text) RETURNS text LANGUAGE internal IMMUTABLE AS 'quote_nullable'$$, '{n1}');
:forget
SELECT "local" FROM lies('array_to_string(anyarray, text)', $$'fillfactor = 50); CREATE TABLE shop.taken (i int'$$);
:forget
SELECT "local" FROM lies('array_to_string(anyarray, text)', $$'fillfactor = 50), ADD COLUMN taken int DEFAULT (3'$$);
:forget
SELECT tells('array_to_string(anyarray, text)', 'array_to_text');
SELECT to_regclass('shop.taken'), count(*) FROM pg_attribute WHERE attname = 'taken';

:forget
-- what check() reads calls nothing that the table here does not call: constants are computed at once, as the table's owner
CREATE SEQUENCE calls;
CREATE FUNCTION calls(v int = 1) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM nextval(''shop.calls''); RETURN v > 0; END';
CREATE FUNCTION number(v int = 1) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM nextval(''shop.calls''); RETURN v; END';
CREATE OPERATOR !! (FUNCTION = calls, RIGHTARG = int);
CREATE DOMAIN kept AS int CHECK (calls(VALUE));
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (shop.calls())'$$);
:forget
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (OPERATOR(shop.!!) 1)'$$);
:forget
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (1::shop.kept > 0)'$$);
:forget
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'EXCLUDE USING btree (id WITH =) WHERE (shop.calls())'$$);
:forget
SELECT tells('pg_get_constraintdef(oid)', 'pg_get_constraintdef');
:forget
SELECT "check" FROM lies('pg_get_expr(pg_node_tree, oid)', $$'shop.number()'$$);
:forget
SELECT "check" FROM lies('pg_get_expr(pg_node_tree, oid)', $$'v + 1) STORED CHECK (shop.calls()'$$);
:forget
SELECT "check" FROM lies('pg_get_expr(pg_node_tree, oid)', $$'1) STORED, ALTER v SET DEFAULT (shop.number()'$$);
:forget
SELECT tells('pg_get_expr(pg_node_tree, oid)', 'pg_get_expr');
:forget
SELECT is_called FROM calls;
-- a function of the name that the table calls is another one if others can make it
SET client_min_messages = warning;
DROP ROLE IF EXISTS node_texts_other;
RESET client_min_messages;
CREATE ROLE node_texts_other;
CREATE FUNCTION fits(v int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT v > 0';
CREATE FUNCTION fits(v text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM nextval(''shop.calls''); RETURN true; END';
ALTER FUNCTION fits(text) OWNER TO node_texts_other;
ALTER TABLE b ADD CHECK (fits(v));
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (shop.fits(''x''::text))'$$);
:forget
SELECT tells('pg_get_constraintdef(oid)', 'pg_get_constraintdef');
:forget
SELECT is_called FROM calls;
DROP FUNCTION fits(text);
:forget
-- so is a cast to a type of that name, which a function is not, nor a temporary type
CREATE DOMAIN fits AS int CHECK (calls(VALUE));
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (''{1}''::shop.fits[] IS NOT NULL)'$$);
:forget
ALTER DOMAIN fits OWNER TO node_texts_other;
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (shop.fits(''1''::text))'$$);
:forget
DROP DOMAIN fits;
CREATE DOMAIN pg_temp.fits AS int CHECK (shop.calls(VALUE));
SELECT "check" FROM lies('pg_get_constraintdef(oid)', $$'CHECK (''{1}''::fits[] IS NOT NULL)'$$);
:forget
DROP DOMAIN pg_temp.fits;
SELECT tells('pg_get_constraintdef(oid)', 'pg_get_constraintdef');
:forget
SELECT is_called FROM calls;
DROP ROLE node_texts_other;

-- names as moves give them, which tell of no tablet, or of one
SET client_min_messages = error;
SELECT number, ok FROM unnest('{0,-2147483648,999999,99999999999999999999,01,x,""}'::text[]) AS number, pg_control_system() AS s, shuttle.tables AS t, pg_database AS d,
	shuttle.run_on_nodes(format('CREATE PUBLICATION %I', format('shuttle_move_%s_%s_%s_%s', lpad(to_hex(s.system_identifier), 16, '0'), d.oid, t.group_id, number)), '{n1}')
	WHERE t.relation = 'a'::regclass AND d.datname = current_database();
RESET client_min_messages;
SELECT relation, node, problem FROM shuttle.check(repair => true);

-- what an honest one says is done
SELECT * FROM shuttle.check();
SELECT shuttle.local_tables('{a, b}');
SELECT conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'b'::regclass AND contype = 'f';
SELECT reloptions FROM pg_class WHERE oid = 'a'::regclass;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
