-- DDL on distributed tables reaches the nodes, whole or not at all.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/tablets_ddl.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, CONSTRAINT short CHECK (length(name) < 100));
CREATE TABLE orders (id int, customer_id int, total numeric(10, 2) DEFAULT 0, PRIMARY KEY (customer_id, id));
CREATE INDEX orders_total ON orders (total);
INSERT INTO customer SELECT i, 'c' || i FROM generate_series(1, 50) AS i;
INSERT INTO orders SELECT i, 1 + i % 50, i FROM generate_series(1, 200) AS i;
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 4);
CALL public.differences();

-- columns
CALL public.try('ALTER TABLE orders ADD COLUMN note text');
CALL public.try('ALTER TABLE orders ADD COLUMN "At" date DEFAULT ''2026-01-01'' NOT NULL, ADD COLUMN m numeric(5, 1) DEFAULT 1 + 1.25, DROP COLUMN note');
SELECT count(*), sum(m), max("At") FROM orders;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CALL public.try('ALTER TABLE orders ADD COLUMN feels mood DEFAULT ''ok'', ADD COLUMN twice numeric GENERATED ALWAYS AS (m * 2) STORED');
CALL public.try('ALTER TABLE orders ADD COLUMN IF NOT EXISTS feels mood');
SELECT DISTINCT feels, twice FROM orders;
CALL public.try('ALTER TABLE orders ADD COLUMN r float NOT NULL DEFAULT random(), ADD COLUMN s serial');
SELECT count(*), count(DISTINCT r) = count(*) AS random, count(DISTINCT s) AS numbered FROM orders;
CALL public.try('ALTER TABLE orders DROP COLUMN r, DROP COLUMN s');
CALL public.try('ALTER TABLE orders ALTER COLUMN total SET NOT NULL');
CALL public.try('ALTER TABLE orders ALTER COLUMN total DROP NOT NULL, ALTER COLUMN total SET DEFAULT 7');
CALL public.try('ALTER TABLE orders ALTER COLUMN twice DROP EXPRESSION');
CALL public.try('ALTER TABLE orders ALTER COLUMN id TYPE bigint');
CALL public.try('ALTER TABLE orders ALTER COLUMN total TYPE numeric(12, 3), ALTER COLUMN id SET STATISTICS 200');
ALTER TABLE orders ALTER COLUMN id TYPE text USING orders::text;
CALL public.try('ALTER TABLE orders RENAME COLUMN total TO "Sum"');
CALL public.try('ALTER TABLE orders DROP COLUMN twice');
CREATE DOMAIN small AS int CHECK (VALUE < 10);
ALTER TABLE orders ADD COLUMN little small DEFAULT 3;
ALTER TYPE mood ADD VALUE 'it''s fine' BEFORE 'ok';
SET client_min_messages = warning;
ALTER TYPE mood ADD VALUE IF NOT EXISTS 'ok';
RESET client_min_messages;
BEGIN;
ALTER TYPE mood RENAME VALUE 'sad' TO 'down';
ROLLBACK;
INSERT INTO orders (id, customer_id, feels) VALUES (1, 1, 'it''s fine'), (2, 1, 'sad');
SELECT id, feels, little FROM orders WHERE feels < 'ok' ORDER BY id;
DELETE FROM orders WHERE feels < 'ok';
CALL public.try('ALTER TYPE mood RENAME TO moods');
CALL public.try('ALTER DOMAIN small DROP CONSTRAINT small_check');
CALL public.try('ALTER DOMAIN small ADD CONSTRAINT "Few" CHECK (VALUE < 9)');
ALTER DOMAIN small ADD CHECK (VALUE < 3);
ALTER DOMAIN small SET DEFAULT 3;
INSERT INTO orders (id, customer_id, little) VALUES (3, 1, 9);
CREATE SCHEMA other;
CALL public.try('ALTER DOMAIN small SET SCHEMA other');
CREATE TYPE size AS (width other.small, "Unit" text COLLATE "C", moods moods[]);
CREATE FUNCTION numeric_diff(a numeric, b numeric) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT a - b';
CREATE TYPE reach AS RANGE (subtype = numeric, subtype_diff = numeric_diff);
CALL public.try('ALTER TABLE orders ADD COLUMN size size DEFAULT ROW(1, ''cm'', ''{ok}''), ADD COLUMN sizes size[], ADD COLUMN reach reach_multirange');
SELECT DISTINCT size, (size).width FROM orders;
CALL public.try('ALTER TYPE size RENAME ATTRIBUTE "Unit" TO unit');
CALL public.try('ALTER TYPE size ADD ATTRIBUTE n int, DROP ATTRIBUTE unit');
UPDATE orders SET size.n = 7, sizes = ARRAY[size], reach = '{[1,2.5)}' WHERE id = 7;
SELECT size, sizes, reach FROM orders WHERE id = 7;
CREATE TABLE only_here (a int);
\set SHOW_CONTEXT never
\set VERBOSITY default
ALTER TABLE orders ADD COLUMN h only_here;
\set VERBOSITY terse
DROP TABLE only_here;
ALTER TYPE size DROP ATTRIBUTE moods;
ALTER SCHEMA shop RENAME TO store;
SELECT count(*) FROM shuttle.check();
SELECT count(*) FROM store.orders WHERE feels = 'ok';
ALTER SCHEMA store RENAME TO shop;
CALL public.try('DROP TYPE moods CASCADE');
CALL public.try('ALTER TABLE orders DROP COLUMN little, DROP COLUMN size, DROP COLUMN sizes, DROP COLUMN reach');
CALL public.try('ALTER TABLE orders ADD COLUMN j int DEFAULT 1, ADD COLUMN jj int GENERATED ALWAYS AS (j + 1) STORED');
CALL public.try('ALTER TABLE orders DROP COLUMN j CASCADE');

