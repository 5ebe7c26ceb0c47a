-- DDL on reference tables reaches their copies, whole or not at all.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/tablets_ddl.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE TABLE product (id int PRIMARY KEY, name text UNIQUE);
INSERT INTO product SELECT i, 'p' || i FROM generate_series(1, 20) AS i;
SELECT shuttle.reference_table('product');
CREATE TABLE sales (id int, product_id int);
INSERT INTO sales SELECT i, 1 + i % 20 FROM generate_series(1, 100) AS i;
SELECT shuttle.distribute_table('sales', 'id');
CALL public.differences('r');
CALL public.try('ALTER TABLE product ADD COLUMN price numeric(10, 2) DEFAULT 1.5 NOT NULL CHECK (price > 0)', 'r');
CALL public.try('ALTER TABLE product ALTER COLUMN id TYPE bigint, ALTER COLUMN price TYPE numeric(12, 3)', 'r');
CALL public.try('CREATE INDEX ON product (price)', 'r');
CALL public.try('ALTER TABLE product RENAME TO "Item"', 'r');
CALL public.try('ALTER TABLE "Item" RENAME COLUMN price TO cost', 'r');
CALL public.try('ALTER TABLE "Item" DROP CONSTRAINT product_name_key, ADD UNIQUE (name, id)', 'r');
CALL public.try('DROP INDEX product_price_idx', 'r');
ALTER TABLE "Item" ADD COLUMN r float DEFAULT random();
UPDATE "Item" SET cost = 2 WHERE id < 5;
INSERT INTO "Item" VALUES (21, 'p21', 3);
SELECT count(*), count(DISTINCT r) = count(*) AS random, (SELECT count(*) FROM shuttle.check()) AS problems FROM "Item";
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*), sum(cost) FROM shop."Item"', '{n1,n2,n3}');
SELECT count(*), sum(cost) FROM "Item";
CALL public.try('ALTER TABLE sales ADD FOREIGN KEY (product_id) REFERENCES "Item"', 'p');
INSERT INTO sales VALUES (1000, 1000);
VACUUM ANALYZE "Item";
CREATE UNIQUE INDEX CONCURRENTLY names ON "Item" (lower(name), id);
CALL public.differences('r');
DROP INDEX CONCURRENTLY names;
CREATE FUNCTION tens(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN $1 / 10;
CREATE INDEX CONCURRENTLY names ON "Item" (tens(id));
CALL public.differences('r');
DROP INDEX names;
DROP FUNCTION tens;
CALL public.differences('r');
CREATE TYPE kind AS ENUM ('a', 'b');
CALL public.try('ALTER TABLE "Item" ADD COLUMN kind kind DEFAULT ''a''', 'r');
CALL public.try('ALTER TYPE kind RENAME VALUE ''a'' TO ''A''', 'r');
CALL public.try('ALTER TYPE kind RENAME TO sort', 'r');
ALTER SCHEMA shop RENAME TO store;
SELECT count(*) FROM shuttle.check();
SELECT kind, count(*) FROM store.sales AS s JOIN store."Item" AS i ON i.id = product_id GROUP BY 1;
ALTER SCHEMA store RENAME TO shop;
CALL public.try('ALTER TABLE "Item" DROP COLUMN cost CASCADE', 'r');
DROP SCHEMA shop CASCADE;
