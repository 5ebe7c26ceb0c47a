-- ON CONFLICT DO UPDATE of several rows that changes the values of its global unique index: no row is changed twice, and values
-- that were given up are free, as for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (gone int, customer int, id int, email varchar(40), a int, b numeric, deleted date);
ALTER TABLE person DROP COLUMN gone;
CREATE TABLE plain.person (LIKE person);
INSERT INTO person SELECT i % 5, i, 'p' || i, nullif(i, 8), nullif(i, 9), CASE WHEN i % 4 = 0 THEN '2026-01-01'::date END FROM generate_series(1, 12) AS i;
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
CREATE FUNCTION add_indexes() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE UNIQUE INDEX person_id ON person (id);
	CREATE UNIQUE INDEX person_pair ON person (a, b) NULLS NOT DISTINCT;
	CREATE UNIQUE INDEX person_email ON person (lower(email)) WHERE deleted IS NULL;
END $$;
SELECT add_indexes();
SET search_path = plain, public, shop;
SELECT add_indexes();
SET search_path = shop;
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement)
SELECT format('INSERT INTO person AS p VALUES %s ON CONFLICT %s', v, c) FROM unnest(ARRAY[
	'(id) DO UPDATE SET id = excluded.id + 100', '(id) DO UPDATE SET id = p.id + 1', '(id) DO UPDATE SET id = 3', '(id) DO UPDATE SET id = NULL',
	'(id) DO UPDATE SET id = p.id + 100, customer = excluded.customer WHERE p.a <> 2', '(id) DO UPDATE SET id = p.id + 20, email = excluded.email']) AS c, unnest(ARRAY[
	'(7, 1, ''n1'', 50, 1), (8, 2, ''n2'', 51, 1)', '(7, 1, ''n1'', 50, 1), (8, 1, ''n2'', 51, 1)', '(7, 1, ''n1'', 50, 1), (8, 101, ''n2'', 51, 1)',
	'(7, 1, ''n1'', 50, 1), (8, 1, ''n2'', 51, 1), (9, 1, ''n3'', 52, 1)', '(7, 50, ''n1'', 50, 1), (8, 1, ''n2'', 51, 1), (9, 50, ''n3'', 52, 1)',
	'(7, 2, ''n1'', 50, 1), (8, 2, ''n2'', 51, 1), (9, 1, ''n3'', 52, 1)', '(7, 12, ''n1'', 50, 1), (8, 11, ''n2'', 51, 1), (9, 10, ''n3'', 52, 1)',
	'(7, 1, ''n1'', 50, 1), (8, 2, ''n2'', 51, 1), (9, 60, ''P3'', 52, 1)', '(7, 1, ''n1'', 50, 1), (8, NULL, ''n2'', 51, 1), (9, NULL, ''n3'', 52, 1)']) AS v
UNION ALL
SELECT format('INSERT INTO person AS p VALUES %s ON CONFLICT %s', v, c) FROM unnest(ARRAY[
	'(a, b) DO UPDATE SET a = NULL', '(a, b) DO UPDATE SET b = p.id', '(a, b) DO UPDATE SET a = 1, b = NULL', '(b, a) DO UPDATE SET a = p.a + 100']) AS c, unnest(ARRAY[
	'(7, 50, ''n1'', 3, 3), (8, 51, ''n2'', NULL, 8), (9, 52, ''n3'', 9, NULL)', '(7, 50, ''n1'', NULL, 8.0), (8, 51, ''n2'', NULL, 8), (9, 52, ''n3'', NULL, 3)',
	'(7, 50, ''n1'', 3, 3), (8, 51, ''n2'', 3, 3.00), (9, 52, ''n3'', NULL, 3)', '(7, 50, ''n1'', 3, 3), (8, 51, ''n2'', 103, 3)', '(7, 50, ''n1'', 3, 3), (8, 51, ''n2'', 1, NULL)']) AS v
UNION ALL
SELECT format('INSERT INTO person AS p VALUES %s ON CONFLICT (lower(email)) WHERE deleted IS NULL DO UPDATE %s', v, c) FROM unnest(ARRAY[
	'SET email = excluded.id', 'SET deleted = ''2026-06-06''', 'SET email = ''P2''', 'SET deleted = ''2026-06-06'', email = ''x'' WHERE p.id <> 3']) AS c, unnest(ARRAY[
	'(7, 50, ''P1'', 50, 1), (8, 51, ''p3'', 51, 1)', '(7, 50, ''P1'', 50, 1), (8, 51, ''p1'', 51, 1)', '(7, 50, ''P1'', 50, 1), (8, 51, ''p1'', 51, 1), (9, 52, ''p1'', 52, 1)',
	'(7, 50, ''P1'', 50, 1), (8, 51, ''50'', 51, 1)', '(7, 50, ''P1'', 50, 1), (8, 51, ''p2'', 51, 1)', '(7, 50, ''p4'', 50, 1), (8, 51, ''P4'', 51, 1)']) AS v;
CREATE VIEW problems AS SELECT problem FROM shuttle.check();
\i :test/include/outcome.sql
CREATE TABLE outcomes AS SELECT n, statement, here, there FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there;
SELECT * FROM outcomes WHERE here <> there ORDER BY n;
SELECT left(here, 5) AS error, count(*) FROM outcomes WHERE here ~ '^\w{5} ' GROUP BY 1 ORDER BY 1;
SELECT count(*) AS statements FROM statements;
-- what is not possible
INSERT INTO person VALUES (7, 1, 'n1', 50, 1), (8, 2, 'n2', 51, 1) ON CONFLICT (id) DO UPDATE SET id = excluded.id + 100 RETURNING id;
CREATE TABLE child (id int REFERENCES person (id));
INSERT INTO person VALUES (7, 1, 'n1', 50, 1), (8, 2, 'n2', 51, 1) ON CONFLICT (id) DO UPDATE SET id = excluded.id + 100;
INSERT INTO person VALUES (7, 1, 'n1', 50, 1) ON CONFLICT (id) DO UPDATE SET id = excluded.id + 100;
DROP SCHEMA shop, plain CASCADE;
