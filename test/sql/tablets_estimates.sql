-- What plans over distributed and reference tables expect, beside the same tables here.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE region (id int PRIMARY KEY, name text);
CREATE TABLE nation (id int PRIMARY KEY, region int);
CREATE TABLE customer (id int PRIMARY KEY, nation int);
CREATE TABLE supplier (id int PRIMARY KEY, nation int);
CREATE TABLE orders (id int PRIMARY KEY, customer int, day int);
CREATE TABLE returned (id int PRIMARY KEY, customer int, day int);
INSERT INTO region SELECT i, 'r' || i FROM generate_series(1, 5) AS i;
INSERT INTO nation SELECT i, 1 + i % 5 FROM generate_series(1, 25) AS i;
INSERT INTO customer SELECT i, 1 + i % 25 FROM generate_series(1, 2000) AS i;
INSERT INTO supplier SELECT i, 1 + i % 25 FROM generate_series(1, 100) AS i;
INSERT INTO orders SELECT i, 1 + i * 7 % 2000, i % 100 FROM generate_series(1, 6000) AS i;
INSERT INTO returned SELECT i, 1 + i * 11 % 2000, i % 100 FROM generate_series(1, 3000) AS i;
CREATE SCHEMA plain;
SELECT format('CREATE TABLE plain.%1$I AS TABLE %1$I', t), format('ALTER TABLE plain.%I ADD PRIMARY KEY (id)', t)
	FROM unnest('{region,nation,customer,supplier,orders,returned}'::text[]) AS t
\gexec
ANALYZE;
SET client_min_messages = warning;
SELECT shuttle.reference_table(t) FROM unnest('{region,nation,customer,supplier}'::regclass[]) AS t;
SELECT shuttle.distribute_tables('{orders.id, returned.id}', tablets => 4);
RESET client_min_messages;
ANALYZE;
-- rows that the plan of a query expects at its top, here and on nodes
CREATE FUNCTION expected(query text, schema text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	PERFORM set_config('search_path', schema, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	here numeric := shop.expected(query, 'plain');
	nodes numeric := shop.expected(query, 'shop');
BEGIN
	RETURN CASE WHEN nodes BETWEEN here / 2 AND here * 2 THEN 'alike' ELSE format('here %s, nodes %s', here, nodes) END;
END $$;
-- copies have the statistics of the table here
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer',
	'SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer WHERE c.nation = 3',
	'SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer JOIN supplier s ON s.nation = c.nation',
	'SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer JOIN supplier s ON s.nation = c.nation JOIN nation n ON n.id = c.nation JOIN region r ON r.id = n.region WHERE r.name = ''r2''',
	'SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer WHERE c.nation IN (SELECT nation FROM supplier WHERE id < 10)'
	]) AS query;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- an EXISTS over nodes is run once, not for each row of a loop
CREATE FUNCTION requests(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nrequests int;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		nrequests := coalesce(nrequests, 0) + coalesce(substring(line FROM 'Storage Read Requests: (\d+)')::int, 0);
	END LOOP;
	RETURN CASE WHEN nrequests <= 20 THEN 'few' ELSE nrequests::text END;
END $$;
CREATE TABLE chosen AS SELECT i * 3 AS customer FROM generate_series(1, 500) AS i;
ANALYZE chosen;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SELECT requests($$
	SELECT c.id FROM chosen JOIN customer c ON c.id = chosen.customer
	WHERE EXISTS (SELECT FROM orders o WHERE o.customer = c.id AND o.day < 30)
		OR EXISTS (SELECT FROM returned r WHERE r.customer = c.id AND r.day < 30)$$);
CREATE TABLE plain.chosen AS TABLE chosen;
WITH nodes AS (SELECT c.id FROM chosen JOIN customer c ON c.id = chosen.customer
	WHERE EXISTS (SELECT FROM orders o WHERE o.customer = c.id AND o.day < 30)
		OR EXISTS (SELECT FROM returned r WHERE r.customer = c.id AND r.day < 30)),
here AS (SELECT c.id FROM plain.chosen JOIN plain.customer c ON c.id = chosen.customer
	WHERE EXISTS (SELECT FROM plain.orders o WHERE o.customer = c.id AND o.day < 30)
		OR EXISTS (SELECT FROM plain.returned r WHERE r.customer = c.id AND r.day < 30))
SELECT (SELECT count(*) FROM here), (SELECT count(*) FROM (TABLE nodes EXCEPT ALL TABLE here) AS a),
	(SELECT count(*) FROM (TABLE here EXCEPT ALL TABLE nodes) AS b);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_seqscan;

-- a node looks up rows of a large copy by its key, whichever table is joined first
CREATE TABLE large AS SELECT i AS id, i % 50 AS kind, repeat('x', 100) AS filler FROM generate_series(1, 20000) AS i;
ALTER TABLE large ADD PRIMARY KEY (id);
ANALYZE large;
SET client_min_messages = warning;
SELECT shuttle.reference_table('large');
RESET client_min_messages;
CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT query, cost(query) < 4 * cost('SELECT id FROM large') AS reads_less FROM unnest(ARRAY[
	'SELECT l.filler FROM orders o JOIN large l ON l.id = o.customer WHERE o.day = 3',
	'SELECT l.filler, s.id FROM orders o JOIN large l ON l.id = o.customer JOIN customer c ON c.id = o.customer JOIN supplier s ON s.id = c.nation WHERE o.day = 3',
	'SELECT l.filler, s.id FROM large l, supplier s, customer c, orders o WHERE l.id = o.customer AND c.id = o.customer AND s.id = c.nation AND o.day = 3 AND l.kind = 1']) AS query;
DROP SCHEMA shop, plain CASCADE;