-- a type that a node has from before
CREATE TYPE moods AS ENUM ('good');
CALL public.try('ALTER TABLE orders ADD COLUMN feels moods DEFAULT ''good''');
SELECT server, ok FROM shuttle.run_on_nodes('CREATE TYPE shop.stale AS ENUM (''x''); CREATE TABLE shop.with_stale (t shop.stale)', '{n2}');
CREATE TYPE stale AS ENUM ('y');
\set VERBOSITY default
ALTER TABLE orders ADD COLUMN t stale;
\set VERBOSITY terse
SELECT server, ok FROM shuttle.run_on_nodes('DROP TABLE shop.with_stale', '{n2}');
CALL public.try('ALTER TABLE orders ADD COLUMN t stale DEFAULT ''y''');
CALL public.try('ALTER TABLE orders DROP COLUMN t, DROP COLUMN feels');
CALL public.try('ALTER TABLE orders RENAME COLUMN customer_id TO c');
SELECT count(*), sum("Sum") FROM orders WHERE c = 7;

-- constraints
CALL public.try('ALTER TABLE orders ADD CHECK (m > 1), ADD CONSTRAINT later CHECK (m > 0) NOT VALID');
CALL public.try('ALTER TABLE orders VALIDATE CONSTRAINT later');
CALL public.try('ALTER TABLE orders RENAME CONSTRAINT later TO "Now"');
SET client_min_messages = warning;
CALL public.try('ALTER TABLE orders DROP CONSTRAINT "Now", DROP CONSTRAINT IF EXISTS nothing');
RESET client_min_messages;
ALTER TABLE orders ADD CONSTRAINT wrong CHECK (m > 100);
CALL public.try('ALTER TABLE orders DROP CONSTRAINT orders_pkey');
CALL public.try('ALTER TABLE orders ADD COLUMN k int, ADD UNIQUE (k, c), ADD CONSTRAINT "Key" PRIMARY KEY (c, id)');
\set VERBOSITY sqlstate
\set VERBOSITY terse
ALTER TABLE orders ADD EXCLUDE (id WITH =);

