-- Statements within a statement, as of functions and triggers, that write to the same keys: each one checks its own.
-- Each runs on ordinary tables, then on distributed ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set SHOW_CONTEXT never
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE person (id int PRIMARY KEY, boss int REFERENCES person (id), n int DEFAULT 0);
CREATE TABLE late (id int PRIMARY KEY, boss int REFERENCES late (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
CREATE TABLE plain.late (LIKE late INCLUDING ALL);
ALTER TABLE plain.person ADD FOREIGN KEY (boss) REFERENCES plain.person (id);
ALTER TABLE plain.late ADD FOREIGN KEY (boss) REFERENCES plain.late (id) DEFERRABLE INITIALLY DEFERRED;
SELECT shuttle.distribute_table(name, 'id', 2) FROM unnest('{person,late}'::text[]) AS name;
-- they write the tables of the search path
CREATE FUNCTION adds(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO person VALUES (100 + i, NULL); RETURN i; END $$;
CREATE FUNCTION adds_below(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO person VALUES (200 + i, NULL), (300 + i, 200 + i); RETURN i; END $$;
CREATE FUNCTION adds_deep(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN INSERT INTO person SELECT 400 + adds(i * 10 + j), CASE j WHEN 1 THEN 402 + i * 10 END FROM generate_series(1, 2) AS j; RETURN i; END $$;
CREATE FUNCTION adds_orphan(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO person VALUES (100 + i, 4);
	RETURN 1;
EXCEPTION WHEN foreign_key_violation THEN
	RETURN 4;
END $$;
CREATE FUNCTION removes_boss(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM person WHERE id = i; RETURN NULL; EXCEPTION WHEN foreign_key_violation THEN RETURN i; END $$;
CREATE FUNCTION renames(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE person SET id = id + 1000 WHERE id = 100 + i; RETURN i; END $$;
CREATE FUNCTION checks(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; RETURN i; END $$;
CREATE FUNCTION adds_late(i int, j int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO late VALUES (100 + i, j); RETURN i; END $$;
CREATE FUNCTION copies(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE format($c$COPY person (id) FROM PROGRAM 'echo %s'$c$, 100 + i); RETURN i; END $$;
CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement) VALUES
	-- a row refers to one that comes later
	('INSERT INTO person SELECT adds(i), 5 - i FROM generate_series(1, 4) AS i'),
	('INSERT INTO person SELECT adds_below(i), 5 - i FROM generate_series(1, 4) AS i'),
	('INSERT INTO person SELECT copies(i), 5 - i FROM generate_series(1, 4) AS i'),
	('INSERT INTO person SELECT adds_deep(i), 3 - i FROM generate_series(1, 2) AS i'),
	('WITH a AS (INSERT INTO person SELECT adds(1), 2 RETURNING id) INSERT INTO person SELECT adds(2), 1 FROM a'),
	('INSERT INTO person SELECT adds(i), 4 - i FROM generate_series(1, 4) AS i'),
	-- the inner statement's own key is checked when that ends, also if the outer one has it
	('INSERT INTO person SELECT i, CASE WHEN i < 4 THEN adds_orphan(i) END FROM generate_series(1, 4) AS i'),
	('INSERT INTO person SELECT i, CASE WHEN i < 4 THEN adds_orphan(i) END FROM generate_series(1, 3) AS i'),
	-- referred rows
	('INSERT INTO person VALUES (1, NULL), (2, NULL), (101, NULL), (102, NULL)'),
	('UPDATE person SET n = renames(1), boss = 1101 WHERE id = 1'),
	('UPDATE person SET boss = CASE id WHEN 1 THEN 102 ELSE removes_boss(101) END WHERE id < 3'),
	('DELETE FROM person WHERE id IN (1, 1101) AND renames(id) IS NOT NULL'),
	('INSERT INTO person SELECT 3, renames(2) - 1');
CREATE VIEW steps AS
	SELECT unnest(ARRAY[statement, 'SELECT string_agg(format($f$%s>%s$f$, id, boss), $s$ $s$ ORDER BY id) AS rows FROM person',
		CASE WHEN n < 9 THEN 'TRUNCATE person' END]) AS step, n
	FROM statements;
CREATE TABLE deferred (n serial, statement text);
INSERT INTO deferred (statement) VALUES
	('INSERT INTO late SELECT checks(i), 5 - i FROM generate_series(1, 4) AS i'),
	('INSERT INTO late SELECT adds_late(i, 25 - i), 25 - i FROM generate_series(11, 14) AS i'),
	('INSERT INTO late SELECT adds_late(i, 28), 28 FROM generate_series(26, 27) AS i'),
	('BEGIN'),
	('INSERT INTO late SELECT adds_late(i, 20 + i), 19 FROM generate_series(21, 22) AS i'),
	('INSERT INTO late VALUES (19, 1), (41, NULL), (42, NULL)'),
	('SELECT checks(1)'),
	('INSERT INTO late SELECT adds_late(i, 51), 1 FROM generate_series(51, 52) AS i'),
	('ROLLBACK'),
	('BEGIN'),
	('INSERT INTO late VALUES (31, 32)'),
	('INSERT INTO late SELECT checks(32), 1'),
	('COMMIT'),
	-- what has ended is checked, not what the outer statement has written
	('INSERT INTO late SELECT adds_late(i, NULL) + checks(0), 36 - i FROM generate_series(33, 34) AS i'),
	('INSERT INTO late SELECT adds_late(i, 41) + checks(0), 1 FROM generate_series(35, 36) AS i'),
	('SELECT string_agg(format($f$%s>%s$f$, id, boss), $s$ $s$ ORDER BY id) AS rows FROM late');
SET search_path = plain, shop;
SELECT step FROM steps WHERE step IS NOT NULL \gexec
SELECT statement FROM deferred ORDER BY n \gexec
SET search_path = shop;
SELECT step FROM steps WHERE step IS NOT NULL \gexec
SELECT statement FROM deferred ORDER BY n \gexec
TRUNCATE person, plain.person;
-- a COPY is a statement, too
CREATE FUNCTION adds_bare() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.id < 10 THEN INSERT INTO person VALUES (100 + NEW.id, NULL); END IF; RETURN NEW; END $$;
CREATE TRIGGER adds BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION adds_bare();
CREATE TRIGGER adds BEFORE INSERT ON plain.person FOR EACH ROW EXECUTE FUNCTION adds_bare();
SET search_path = plain, shop;
COPY person (id, boss) FROM stdin;
1	3
2	3
3	1
\.
SELECT id, boss FROM person WHERE id < 200 ORDER BY id;
SET search_path = shop;
COPY person (id, boss) FROM stdin;
1	3
2	3
3	1
\.
SELECT id, boss FROM person WHERE id < 200 ORDER BY id;
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA plain, shop CASCADE;
