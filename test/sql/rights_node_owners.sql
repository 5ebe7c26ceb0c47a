-- A role of a node that knows a name before we make what has it: a schema, function, type or operator of hers is not used.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS node_owners_mallory, node_owners_group, node_owners_remote;
CREATE ROLE node_owners_mallory LOGIN;
CREATE ROLE node_owners_group;
CREATE ROLE node_owners_remote LOGIN;
SELECT current_user AS user \gset
RESET client_min_messages;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO node_owners_mallory;
SELECT count(*) > 0 FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE FUNCTION plant(sql text, role text = 'node_owners_mallory') RETURNS SETOF text LANGUAGE sql AS $$
	SELECT server || ': ' || error FROM shuttle.run_on_nodes(format('DO %L', format('BEGIN SET LOCAL ROLE %I; %s; END', role, sql)), '{n1, n2}') WHERE NOT ok
$$;
CREATE FUNCTION grub(sql text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT server || ': ' || error FROM shuttle.run_on_nodes(format('DO %L', format('BEGIN %s; END', sql)), '{n1, n2}') WHERE NOT ok
$$;

-- the schema of a table
SELECT plant('CREATE SCHEMA app');
CREATE SCHEMA app;
CREATE TABLE app.t (id int PRIMARY KEY);
\set VERBOSITY default
SELECT shuttle.distribute_table('app.t', 'id', 2);
\set VERBOSITY terse
SELECT shuttle.reference_table('app.t');
-- its owner here may own it there, if the remote user is an ordinary one
ALTER SCHEMA app OWNER TO node_owners_mallory;
SELECT shuttle.distribute_table('app.t', 'id', 2);
SELECT grub('GRANT CREATE, USAGE ON SCHEMA app TO node_owners_remote');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'node_owners_remote', ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user 'node_owners_remote', ADD password_required 'false');
SELECT shuttle.distribute_table('app.t', 'id', 2);
ALTER SCHEMA app OWNER TO CURRENT_USER;
CREATE TABLE app.o (id int PRIMARY KEY);
SELECT shuttle.distribute_table('app.o', 'id', 2);
-- and so may the database's owner
ALTER DATABASE tablets_n1 OWNER TO node_owners_mallory;
ALTER DATABASE tablets_n2 OWNER TO node_owners_mallory;
SELECT shuttle.distribute_table('app.o', 'id', 2);
DROP TABLE app.t, app.o;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user :'user');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user :'user');
ALTER DATABASE tablets_n1 OWNER TO CURRENT_USER;
ALTER DATABASE tablets_n2 OWNER TO CURRENT_USER;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO node_owners_mallory;
CREATE TABLE app.u (id int PRIMARY KEY);
SELECT shuttle.distribute_table('app.u', 'id', 2);
-- an owner who cannot log in matters only by his members
SELECT grub('ALTER SCHEMA app OWNER TO node_owners_group');
SELECT shuttle.distribute_table('app.u', 'id', 2);
DROP TABLE app.u;
CREATE TABLE app.u (id int PRIMARY KEY);
GRANT node_owners_group TO node_owners_mallory;
SELECT shuttle.distribute_table('app.u', 'id', 2);
CREATE TABLE moves (id int PRIMARY KEY);
SELECT shuttle.distribute_table('moves', 'id', 2);
ALTER TABLE moves SET SCHEMA app;
REVOKE node_owners_group FROM node_owners_mallory;
ALTER TABLE moves SET SCHEMA app;

