-- What cannot be distributed, and why; nothing is left on a node.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
CREATE TABLE t (a int PRIMARY KEY, b text);
SELECT shuttle.distribute_table('t', 'a');
SELECT count(*) FROM shuttle.use_node('n1');
\set VERBOSITY default
SELECT shuttle.distribute_table('t', 'c');
SELECT shuttle.distribute_table('t', 'ctid');
SELECT shuttle.distribute_table('t', 'a', nodes => '{n2}');
SELECT shuttle.distribute_table('t', 'a', tablets => 0);
SELECT shuttle.distribute_table('t', 'a', colocate_with => 't');
SELECT shuttle.distribute_tables('{t}');
SELECT shuttle.distribute_tables('{t.a, t.a}');
SELECT shuttle.distribute_table(NULL, 'a');
SELECT shuttle.distribute_table('pg_class', 'oid');
CREATE TEMP TABLE temporary (a int);
SELECT shuttle.distribute_table('temporary', 'a');
CREATE UNLOGGED TABLE unlogged (a int);
SELECT shuttle.distribute_table('unlogged', 'a');
CREATE VIEW v AS SELECT 1 AS a;
SELECT shuttle.distribute_table('v', 'a');
CREATE TABLE points (a int, p point, EXCLUDE USING gist (p WITH ~=));
SELECT shuttle.distribute_table('points', 'p');
SELECT shuttle.distribute_table('points', 'a');
CREATE TABLE trees AS SELECT 1 AS a, conbin FROM pg_constraint LIMIT 0;
SELECT shuttle.distribute_table('trees', 'a');
CREATE TABLE parent (a int);
CREATE TABLE child () INHERITS (parent);
SELECT shuttle.distribute_table('parent', 'a');
CREATE TABLE ruled (a int);
CREATE RULE nothing AS ON INSERT TO ruled DO INSTEAD NOTHING;
SELECT shuttle.distribute_table('ruled', 'a');
CREATE TABLE money_keys (a money, PRIMARY KEY (a));
SELECT shuttle.distribute_table('money_keys', 'a');

-- rows that a node cannot take, and a name that is taken
SELECT server, ok FROM shuttle.run_on_nodes('CREATE SCHEMA shop', '{n1}');
SELECT server, ok FROM shuttle.run_on_nodes('CREATE TABLE shop.t (x int)', '{n1}');
SELECT shuttle.distribute_table('t', 'a');
CREATE ROLE tablets_other;
GRANT ALL ON SCHEMA shop TO tablets_other;
SET ROLE tablets_other;
SELECT shuttle.distribute_table('t', 'a');
SELECT shuttle.use_node('n2');
RESET ROLE;
SELECT server, ok FROM shuttle.run_on_nodes('DROP TABLE shop.t', '{n1}');
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT shuttle.distribute_table('t', 'a');
ROLLBACK;
SELECT count(*) FROM shuttle.tables;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1}');

-- dropped with the table, not without it
SELECT shuttle.distribute_table('t', 'a', tablets => 2);
DROP FOREIGN TABLE shuttle_tablets.t_t0;
DROP SERVER n1 CASCADE;
SET client_min_messages = warning;
DROP EXTENSION pg_shuttle CASCADE;
DROP EXTENSION postgres_fdw CASCADE;
RESET client_min_messages;
DROP TABLE t;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1}');
SELECT count(*) FROM shuttle.tables;
REVOKE ALL ON SCHEMA shop FROM tablets_other;
DROP ROLE tablets_other;

-- rows that others commit must not be lost
CREATE TABLE seen (a int);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT shuttle.distribute_table('seen', 'a');
ROLLBACK;
SELECT shuttle.distribute_table('seen', 'a');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT shuttle.local_table('seen');
ROLLBACK;

-- Tablets are of the access method heap.
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_access (id int PRIMARY KEY) USING heap2;
SELECT shuttle.distribute_table('other_access', 'id');
SET shuttle.auto_distribute = 'id';
CREATE TABLE access_by_default (id int PRIMARY KEY) USING heap2;
RESET shuttle.auto_distribute;
ALTER TABLE other_access SET ACCESS METHOD heap;
SELECT shuttle.distribute_table('other_access', 'id', tablets => 2);
DROP TABLE access_by_default;
DROP ACCESS METHOD heap2;
