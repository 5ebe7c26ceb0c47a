-- DEFERRABLE unique constraints and primary keys without the distribution column have the outcome that they have for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int, id int, v int, w int, email text COLLATE "C",
	CONSTRAINT person_key PRIMARY KEY (id) DEFERRABLE, CONSTRAINT vs UNIQUE (v) DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT ws UNIQUE (w) DEFERRABLE, CONSTRAINT pair UNIQUE (email, w) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plain.person (LIKE person, CONSTRAINT person_key PRIMARY KEY (id) DEFERRABLE, CONSTRAINT vs UNIQUE (v) DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT ws UNIQUE (w) DEFERRABLE, CONSTRAINT pair UNIQUE (email, w) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO person SELECT i % 5, i, i, i, 'p' || i FROM generate_series(1, 20) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'person'::regclass AND contype IN ('p', 'u') ORDER BY conname;
SELECT name, pg_get_constraintdef(c.oid) FROM shuttle.global_indexes AS g JOIN pg_constraint AS c ON c.conrelid = g.entries::oid AND c.contype = 'u' ORDER BY 1;
SELECT * FROM shuttle.check();
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('UPDATE person SET v = v + 1'),
('UPDATE person SET w = w + 1'),
('UPDATE person SET id = id + 1'),
('UPDATE person SET v = CASE id WHEN 3 THEN 4 ELSE 3 END WHERE id IN (3, 4)'),
('UPDATE person SET w = CASE id WHEN 3 THEN 4 ELSE 3 END WHERE id IN (3, 4)'),
('UPDATE person SET v = 4 WHERE id = 3; UPDATE person SET v = 3 WHERE id = 4'),
('UPDATE person SET w = 4 WHERE id = 3; UPDATE person SET w = 3 WHERE id = 4'),
('UPDATE person SET v = 4 WHERE id = 3'),
('UPDATE person SET v = 1 WHERE id < 10; UPDATE person SET v = id WHERE id < 10'),
('UPDATE person SET v = 1 WHERE id < 10; UPDATE person SET v = id WHERE id < 9'),
('UPDATE person SET v = 1; UPDATE person SET customer = customer + 1 WHERE v = 1; UPDATE person SET v = id'),
('INSERT INTO person VALUES (1, 21, 5, 21)'),
('INSERT INTO person VALUES (1, 21, 5, 21); DELETE FROM person WHERE id = 21'),
('INSERT INTO person VALUES (0, 21, 5, 21); DELETE FROM person WHERE id = 5'),
('INSERT INTO person VALUES (0, 21, 5, 21), (0, 22, 5, 22), (0, 23, 5, 23), (1, 24, 5, 24); DELETE FROM person WHERE id = 22'),
('INSERT INTO person VALUES (0, 21, 5, 21), (0, 22, 5, 22), (0, 23, 5, 23), (1, 24, 5, 24); DELETE FROM person WHERE v = 5 AND id <> 23'),
('INSERT INTO person VALUES (0, 21, 5, 21), (0, 22, 5, 22), (0, 23, 5, 23), (1, 24, 5, 24); UPDATE person SET v = id WHERE id IN (21, 23, 24); DELETE FROM person WHERE id = 22'),
('INSERT INTO person VALUES (0, 21, 5, 21), (0, 22, 5, 22); DELETE FROM person WHERE id = 21; DELETE FROM person WHERE id = 5; UPDATE person SET v = 50 WHERE id = 22; INSERT INTO person VALUES (0, 23, 5, 23)'),
('INSERT INTO person VALUES (1, 21, 31, 21, ''a''), (1, 22, 32, 22, ''a''), (2, 23, 33, 23, ''a'')'),
('UPDATE person SET email = ''a'', w = w + 100 WHERE id < 5; UPDATE person SET w = w - 100 WHERE w > 100'),
('UPDATE person SET email = NULL'),
('INSERT INTO person VALUES (1, 5, 31, 31)'),
('SET CONSTRAINTS ALL DEFERRED; INSERT INTO person VALUES (1, 5, 31, 31); DELETE FROM person WHERE id = 5 AND customer = 0'),
('SET CONSTRAINTS person_key DEFERRED; INSERT INTO person VALUES (1, 5, 31, 31); UPDATE person SET id = 500 WHERE id = 5 AND customer = 0'),
('SET CONSTRAINTS ws DEFERRED; UPDATE person SET w = 4 WHERE id = 3; UPDATE person SET w = 3 WHERE id = 4'),
('SET CONSTRAINTS ws DEFERRED; UPDATE person SET w = 4 WHERE id = 3; SET CONSTRAINTS ws IMMEDIATE'),
('SET CONSTRAINTS ws, vs DEFERRED; UPDATE person SET v = 4 WHERE id = 3'),
('SET CONSTRAINTS vs IMMEDIATE; UPDATE person SET v = 4 WHERE id = 3; UPDATE person SET v = 3 WHERE id = 4'),
('SET CONSTRAINTS ALL IMMEDIATE; UPDATE person SET v = 4 WHERE id = 3; UPDATE person SET v = 3 WHERE id = 4'),
('SET CONSTRAINTS ALL IMMEDIATE; UPDATE person SET v = v + 1'),
('SET CONSTRAINTS no_such DEFERRED'),
('INSERT INTO person VALUES (1, 21, 5, 21) ON CONFLICT DO NOTHING'),
('INSERT INTO person VALUES (1, 21, 5, 21) ON CONFLICT (v) DO NOTHING'),
('INSERT INTO person VALUES (1, 21, 5, 21) ON CONFLICT ON CONSTRAINT ws DO UPDATE SET v = 3'),
('INSERT INTO person SELECT 1, 21, 5, 21 WHERE false ON CONFLICT (v) DO NOTHING'),
('DELETE FROM person WHERE id < 8; INSERT INTO person SELECT i, i, i, i FROM generate_series(1, 7) AS i'),
('DELETE FROM person'),
('MERGE INTO person AS p USING (VALUES (0, 5), (2, 40)) AS s (c, i) ON p.customer = s.c AND p.id = s.i WHEN MATCHED THEN UPDATE SET v = 6 WHEN NOT MATCHED THEN INSERT VALUES (c, i, 5, 90)'),
('CREATE TABLE child (v int REFERENCES person (v))');
CREATE VIEW problems AS SELECT problem FROM shuttle.check();
\i :test/include/outcome.sql
SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SELECT count(*) AS errors FROM statements WHERE outcome(statement, 'shop') LIKE '23505%';
SELECT outcome(statement, 'shop') FROM statements WHERE n IN (7, 8, 12, 22, 26);
-- the same for good, one after the other; the checks are at the commit
CREATE PROCEDURE run_all(path text) LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statements WHERE statement !~ 'person$|^CREATE' ORDER BY n LOOP
		BEGIN
			PERFORM set_config('search_path', path, true);
			EXECUTE s.statement;
			EXECUTE 'SET CONSTRAINTS ALL IMMEDIATE';
		EXCEPTION WHEN others THEN
			NULL;
		END;
		COMMIT;
	END LOOP;
END $$;
CALL shop.run_all('shop');
SET search_path = shop;
CALL shop.run_all('plain, public, shop');
SET search_path = shop;
SELECT count(*) AS rows, (SELECT count(*) FROM (TABLE person EXCEPT ALL TABLE plain.person) AS d) AS different,
	(SELECT count(*) FROM (TABLE plain.person EXCEPT ALL TABLE person) AS d) AS missing FROM person;
SELECT * FROM shuttle.check();
-- the check at COMMIT, with one node or several, has the names that were declared
TRUNCATE person;
INSERT INTO person SELECT i % 5, i, i, i, 'p' || i FROM generate_series(1, 20) AS i;
CREATE FUNCTION commit_error(OUT message text, OUT detail text, OUT "constraint" text, OUT "table" text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SET CONSTRAINTS ALL IMMEDIATE';
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, "constraint" = CONSTRAINT_NAME, "table" = TABLE_NAME;
END $$;
BEGIN;
INSERT INTO person VALUES (1, 30, 5, 30);
INSERT INTO person SELECT i, 30 + i, 30 + i, 30 + i FROM generate_series(1, 10) AS i;
SELECT * FROM commit_error();
COMMIT;
INSERT INTO person VALUES (1, 30, 5, 30);
BEGIN;
INSERT INTO person VALUES (1, 30, 5, 30);
UPDATE person SET v = 55 WHERE id = 30;
COMMIT;
-- savepoints take back entries, and what was set
BEGIN;
SAVEPOINT a;
INSERT INTO person VALUES (2, 31, 5, 31);
ROLLBACK TO a;
SET CONSTRAINTS vs IMMEDIATE;
ROLLBACK TO a;
INSERT INTO person VALUES (2, 32, 5, 32);
SAVEPOINT b;
DELETE FROM person WHERE id = 5;
ROLLBACK TO b;
DELETE FROM person WHERE id = 32;
COMMIT;
SELECT id, v FROM person WHERE v = 5;
SELECT * FROM shuttle.check();
-- COPY
COPY person FROM stdin;
1	41	5	41	x
\.
-- a constraint over rows that exist, and a column with one
ALTER TABLE person DROP CONSTRAINT vs;
INSERT INTO person VALUES (1, 50, 5, 50);
ALTER TABLE person ADD CONSTRAINT vs UNIQUE (v) DEFERRABLE INITIALLY DEFERRED;
DELETE FROM person WHERE id = 50;
BEGIN;
ALTER TABLE person ADD CONSTRAINT vs UNIQUE (v) DEFERRABLE INITIALLY DEFERRED;
INSERT INTO person VALUES (1, 50, 5, 50);
UPDATE person SET v = 51 WHERE id = 50;
COMMIT;
ALTER TABLE person ADD COLUMN x int UNIQUE DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE person ALTER COLUMN x TYPE bigint;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'person'::regclass AND contype IN ('p', 'u') ORDER BY conname;
BEGIN;
UPDATE person SET x = 1 WHERE id IN (1, 2);
UPDATE person SET x = 2 WHERE id = 2;
COMMIT;
UPDATE person SET x = 3 WHERE id IN (1, 2);
-- reads do not trust entries that may be doubled
BEGIN;
INSERT INTO person VALUES (1, 60, 1, 60);
SELECT id FROM person WHERE v = 1 ORDER BY id;
ROLLBACK;
-- and back
SELECT shuttle.local_table('person');
BEGIN;
UPDATE person SET v = v + 1;
INSERT INTO person VALUES (1, 60, 10, 60);
COMMIT;
DROP SCHEMA shop, plain CASCADE;
