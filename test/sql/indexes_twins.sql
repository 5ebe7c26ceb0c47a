-- ON CONFLICT with several global unique indexes that are alike but for NULLS NOT DISTINCT: each is an arbiter, as for a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
CREATE SCHEMA plain;
CREATE TABLE person (customer int, id int, email text, a int, b int);
INSERT INTO person SELECT i % 5, i, 'p' || i, nullif(i, 8), nullif(i, 9) FROM generate_series(1, 12) AS i;
INSERT INTO person VALUES (1, 13, NULL, 13, 13);
CREATE TABLE plain.person (LIKE person);
INSERT INTO plain.person SELECT * FROM person;
SELECT shuttle.distribute_table('person', 'customer', 4);
-- of three pairs, in both orders
CREATE FUNCTION add_indexes() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE UNIQUE INDEX ab_one ON person (a, b);
	CREATE UNIQUE INDEX ab_two ON person (a, b) NULLS NOT DISTINCT;
	CREATE UNIQUE INDEX id_one ON person (id) NULLS NOT DISTINCT WHERE id > 3;
	CREATE UNIQUE INDEX id_two ON person (id) WHERE id > 3;
	CREATE UNIQUE INDEX email_one ON person (lower(email));
	CREATE UNIQUE INDEX email_two ON person (lower(email)) NULLS NOT DISTINCT;
	CREATE UNIQUE INDEX email_three ON person (lower(email));
END $$;
SELECT add_indexes();
SET search_path = plain, public, shop;
SELECT add_indexes();
SET search_path = shop;
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement)
SELECT format('INSERT INTO person VALUES %s ON CONFLICT %s', v, c)
FROM unnest(ARRAY['(7, 50, ''new'', 50, 50)', '(7, 50, ''new'', 3, 3)', '(7, 50, ''new'', NULL, 8)', '(7, 50, ''new'', 9, NULL)', '(7, 50, ''new'', NULL, NULL)',
	'(7, 4, ''new'', 50, 50)', '(7, 2, ''new'', 50, 50)', '(7, 50, ''P5'', 50, 50)', '(7, 50, NULL, 50, 50)',
	'(7, 50, ''new'', 3, 3), (8, 51, ''newer'', NULL, 8), (9, 52, ''newest'', 52, 52)', '(7, 4, ''new'', 50, 50), (8, 6, ''newer'', 51, 51)',
	'(7, 50, NULL, 50, 50), (8, 51, ''P6'', 51, 51)', '(7, 50, ''n1'', NULL, NULL), (8, 51, ''n2'', NULL, NULL)']) AS v,
	unnest(ARRAY['(a, b) DO NOTHING', '(b, a) DO UPDATE SET customer = person.customer + 10', '(id) WHERE id > 3 DO UPDATE SET customer = excluded.customer',
	'(lower(email)) DO UPDATE SET customer = excluded.customer + 1', 'DO NOTHING']) AS c;
CREATE VIEW problems AS SELECT problem FROM shuttle.check();
\i :test/include/outcome.sql
CREATE TABLE outcomes AS SELECT n, statement, replace(replace(here, '_two', '_one'), '_three', '_one') AS here, replace(replace(there, '_two', '_one'), '_three', '_one') AS there
FROM statements, outcome(statement, 'shop') AS here, outcome(statement, 'plain, public, shop') AS there;
SELECT * FROM outcomes WHERE here <> there ORDER BY n;
SELECT left(here, 5) = '0A000' AS refused, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS off) INSERT INTO person VALUES (7, 50, 'new', 3, 3) ON CONFLICT (a, b) DO UPDATE SET customer = person.customer + 10;
EXPLAIN (COSTS off) INSERT INTO person VALUES (7, 50, 'new', 3, 3) ON CONFLICT (lower(email)) DO NOTHING;
-- those that are not alike
CREATE UNIQUE INDEX id_all ON person (id);
INSERT INTO person VALUES (7, 50, 'new', 50, 50) ON CONFLICT (id) WHERE id > 3 DO NOTHING;
DROP SCHEMA shop, plain CASCADE;
