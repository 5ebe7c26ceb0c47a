-- shuttle.analyze(): all foreign tables at once, one table's failure told.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set ECHO none
SET client_min_messages = warning;
CREATE FUNCTION pair.many(name name) RETURNS TABLE (relation text, server name, how text, rows float8, timed bool, error text)
LANGUAGE sql AS $$
	SELECT relation::text, server, how, rows, seconds BETWEEN 0 AND 600, regexp_replace(error, ', server.*', '') FROM shuttle.analyze(name)
$$;
\set ECHO all
\set VERBOSITY terse
CREATE SCHEMA "Other";
CREATE VIEW node.view AS SELECT id, city FROM node.branch;
CREATE FOREIGN TABLE ours.view (id int, city text) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.missing (id int) SERVER our_node OPTIONS (schema_name 'node', table_name 'nowhere');
CREATE FOREIGN TABLE "Other"."Branch 1" (id int) SERVER our_node OPTIONS (schema_name 'node', table_name 'branch');
CREATE TABLE ours.whole (id int, city varchar(20)) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE ours.whole1 PARTITION OF ours.whole FOR VALUES FROM (0) TO (5) SERVER our_node OPTIONS (schema_name 'node', table_name 'branch');
CREATE TABLE ours.whole2 PARTITION OF ours.whole FOR VALUES FROM (5) TO (10);
CREATE TABLE "Other".plain (id int);
SELECT * FROM pair.many('ours');
SELECT * FROM pair.many('Other');
SELECT relation, how FROM pair.many(NULL);
SELECT * FROM pair.many('node');
SELECT * FROM pair.many('nowhere');
SELECT count(*) FROM pg_stats WHERE schemaname = 'ours' AND tablename IN ('account', 'branch', 'view', 'whole', 'whole1');
SELECT count(*) FROM pg_stats WHERE schemaname = 'stock';

-- one request asks for all
SELECT shuttle.reset_node_stats() \g /dev/null
SELECT relation, how FROM pair.many('ours') WHERE how = 'copied';
ALTER SERVER our_node OPTIONS (ADD shuttle_copy_statistics 'off');
SELECT relation, how FROM pair.many('ours') WHERE how = 'copied';
ALTER SERVER our_node OPTIONS (DROP shuttle_copy_statistics);
DROP FOREIGN TABLE ours.missing, ours.view;
DROP TABLE ours.whole;
SELECT shuttle.reset_node_stats() \g /dev/null
SELECT count(*) FROM shuttle.analyze();
SELECT requests FROM shuttle.node_stats WHERE server = 'our_node';

-- nodes that are not there, and users without a mapping
CREATE SERVER closed FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '1');
CREATE SERVER unmapped FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '1');
CREATE USER MAPPING FOR CURRENT_USER SERVER closed;
CREATE FOREIGN TABLE ours.closed1 (id int) SERVER closed;
CREATE FOREIGN TABLE ours.closed2 (id int) SERVER closed;
CREATE FOREIGN TABLE ours.unmapped (id int) SERVER unmapped;
SELECT shuttle.reset_node_stats() \g /dev/null
SELECT * FROM pair.many('ours');
-- not one for each request: a refusal that comes at once is met by each table
SELECT errors BETWEEN 1 AND 2 AS few_errors FROM shuttle.node_stats WHERE server = 'closed';

-- who may: owners of tables; others are told, and their tables not asked for
CREATE ROLE pair_owner;
GRANT USAGE ON SCHEMA ours, pair TO pair_owner;
ALTER FOREIGN TABLE ours.branch OWNER TO pair_owner;
CREATE USER MAPPING FOR pair_owner SERVER our_node OPTIONS (user :'USER', password_required 'false');
SET ROLE pair_owner;
SET client_min_messages = error;
SELECT * FROM pair.many('ours');
SET client_min_messages = warning;
RESET ROLE;
DROP OWNED BY pair_owner;
DROP ROLE pair_owner;

-- within a transaction, where it sees what this wrote, and is undone with it
BEGIN;
DELETE FROM ours.account WHERE id > 100;
SELECT relation, how, error IS NULL AS good FROM pair.many('ours') WHERE how <> 'failed';
SAVEPOINT a;
SELECT relation, how, error IS NULL AS good FROM pair.many('ours') WHERE how <> 'failed';
ROLLBACK TO a;
SELECT count(*) FROM ours.account;
ROLLBACK;
-- a cancel is no table's failure
CREATE VIEW node.slow AS SELECT 1 AS id FROM pg_sleep(600);
CREATE FOREIGN TABLE ours.slow (id int) SERVER our_node OPTIONS (schema_name 'node');
SET statement_timeout = '500ms';
SELECT count(*) FROM shuttle.analyze('ours');
RESET statement_timeout;
SELECT count(*) FROM ours.account;
