-- What is written on several nodes, or on one and here, commits on all or none.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SCHEMA there;
CREATE TABLE there.a (id int PRIMARY KEY, v int);
CREATE TABLE there.b (id int PRIMARY KEY, v int);
CREATE TABLE there.late (id int, CONSTRAINT one UNIQUE (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE here (id int);
CREATE SEQUENCE numbers;
CALL test.loopback('one');
CALL test.loopback('two');
CREATE FOREIGN TABLE a (id int, v int) SERVER one OPTIONS (schema_name 'there');
CREATE FOREIGN TABLE b (id int, v int) SERVER two OPTIONS (schema_name 'there');
CREATE FOREIGN TABLE late (id int) SERVER two OPTIONS (schema_name 'there');

-- How the last transaction ended on its nodes; records are for recovery.
CREATE FUNCTION ended(OUT server name, OUT prepares int8, OUT commits int8)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT server, prepares, commits FROM shuttle.node_stats ORDER BY 1;
$$;
CREATE PROCEDURE begin_anew() LANGUAGE sql AS $$
	SELECT shuttle.reset_node_stats();
	DELETE FROM shuttle.commit_records;
$$;
CREATE VIEW records AS SELECT cardinality(servers) AS servers FROM shuttle.commit_records;

CREATE TEMP TABLE scratch (id int);

-- one node alone, and with things here that do not last
CALL begin_anew();
INSERT INTO a VALUES (1, 1);
BEGIN;
INSERT INTO a VALUES (nextval('numbers') + 1, nextval('numbers'));
SELECT nextval('numbers') FROM generate_series(1, 40) OFFSET 39;
SELECT count(*) FROM b;
COMMIT;
BEGIN;
INSERT INTO scratch VALUES (1);
SELECT FROM here FOR UPDATE;
UPDATE a SET v = 2 WHERE id = 1;
COMMIT;
TABLE records;
SELECT * FROM ended();

-- two nodes
CALL begin_anew();
BEGIN;
UPDATE a SET v = v + 1;
INSERT INTO b SELECT * FROM a;
COMMIT;
TABLE records;
SELECT * FROM ended();
TABLE b;

-- one node and here
CALL begin_anew();
BEGIN;
UPDATE a SET v = 10;
SELECT count(*) FROM b;
INSERT INTO here VALUES (1);
COMMIT;
TABLE records;
SELECT * FROM ended();
BEGIN;
INSERT INTO a VALUES (100, 1);
SAVEPOINT s;
INSERT INTO here VALUES (2);
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM records;

-- who has only locked rows prepares nothing, and keeps its locks to the end
CALL begin_anew();
BEGIN;
SELECT v FROM b WHERE id = 1 FOR UPDATE;
UPDATE a SET v = 11 WHERE id = 1;
INSERT INTO here VALUES (3);
COMMIT;
TABLE records;
SELECT * FROM ended();

-- one refuses: none commits
CALL begin_anew();
BEGIN;
UPDATE a SET v = 999;
INSERT INTO late VALUES (1), (1);
INSERT INTO here VALUES (4);
COMMIT;
SELECT count(*) FROM a WHERE v = 999;
SELECT count(*) FROM late;
SELECT count(*) FROM here WHERE id = 4;
TABLE records;
SELECT count(*) FROM pg_prepared_xacts;

-- SET CONSTRAINTS is not for constraints of nodes
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO late VALUES (1), (1);
ROLLBACK;

-- where one node refuses, others tell only what was written there
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM a WHERE id = 1;
INSERT INTO late VALUES (1), (1);
COMMIT;
BEGIN;
SELECT count(*) FROM (SELECT FROM a WHERE id = 1 FOR SHARE) x;
INSERT INTO late VALUES (1), (1);
COMMIT;

-- savepoints
BEGIN;
UPDATE a SET v = 20 WHERE id = 1;
SAVEPOINT s;
UPDATE b SET v = 20 WHERE id = 1;
ROLLBACK TO s;
UPDATE b SET v = 21 WHERE id = 1;
COMMIT;
SELECT a.v, b.v FROM a, b WHERE a.id = 1 AND b.id = 1;

-- other isolation levels
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE a SET v = 30 WHERE id = 1;
UPDATE b SET v = 31 WHERE id = 1;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE a SET v = v + 10 WHERE id = 1;
UPDATE b SET v = v + 10 WHERE id = 1;
INSERT INTO here VALUES (5);
COMMIT;
SELECT a.v, b.v FROM a, b WHERE a.id = 1 AND b.id = 1;

-- the option: a server that commits by itself, behind those that prepare
CALL begin_anew();
ALTER SERVER two OPTIONS (ADD shuttle_two_phase 'off');
BEGIN;
UPDATE a SET v = 40 WHERE id = 1;
UPDATE b SET v = 41 WHERE id = 1;
COMMIT;
SELECT * FROM ended();
BEGIN;
UPDATE a SET v = 999 WHERE id = 1;
INSERT INTO late VALUES (1), (1);
COMMIT;
SELECT v FROM a WHERE id = 1;
CALL begin_anew();
ALTER SERVER one OPTIONS (ADD shuttle_two_phase 'off');
BEGIN;
UPDATE a SET v = 50 WHERE id = 1;
UPDATE b SET v = 51 WHERE id = 1;
INSERT INTO here VALUES (6);
COMMIT;
SELECT * FROM ended();
TABLE records;

-- what a node can't prepare
ALTER SERVER one OPTIONS (DROP shuttle_two_phase);
ALTER SERVER two OPTIONS (DROP shuttle_two_phase);
CREATE FUNCTION there.notifies() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY something; RETURN NULL; END $$;
CREATE TABLE there.loud (id int);
CREATE TRIGGER notifies AFTER INSERT ON there.loud EXECUTE FUNCTION there.notifies();
CREATE FOREIGN TABLE loud (id int) SERVER two OPTIONS (schema_name 'there');
BEGIN;
UPDATE a SET v = 999 WHERE id = 1;
INSERT INTO loud VALUES (1);
COMMIT;
SELECT v FROM a WHERE id = 1;
INSERT INTO loud VALUES (1);
SELECT count(*) FROM loud;
SELECT count(*) FROM pg_prepared_xacts;

SELECT server, rollbacks > 0 AS some_rolled_back FROM shuttle.node_stats ORDER BY 1;

-- EXPLAIN tells the kind of commit
CREATE FUNCTION commit_of(statement text) RETURNS text LANGUAGE sql AS $$
	SELECT jsonb_path_query_first(test.dist_json(statement, ', VERBOSE')::jsonb, '$.**.Commit') #>> '{}';
$$;
BEGIN;
SELECT commit_of('UPDATE a SET v = 1 WHERE id = 1');
SELECT commit_of('INSERT INTO b VALUES (200, 1)');
ROLLBACK;

-- a server of postgres_fdw takes no part, which is said once
CALL test.loopback('stock', 'postgres_fdw');
CREATE FOREIGN TABLE c (id int, v int) SERVER stock OPTIONS (schema_name 'there', table_name 'a');
SET client_min_messages = warning;
BEGIN;
UPDATE b SET v = 1 WHERE id = 1;
UPDATE c SET v = 1 WHERE id = 2;
COMMIT;
BEGIN;
UPDATE b SET v = 1 WHERE id = 1;
UPDATE c SET v = 1 WHERE id = 2;
COMMIT;

DROP SERVER one, two, stock CASCADE;
DROP SCHEMA there CASCADE;
DROP TABLE here, scratch;
DROP SEQUENCE numbers;
DROP VIEW records;
DROP FUNCTION ended(), commit_of(text);
DROP PROCEDURE begin_anew();
