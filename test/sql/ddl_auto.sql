-- New tables are distributed as shuttle.auto_distribute says.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET shuttle.auto_distribute = 'w%';
CREATE TABLE early (w_id int);
DROP TABLE early;
RESET shuttle.auto_distribute;
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
SET shuttle.tablets = 4;
CREATE VIEW kinds AS SELECT c.relname, c.relkind, k.attname AS key, c.relpersistence AS kept
	FROM pg_class AS c LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid
		LEFT JOIN pg_attribute AS k ON k.attrelid = c.oid AND k.attnum = p.partattrs[0]
	WHERE c.relkind IN ('r', 'p') AND c.relnamespace::regnamespace::text IN ('shop', 'other');
CREATE TABLE off (w_id int);
SET shuttle.auto_distribute = ' %\_w\_id, w\_id,';

-- the first column that fits; keys stay
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name text DEFAULT 'none');
CREATE TABLE stock (s_i_id int, s_w_id int, s_quantity int CHECK (s_quantity > 0), PRIMARY KEY (s_i_id, s_w_id)) WITH (fillfactor = 70);
CREATE TABLE orders (o_id serial, o_w_id int, other_w_id int, UNIQUE (o_id, other_w_id));
CREATE TABLE item (i_id int PRIMARY KEY);
SELECT * FROM kinds ORDER BY 1;
INSERT INTO warehouse SELECT i FROM generate_series(1, 20) AS i;
INSERT INTO stock SELECT i, i % 20 + 1, i FROM generate_series(1, 100) AS i;
INSERT INTO orders (o_w_id, other_w_id) SELECT i, i FROM generate_series(1, 10) AS i RETURNING o_id;
INSERT INTO warehouse VALUES (7);
INSERT INTO stock VALUES (101, 1, 0);
SELECT count(*), sum(s_quantity), count(w_name) FROM stock JOIN warehouse ON w_id = s_w_id;

-- what stays here, and why
CREATE TABLE keyless (w_id int, id int PRIMARY KEY DEFERRABLE);
CREATE TABLE child (w_id int) INHERITS (item);
CREATE TABLE parts (w_id int) PARTITION BY LIST (w_id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1);
CREATE TEMP TABLE passing (w_id int);
CREATE UNLOGGED TABLE unlogged (w_id int);
CREATE TABLE refers (w_id int, i_id int REFERENCES item);
CREATE TABLE IF NOT EXISTS off (w_id int);
CREATE TABLE warehouse (w_id int);
CREATE TABLE IF NOT EXISTS warehouse (w_id int);
SELECT * FROM kinds WHERE relkind = 'r' OR relname = 'parts' ORDER BY 1;

-- foreign keys among them are on the nodes, and choose the column
CREATE TABLE district (d_id int, d_w_id int REFERENCES warehouse ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id int, other_w_id int NOT NULL, c_d_id int, c_w_id int, PRIMARY KEY (other_w_id, c_w_id),
	CONSTRAINT lives FOREIGN KEY (c_w_id, c_d_id) REFERENCES district, FOREIGN KEY (c_w_id) REFERENCES warehouse (w_id));
SELECT * FROM kinds WHERE relname IN ('district', 'customer') ORDER BY 1;
INSERT INTO customer VALUES (1, 1, 1, 7);
BEGIN;
INSERT INTO district VALUES (1, 700);
COMMIT;
INSERT INTO district VALUES (1, 7);
INSERT INTO customer VALUES (1, 1, 1, 7);
BEGIN;
INSERT INTO district VALUES (2, 8);
DELETE FROM warehouse WHERE w_id = 8;
SELECT count(*) FROM district WHERE d_w_id = 8;
ROLLBACK;
CREATE TABLE refers_local (i_id int, w int REFERENCES warehouse);
CREATE TABLE refers_other (w_id int, i int, FOREIGN KEY (i) REFERENCES warehouse);
CREATE TABLE IF NOT EXISTS item (w_id int REFERENCES warehouse);
DROP TABLE customer, district;

