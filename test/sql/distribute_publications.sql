-- A publication names no distributed table, and one of all tables says which ones it does not carry.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\pset tuples_only on
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
-- that wal_level is too low
SET client_min_messages = error;
CREATE TABLE t (id int PRIMARY KEY, v int);
CREATE TABLE u (id int PRIMARY KEY, v int);
CREATE TABLE r (id int PRIMARY KEY, v int);
CREATE TABLE parts (id int, v int, PRIMARY KEY (id, v)) PARTITION BY RANGE (v);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
INSERT INTO t SELECT i, i FROM generate_series(1, 20) AS i;
CREATE PUBLICATION named FOR TABLE t (id) WHERE (id > 3), parts;
CREATE PUBLICATION another FOR TABLE u;
RESET client_min_messages;
-- named: refused, and nothing is done
\set VERBOSITY default
SELECT shuttle.distribute_table('t', 'id', 3);
\set VERBOSITY terse
SELECT shuttle.distribute_table('parts', 'id', 3);
SELECT shuttle.distribute_tables('{r.id, u.id}', tablets => 3);
SELECT kind, because FROM shuttle.advise() WHERE relation = 'u'::regclass;
SELECT count(*) FROM shuttle.tables WHERE relation::text ~ '^(shop[.])?(t|u|r|parts.*)$';
-- a reference table is written here, too
SELECT shuttle.reference_table('r');
SET client_min_messages = error;
ALTER PUBLICATION another ADD TABLE r;
RESET client_min_messages;
ALTER PUBLICATION another DROP TABLE r, u;
ALTER PUBLICATION named DROP TABLE t, parts;
SELECT shuttle.distribute_table('t', 'id', 3);
SELECT shuttle.distribute_table('parts', 'id', 3);
-- distributed: cannot be named, neither a partitioned table nor its partition
CREATE PUBLICATION bad FOR TABLE parts;
CREATE PUBLICATION bad FOR TABLE parts_1;
ALTER PUBLICATION named ADD TABLE u, t;
-- a table that is attached stays here
ALTER PUBLICATION named ADD TABLE u;
CREATE TABLE parts_2 (id int, v int, PRIMARY KEY (id, v));
ALTER PUBLICATION named SET TABLE parts_2;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20);
ALTER PUBLICATION named DROP TABLE parts_2;
-- of a schema: says which ones it has not
CREATE SCHEMA other;
CREATE TABLE other.o (id int PRIMARY KEY);
CREATE TABLE other.p (id int PRIMARY KEY);
SELECT shuttle.distribute_table('other.o', 'id', 3);
\set VERBOSITY default
ALTER PUBLICATION named ADD TABLES IN SCHEMA other;
SELECT shuttle.distribute_table('other.p', 'id', 3);
\set VERBOSITY terse
ALTER TABLE u SET SCHEMA other;
ALTER TABLE t SET SCHEMA other;
ALTER TABLE other.t SET SCHEMA shop;
-- new tables stay here
SET shuttle.auto_distribute = '%';
CREATE TABLE other.new (id int PRIMARY KEY);
CREATE TABLE new (id int PRIMARY KEY);
ALTER PUBLICATION named DROP TABLES IN SCHEMA other;
CREATE TABLE other.newer (id int PRIMARY KEY);
DROP TABLE new, other.new, other.newer;
ALTER PUBLICATION named SET (publish = 'insert');
DROP PUBLICATION named;
-- of all tables
\set VERBOSITY default
SET client_min_messages = error;
CREATE PUBLICATION named FOR ALL TABLES;
RESET client_min_messages;
CREATE TABLE new (id int PRIMARY KEY);
CREATE TABLE new_parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
\set VERBOSITY terse
CREATE TEMP TABLE temporary (id int PRIMARY KEY);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (30);
SELECT shuttle.distribute_table('new', 'id', 3);
RESET shuttle.auto_distribute;
ALTER PUBLICATION named SET (publish = 'insert');
DROP PUBLICATION named, another;
SELECT relation, kind FROM shuttle.tables ORDER BY relation::text;
SELECT * FROM shuttle.check();
SET client_min_messages = error;
DROP SCHEMA other, shop CASCADE;
