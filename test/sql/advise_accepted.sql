-- What is advised is accepted, for schemas with and without foreign keys.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');

-- a shop
CREATE TABLE product (id int PRIMARY KEY, name text);
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int, customer_id int REFERENCES customer, PRIMARY KEY (customer_id, id));
CREATE TABLE items (
	customer_id int, order_id int, number int, product_id int REFERENCES product, replaces int,
	PRIMARY KEY (customer_id, order_id, number), FOREIGN KEY (customer_id, order_id) REFERENCES orders,
	FOREIGN KEY (customer_id, order_id, replaces) REFERENCES items);
CREATE TABLE log (at timestamptz, what text);
CREATE TABLE ruled (customer_id int PRIMARY KEY);
CREATE RULE nothing AS ON INSERT TO ruled DO INSTEAD NOTHING;
CREATE TABLE parts (customer_id int) PARTITION BY RANGE (customer_id);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE TEMP TABLE temporary (customer_id int);
CREATE UNLOGGED TABLE unlogged (customer_id int);
INSERT INTO customer SELECT i, 'c' FROM generate_series(1, 10) AS i;
INSERT INTO orders SELECT i, i FROM generate_series(1, 10) AS i;
\i :test/include/advice.sql
DROP SCHEMA shop CASCADE;
CREATE SCHEMA shop;

-- keys that lack the column: nothing small can be spread
CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customer);
CREATE TABLE items (id int PRIMARY KEY, order_id int REFERENCES orders, code text UNIQUE, filler text);
SELECT * FROM shuttle.advise();
-- but a large table by its primary key
ALTER TABLE items ALTER COLUMN filler SET STORAGE PLAIN;
INSERT INTO items SELECT i, NULL, i, repeat('x', 8000) FROM generate_series(1, 8400) AS i;
\i :test/include/advice.sql
DROP SCHEMA shop CASCADE;
CREATE SCHEMA shop;

-- tenants, without a table of them; a table that is changed all the time
CREATE TABLE notes (tenant_id uuid, id int, PRIMARY KEY (tenant_id, id));
CREATE TABLE tags (tenant_id uuid, note_id int, tag text, PRIMARY KEY (tenant_id, note_id, tag));
CREATE TABLE "Of Others" ("The Id" text COLLATE "C" PRIMARY KEY);
CREATE TABLE refers (tenant_id uuid PRIMARY KEY, "The Id" text COLLATE "C");
INSERT INTO "Of Others" SELECT 1;
DO $$BEGIN FOR i IN 1..2000 LOOP UPDATE "Of Others" SET "The Id" = i; END LOOP; END$$;
SELECT pg_stat_force_next_flush();
SELECT * FROM shuttle.advise();
DROP SCHEMA shop CASCADE;
CREATE SCHEMA shop;

-- pgbench's
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88));
INSERT INTO pgbench_accounts SELECT i, 1, 0 FROM generate_series(1, 1000) AS i;
\i :test/include/advice.sql
INSERT INTO pgbench_branches (bid) SELECT bid FROM pgbench_accounts EXCEPT SELECT bid FROM pgbench_branches;
ALTER TABLE pgbench_tellers ADD FOREIGN KEY (bid) REFERENCES pgbench_branches;
ALTER TABLE pgbench_accounts ADD FOREIGN KEY (bid) REFERENCES pgbench_branches;
ALTER TABLE pgbench_history ADD FOREIGN KEY (bid) REFERENCES pgbench_branches;
ALTER TABLE pgbench_history ADD FOREIGN KEY (tid) REFERENCES pgbench_tellers;
ALTER TABLE pgbench_history ADD FOREIGN KEY (aid) REFERENCES pgbench_accounts;
TRUNCATE pgbench_accounts CASCADE;
\i :test/include/advice.sql
DROP SCHEMA shop CASCADE;
CREATE SCHEMA shop;

-- TPC-C's, by names
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name text);
CREATE TABLE district (d_w_id int, d_id int, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int);
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, PRIMARY KEY (o_w_id, o_d_id, o_id), UNIQUE (o_w_id, o_d_id, o_c_id, o_id));
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_supply_w_id int, ol_i_id int, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (s_w_id int, s_i_id int, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE item (i_id int PRIMARY KEY);
\i :test/include/advice.sql
-- and by foreign keys
ALTER TABLE district ADD FOREIGN KEY (d_w_id) REFERENCES warehouse;
ALTER TABLE customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district;
ALTER TABLE history ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer;
ALTER TABLE orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer;
ALTER TABLE new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders;
ALTER TABLE order_line ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders;
ALTER TABLE stock ADD FOREIGN KEY (s_w_id) REFERENCES warehouse, ADD FOREIGN KEY (s_i_id) REFERENCES item;
\i :test/include/advice.sql
DROP SCHEMA shop CASCADE;
CREATE SCHEMA shop;

-- TPC-H's, by names
CREATE TABLE region (r_regionkey int PRIMARY KEY);
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_regionkey int);
CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_nationkey int);
CREATE TABLE customer (c_custkey int PRIMARY KEY, c_nationkey int);
CREATE TABLE part (p_partkey int PRIMARY KEY);
CREATE TABLE partsupp (ps_partkey int, ps_suppkey int, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int);
CREATE TABLE lineitem (l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, PRIMARY KEY (l_orderkey, l_linenumber));
\i :test/include/advice.sql
-- and by foreign keys
ALTER TABLE nation ADD FOREIGN KEY (n_regionkey) REFERENCES region;
ALTER TABLE supplier ADD FOREIGN KEY (s_nationkey) REFERENCES nation;
ALTER TABLE customer ADD FOREIGN KEY (c_nationkey) REFERENCES nation;
ALTER TABLE partsupp ADD FOREIGN KEY (ps_partkey) REFERENCES part, ADD FOREIGN KEY (ps_suppkey) REFERENCES supplier;
ALTER TABLE orders ADD FOREIGN KEY (o_custkey) REFERENCES customer;
ALTER TABLE lineitem ADD FOREIGN KEY (l_orderkey) REFERENCES orders, ADD FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp;
\i :test/include/advice.sql
DROP SCHEMA shop CASCADE;
