-- Nodes that are databases of this server cannot have a database of the same name;
-- roles, which are the server's, are made once.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SET shuttle.follow_databases = on;
SET shuttle.follow_roles = on;
CREATE DATABASE tablets_followed;
SELECT count(*) FROM pg_database WHERE datname = 'tablets_followed';
CREATE ROLE tablets_followed;
ALTER ROLE tablets_followed CREATEDB;
SELECT rolcreatedb, shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = 'tablets_followed';
DROP ROLE tablets_followed;
-- only superusers turn it on
CREATE ROLE tablets_followed;
SET ROLE tablets_followed;
SET shuttle.follow_databases = off;
SET shuttle.follow_roles = off;
RESET ROLE;
DROP ROLE tablets_followed;
-- the server's option
ALTER SERVER n1 OPTIONS (ADD shuttle_same_database 'maybe');
ALTER SERVER n1 OPTIONS (ADD shuttle_same_database 'true');
SELECT r.result FROM shuttle.run_on_nodes(format('SELECT current_database() = %L AS same', current_database()), '{n1}') AS r;
ALTER SERVER n1 OPTIONS (SET shuttle_same_database 'off');
SELECT r.result FROM shuttle.run_on_nodes('SELECT current_database()', '{n1}') AS r;
RESET shuttle.follow_databases;
RESET shuttle.follow_roles;
SET client_min_messages = warning;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1;
DROP DATABASE tablets_n2;
DROP DATABASE tablets_n3;
DROP SCHEMA shop CASCADE;