-- foreign keys, which only nodes have
CREATE TEMP VIEW foreign_keys AS SELECT server, k ->> 'conname' AS conname, k ->> 'def' AS def
FROM shuttle.run_on_nodes($$SELECT conname, pg_get_constraintdef(oid) AS def FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'shop'::regnamespace$$, '{n1,n2,n3}') AS r, json_array_elements(r.result) AS k;
CALL public.try('ALTER TABLE orders ADD FOREIGN KEY (c) REFERENCES customer ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED');
SELECT * FROM foreign_keys ORDER BY 1, 2;
INSERT INTO orders (id, c) VALUES (1, 1000);
CALL public.try('ALTER TABLE orders RENAME CONSTRAINT orders_c_fkey TO "Fk"');
BEGIN;
DELETE FROM customer WHERE id = 7;
SELECT count(*) FROM orders WHERE c = 7;
ROLLBACK;
CALL public.try('ALTER TABLE orders DROP CONSTRAINT "Fk"');
SELECT count(*) FROM foreign_keys;
ALTER TABLE orders DROP CONSTRAINT "Fk";
ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES customer (id);
CREATE TABLE here (id int PRIMARY KEY);
ALTER TABLE orders ADD FOREIGN KEY (c) REFERENCES here;
ALTER TABLE orders ADD COLUMN h int REFERENCES here;
CREATE TABLE shade (id int PRIMARY KEY);
SELECT shuttle.reference_table('shade');
CALL public.try('ALTER TABLE orders ADD COLUMN shade int REFERENCES shade DEFERRABLE');
UPDATE orders SET shade = 1 WHERE id = 7;
CALL public.try('ALTER TABLE orders DROP COLUMN shade');
DROP TABLE shade;
INSERT INTO orders (id, c) VALUES (1, 1000);
ALTER TABLE orders ADD FOREIGN KEY (c) REFERENCES customer;
DELETE FROM orders WHERE c = 1000;

-- indexes
CALL public.try('CREATE INDEX ON orders (m DESC) WHERE m > 5');
CALL public.try('CREATE UNIQUE INDEX two ON orders (id, c)');
CALL public.try('ALTER INDEX two RENAME TO "Two"');
CALL public.try('ALTER TABLE orders ALTER COLUMN id TYPE numeric');
CALL public.try('DROP INDEX "Two", orders_total');
CALL public.try('CREATE INDEX IF NOT EXISTS orders_m_idx ON orders (m)');
\set VERBOSITY sqlstate
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY "At once" ON orders ((id || 'x')) WHERE c > 3;
CREATE UNIQUE INDEX CONCURRENTLY three ON orders (c, id) INCLUDE (k);
CREATE FUNCTION public.tens(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN $1 / 10;
CREATE INDEX CONCURRENTLY by_tens ON orders (public.tens(c));
CALL public.differences();
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY once ON orders (c);
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY three ON orders (c);
SET client_min_messages = warning;
CREATE INDEX CONCURRENTLY IF NOT EXISTS three ON orders (c);
RESET client_min_messages;
BEGIN;
CREATE INDEX CONCURRENTLY ON orders (c);
ROLLBACK;
DROP INDEX CONCURRENTLY three;
DROP INDEX by_tens;
DROP FUNCTION public.tens;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT relname FROM pg_class WHERE relname LIKE '%three%' OR relname LIKE '%once%t_' OR relname LIKE '%t__once' ORDER BY 1$$, '{n1,n2,n3}');

