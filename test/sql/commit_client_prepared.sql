-- PREPARE TRANSACTION beside what distributed tables do at the commit: entries of global unique
-- indexes, foreign keys, copies of reference tables, rows written behind. The same as plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE region (id int PRIMARY KEY, name text);
CREATE TABLE person (customer int, id int PRIMARY KEY, email text UNIQUE, region int REFERENCES region);
CREATE TABLE purchase (customer int, id int, person int REFERENCES person ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE here (id int);
CREATE SCHEMA plain;
CREATE TABLE plain.region (LIKE region INCLUDING ALL);
CREATE TABLE plain.person (LIKE person INCLUDING ALL, FOREIGN KEY (region) REFERENCES plain.region);
CREATE TABLE plain.purchase (LIKE purchase INCLUDING ALL, FOREIGN KEY (person) REFERENCES plain.person ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plain.here (id int);
SELECT shuttle.reference_table('region');
SELECT shuttle.distribute_table('person', 'customer', 4);
SELECT shuttle.distribute_table('purchase', 'customer', 4);
CREATE FUNCTION differences() RETURNS TABLE (name text, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH name IN ARRAY ARRAY['region', 'person', 'purchase', 'here'] LOOP
		EXECUTE format('SELECT count(*) FROM ((TABLE shop.%1$I EXCEPT ALL TABLE plain.%1$I) UNION ALL (TABLE plain.%1$I EXCEPT ALL TABLE shop.%1$I)) AS d', name) INTO n;
		RETURN NEXT;
	END LOOP;
END$$;
\set writes 'BEGIN; INSERT INTO region VALUES (1, $$north$$), (2, $$south$$); INSERT INTO person SELECT i % 5, i, $$p$$ || i, 1 + i % 2 FROM generate_series(1, 20) AS i; INSERT INTO purchase SELECT i % 7, i, 1 + i % 21 FROM generate_series(1, 40) AS i; INSERT INTO here VALUES (1); SAVEPOINT s; DELETE FROM person; ROLLBACK TO s; UPDATE person SET email = $$new $$ || id WHERE id < 4; UPDATE region SET name = upper(name);'
-- a deferred key that does not hold is found by PREPARE TRANSACTION
:writes PREPARE TRANSACTION 'broken';
SET search_path = plain; :writes PREPARE TRANSACTION 'broken'; SET search_path = shop;
SELECT * FROM differences();
SELECT count(*) AS left_on_nodes FROM shuttle.transactions;
\set mends 'INSERT INTO person VALUES (3, 21, $$p21$$, 1);'
:writes :mends PREPARE TRANSACTION 'spread';
SET search_path = plain; :writes :mends PREPARE TRANSACTION 'plain'; SET search_path = shop;
SELECT count(*) FROM person;
SELECT count(*) FROM region;
SELECT server, state FROM shuttle.transactions ORDER BY server;
COMMIT PREPARED 'spread';
COMMIT PREPARED 'plain';
SELECT * FROM differences();
SELECT count(*) AS problems FROM shuttle.check();
-- what another transaction has prepared is taken
BEGIN; INSERT INTO person VALUES (1, 30, 'p30', 1); DELETE FROM person WHERE id = 7; PREPARE TRANSACTION 'second';
SET lock_timeout = '200ms';
\set VERBOSITY terse
INSERT INTO person VALUES (2, 31, 'p30', 1);
UPDATE region SET id = 9 WHERE id = 1;
\set VERBOSITY default
RESET lock_timeout;
ROLLBACK PREPARED 'second';
INSERT INTO person VALUES (2, 31, 'p30', 1) RETURNING id;
DELETE FROM person WHERE id = 31;
SELECT * FROM differences();
-- what the client sends with it in one packet, and isolation levels
BEGIN ISOLATION LEVEL REPEATABLE READ\; INSERT INTO here VALUES (2)\; UPDATE person SET region = 2\; PREPARE TRANSACTION 'packet';
COMMIT PREPARED 'packet';
UPDATE plain.person SET region = 2; INSERT INTO plain.here VALUES (2);
BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM purchase; DELETE FROM purchase WHERE id = 3; PREPARE TRANSACTION 'serializable';
COMMIT PREPARED 'serializable';
DELETE FROM plain.purchase WHERE id = 3;
-- nothing here but the record
BEGIN; DELETE FROM purchase WHERE id = 4; PREPARE TRANSACTION 'one node';
SET shuttle.read_consistency = strict;
COMMIT PREPARED 'one node';
SELECT count(*) FROM purchase WHERE id = 4;
RESET shuttle.read_consistency;
DELETE FROM plain.purchase WHERE id = 4;
SELECT * FROM differences();
SELECT count(*) AS problems FROM shuttle.check();
-- no such transaction
COMMIT PREPARED 'nothing';
SELECT count(*) AS left_on_nodes FROM shuttle.transactions;
