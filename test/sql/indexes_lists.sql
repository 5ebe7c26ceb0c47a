-- Rows are found by lists of values of a global unique index: the same rows as in a plain table, and only nodes that have
-- entries or rows are asked, if that is cheaper than asking all of them.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (gone int, customer int NOT NULL, id int PRIMARY KEY, email varchar(50) UNIQUE, a int, b numeric, note text COLLATE "C",
	CONSTRAINT pair UNIQUE (a, b));
ALTER TABLE person DROP COLUMN gone;
CREATE UNIQUE INDEX person_note ON person (lower(note));
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
INSERT INTO person SELECT i % 50, i, 'p' || i, i, i / 10.0, 'Note ' || i FROM generate_series(1, 400) AS i;
INSERT INTO person VALUES (3, 401), (4, 402);
INSERT INTO plain.person SELECT * FROM person;
CREATE TABLE orders (id int PRIMARY KEY, person int);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
INSERT INTO orders SELECT i, i * 3 FROM generate_series(1, 15) AS i;
INSERT INTO plain.orders TABLE orders;
SELECT shuttle.distribute_table('person', 'customer', 16);
ANALYZE person;
CREATE FUNCTION uses_index(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || statement LOOP
		found := concat_ws(' ', NULLIF(found, ''), substring(line FROM 'Scan on shuttle_tablets\.(\w+)_entries'));
	END LOOP;
	RETURN (SELECT string_agg(DISTINCT name, ' ') FROM string_to_table(found, ' ') AS name);
END $$;
\i :test/include/set_options.sql
CALL set_options('ALTER SERVER n%s OPTIONS (ADD shuttle_round_trip_cost ''1000'')');
SELECT uses_index('SELECT * FROM person WHERE email IN (''p7'', ''p8'')') AS dear_trip;
CALL set_options('ALTER SERVER n%s OPTIONS (SET shuttle_round_trip_cost ''0'')');
SELECT uses_index('SELECT * FROM person WHERE email IN (''p7'', ''p8'')') AS cheap_trip;
EXPLAIN (COSTS OFF) SELECT * FROM person WHERE email IN ('p7', 'p8', 'p9') AND a > 7;
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('SELECT * FROM person WHERE email IN (''p7'', ''p8'', ''p8'', ''none'')'),
('SELECT * FROM person WHERE email = ANY (''{p7,p8,NULL}'')'),
('SELECT * FROM person WHERE email = ANY (''{}'')'),
('SELECT * FROM person WHERE email = ANY (NULL)'),
('SELECT * FROM person WHERE email = ALL (''{p7}'')'),
('SELECT * FROM person WHERE NOT email IN (''p7'', ''p8'') AND id < 20'),
('SELECT * FROM person WHERE email NOT IN (''p7'', ''p8'') AND id < 20'),
('SELECT * FROM person WHERE email IN (''p7'', ''p8'') OR a = 4'),
('SELECT * FROM person WHERE email IN (''p7'', ''p8'') AND a = 7'),
('SELECT * FROM person WHERE email IN (''p7'', ''p8'') AND customer = 7'),
('SELECT * FROM person WHERE email COLLATE "C" IN (''p7'', ''p8'')'),
('SELECT * FROM person WHERE id IN (1, 2, 3) AND email IN (''p2'', ''p3'', ''p4'')'),
('SELECT * FROM person WHERE id = ANY (''{1,2,7000000000}''::bigint[])'),
('SELECT * FROM person WHERE id IN (1.0, 2.0)'),
('SELECT * FROM person WHERE a = 7 AND b IN (0.70, 0.8)'),
('SELECT * FROM person WHERE a IN (7, 8) AND b IN (0.70, 0.8)'),
('SELECT * FROM person WHERE a IN (7, 8)'),
('SELECT * FROM person WHERE lower(note) IN (''note 7'', ''note 8'')'),
('SELECT count(*), max(a) FROM person WHERE id IN (7, 8, 9)'),
('SELECT customer, count(*) FROM person WHERE id IN (7, 57, 9) GROUP BY customer'),
('SELECT id FROM person WHERE id IN (7, 8, 9) FOR UPDATE'),
('SELECT id FROM person WHERE id IN (7, 8, 9) ORDER BY id DESC LIMIT 2'),
('SELECT o.id, p.id FROM orders AS o JOIN person AS p ON p.id = o.person WHERE p.id IN (3, 6, 10)'),
('SELECT o.id, p.id FROM orders AS o LEFT JOIN person AS p ON p.id = o.person WHERE p.id IN (3, 6, 10)'),
('SELECT o.id, p.id FROM orders AS o LEFT JOIN person AS p ON p.id = o.person AND p.id IN (3, 6, 10)'),
('SELECT o.id, p.id FROM orders AS o RIGHT JOIN person AS p ON p.id = o.person WHERE p.id IN (3, 6, 10)'),
('SELECT p.id, q.id FROM person AS p JOIN person AS q ON q.a = p.a + 1 WHERE p.id IN (3, 4) AND q.id IN (5, 6)'),
('SELECT p.id, q.id FROM person AS p LEFT JOIN (SELECT * FROM person WHERE id IN (5, 6)) AS q ON q.a = p.a + 1 WHERE p.id IN (3, 4)'),
('SELECT id, (SELECT max(q.a) FROM person AS q WHERE q.id IN (1, 2) AND q.id < p.id) FROM person AS p WHERE p.id IN (2, 3)'),
('SELECT id FROM person WHERE id IN (3, 4) UNION ALL SELECT id FROM person WHERE email IN (''p3'', ''p4'')'),
('SELECT person FROM person WHERE id IN (3, 4)'),
('WITH p AS MATERIALIZED (SELECT * FROM person WHERE id IN (3, 4)) SELECT * FROM p'),
('UPDATE person SET a = a + 1000 WHERE id IN (3, 4) RETURNING id, a'),
('DELETE FROM person WHERE email IN (''p3'', ''p4'') RETURNING id'),
('INSERT INTO person SELECT customer, id + 1000, ''new'' || id FROM person WHERE id IN (3, 4) RETURNING *'),
('WITH w AS (DELETE FROM person WHERE id IN (3, 4) RETURNING *) SELECT * FROM person WHERE id IN (3, 4)');
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	rows text[] := '{}';
	before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	FOR line IN EXECUTE statement LOOP
		rows := rows || line::text;
	END LOOP;
	IF statement NOT LIKE '%ORDER BY%' THEN
		rows := ARRAY(SELECT r FROM unnest(rows) AS r ORDER BY 1);
	END IF;
	PERFORM set_config('search_path', before, true);
	RAISE division_by_zero USING MESSAGE = rows::text;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there
WHERE here <> there ORDER BY n;
SELECT n, uses_index(statement) FROM statements ORDER BY n;
-- the distributed result, read as a client reads it
SELECT id FROM person WHERE id IN (7, 8, 9) ORDER BY id;
-- parameters, and lists of parameters
SET plan_cache_mode = force_generic_plan;
PREPARE by_array(int[]) AS SELECT id, email FROM person WHERE id = ANY ($1) ORDER BY id;
EXECUTE by_array('{5,6,6,NULL,1000}');
EXECUTE by_array('{}');
EXECUTE by_array(NULL);
SELECT uses_index('EXECUTE by_array(''{1,2}'')');
PREPARE by_list(text, text) AS SELECT id FROM person WHERE email IN ($1, $2) ORDER BY id;
EXECUTE by_list('p1', 'p2');
EXECUTE by_list('p1', NULL);
RESET plan_cache_mode;
-- rows that the transaction has changed, and statements within others
BEGIN;
UPDATE person SET email = 'moved', customer = 49 WHERE id = 5;
SELECT id, customer FROM person WHERE email IN ('moved', 'p5', 'p6') ORDER BY id;
DELETE FROM person WHERE id = 6;
SELECT id, customer FROM person WHERE email IN ('moved', 'p5', 'p6') ORDER BY id;
ROLLBACK;
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '%', ARRAY(SELECT id FROM shop.person WHERE email IN ('fresh', 'p6') ORDER BY id);
	RETURN NULL;
END $$;
CREATE TRIGGER look AFTER INSERT ON person FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO person VALUES (1, 2001, 'fresh');
DROP SCHEMA shop, plain CASCADE;
