-- What a table needs is found however far it is away: whose code it is, and what nodes get.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS deep_writer, deep_other, deep_remote;
CREATE ROLE deep_writer;
CREATE ROLE deep_other;
CREATE ROLE deep_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO deep_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false', SET user 'deep_remote');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false', SET user 'deep_remote');
GRANT USAGE ON FOREIGN SERVER n1, n2 TO deep_writer, deep_other;
CREATE SCHEMA deep AUTHORIZATION deep_writer;
CREATE SCHEMA other AUTHORIZATION deep_other;
RESET client_min_messages;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
\set VERBOSITY terse

-- a chain of domains, of which the first one gets a check when the last one is on nodes
SET ROLE deep_writer;
SET search_path = deep;
CREATE FUNCTION is_good(v text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN v <> ''bad''; END';
CREATE DOMAIN d0 AS text;
DO $$ BEGIN FOR i IN 1 .. 45 LOOP EXECUTE format('CREATE DOMAIN d%s AS d%s', i, i - 1); END LOOP; END $$;
CREATE TABLE t (id int PRIMARY KEY, v d45);
SELECT shuttle.distribute_table('t', 'id', 2);
SET ROLE deep_other;
CREATE TABLE other.t (id int PRIMARY KEY);
SELECT shuttle.distribute_table('other.t', 'id', 2);
SET ROLE deep_writer;
\set VERBOSITY default
ALTER DOMAIN d0 ADD CONSTRAINT good CHECK (is_good(VALUE));
\set VERBOSITY terse
ALTER DOMAIN d0 ADD CONSTRAINT run CHECK (query_to_xml(VALUE, true, true, '') IS NOT NULL) NOT VALID;
RESET ROLE;
DROP TABLE other.t;
SET ROLE deep_writer;
ALTER DOMAIN d0 ADD CONSTRAINT good CHECK (is_good(VALUE));
INSERT INTO t VALUES (1, 'good');
INSERT INTO t VALUES (2, 'bad');
-- whose code it is stays known
SET ROLE deep_other;
CREATE TABLE other.t (id int PRIMARY KEY);
SELECT shuttle.distribute_table('other.t', 'id', 2);
RESET ROLE;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'postgres');
SELECT problem FROM shuttle.check() WHERE problem LIKE '%code%' ORDER BY 1 LIMIT 1;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'deep_remote');
SELECT * FROM shuttle.check();

-- a table comes to nodes with a chain that has its check already, and with functions and types that need each other
SET ROLE deep_writer;
SELECT shuttle.local_table('t');
CREATE TYPE pair AS (a d45, b int);
CREATE FUNCTION of_pair(v pair DEFAULT NULL) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN v.b > 0; END';
CREATE DOMAIN pairs AS pair CHECK (of_pair(VALUE));
CREATE FUNCTION of_pairs(v pairs) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
ALTER DOMAIN pairs ADD CHECK (of_pairs(VALUE));
CREATE TABLE w (id int PRIMARY KEY, v d44, p pair);
SELECT shuttle.distribute_tables('{t.id, w.id}', 2);
INSERT INTO w VALUES (1, 'good', ('good', 1));
INSERT INTO w VALUES (2, 'bad', NULL);
INSERT INTO w VALUES (3, NULL, ('bad', 1));
CREATE TABLE x (id int PRIMARY KEY, p pairs);
SELECT shuttle.distribute_table('x', 'id', 2);
RESET ROLE;
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA deep, other, shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP ROLE deep_writer, deep_other, deep_remote;
