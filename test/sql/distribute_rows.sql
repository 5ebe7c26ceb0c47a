-- Tables with rows are spread over three nodes, and every statement goes on.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT subject, verdict FROM shuttle.use_node('n1') WHERE subject <> 'collation' AND subject <> 'version';
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3', '{west,ssd}');
SELECT srvname FROM pg_foreign_server, pg_options_to_table(srvoptions) WHERE option_name = 'shuttle_tags' AND option_value = 'west,ssd';
CREATE SCHEMA shop;
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
SELECT relname, relkind FROM pg_class WHERE relnamespace IN ('shop'::regnamespace, 'shuttle_tablets'::regnamespace) AND relkind IN ('f', 'i', 'I', 'p') ORDER BY 1;
CREATE EXTENSION amcheck;
SELECT count(*) FROM verify_heapam('orders');
SELECT bt_index_check(i, true) FROM unnest('{orders_pkey, orders_total, customer_pkey}'::regclass[]) AS i;
DROP EXTENSION amcheck;
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 4);
SELECT count(*), sum(total) FROM orders;
DROP SCHEMA shop CASCADE;
SELECT count(*) FROM shuttle.tables;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1,n2,n3}');

-- a table with all that can depend on it: whatever it is made, and made again, it stays the same
CREATE SCHEMA shop;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, m mood);
CREATE FUNCTION half(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT i / 2';
CREATE FUNCTION known(m mood) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT m IS NOT NULL';
CREATE FUNCTION add_one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := coalesce(NEW.v, 0) + 1; RETURN NEW; END';
CREATE TABLE owned (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, v numeric(10, 2) DEFAULT 1 CHECK (v >= 0), note text COLLATE "C",
	m mood NOT NULL DEFAULT 'sad' CHECK (known(m)), p pair, g int GENERATED ALWAYS AS (half(id)) STORED, n serial, UNIQUE (id, note)) WITH (fillfactor = 70);
ALTER TABLE owned ALTER note SET STORAGE external, ALTER note SET COMPRESSION pglz, ALTER v SET STATISTICS 77, ENABLE ROW LEVEL SECURITY;
CREATE INDEX owned_v ON owned (v DESC) INCLUDE (note) WHERE v > 2;
CREATE TABLE referred (id int PRIMARY KEY);
INSERT INTO referred SELECT generate_series(1, 50);
ALTER TABLE owned ADD CONSTRAINT fk FOREIGN KEY (n) REFERENCES referred DEFERRABLE;
CREATE STATISTICS st ON v, n FROM owned;
CREATE ROLE tablets_reader;
GRANT SELECT, UPDATE (v) ON owned TO tablets_reader;
CREATE POLICY pol ON owned TO tablets_reader USING (id > 3);
CREATE TRIGGER trg BEFORE UPDATE ON owned FOR EACH ROW EXECUTE FUNCTION add_one();
CREATE VIEW seen AS SELECT id, v, p FROM owned WHERE m = 'ok';
CREATE FUNCTION all_owned() RETURNS SETOF owned LANGUAGE sql BEGIN ATOMIC SELECT * FROM owned; END;
COMMENT ON TABLE owned IS 'table';
COMMENT ON COLUMN owned.v IS 'column';
COMMENT ON INDEX owned_v IS 'index';
COMMENT ON CONSTRAINT fk ON owned IS 'foreign key';
COMMENT ON CONSTRAINT owned_v_check ON owned IS 'check';
COMMENT ON TRIGGER trg ON owned IS 'trigger';
COMMENT ON POLICY pol ON owned IS 'policy';
INSERT INTO owned (id, v, note, m, p) SELECT i, i, 'n' || i, CASE WHEN i % 2 = 0 THEN 'ok'::mood ELSE 'sad' END, ROW(i, 'ok')::pair FROM generate_series(1, 40) AS i;
ANALYZE owned;
CREATE FUNCTION state() RETURNS SETOF text LANGUAGE sql AS $$
SELECT 'oid ' || 'owned'::regclass::oid
UNION ALL SELECT format('column %s %s %s %s %s %s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, coalesce(attstattarget, -1), attstorage, attcompression, attacl,
	(SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum), col_description(attrelid, attnum)) FROM pg_attribute WHERE attrelid = 'owned'::regclass AND attnum > 0
UNION ALL SELECT format('constraint %s %s %s %s', conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint')) FROM pg_constraint WHERE conrelid = 'owned'::regclass
UNION ALL SELECT format('index %s %s %s %s', indexrelid, pg_get_indexdef(indexrelid), obj_description(indexrelid, 'pg_class'), indisvalid) FROM pg_index WHERE indrelid = 'owned'::regclass
UNION ALL SELECT format('trigger %s %s', pg_get_triggerdef(oid), obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = 'owned'::regclass AND NOT tgisinternal
UNION ALL SELECT format('policy %s %s', polname, obj_description(oid, 'pg_policy')) FROM pg_policy WHERE polrelid = 'owned'::regclass
UNION ALL SELECT format('table %s %s %s %s %s', relkind, relacl, relrowsecurity, reloptions, obj_description(oid, 'pg_class')) FROM pg_class WHERE oid = 'owned'::regclass
UNION ALL SELECT format('statistics %s', pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext WHERE stxrelid = 'owned'::regclass
UNION ALL SELECT format('statistics of %s: %s', attname, n_distinct) FROM pg_stats WHERE schemaname = 'shop' AND tablename = 'owned'
UNION ALL SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE refclassid = 'pg_class'::regclass AND refobjid = 'owned'::regclass AND deptype IN ('n', 'a')
$$;
CREATE TABLE first_state (line text);
DO 'BEGIN INSERT INTO first_state SELECT * FROM state(); END';
CREATE VIEW changes AS SELECT 'lacks ' || line AS change FROM (SELECT line FROM first_state EXCEPT SELECT * FROM state()) AS l
	UNION ALL SELECT 'has ' || line FROM (SELECT * FROM state() EXCEPT SELECT line FROM first_state) AS h(line);
PREPARE kept AS SELECT count(*), sum(v), max(p::text) FROM owned WHERE id > 3;
EXECUTE kept;
SET client_min_messages = warning;
SELECT shuttle.reference_table('referred');
SELECT shuttle.distribute_table('owned', 'id', tablets => 3);
EXECUTE kept;
SELECT count(*) FROM all_owned();
SELECT regexp_replace(change, ' index .*INDEX (\w+).*', ' index \1') AS change FROM changes WHERE change NOT LIKE '% table %' AND change !~ '^has index' ORDER BY 1;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT DISTINCT reloptions, attstorage, attcompression FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid AND attname = 'note' WHERE relname LIKE 'owned_t_'$$, '{n1,n2}');
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('owned');
SELECT * FROM changes;
EXECUTE kept;
-- types and functions have changed meanwhile, and nodes have the old ones
ALTER TYPE mood ADD VALUE 'new';
INSERT INTO owned (id, m) VALUES (41, 'new');
SELECT shuttle.distribute_table('owned', 'id', tablets => 2);
SELECT m, count(*) FROM owned GROUP BY m ORDER BY m;
DELETE FROM owned WHERE m = 'new';
SELECT shuttle.local_table('owned');
SELECT shuttle.reference_table('owned');
EXECUTE kept;
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('owned');
SELECT * FROM changes;
EXECUTE kept;
RESET client_min_messages;
DROP OWNED BY tablets_reader;
DROP ROLE tablets_reader;
DROP SCHEMA shop CASCADE;
