-- Functions that nodes have in a schema that a role may not use do not disturb that role.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS routines_user;
RESET client_min_messages;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE ROLE routines_user;
CREATE SCHEMA closed;
CREATE FUNCTION closed.far(a int) RETURNS int LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION closed."it's ""far"" (away)"(a numeric(3,1), b text) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT shuttle.distribute_function('closed.far(int)');
SELECT shuttle.distribute_function('closed."it''s ""far"" (away)"(numeric, text)');
CREATE SCHEMA open;
GRANT ALL ON SCHEMA open TO routines_user;
SET ROLE routines_user;
CREATE FUNCTION open.near(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a; END';
SELECT open.near(1);
CREATE OR REPLACE FUNCTION open.near(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + 1; END';
SELECT open.near(1);
CREATE FUNCTION open.far(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + 2; END';
SELECT open.far(1);
ALTER FUNCTION open.far(int) RENAME TO further;
DROP FUNCTION open.further(int);
SELECT closed.far(1);
RESET ROLE;
-- those of nodes are found by any name
CREATE OR REPLACE FUNCTION closed."it's ""far"" (away)"(a numeric(3,1), b text) RETURNS int LANGUAGE sql AS 'SELECT 2';
SELECT DISTINCT result::text FROM shuttle.run_on_nodes($$SELECT closed."it's ""far"" (away)"(1, '')$$, '{n1,n2}');
SELECT shuttle.local_function('closed."it''s ""far"" (away)"(numeric, text)');
ALTER SCHEMA closed RENAME TO other;
SELECT shuttle.local_function('closed.far(int)');
SELECT count(*) FROM shuttle.routines;
SET client_min_messages = warning;
DROP SCHEMA open CASCADE;
DROP SCHEMA shop CASCADE;
DROP SCHEMA closed CASCADE;
DROP ROLE routines_user;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
