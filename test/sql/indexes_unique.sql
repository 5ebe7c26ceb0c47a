-- Unique indexes and keys without the distribution column: each way to write a row has the outcome that it has for
-- a plain table, and entries follow the rows, also through savepoints, triggers, moved rows and MERGE (trap 2, 3, 7, 8).
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE person (gone int, customer int, id int PRIMARY KEY, email text UNIQUE, a int, b numeric, deleted date, note text,
	CONSTRAINT pair UNIQUE (a, b), UNIQUE (customer, note));
ALTER TABLE person DROP COLUMN gone;
CREATE UNIQUE INDEX person_lower ON person (lower(note)) WHERE deleted IS NULL;
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
ALTER INDEX plain.person_a_b_key RENAME TO pair;
ALTER INDEX plain.person_lower_idx RENAME TO person_lower;
INSERT INTO person SELECT i % 5, i, 'p' || i, i, i / 10.0, NULL, 'Note ' || i FROM generate_series(1, 20) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
SELECT name, count(*) FROM shuttle.global_indexes GROUP BY name ORDER BY name;
SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'person'::regclass AND contype IN ('p', 'u') ORDER BY conname;
-- each index's entries beside those that it should have
CREATE FUNCTION wrong_entries() RETURNS TABLE (name name, lost bigint, extra bigint) LANGUAGE plpgsql AS $$
DECLARE
	index record;
	entries text;
	rows text;
BEGIN
	FOR index IN SELECT g.name, g.entries, g.relation, i.indnkeyatts,
			(SELECT string_agg(pg_get_indexdef(g.index_oid, n, false), ', ' ORDER BY n) FROM generate_series(1, i.indnkeyatts) AS n) AS columns,
			(SELECT string_agg(format('(%s) IS NOT NULL', pg_get_indexdef(g.index_oid, n, false)), ' AND ' ORDER BY n) FROM generate_series(1, i.indnkeyatts) AS n) AS filled,
			COALESCE(pg_get_expr(i.indpred, i.indrelid), 'true') AS condition
		FROM shuttle.global_indexes AS g JOIN pg_index AS i ON i.indexrelid = g.index_oid ORDER BY g.name
	LOOP
		entries := format('SELECT * FROM %s', index.entries);
		rows := format('SELECT %s, customer FROM %s WHERE %s AND %s', index.columns, index.relation, index.filled, index.condition);
		name := index.name;
		EXECUTE format('SELECT count(*) FROM (%s EXCEPT ALL %s) AS r', rows, entries) INTO lost;
		EXECUTE format('SELECT count(*) FROM (%s EXCEPT ALL %s) AS r', entries, rows) INTO extra;
		IF lost + extra > 0 THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;
