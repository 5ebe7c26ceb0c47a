-- Functions that checks, generated columns, indexes and domains need are made on nodes.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/tablets_ddl.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE SCHEMA "Lib";
CREATE TYPE state AS ENUM ('new', 'sent');
CREATE FUNCTION "Lib".known(s state) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN s IN ('new', 'sent'); END $$;
CREATE FUNCTION "Lib".positive(i numeric) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT i > 0';
CREATE DOMAIN amount AS numeric CHECK ("Lib".positive(VALUE));
CREATE FUNCTION half(i int) RETURNS int LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT i / 2; END;
CREATE FUNCTION quarter(i int) RETURNS int LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT half(half(i)); END;
CREATE TABLE orders (id int PRIMARY KEY, state state CHECK ("Lib".known(state)), total amount, amounts amount[],
	g int GENERATED ALWAYS AS (quarter(id)) STORED);
CREATE INDEX orders_half ON orders (half(id));
INSERT INTO orders SELECT i, 'new', i FROM generate_series(1, 100) AS i;
SELECT shuttle.distribute_table('orders', 'id');
INSERT INTO orders VALUES (101, 'sent', 5), (102, 'new', 6);
SELECT sum(g), count(*) FROM orders;
CREATE TABLE kind (id int PRIMARY KEY CHECK ("Lib".positive(id)));
SELECT shuttle.reference_table('kind');
CALL public.differences();

-- DDL that needs more
CREATE FUNCTION "Lib".short(t text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length(t) < 10';
CREATE FUNCTION "Lib".first(t text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT left(t, 1)';
CALL public.try('ALTER TABLE orders ADD COLUMN note text CHECK ("Lib".short(note))');
CALL public.try('CREATE INDEX ON orders ("Lib".first(note))');
CALL public.try('ALTER TABLE orders ADD COLUMN doubled int GENERATED ALWAYS AS (half(id) * 4) STORED');
INSERT INTO orders (id, note) VALUES (103, 'much too long');

-- functions that nodes have are replaced there, too, or not at all
CREATE OR REPLACE FUNCTION "Lib".short(t text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT length(t) < 20';
INSERT INTO orders (id, note) VALUES (103, 'much too long');
BEGIN;
CREATE OR REPLACE FUNCTION "Lib".short(t text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true';
ROLLBACK;
INSERT INTO orders (id, note) VALUES (104, 'much too long, and even longer');
ALTER FUNCTION "Lib".short(text) SET search_path = pg_catalog;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT proconfig FROM pg_proc WHERE proname = 'short'$$, '{n1,n2,n3}');
CREATE OR REPLACE FUNCTION not_needed() RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_proc WHERE proname = 'not_needed'$$, '{n1,n2,n3}');
CALL public.try('ALTER FUNCTION "Lib".short(text) RENAME TO long');
CALL public.try('ALTER FUNCTION half(int) SET SCHEMA "Lib"');
CALL public.try('ALTER SCHEMA "Lib" RENAME TO "Library"');

-- what is not copied
CREATE FUNCTION c_function(int) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4_bool';
\set VERBOSITY default
ALTER TABLE orders ADD CHECK (c_function(id));
SELECT relation, node, problem FROM shuttle.check();
\set VERBOSITY terse
DROP SCHEMA shop, "Library" CASCADE;
