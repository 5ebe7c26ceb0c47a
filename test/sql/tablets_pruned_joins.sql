-- Joins and groups of tablets whose key is a parameter: only the node of that key is asked, in
-- plans that serve all keys and as the inner side of a join.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
CREATE TABLE customer (id int PRIMARY KEY, kind int, name text);
CREATE TABLE orders (customer int, id int, price int, PRIMARY KEY (customer, id));
CREATE TABLE lines (customer int, orders int, no int, amount int, PRIMARY KEY (customer, orders, no));
CREATE TABLE wanted (i int, big bigint, t text);
INSERT INTO customer SELECT i, i % 5, 'c' || i FROM generate_series(1, 60) AS i;
INSERT INTO orders SELECT i % 60 + 1, i, i % 37 FROM generate_series(1, 600) AS i;
INSERT INTO lines SELECT customer, id, no, (customer + id + no) % 17 FROM orders, generate_series(1, 3) AS no;
INSERT INTO wanted VALUES (7, 7, 'a'), (8, 8, 'b'), (7, 9, 'c'), (NULL, NULL, 'd'), (1000, 1000, 'e'), (20, 21, 'f'), (31, 30, 'g');
ANALYZE wanted;
CREATE SCHEMA plain;
CREATE TABLE plain.customer (LIKE customer INCLUDING ALL);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
CREATE TABLE plain.lines (LIKE lines INCLUDING ALL);
INSERT INTO plain.customer TABLE customer;
INSERT INTO plain.orders TABLE orders;
INSERT INTO plain.lines TABLE lines;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{customer.id, orders.customer, lines.customer}', tablets => 9);
RESET client_min_messages;
-- nodes do not have it, so statements with it are not routed as a whole
CREATE FUNCTION here(i bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
SET plan_cache_mode = force_generic_plan;

-- how many nodes a prepared statement asks, and whether its rows are those of core's plans without
-- pruning, and of plain tables
CREATE FUNCTION rows_of(query text, VARIADIC args text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	EXECUTE 'PREPARE it AS SELECT array_agg(q::text ORDER BY q::text) FROM (' || query || ') q';
	EXECUTE 'EXECUTE it' || CASE WHEN cardinality(args) > 0 THEN '(' || array_to_string(args, ', ') || ')' ELSE '' END INTO found;
	DEALLOCATE it;
	RETURN found;
END $$;
CREATE FUNCTION asked(query text, VARIADIC args text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint[] := array(SELECT requests FROM shuttle.node_stats ORDER BY server);
	after bigint[];
	a text[] := rows_of(query, VARIADIC args);
	b text[];
	c text[];
BEGIN
	after := array(SELECT requests FROM shuttle.node_stats ORDER BY server);
	SET LOCAL enable_partition_pruning = off;
	SET LOCAL shuttle.enable_router = off;
	SET LOCAL shuttle.enable_batched_join = off;
	b := rows_of(query, VARIADIC args);
	SET LOCAL search_path = plain, shop;
	c := rows_of(query, VARIADIC args);
	SET LOCAL search_path = shop;
	SET LOCAL enable_partition_pruning = on;
	SET LOCAL shuttle.enable_router = on;
	SET LOCAL shuttle.enable_batched_join = on;
	RETURN (SELECT format('%s nodes', count(*) FILTER (WHERE y > x)) FROM unnest(before, after) AS u(x, y))
		|| CASE WHEN a IS NOT DISTINCT FROM b AND a IS NOT DISTINCT FROM c THEN format(', same %s rows', coalesce(cardinality(a), 0))
		ELSE format(', DIFFERENT: %s, %s, %s', a, b, c) END;
END $$;

-- one key
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1', '7');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1', 'NULL::int');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1', '7::bigint');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE o.customer = $1 + 1', '7');
SELECT asked('SELECT here(o.id), l.amount FROM customer c JOIN orders o ON o.customer = c.id JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE c.id = $1', '7');
SELECT asked('SELECT here(count(*)) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1', '7');
SELECT asked('SELECT here(count(*)) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1', 'NULL::int');
SELECT asked('SELECT here(count(*)), sum(price), avg(price), min(price) FROM orders WHERE customer = $1', '7');
SELECT asked('SELECT here(count(*)), sum(price) FROM orders WHERE customer = $1 GROUP BY id % 3', '7');
SELECT asked('SELECT here(o.customer), count(*) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 GROUP BY o.customer', '7');
SELECT asked('SELECT here(o.customer), count(*) FROM customer c JOIN orders o ON o.customer = c.id GROUP BY o.customer HAVING o.customer = $1', '7');
SELECT asked('SELECT here(c.id), o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.price > 20 WHERE c.id = $1', '7');
SELECT asked('SELECT here(c.id), o.id FROM orders o RIGHT JOIN customer c ON o.customer = c.id AND o.price > 20 WHERE c.id = $1', '7');
SELECT asked('SELECT here(c.id) FROM customer c WHERE c.id = $1 AND EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND price > 20)', '7');
SELECT asked('SELECT here(c.id) FROM customer c WHERE c.id = $1 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND price > 200)', '7');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = (SELECT i FROM wanted WHERE t = $1)', '''a''');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 ORDER BY o.id', '7');
-- two keys
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 UNION ALL SELECT o.id FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $2', '7', '20');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 UNION ALL SELECT i FROM wanted', '7');
SELECT asked('SELECT here(c.id), o.id FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 AND o.customer = $2', '7', '8');

-- a key that does not restrict all rows
SELECT asked('SELECT here(c.id), o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.customer = $1', '7');
SELECT asked('SELECT here(c.id), o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND c.id = $1', '7');
SELECT asked('SELECT here(c.id), o.id FROM (SELECT * FROM customer WHERE id = $1) c FULL JOIN orders o ON o.customer = c.id', '7');
SELECT asked('SELECT here(c.id), o.id FROM (SELECT * FROM customer WHERE id = $1) c RIGHT JOIN orders o ON o.customer = c.id', '7');
SELECT asked('SELECT here(c.id) FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.customer = $1)', '7');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 OR c.kind = 1', '7');
SELECT asked('SELECT here(o.id) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id >= $1', '58');

-- the inner side of a join, and subqueries
SELECT asked('SELECT w.t, s.* FROM wanted w, LATERAL (SELECT count(*), sum(amount) FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.i) s');
SELECT asked('SELECT w.t, s.* FROM wanted w, LATERAL (SELECT count(*), sum(amount) FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.i) s WHERE t IN (''a'', ''c'')');
SELECT asked('SELECT w.t, s.* FROM wanted w, LATERAL (SELECT o.id, l.amount FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.big ORDER BY o.id, l.no LIMIT 2) s');
SELECT asked('SELECT w.t, (SELECT sum(amount) FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.i) FROM wanted w');
SELECT asked('SELECT w.t FROM wanted w WHERE t = ''z'' OR EXISTS (SELECT 1 FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.i AND amount > 10)');
SELECT asked('SELECT w.t, s.* FROM wanted w LEFT JOIN LATERAL (SELECT max(price) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = w.i GROUP BY c.kind) s ON true');
SELECT asked('SELECT w.t, s.* FROM wanted w, LATERAL (SELECT count(o.id) FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.customer = w.i) s');
EXPLAIN (COSTS OFF) SELECT w.t, s.* FROM wanted w, LATERAL (SELECT count(*), sum(amount) FROM orders o JOIN lines l ON l.customer = o.customer AND l.orders = o.id WHERE o.customer = w.i) s;

-- plans that are kept while tables change
PREPARE kept(int) AS SELECT here(o.id), c.name FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = $1 AND o.id < 100 ORDER BY 1;
EXPLAIN (COSTS OFF) EXECUTE kept(7);
EXECUTE kept(7);
EXECUTE kept(8);
ALTER TABLE orders ADD COLUMN more int;
EXECUTE kept(7);
SELECT shuttle.local_tables('{customer, orders, lines}');
EXECUTE kept(7);
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) EXECUTE kept(7);
RESET enable_partitionwise_join;
DROP SCHEMA shop CASCADE;