-- functions, of the same text or another one; domains, enums, types of columns and their arrays
CREATE SCHEMA m;
CREATE FUNCTION m.f(v int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v';
CREATE DOMAIN m.d AS int CHECK (VALUE > 0);
CREATE TYPE m.e AS ENUM ('x', 'y');
CREATE TYPE m.c AS (a int);
CREATE OPERATOR m.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);
SELECT grub('CREATE SCHEMA m; GRANT CREATE ON SCHEMA m TO node_owners_mallory');
CREATE TABLE checks (id int PRIMARY KEY, v int CHECK (m.f(v) > 0));
\set VERBOSITY default
SELECT shuttle.distribute_table('checks', 'id', 2);
\set VERBOSITY terse
SELECT plant('CREATE FUNCTION m.f(v int) RETURNS int LANGUAGE sql AS $f$SELECT 1$f$');
SELECT plant('CREATE DOMAIN m.d AS int CONSTRAINT d_check CHECK (VALUE > 0)');
SELECT plant('CREATE TYPE m.e AS ENUM (''x'', ''y'')');
SELECT plant('CREATE TYPE m.c AS (a int)');
SELECT plant('CREATE OPERATOR m.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int)');
SELECT grub('REVOKE CREATE ON SCHEMA m FROM node_owners_mallory; GRANT USAGE ON SCHEMA m TO node_owners_mallory');
SELECT shuttle.distribute_table('checks', 'id', 2);
CREATE TABLE domains (id int PRIMARY KEY, v m.d);
SELECT shuttle.distribute_table('domains', 'id', 2);
CREATE TABLE arrays (id int PRIMARY KEY, v m.d[]);
SELECT shuttle.distribute_table('arrays', 'id', 2);
CREATE TABLE enums (id int PRIMARY KEY, v m.e);
SELECT shuttle.distribute_table('enums', 'id', 2);
CREATE TABLE rows (id int PRIMARY KEY, v m.c);
SELECT shuttle.reference_table('rows');
CREATE TABLE operators (id int PRIMARY KEY, v int CHECK (v OPERATOR(m.===) 1));
SELECT shuttle.distribute_table('operators', 'id', 2);
SELECT shuttle.distribute_function('m.f(int)');
CREATE TABLE plain (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('plain', 'id', 2);
ALTER TABLE plain ADD v2 m.d;
ALTER TABLE plain ALTER v TYPE m.d;
ALTER TABLE plain ADD CHECK (m.f(v) > 0);
CREATE INDEX ON plain (m.f(v));
SELECT grub('ALTER FUNCTION m.f OWNER TO CURRENT_USER; ALTER DOMAIN m.d OWNER TO CURRENT_USER; ALTER TYPE m.e OWNER TO CURRENT_USER;
	ALTER TYPE m.c OWNER TO CURRENT_USER; ALTER OPERATOR m.=== (int, int) OWNER TO CURRENT_USER');
SELECT shuttle.distribute_tables('{checks.id, domains.id, arrays.id, enums.id, operators.id}');
ALTER TABLE plain ADD v2 m.d, ADD CHECK (m.f(v) > 0);
SELECT shuttle.distribute_function('m.f(int)');

-- another function of the name, or a type, which fits the arguments better or is a cast
CREATE FUNCTION m.h(v int, more text = 'x') RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT v';
CREATE TABLE rivals (id int PRIMARY KEY, v int CHECK (m.h(v) > 0));
SELECT grub('GRANT CREATE ON SCHEMA m TO node_owners_mallory');
SELECT plant('CREATE FUNCTION m.h(v int) RETURNS int LANGUAGE sql AS $f$SELECT 1$f$');
SELECT grub('REVOKE CREATE ON SCHEMA m FROM node_owners_mallory');
SELECT shuttle.distribute_table('rivals', 'id', 2);
SELECT grub('ALTER FUNCTION m.h(int) OWNER TO CURRENT_USER; DROP FUNCTION m.h(int)');
SELECT plant('CREATE SCHEMA mine; CREATE DOMAIN mine.h AS int');
SELECT grub('ALTER DOMAIN mine.h SET SCHEMA m');
SELECT shuttle.distribute_table('rivals', 'id', 2);
SELECT grub('DROP DOMAIN m.h; DROP SCHEMA mine');
SELECT shuttle.distribute_table('rivals', 'id', 2);

-- a role that can become a superuser gains nothing
SELECT format('GRANT %I TO node_owners_mallory', :'user') \gexec
CREATE TABLE quiet (id int PRIMARY KEY, v m.d);
SELECT grub('ALTER DOMAIN m.d OWNER TO node_owners_mallory');
SELECT shuttle.distribute_table('quiet', 'id', 2);
SELECT format('REVOKE %I FROM node_owners_mallory', :'user') \gexec
SELECT grub('ALTER DOMAIN m.d OWNER TO CURRENT_USER');

-- a statement that is run on nodes finds names in no schema of hers, and moves a type to none
SELECT plant('CREATE SCHEMA other; CREATE FUNCTION other.fits(v int) RETURNS int LANGUAGE sql IMMUTABLE AS $f$SELECT v$f$; GRANT USAGE ON SCHEMA other TO PUBLIC');
CREATE SCHEMA other;
CREATE FUNCTION m.fits(v numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT v';
DROP TABLE arrays;
SELECT shuttle.reference_table('rows');
SET search_path = other, m, shop;
ALTER DOMAIN d ADD CONSTRAINT fits CHECK (fits(VALUE) > 0);
ALTER DOMAIN d ADD CHECK (VALUE < 1000) NOT VALID;
ALTER TYPE c ADD ATTRIBUTE b d;
SET search_path = m, shop;
ALTER TYPE e SET SCHEMA other;
ALTER FUNCTION fits SET SCHEMA other;
SET search_path = shop;
SELECT server, result FROM shuttle.run_on_nodes('SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contypid = ''m.d''::regtype ORDER BY 1', '{n1}');

-- the function that moves have behind traps
SELECT plant('CREATE SCHEMA shuttle_node; CREATE FUNCTION shuttle_node.trap() RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $f$BEGIN RETURN true; END$f$');
SELECT shuttle.distribute_function('m.f(int)', 'v', 'checks');
SELECT grub('ALTER SCHEMA shuttle_node OWNER TO CURRENT_USER; DROP FUNCTION shuttle_node.trap()');
SELECT shuttle.distribute_function('m.f(int)', 'v', 'checks');
SELECT * FROM shuttle.check();

-- what nodes have from before is told of
SELECT grub('ALTER FUNCTION m.f OWNER TO node_owners_mallory; ALTER FUNCTION shuttle_node.trap() OWNER TO node_owners_mallory');
SELECT DISTINCT node, problem, hint FROM shuttle.check() ORDER BY 1, 2;
SELECT grub('ALTER FUNCTION m.f OWNER TO CURRENT_USER');
SELECT DISTINCT node, problem FROM shuttle.check() ORDER BY 1, 2;
SELECT grub('ALTER FUNCTION shuttle_node.trap() OWNER TO CURRENT_USER');

-- tables of hers are no tablets that a move has left, on a node without any
SELECT plant('CREATE SCHEMA hers; CREATE TABLE hers.x (id int PRIMARY KEY); CREATE TABLE hers.x_t0 (id int, CONSTRAINT shuttle_trap CHECK (id > 0))');
CREATE SCHEMA hers AUTHORIZATION node_owners_mallory;
CREATE TABLE hers.x (id int PRIMARY KEY);
SELECT grub('IF current_database() = ''tablets_n1'' THEN DROP SCHEMA hers CASCADE; END IF');
SELECT shuttle.distribute_table('hers.x', 'id', 2, nodes => '{n1}');
SELECT * FROM shuttle.check(repair => true);
SELECT result FROM shuttle.run_on_nodes('SELECT relname FROM pg_class WHERE relnamespace = ''hers''::regnamespace AND relkind = ''r'' ORDER BY 1', '{n2}');
DROP TABLE hers.x;
DROP SCHEMA hers;

SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP SCHEMA app CASCADE;
DROP SCHEMA m CASCADE;
DROP SCHEMA other;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP DATABASE tablets_n3 WITH (FORCE);
DROP ROLE node_owners_mallory, node_owners_group, node_owners_remote;