-- other ways to make tables
CREATE TABLE copied AS SELECT s_w_id, count(*) AS n FROM stock GROUP BY 1;
SELECT * INTO copied_into FROM warehouse;
CREATE TABLE copied_empty AS SELECT * FROM stock WITH NO DATA;
CREATE TABLE alike (LIKE stock INCLUDING ALL);
CREATE SCHEMA other CREATE TABLE inner_table (w_id int PRIMARY KEY) CREATE TABLE item (i_id int);
CREATE MATERIALIZED VIEW kept AS SELECT * FROM warehouse;
CREATE SCHEMA keys CREATE TABLE whole (w_id int PRIMARY KEY) CREATE TABLE part (w_id int REFERENCES whole ON DELETE CASCADE, n int) CREATE TABLE loner (id int PRIMARY KEY, up int REFERENCES loner);
INSERT INTO keys.whole VALUES (1);
INSERT INTO keys.part VALUES (1, 1);
INSERT INTO keys.part VALUES (2, 1);
DELETE FROM keys.whole;
SELECT count(*) FROM keys.part;
INSERT INTO keys.loner VALUES (1, 2);
CREATE SCHEMA parts CREATE TABLE whole (w_id int PRIMARY KEY) PARTITION BY LIST (w_id) CREATE TABLE one PARTITION OF whole FOR VALUES IN (1) CREATE TABLE outer_one (w_id int PRIMARY KEY);
SELECT relation, kind FROM shuttle.tables WHERE relation::text LIKE 'parts.%' ORDER BY relation::text COLLATE "C";
CREATE SCHEMA parts_keys CREATE TABLE whole (w_id int PRIMARY KEY) PARTITION BY LIST (w_id) CREATE TABLE one PARTITION OF whole FOR VALUES IN (1)
	CREATE TABLE refers (w_id int REFERENCES whole) PARTITION BY LIST (w_id);
DROP SCHEMA parts CASCADE;
DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE CREATE TABLE explained AS SELECT * FROM warehouse'; END $$;
DO $$
BEGIN
	CREATE TABLE made (w_id int);
	INSERT INTO made VALUES (1), (2);
	BEGIN
		CREATE TABLE undone (w_id int);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	CREATE TABLE undone (w_id int PRIMARY KEY, again text);
END $$;
SELECT * FROM kinds WHERE relkind = 'p' ORDER BY 1;
SELECT (SELECT count(*) FROM copied), (SELECT count(*) FROM copied_into), (SELECT count(*) FROM made);
INSERT INTO alike VALUES (1, 1, 1), (1, 1, 1);

-- in a block, with rows by COPY FREEZE, and rolled back
BEGIN;
CREATE TABLE block (w_id int, note text);
SAVEPOINT s;
CREATE TABLE gone (w_id int);
INSERT INTO gone VALUES (1);
ROLLBACK TO s;
CREATE TABLE gone (w_id int, other text);
TRUNCATE block;
COPY block FROM stdin (FREEZE, FORMAT csv);
1,one
2,two
\.
ALTER TABLE block ADD PRIMARY KEY (w_id);
COMMIT;
SELECT * FROM block ORDER BY 1;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM block;
CREATE TABLE late AS SELECT * FROM block;
ROLLBACK;
CREATE TABLE late (w_id int);
SELECT count(*) FROM gone;

-- % is the primary key, in its order, and comes last; without one any column that fits
SET shuttle.auto_distribute = '%, %\_w\_id';
CREATE TABLE goods (id int PRIMARY KEY, name text UNIQUE, g_w_id int);
SET shuttle.auto_distribute = '%';
CREATE TABLE sale (goods_id int REFERENCES goods, code text UNIQUE, id int PRIMARY KEY);
CREATE TABLE sale_part (number int, sale_id int REFERENCES sale, PRIMARY KEY (sale_id, number));
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE shaped (shape point, kind mood, id int, PRIMARY KEY (kind, id));
CREATE TABLE no_key (shape point, goods_id int REFERENCES goods, code text UNIQUE);
SELECT * FROM kinds WHERE relname IN ('goods', 'sale', 'sale_part', 'shaped', 'no_key') ORDER BY 1;
DROP TABLE goods, sale, sale_part, shaped, no_key;

-- without DDL, with a pattern that is none
SET shuttle.enable_ddl = off;
CREATE TABLE here (w_id int);
RESET shuttle.enable_ddl;
SET shuttle.auto_distribute = '%\';
CREATE TABLE wrong (w_id int);
RESET shuttle.auto_distribute;
SELECT * FROM kinds WHERE relname IN ('here', 'wrong', 'late', 'gone') ORDER BY 1;
SELECT * FROM shuttle.check();