-- the table
CALL public.try('ALTER TABLE orders RENAME TO "Orders 2"');
SELECT count(*) FROM "Orders 2";
SELECT server, result FROM shuttle.run_on_nodes($$SELECT relname FROM pg_class WHERE relname LIKE 'Orders%t_' ORDER BY 1$$, '{n1,n2,n3}');
SELECT relname FROM pg_class WHERE relname LIKE 'Orders%t_' ORDER BY 1;
CALL public.try('ALTER TABLE "Orders 2" RENAME TO orders');
CREATE ROLE tablets_owner;
GRANT ALL ON SCHEMA shop TO tablets_owner;
CALL public.try('ALTER TABLE orders OWNER TO tablets_owner');
SELECT DISTINCT relowner::regrole FROM pg_class WHERE relname LIKE 'orders%';
SET ROLE tablets_owner;
ALTER TABLE customer ADD COLUMN owned int;
SET shuttle.enable_ddl = off;
RESET ROLE;
ALTER TABLE orders OWNER TO CURRENT_USER;
CALL public.try('ALTER TABLE orders ENABLE ROW LEVEL SECURITY, DISABLE TRIGGER ALL');
CALL public.try('ALTER TABLE orders DISABLE ROW LEVEL SECURITY');
\set VERBOSITY default
ALTER TABLE orders SET TABLESPACE pg_default;
SELECT min(tablet::text) AS tablet FROM shuttle.tablets WHERE relation = 'orders'::regclass \gset
ALTER TABLE orders DETACH PARTITION :tablet;
ALTER TABLE :tablet RENAME TO other;
CLUSTER orders USING orders_m_idx;
CREATE RULE nothing AS ON INSERT TO orders DO INSTEAD NOTHING;
\set VERBOSITY terse

-- rows
ALTER TABLE orders ADD CONSTRAINT fk FOREIGN KEY (c) REFERENCES customer;
TRUNCATE customer;
BEGIN;
TRUNCATE customer, orders;
SELECT count(*) FROM customer;
ROLLBACK;
TRUNCATE :tablet;
VACUUM (FREEZE, ANALYZE) orders, here;
VACUUM customer;
ANALYZE orders;
SELECT relname, reltuples FROM pg_class WHERE relname IN ('orders', 'customer') ORDER BY relname;
BEGIN;
VACUUM orders;
ROLLBACK;
REINDEX TABLE orders;
REINDEX INDEX orders_m_idx;
REINDEX (VERBOSE off) TABLE CONCURRENTLY orders;
REINDEX INDEX CONCURRENTLY orders_m_idx;

-- in a function, after rows that are not sent yet, and with kept plans
PREPARE all_orders AS SELECT * FROM orders WHERE c = 7 ORDER BY id LIMIT 1;
EXECUTE all_orders;
DO $$
BEGIN
	INSERT INTO customer VALUES (1001, 'new');
	ALTER TABLE customer ADD COLUMN extra int DEFAULT 5;
	UPDATE customer SET extra = 6 WHERE id = 1001;
	INSERT INTO customer VALUES (1002, 'newer', 7);
END $$;
SELECT * FROM customer WHERE id > 1000 ORDER BY id;
CALL public.differences();
BEGIN;
SAVEPOINT a;
ALTER TABLE orders DROP COLUMN m, ADD COLUMN n int DEFAULT 3;
SELECT sum(n) FROM orders;
ROLLBACK TO a;
SELECT sum(m) FROM orders;
ALTER TABLE orders ADD COLUMN o int DEFAULT 4;
COMMIT;
CALL public.differences();
SELECT sum(o) FROM orders;

-- a node that cannot do it, and DDL that stays here
SELECT server, ok FROM shuttle.run_on_nodes('CREATE TABLE shop.taken (a int)', '{n2}');
ALTER TABLE orders RENAME TO taken;
CREATE INDEX taken ON orders (id);
CALL public.differences();
SET shuttle.enable_ddl = off;
ALTER TABLE orders ADD COLUMN only_here int;
RESET shuttle.enable_ddl;
CALL public.differences();
DROP SCHEMA shop, other CASCADE;
DROP ROLE tablets_owner;
