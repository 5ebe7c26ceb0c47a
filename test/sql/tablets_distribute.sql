-- Tables with rows are spread over three nodes, and every statement goes on.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT subject, verdict FROM shuttle.use_node('n1') WHERE subject <> 'collation' AND subject <> 'version';
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3', '{west,ssd}');
SELECT srvname FROM pg_foreign_server, pg_options_to_table(srvoptions) WHERE option_name = 'shuttle_tags' AND option_value = 'west,ssd';
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, mail email, m mood, CONSTRAINT short CHECK (length(name) < 100));
CREATE TABLE orders (
	id serial, gone int, customer_id int NOT NULL REFERENCES customer, total numeric(10, 2) DEFAULT 0,
	twice numeric GENERATED ALWAYS AS (total * 2) STORED, PRIMARY KEY (customer_id, id));
ALTER TABLE orders DROP COLUMN gone;
CREATE INDEX orders_total ON orders (total) WHERE total > 5;
CREATE VIEW sums AS SELECT c.id, c.name, sum(total) FROM customer AS c JOIN orders AS o ON o.customer_id = c.id GROUP BY c.id;
COMMENT ON TABLE orders IS 'a comment';
CREATE TABLE log (what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO log VALUES (TG_OP); RETURN NULL; END$$;
CREATE TRIGGER note AFTER INSERT OR DELETE ON orders FOR EACH STATEMENT EXECUTE FUNCTION note();
INSERT INTO customer SELECT i, 'c' || i, i || '@x', 'ok' FROM generate_series(1, 100) AS i;
INSERT INTO orders (customer_id, total) SELECT 1 + i % 100, i FROM generate_series(1, 500) AS i;
CREATE TABLE before AS SELECT 'orders'::regclass::oid AS orders, (SELECT array_agg(o ORDER BY id) FROM orders AS o) AS rows;
PREPARE by_key AS SELECT count(*), sum(total) FROM orders WHERE customer_id = $1;
EXECUTE by_key(7);
SELECT shuttle.distribute_table('orders', 'customer_id');
SELECT shuttle.distribute_tables('{customer.id, shop.orders.customer_id}', tablets => 4);
EXECUTE by_key(7);
SELECT relation, kind FROM shuttle.tables ORDER BY 1;
SELECT 'orders'::regclass::oid = orders AS same_oid, (SELECT array_agg(o ORDER BY id) FROM orders AS o) = rows AS same_rows FROM before;
SELECT count(DISTINCT tableoid) FROM orders;
SELECT obj_description('orders'::regclass);
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*) > 0 AS some FROM shop.orders', '{n1,n2,n3}');
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype <> 'n' ORDER BY 1;
SELECT * FROM sums WHERE id = 7;
INSERT INTO orders (customer_id, total) VALUES (7, 3.5) RETURNING *;
SELECT what, count(*) FROM log GROUP BY 1;

-- statistics of tablets, and what the planner knows of keys
SELECT sum(reltuples) FROM pg_class WHERE relname ~ '^orders_t[0-9]';
SELECT count(*) FROM pg_stats WHERE tablename ~ '^orders_t[0-9]' AND attname = 'total';
EXPLAIN (COSTS OFF) SELECT o.id FROM orders AS o LEFT JOIN customer AS c ON c.id = o.customer_id WHERE o.customer_id = 7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM orders AS o JOIN customer AS c ON c.id = o.customer_id WHERE c.name <> 'c9';
SELECT count(*) FROM orders AS o JOIN customer AS c ON c.id = o.customer_id WHERE c.name <> 'c9';
SHOW enable_partitionwise_join;

-- what the nodes check
INSERT INTO orders (customer_id, total) VALUES (70000, 3.5);
INSERT INTO customer VALUES (7, 'x');
INSERT INTO customer VALUES (7777, NULL);
INSERT INTO customer VALUES (7777, repeat('x', 100));
\set VERBOSITY sqlstate
DELETE FROM customer WHERE id = 7;
\set VERBOSITY terse
INSERT INTO customer VALUES (7, 'x') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING *;
UPDATE orders SET total = total + 1 WHERE customer_id = 7;
BEGIN;
DELETE FROM orders WHERE customer_id = 7;
DELETE FROM customer WHERE id = 7;
SELECT count(*) FROM customer;
ROLLBACK;
SELECT count(*) FROM customer;

-- a table in the same group, made in this transaction, and one rolled back
BEGIN;
CREATE TABLE address (customer int, city text);
INSERT INTO address SELECT i, 'here' FROM generate_series(1, 10) AS i;
SELECT shuttle.distribute_table('address', 'customer', colocate_with => 'customer');
SELECT count(*) FROM address JOIN customer ON id = customer;
COMMIT;
SELECT count(DISTINCT group_id) FROM shuttle.tables;
CREATE TABLE undone (a int PRIMARY KEY);
INSERT INTO undone SELECT generate_series(1, 10);
BEGIN;
SELECT shuttle.distribute_table('undone', 'a');
SELECT count(*) FROM undone;
ROLLBACK;
SELECT count(*), 'undone'::regclass FROM undone;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT to_regclass('shop.undone')$$, '{n1,n2,n3}');
SELECT node, database, tags, tablets FROM shuttle.storage_nodes ORDER BY 1;
SELECT tablet, node, bounds FROM shuttle.tablets WHERE relation = 'orders'::regclass ORDER BY 1;
SELECT shuttle.remove_node('n1');
BEGIN;
DROP TABLE customer;
ROLLBACK;
BEGIN;
DROP TABLE orders, customer CASCADE;
ROLLBACK;
SELECT count(*) FROM orders;

-- back, alone and together
CREATE TABLE again AS SELECT (SELECT array_agg(o ORDER BY id) FROM orders AS o) AS orders, (SELECT array_agg(c ORDER BY id) FROM customer AS c) AS customers;
BEGIN;
SELECT shuttle.local_table('orders');
INSERT INTO orders (customer_id, total) VALUES (70000, 3.5);
INSERT INTO orders (id, customer_id) VALUES (1, 2);
ROLLBACK;
SELECT shuttle.local_tables('{orders, customer}');
SELECT shuttle.local_table('orders');
EXECUTE by_key(7);
SELECT 'orders'::regclass::oid = before.orders AS same_oid, (SELECT array_agg(o ORDER BY id) FROM orders AS o) = again.orders AS same_orders, (SELECT array_agg(c ORDER BY id) FROM customer AS c) = customers AS same_customers FROM before, again;
INSERT INTO orders (customer_id, total) VALUES (70000, 3.5);
INSERT INTO customer VALUES (7, 'x');
INSERT INTO orders (customer_id, total) VALUES (7, 3.5) RETURNING *;
SELECT * FROM sums WHERE id = 7;
SELECT relation FROM shuttle.tables;
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind IN ('f', 'i', 'I', 'p') ORDER BY 1;
CREATE EXTENSION amcheck;
SELECT count(*) FROM verify_heapam('orders');
SELECT bt_index_check(i, true) FROM unnest('{orders_pkey, orders_total, customer_pkey}'::regclass[]) AS i;
DROP EXTENSION amcheck;
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 4);
SELECT count(*), sum(total) FROM orders;
DROP SCHEMA shop CASCADE;
SELECT count(*) FROM shuttle.tables;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1,n2,n3}');