SELECT * FROM wrong_entries();
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('INSERT INTO person (customer, id, email) VALUES (1, 21, ''new'')'),
('INSERT INTO person (customer, id, email) VALUES (9, 1, ''new'')'),
('INSERT INTO person (customer, id, email) VALUES (9, 21, ''p7'')'),
('INSERT INTO person (customer, id, email) VALUES (9, 21, ''x''), (10, 22, ''x'')'),
('INSERT INTO person (customer, id, email) VALUES (9, 21, NULL), (10, 22, NULL)'),
('INSERT INTO person (customer, id, a, b) VALUES (9, 21, 1, 0.10)'),
('INSERT INTO person (customer, id, a, b) VALUES (9, 21, 1, 0.11), (9, 22, NULL, 0.1), (9, 23, 1, NULL)'),
('INSERT INTO person (customer, id, note) VALUES (9, 21, ''NOTE 3'')'),
('INSERT INTO person (customer, id, note, deleted) VALUES (9, 21, ''NOTE 3'', ''2026-01-01'')'),
('INSERT INTO person (customer, id, email) VALUES (9, 21, ''new'') RETURNING id, email'),
('INSERT INTO person (customer, id, email) SELECT id, 100 + id, email || ''!'' FROM person'),
('INSERT INTO person (customer, id, email) SELECT id, 100 + id, email FROM person'),
('INSERT INTO person (customer, id, note) VALUES (1, 21, ''Note 1'') ON CONFLICT (customer, note) DO NOTHING'),
('INSERT INTO person (customer, id, note) VALUES (1, 21, ''Note 1'') ON CONFLICT (customer, note) DO UPDATE SET email = ''conflict'''),
('INSERT INTO person (customer, id, note) VALUES (1, 21, ''Note 1'') ON CONFLICT (customer, note) DO UPDATE SET email = ''p2'''),
('INSERT INTO person (customer, id, note, email) VALUES (1, 21, ''Note 99'', ''p2'') ON CONFLICT (customer, note) DO NOTHING'),
('UPDATE person SET a = a + 100'),
('UPDATE person SET a = 1, b = 0.1 WHERE id IN (5, 6)'),
('UPDATE person SET email = ''p1'' WHERE id = 2'),
('UPDATE person SET email = email || ''?'''),
('UPDATE person SET email = NULL WHERE id < 5'),
('UPDATE person SET email = ''u'' || id WHERE customer = 3'),
('UPDATE person SET customer = customer + 1'),
('UPDATE person SET customer = customer + 1, email = upper(email) WHERE id > 10'),
('UPDATE person SET customer = customer + 1, id = 1 WHERE id = 10'),
('UPDATE person SET deleted = ''2026-02-01'' WHERE id % 2 = 0'),
('UPDATE person SET note = ''note 1'' WHERE id = 2'),
('UPDATE person SET note = ''note 1'', deleted = ''2026-02-01'' WHERE id = 2'),
('UPDATE person SET note = ''other'' WHERE customer = 1 AND id = 1'),
('UPDATE person SET b = 0.50 WHERE id = 5'),
('UPDATE person SET customer = NULL WHERE id = 7'),
('UPDATE person SET customer = NULL WHERE id = 7; UPDATE person SET email = ''n'' WHERE id = 7; DELETE FROM person WHERE customer IS NULL'),
('INSERT INTO person (id, email) VALUES (30, ''nobody''), (31, ''none'')'),
('INSERT INTO person (id, email) VALUES (30, ''p3'')'),
('DELETE FROM person WHERE id = 7'),
('DELETE FROM person WHERE customer = 2'),
('DELETE FROM person'),
('DELETE FROM person AS p USING person AS o WHERE o.id = p.id + 1 RETURNING p.id'),
('TRUNCATE person'),
('DELETE FROM person WHERE id = 7; INSERT INTO person (customer, id, email) VALUES (8, 7, ''p7'')'),
('INSERT INTO person (customer, id, email) VALUES (8, 30, ''q''); DELETE FROM person WHERE id = 30; INSERT INTO person (customer, id, email) VALUES (9, 30, ''q'')'),
('TRUNCATE person; INSERT INTO person (customer, id, email) VALUES (8, 1, ''p7'')'),
('MERGE INTO person AS p USING (VALUES (1, 1), (2, 40)) AS v (c, i) ON p.customer = v.c AND p.id = v.i WHEN MATCHED THEN UPDATE SET email = ''m'' WHEN NOT MATCHED THEN INSERT (customer, id, email) VALUES (c, i, ''p1'')'),
('MERGE INTO person AS p USING (VALUES (1, 1), (2, 40)) AS v (c, i) ON p.customer = v.c AND p.id = v.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (customer, id, email) VALUES (c, i, ''p9'')'),
('WITH w AS (INSERT INTO person (customer, id, email) VALUES (3, 50, ''w'') RETURNING *) SELECT id FROM w'),
('WITH w AS (UPDATE person SET email = ''w'' WHERE id = 3 RETURNING *) INSERT INTO person (customer, id, email) SELECT customer, 60, ''w2'' FROM w');
CREATE VIEW problems AS SELECT w::text AS problem FROM wrong_entries() AS w;
\i :test/include/outcome.sql
SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SELECT count(*) AS errors FROM statements WHERE outcome(statement, 'shop') LIKE '23505%';
SELECT outcome(statement, 'shop') FROM statements WHERE n IN (2, 3, 6, 8);
SELECT * FROM wrong_entries();
-- the same for good, one after the other
CREATE PROCEDURE run_all(path text) LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	FOR s IN SELECT * FROM statements WHERE statement NOT LIKE 'TRUNCATE%' AND statement <> 'DELETE FROM person' ORDER BY n LOOP
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
SELECT count(*) AS rows, (SELECT count(*) FROM (TABLE person EXCEPT ALL TABLE plain.person) AS d) AS different FROM person;
SELECT * FROM wrong_entries();
-- what differs: a statement that swaps values, as entries are deleted before others are inserted
INSERT INTO person (customer, id, email) VALUES (14, 914, 'swap1'), (15, 915, 'swap2');
UPDATE person SET email = CASE id WHEN 914 THEN 'swap2' ELSE 'swap1' END WHERE email LIKE 'swap%';
SELECT customer, id, email FROM person WHERE email LIKE 'swap%' ORDER BY id;
SELECT * FROM wrong_entries();
-- COPY
COPY person (customer, id, email) FROM stdin;
1	1001	c1
2	1002	c2
3	1003	c3
\.
COPY person (customer, id, email) FROM stdin;
1	1011	c11
2	1012	c2
\.
SELECT id, email FROM person WHERE id > 1000 ORDER BY id;
SELECT * FROM wrong_entries();
-- savepoints, rolled back halfway (trap 2)
BEGIN;
DELETE FROM person WHERE email = 'c1';
SAVEPOINT a;
INSERT INTO person (customer, id, email) VALUES (7, 1021, 'c1');
SAVEPOINT b;
DELETE FROM person WHERE id = 1021;
INSERT INTO person (customer, id, email) VALUES (8, 1022, 'c1');
ROLLBACK TO b;
INSERT INTO person (customer, id, email) VALUES (8, 1023, 'c1');
ROLLBACK TO a;
INSERT INTO person (customer, id, email) VALUES (9, 1024, 'c1');
COMMIT;
SELECT customer, id, email FROM person WHERE email = 'c1';
SELECT * FROM wrong_entries();
-- triggers
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	new.email := new.email || '-t';
	RETURN new;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON person FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO person (customer, id, email) VALUES (1, 1031, 'b');
