-- What tables need on nodes: types that nodes use from before, types that lose a part with CASCADE, what
-- nodes lack; and which tables need a type or function that changes.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;

-- a domain that a node uses for something else: it is not taken with other checks
SELECT ok FROM shuttle.run_on_nodes('CREATE SCHEMA shop CREATE TABLE other (v int)', '{n1,n2,n3}');
SELECT ok FROM shuttle.run_on_nodes('CREATE DOMAIN shop.small AS int CHECK (VALUE < 10)', '{n1,n2,n3}');
SELECT ok FROM shuttle.run_on_nodes('CREATE DOMAIN shop.same AS int CONSTRAINT in_other_words CHECK (NOT (VALUE >= 20))', '{n1,n2,n3}');
SELECT ok FROM shuttle.run_on_nodes('ALTER TABLE shop.other ADD s shop.small, ADD m shop.same', '{n1,n2,n3}');
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE DOMAIN same AS int CONSTRAINT in_other_words CHECK (NOT (VALUE >= 20));
CREATE TABLE uses (id int PRIMARY KEY, s small);
SELECT shuttle.distribute_table('uses', 'id', 2);
CREATE TABLE uses_same (id int PRIMARY KEY, s same);
SELECT shuttle.distribute_table('uses_same', 'id', 2);
INSERT INTO uses_same VALUES (1, 19);
INSERT INTO uses_same VALUES (2, 20);
SELECT ok FROM shuttle.run_on_nodes('ALTER TABLE shop.other DROP s', '{n1,n2,n3}');
SELECT shuttle.distribute_table('uses', 'id', 2);
INSERT INTO uses VALUES (1, 50);
INSERT INTO uses VALUES (2, 100);

-- new tables stay here if a node lacks what they need; nothing of them is left there
CREATE COLLATION own FROM "C";
SET shuttle.auto_distribute = '%';
SET shuttle.tablets = 2;
\set VERBOSITY default
CREATE TABLE lacks (id int PRIMARY KEY, t text COLLATE own);
\set VERBOSITY terse
BEGIN;
CREATE TABLE has (id int PRIMARY KEY, s small);
CREATE TABLE lacks_too (id int PRIMARY KEY, t text COLLATE own, s small);
INSERT INTO lacks_too VALUES (1, 'x', 2);
INSERT INTO has VALUES (1, 2);
COMMIT;
SELECT relation FROM shuttle.tables ORDER BY relation::text;
SELECT count(*) FROM lacks_too JOIN has USING (id, s);
SELECT ok, rows FROM shuttle.run_on_nodes('SELECT FROM pg_class WHERE relname LIKE ''lacks%''', '{n1,n2,n3}');
SELECT ok FROM shuttle.run_on_nodes('CREATE COLLATION shop.own FROM "C"', '{n1,n2,n3}');
CREATE TABLE lacks_not (id int PRIMARY KEY, t text COLLATE own);
SELECT count(*) FROM shuttle.tables WHERE relation = 'lacks_not'::regclass;
RESET shuttle.auto_distribute;

-- an attribute that goes with all that uses it
CREATE TYPE pair AS (a int, b int);
CREATE TABLE pairs (id int PRIMARY KEY, p pair CHECK ((p).a > 0), sum int GENERATED ALWAYS AS ((p).a + (p).b) STORED);
CREATE INDEX pairs_a ON pairs (((p).a));
SELECT shuttle.distribute_table('pairs', 'id', 2);
INSERT INTO pairs VALUES (1, (1, 2)), (2, (3, 4));
INSERT INTO pairs VALUES (3, (0, 2));
ALTER TYPE pair DROP ATTRIBUTE a;
ALTER TYPE pair DROP ATTRIBUTE a CASCADE;
SELECT * FROM pairs ORDER BY id;
INSERT INTO pairs VALUES (3, ROW(7));
SELECT count(*) FROM shuttle.check();

-- a table does not go with the type of its distribution column, as a plain one would not
CREATE SCHEMA types;
CREATE DOMAIN types.code AS int;
CREATE DOMAIN types.word AS text;
CREATE TABLE coded (id types.code, w types.word, n int);
CREATE VIEW codes AS SELECT id FROM coded;
SELECT shuttle.distribute_table('coded', 'id', 2);
INSERT INTO coded VALUES (1, 'one', 1), (2, 'two', 2);
DROP DOMAIN types.code;
DROP DOMAIN types.code CASCADE;
DROP SCHEMA types CASCADE;
SELECT * FROM coded ORDER BY id;
SET client_min_messages = warning;
CREATE ROLE regress_needed;
ALTER DOMAIN types.code OWNER TO regress_needed;
DROP OWNED BY regress_needed CASCADE;
ALTER DOMAIN types.code OWNER TO CURRENT_USER;
CREATE TABLE owned (id int);
SELECT shuttle.distribute_table('owned', 'id', 2);
ALTER TABLE owned OWNER TO regress_needed;
DROP OWNED BY regress_needed;
SELECT to_regclass('owned');
DROP ROLE regress_needed;
DROP DOMAIN types.word CASCADE;
SELECT * FROM coded ORDER BY id;
CREATE TABLE types.there (id types.code, n int);
SELECT shuttle.distribute_table('types.there', 'id', 2);
DROP TABLE coded CASCADE;
DROP SCHEMA types CASCADE;
RESET client_min_messages;
SELECT count(*) FROM shuttle.tables JOIN pg_class ON oid = relation WHERE relname IN ('coded', 'there');

-- which tables need what: columns, arrays, parts of types, checks, indexes, generated columns, other domains
CREATE FUNCTION positive(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
CREATE FUNCTION next(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE DOMAIN amount AS int CHECK (positive(VALUE));
CREATE TYPE bill AS (item text, amount amount);
CREATE DOMAIN bills AS bill[];
CREATE TABLE by_check (id int PRIMARY KEY, n int CHECK (positive(n)));
CREATE TABLE by_domain (id int PRIMARY KEY, b bills);
CREATE TABLE by_index (id int PRIMARY KEY, n int);
CREATE INDEX by_index_n ON by_index (next(n));
CREATE TABLE by_column (id int PRIMARY KEY, n int, m int GENERATED ALWAYS AS (next(n)) STORED);
CREATE TABLE by_default (id int PRIMARY KEY, n int DEFAULT next(1));
SELECT shuttle.distribute_table(t, 'id', 2) FROM unnest('{by_check, by_domain, by_index, by_column, by_default}'::regclass[]) AS t;
INSERT INTO by_check VALUES (1, 5);
INSERT INTO by_domain VALUES (1, ARRAY[ROW('x', 5)::bill]);
INSERT INTO by_column VALUES (1, 5);
CREATE OR REPLACE FUNCTION positive(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 3';
INSERT INTO by_check VALUES (2, 2);
ALTER DOMAIN amount ADD CHECK (VALUE < 1000);
INSERT INTO by_domain VALUES (2, '{"(x,1000)"}');
ALTER TYPE bill ADD ATTRIBUTE note text;
INSERT INTO by_domain VALUES (2, '{"(x,100,good)"}') RETURNING b[1];
CREATE OR REPLACE FUNCTION next(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 2';
INSERT INTO by_column VALUES (2, 5) RETURNING m;
ALTER SCHEMA shop RENAME TO store;
SET search_path = store;
INSERT INTO by_domain VALUES (3, '{"(x,100,better)"}') RETURNING b[1];
SELECT count(*) FROM shuttle.check();
