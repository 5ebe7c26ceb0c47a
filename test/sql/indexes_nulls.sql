-- NULLS NOT DISTINCT without the distribution column: each way to write a row has the outcome that it has for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int, id int, email varchar(40), a int, b numeric, deleted date,
	CONSTRAINT mail UNIQUE NULLS NOT DISTINCT (email), CONSTRAINT pair UNIQUE NULLS NOT DISTINCT (a, b));
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER INDEX plain.person_email_key RENAME TO mail;
ALTER INDEX plain.person_a_b_key RENAME TO pair;
-- rows that exist, with the constraint from before, and one from afterwards
INSERT INTO person SELECT i % 5, i, nullif('p' || i, 'p7'), nullif(i, 8), nullif(i, 9), CASE WHEN i % 4 = 0 THEN '2026-01-01'::date END FROM generate_series(1, 20) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
CREATE UNIQUE INDEX late ON person (lower(email), a) NULLS NOT DISTINCT WHERE deleted IS NULL;
CREATE UNIQUE INDEX late ON plain.person (lower(email), a) NULLS NOT DISTINCT WHERE deleted IS NULL;
CREATE UNIQUE INDEX ON person (deleted) NULLS NOT DISTINCT;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'person'::regclass AND contype = 'u' ORDER BY conname;
SELECT pg_get_indexdef('late'::regclass);
SELECT name, count(*) FROM shuttle.global_indexes GROUP BY name ORDER BY name;
SELECT server, r ->> 'd' AS definition FROM shuttle.run_on_nodes('SELECT pg_get_indexdef(indexrelid) AS d FROM pg_index WHERE indrelid = ''shop.person''::regclass ORDER BY 1', '{n1}') AS n, jsonb_array_elements(n.result::jsonb) AS r;
SELECT * FROM shuttle.check();
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('INSERT INTO person (customer, id, email, a) VALUES (1, 21, ''new'', 1000)'),
('INSERT INTO person (customer, id, a) VALUES (1, 21, 1000)'),
('INSERT INTO person (customer, id, a, email) VALUES (1, 21, 1000, ''x''), (2, 22, 1001, NULL)'),
('INSERT INTO person (customer, id, a, email) VALUES (1, 21, 9, ''x'')'),
('INSERT INTO person (customer, id, b, email) VALUES (1, 21, 8.0, ''x'')'),
('INSERT INTO person (customer, id, email) VALUES (1, 21, ''x'')'),
('INSERT INTO person (customer, id, email) VALUES (1, 21, ''x''), (2, 22, ''y'')'),
('INSERT INTO person (id, email) VALUES (21, ''x'')'),
('INSERT INTO person (id, a) VALUES (21, 1000)'),
('UPDATE person SET email = NULL WHERE id = 3'),
('UPDATE person SET email = NULL WHERE id = 7'),
('UPDATE person SET email = ''was null'' WHERE id = 7; UPDATE person SET email = NULL WHERE id = 3'),
('UPDATE person SET email = ''was null'' WHERE email IS NULL'),
('UPDATE person SET a = NULL, b = NULL WHERE id = 3'),
('UPDATE person SET a = NULL, b = NULL'),
('UPDATE person SET a = NULL'),
('UPDATE person SET a = NULL, b = 8'),
('UPDATE person SET a = NULL WHERE id IN (3, 4)'),
('UPDATE person SET a = NULL, b = 8 WHERE id = 3'),
('UPDATE person SET b = NULL WHERE id IN (3, 4, 8)'),
('UPDATE person SET customer = NULL WHERE id IN (7, 8, 9)'),
('UPDATE person SET customer = NULL; UPDATE person SET a = 100, b = NULL WHERE id = 8; DELETE FROM person WHERE email IS NULL'),
('UPDATE person SET customer = customer + 1'),
('UPDATE person SET customer = customer + 1, email = CASE id WHEN 7 THEN ''other'' WHEN 6 THEN NULL ELSE email END WHERE id = 7'),
('UPDATE person SET deleted = NULL'),
('UPDATE person SET deleted = NULL, a = id'),
('DELETE FROM person WHERE id = 7; INSERT INTO person (customer, id, a) VALUES (8, 21, 1000)'),
('DELETE FROM person WHERE id IN (7, 8, 9); INSERT INTO person (customer, id, a) VALUES (8, 21, 9); INSERT INTO person (customer, id, b, email) VALUES (8, 22, 8, ''x'')'),
('DELETE FROM person'),
('TRUNCATE person; INSERT INTO person (id) VALUES (1)'),
('TRUNCATE person; INSERT INTO person (id) VALUES (1), (2)'),
('INSERT INTO person (customer, id, a) VALUES (1, 21, 1000) ON CONFLICT (email) DO NOTHING'),
('INSERT INTO person (customer, id, a) VALUES (1, 21, 1000) ON CONFLICT DO NOTHING'),
('INSERT INTO person (customer, id, a) VALUES (1, 21, 1000) ON CONFLICT (email) DO UPDATE SET b = excluded.id'),
('INSERT INTO person (customer, id, a) VALUES (1, 21, 1000), (2, 22, 1001) ON CONFLICT (email) DO UPDATE SET b = excluded.id'),
('DELETE FROM person WHERE email IS NULL; INSERT INTO person (customer, id, a) VALUES (1, 21, 1000), (2, 22, 1001) ON CONFLICT (email) DO UPDATE SET b = excluded.id'),
('INSERT INTO person (customer, id, a, email) VALUES (1, 21, 9, ''x''), (2, 22, 33, ''y'') ON CONFLICT (a, b) DO UPDATE SET deleted = ''2027-01-01'''),
('INSERT INTO person (customer, id, a, email) VALUES (1, 21, 9, ''x''), (2, 22, 9, ''y'') ON CONFLICT (a, b) DO UPDATE SET deleted = ''2027-01-01'''),
('INSERT INTO person (customer, id, b, email) VALUES (1, 21, 8.00, ''x''), (2, 22, 34, ''y'') ON CONFLICT ON CONSTRAINT pair DO UPDATE SET deleted = ''2027-01-01'''),
('MERGE INTO person AS p USING (VALUES (1, 1), (2, 40)) AS v (c, i) ON p.customer = v.c AND p.id = v.i WHEN MATCHED THEN UPDATE SET email = NULL WHEN NOT MATCHED THEN INSERT (customer, id, email) VALUES (c, i, ''p90'')'),
('WITH w AS (UPDATE person SET email = ''w'' WHERE email IS NULL RETURNING *) INSERT INTO person (customer, id, email, a) SELECT customer, 60, ''w2'', 1000 FROM w');
CREATE VIEW problems AS SELECT problem FROM shuttle.check();
\i :test/include/outcome.sql
SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SELECT count(*) AS errors FROM statements WHERE outcome(statement, 'shop') LIKE '23505%';
SELECT outcome(statement, 'shop') FROM statements WHERE n IN (2, 4, 5, 10, 26, 35);
CREATE PROCEDURE run_all(path text) LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statements WHERE statement !~ '^TRUNCATE|^DELETE FROM person$|^UPDATE person SET customer = NULL;' ORDER BY n LOOP
		BEGIN
			PERFORM set_config('search_path', path, true);
			EXECUTE s.statement;
		EXCEPTION WHEN unique_violation OR cardinality_violation THEN
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
-- COPY, savepoints
COPY person (customer, id, email, a) FROM stdin;
1	1001	c1	1001
2	1002	\N	1002
\.
UPDATE person SET email = 'filled' WHERE email IS NULL;
COPY person (customer, id, email, a) FROM stdin;
1	1001	c1	1001
2	1002	\N	1002
\.
BEGIN;
DELETE FROM person WHERE email IS NULL;
SAVEPOINT a;
INSERT INTO person (customer, id, a) VALUES (3, 1003, 1003);
ROLLBACK TO a;
INSERT INTO person (customer, id, a) VALUES (4, 1004, 1004);
COMMIT;
SELECT customer, id FROM person WHERE email IS NULL;
-- rows are found by values as before
SELECT id FROM person WHERE email = 'c1';
-- entries that are lost, and strays
DO $$ BEGIN EXECUTE (SELECT format('DELETE FROM %s WHERE k1 IS NULL', entries) FROM shuttle.global_indexes WHERE name = 'mail'); END $$;
DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO %s VALUES (77777, NULL, 1)', entries) FROM shuttle.global_indexes WHERE name = 'pair'); END $$;
SELECT relation, node, problem, repaired FROM shuttle.check();
SELECT relation, node, problem, repaired FROM shuttle.check(repair => true);
SELECT * FROM shuttle.check();
-- values that are not distinct, and a new table
ALTER TABLE person ADD COLUMN extra int;
ALTER TABLE person ADD CONSTRAINT extras UNIQUE NULLS NOT DISTINCT (extra);
ALTER TABLE person DROP CONSTRAINT mail;
ALTER TABLE person ADD CONSTRAINT mail UNIQUE NULLS NOT DISTINCT (email);
SET shuttle.auto_distribute = 'customer';
CREATE TABLE fresh (customer int NOT NULL, code text UNIQUE NULLS NOT DISTINCT);
RESET shuttle.auto_distribute;
INSERT INTO fresh VALUES (1, NULL);
INSERT INTO fresh VALUES (2, NULL);
-- and back
SELECT shuttle.local_table('person');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'person'::regclass AND contype = 'u' ORDER BY conname;
INSERT INTO person (customer, id, a) VALUES (5, 1005, 1005);
DROP SCHEMA shop, plain CASCADE;