UPDATE person SET a = NULL WHERE id = 1031;
SELECT email FROM person WHERE id = 1031;
SELECT * FROM wrong_entries();
DROP TRIGGER change ON person;
CREATE FUNCTION add_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.id < 3000 THEN
		INSERT INTO shop.person (customer, id, email) VALUES (new.customer + 1, new.id + 1000, 'more' || new.id);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER more AFTER INSERT ON person FOR EACH ROW EXECUTE FUNCTION add_more();
INSERT INTO person (customer, id, email) VALUES (1, 1041, 'd'), (2, 1042, 'e');
SELECT customer, id, email FROM person WHERE id > 1040 ORDER BY id;
SELECT * FROM wrong_entries();
DROP TRIGGER more ON person;
-- a trigger that deletes what its statement has yet to note
CREATE FUNCTION take_away() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM shop.person WHERE id = 1052;
	RETURN NULL;
END $$;
CREATE TRIGGER take AFTER INSERT ON person FOR EACH ROW EXECUTE FUNCTION take_away();
INSERT INTO person (customer, id, email) VALUES (1, 1051, 'f'), (2, 1052, 'g');
SELECT id FROM person WHERE id > 1050 AND id < 1100 ORDER BY id;
SELECT * FROM wrong_entries();
DROP TRIGGER take ON person;
-- what is not possible
DROP TRIGGER "00_shuttle_index" ON person;
ALTER TABLE person DISABLE TRIGGER ALL;
INSERT INTO person (customer, id, email) VALUES (1, 1061, 'p15');
SET session_replication_role = replica;
INSERT INTO person (customer, id, email) VALUES (1, 1062, 'c2');
RESET session_replication_role;
-- groups by a key that nodes do not have
SELECT id, email, count(*) FROM person WHERE customer = 1 GROUP BY id ORDER BY id;
SELECT id, email, count(*) FROM person WHERE email LIKE 'swap%' GROUP BY id ORDER BY id;
SELECT count(*) FROM (SELECT id, upper(email), note FROM person GROUP BY id HAVING max(a) > 3 OR note IS NULL) AS g;
SELECT id, count(*) FROM person GROUP BY GROUPING SETS ((id), (id, a)) HAVING email IS NULL;
-- plans say why
EXPLAIN (COSTS OFF) UPDATE person SET a = 5 WHERE customer = 1 AND id = 1;
EXPLAIN (COSTS OFF, VERBOSE) UPDATE person SET deleted = NULL WHERE customer = 1 AND id = 1;
CREATE TABLE simple (id int PRIMARY KEY, customer int, email text UNIQUE, n int);
SELECT shuttle.distribute_table('simple', 'customer', 2);
EXPLAIN (COSTS OFF) UPDATE simple SET n = 5 WHERE customer = 1;
EXPLAIN (COSTS OFF) UPDATE simple SET email = 'x' WHERE customer = 1;
INSERT INTO simple VALUES (1, 1, 'a', 1), (2, 2, 'b', 2);
UPDATE simple SET n = 6 WHERE customer = 1;
UPDATE simple SET n = n + 1;
TABLE simple ORDER BY id;
SELECT * FROM wrong_entries();
DROP TABLE simple;
-- what is written past the table is found, and mended
SELECT * FROM shuttle.check();
DO $$ BEGIN EXECUTE (SELECT format('DELETE FROM %s WHERE k1 = ''c2''', entries) FROM shuttle.global_indexes WHERE name = 'person_email_key'); END $$;
DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO %s VALUES (''stray'', 1)', entries) FROM shuttle.global_indexes WHERE name = 'person_email_key'); END $$;
SELECT relation, node, problem, repaired FROM shuttle.check();
SELECT relation, node, problem, repaired FROM shuttle.check(repair => true);
SELECT * FROM shuttle.check();
SELECT * FROM wrong_entries();
DROP TABLE person, plain.person;
SELECT count(*) AS entries FROM shuttle.global_indexes;
SELECT count(*) AS entries FROM pg_class WHERE relnamespace = 'shuttle_indexes'::regnamespace;
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*) AS n FROM pg_class WHERE relnamespace = to_regnamespace(''shuttle_indexes'')', '{n1,n2}') ORDER BY server;
