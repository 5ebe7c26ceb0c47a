-- The planner knows that columns of global unique indexes are unique, as it does for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int NOT NULL, id int PRIMARY KEY, email text UNIQUE, a int, b int, note text, deleted date, UNIQUE (a, b), UNIQUE (customer, note));
CREATE UNIQUE INDEX ON person (upper(email));
CREATE UNIQUE INDEX ON person (note) WHERE deleted IS NULL;
CREATE TABLE plain.person (LIKE person INCLUDING ALL);
CREATE TABLE orders (id int PRIMARY KEY, email text, person int, a int, b int);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
INSERT INTO plain.person SELECT i % 5, i, 'p' || i, i % 10, i, 'Note ' || i, CASE WHEN i % 4 = 0 THEN '2026-01-01'::date END FROM generate_series(1, 60) AS i;
INSERT INTO plain.orders SELECT i, 'p' || i * 3, i, i % 10, i FROM generate_series(1, 40) AS i;
SELECT shuttle.distribute_table('person', 'customer', 4);
SELECT shuttle.distribute_table('orders', 'id', 4);
INSERT INTO person TABLE plain.person;
INSERT INTO orders TABLE plain.orders;
ANALYZE person, orders, plain.person, plain.orders;
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.email = o.email'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.id = o.person'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.a = o.a AND p.b = o.b'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.a = o.a'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON upper(p.email) = o.email'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON lower(p.email) = o.email'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.note = o.email AND p.deleted IS NULL'),
('SELECT o.id FROM orders AS o LEFT JOIN person AS p ON p.note = o.email AND p.customer = o.person'),
('SELECT o.id, p.id FROM orders AS o LEFT JOIN person AS p ON p.email = o.email'),
('SELECT o.id, p.id FROM orders AS o JOIN person AS p ON p.email = o.email'),
('SELECT o.id, p.note FROM orders AS o JOIN person AS p ON p.id = o.person WHERE o.a < 5'),
('SELECT DISTINCT o.id FROM orders AS o LEFT JOIN person AS p ON p.email = o.email'),
('SELECT count(*) FROM orders AS o WHERE EXISTS (SELECT FROM person AS p WHERE p.email = o.email)'),
('SELECT p.id, p.note, count(*) FROM person AS p GROUP BY p.id');
CREATE FUNCTION reads_person(statement text, path text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bool := false;
	before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		found := found OR line ~ ' on person';
	END LOOP;
	PERFORM set_config('search_path', before, true);
	RETURN found;
END $$;
CREATE FUNCTION answer(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE format('SELECT string_agg(r::text, '';'' ORDER BY r::text) FROM (%s) AS r', statement) INTO result;
	PERFORM set_config('search_path', before, true);
	RETURN result;
END $$;
SELECT n, reads_person(statement, 'shop') AS here, reads_person(statement, 'plain, public, shop') AS there,
	answer(statement, 'shop') = answer(statement, 'plain, public, shop') AS same FROM statements ORDER BY n;
-- how many rows are expected
CREATE FUNCTION expected(statement text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN plan->0->'Plan'->'Plan Rows';
END $$;
SELECT expected('SELECT FROM orders AS o JOIN person AS p ON p.email = o.email') <= 40 AS few;
DROP TABLE person, orders, plain.person, plain.orders;
