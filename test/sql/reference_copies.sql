-- Whatever writes to a reference table, its copies on all nodes are the same.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE kind (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE product (
	gone int, id int, part text, kind int REFERENCES kind ON DELETE CASCADE ON UPDATE CASCADE, price numeric(10, 2) DEFAULT random(),
	m mood, tags text[], made timestamptz DEFAULT clock_timestamp(), body jsonb, bits bit(3), short char(4), f float8,
	twice numeric GENERATED ALWAYS AS (price * 2) STORED, CHECK (id <> 13), PRIMARY KEY (part, id));
ALTER TABLE product DROP COLUMN gone;
CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO product (id, part, kind, m, tags, body, bits, short, f) SELECT i, 'p''' || i, 1 + i % 2, 'ok', ARRAY['a"b', NULL, 'c\d'], '{"a": [1, null]}', '101', 'ab', 0.1 + 0.2 FROM generate_series(1, 12) AS i;

-- refused
CREATE TABLE keyless (a int);
CREATE TABLE later (a int PRIMARY KEY DEFERRABLE);
CREATE TEMP TABLE temporary (a int PRIMARY KEY);
CREATE TABLE parent (a int PRIMARY KEY);
CREATE TABLE child () INHERITS (parent);
\set VERBOSITY default
SELECT shuttle.reference_table('keyless');
SELECT shuttle.reference_table('later');
SELECT shuttle.reference_table('temporary');
SELECT shuttle.reference_table('parent');
SELECT shuttle.reference_table('pg_class');
\set VERBOSITY terse

ALTER TABLE kind REPLICA IDENTITY USING INDEX kind_name_key;
-- a node that is added later gets the copies, too
SELECT shuttle.reference_table('kind');
SELECT shuttle.reference_table('kind');
SELECT shuttle.reference_table(t) FROM unnest('{product, pairs}'::regclass[]) AS t;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SELECT relation, kind, group_id FROM shuttle.tables ORDER BY relation::text;
SELECT * FROM shuttle.check();
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*) FROM shop.product', '{n1,n2,n3}');

-- statements
INSERT INTO kind VALUES (3, 'three'), (4, 'four') RETURNING *;
INSERT INTO kind VALUES (3, 'drei'), (5, 'five') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name || '!';
INSERT INTO kind VALUES (3, 'drei') ON CONFLICT DO NOTHING;
INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(10, 2000) AS i;
SELECT * FROM shuttle.check();
UPDATE product SET price = random() * 100, body = NULL WHERE id < 5;
UPDATE kind SET id = -id WHERE id > 1000;
UPDATE kind SET id = 1 - id, name = name || '.' WHERE id < 0;
SELECT * FROM shuttle.check();
DELETE FROM kind WHERE id > 1500;
WITH gone AS (DELETE FROM kind WHERE id > 1400 RETURNING *), more AS (UPDATE kind SET name = name || '?' WHERE id < 20 RETURNING 1)
INSERT INTO kind SELECT id + 5000, name FROM gone;
MERGE INTO kind USING (SELECT i FROM generate_series(1395, 1410) AS i) AS s ON id = i
WHEN MATCHED AND i % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'merged ' || i WHEN NOT MATCHED THEN INSERT VALUES (i, 'new ' || i);
SELECT * FROM shuttle.check();
COPY kind FROM stdin;
7000	a\tb
7001	c\\d
\.
INSERT INTO pairs SELECT i % 5, i FROM generate_series(1, 20) AS i;
UPDATE pairs SET b = b + 100 WHERE a = 3;
DELETE FROM pairs WHERE a = 2;
SELECT * FROM shuttle.check();

-- cascades
UPDATE kind SET id = 100000 WHERE id = 1;
SELECT DISTINCT kind FROM product ORDER BY 1;
SELECT * FROM shuttle.check();
DELETE FROM kind WHERE id = 2;
SELECT count(*) FROM product;
SELECT * FROM shuttle.check();

-- transactions, savepoints, functions with blocks
BEGIN;
INSERT INTO kind VALUES (8000, 'x');
SAVEPOINT s;
UPDATE kind SET name = 'y' WHERE id = 8000;
DELETE FROM kind WHERE id = 100000;
ROLLBACK TO s;
UPDATE kind SET name = 'z' WHERE id = 8000;
SELECT * FROM shuttle.check();
COMMIT;
SELECT * FROM shuttle.check();
BEGIN;
DELETE FROM kind WHERE id = 100000;
TRUNCATE pairs;
ROLLBACK;
SELECT * FROM shuttle.check();
INSERT INTO kind VALUES (9000, 'x'), (8000, 'y');
INSERT INTO product (id, part) VALUES (13, 'x');
SELECT * FROM shuttle.check();

-- a trigger of the user's that writes to the same rows, and rolls some back
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE kind SET name = name || ' again' WHERE id BETWEEN NEW.id AND NEW.id + 1;
		DELETE FROM kind WHERE id = NEW.id + 2;
		BEGIN
			UPDATE kind SET name = 'lost ' || id WHERE id BETWEEN NEW.id - 1 AND NEW.id + 1;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END IF;
	RETURN NULL;
END$$;
CREATE TRIGGER again AFTER INSERT OR UPDATE ON kind FOR EACH ROW EXECUTE FUNCTION again();
UPDATE kind SET name = name || ' changed' WHERE id BETWEEN 20 AND 29;
INSERT INTO kind SELECT i, 'i' || i FROM generate_series(9101, 9110) AS i;
DROP TRIGGER again ON kind;
SELECT count(*), count(*) FILTER (WHERE name LIKE '%again') FROM kind;
SELECT * FROM shuttle.check();

-- a writer who is no superuser, under a policy
CREATE ROLE tablets_writer;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n3 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO tablets_writer;
GRANT ALL ON kind TO tablets_writer;
ALTER TABLE kind ENABLE ROW LEVEL SECURITY;
CREATE POLICY lower_ids ON kind TO tablets_writer USING (id < 25) WITH CHECK (true);
SET ROLE tablets_writer;
UPDATE kind SET id = -id, name = name || '/' WHERE id < 30;
RESET ROLE;
DROP POLICY lower_ids ON kind;
ALTER TABLE kind DISABLE ROW LEVEL SECURITY;
DROP OWNED BY tablets_writer;
DROP ROLE tablets_writer;
SELECT * FROM shuttle.check();

-- a small buffer
SET shuttle.write_buffer_size = '64kB';
UPDATE kind SET name = name || repeat('-', 200);
RESET shuttle.write_buffer_size;
SELECT * FROM shuttle.check();

-- TRUNCATE, of both with the key between them
TRUNCATE kind;
TRUNCATE product, kind;
SELECT server, result FROM shuttle.run_on_nodes('SELECT (SELECT count(*) FROM shop.product) AS products, (SELECT count(*) FROM shop.kind) AS kinds', '{n1,n2,n3}');
SELECT * FROM shuttle.check();

-- distributed tables that refer to one
INSERT INTO kind VALUES (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE orders (id int PRIMARY KEY, kind int REFERENCES kind ON UPDATE CASCADE);
INSERT INTO orders SELECT i, 1 + i % 2 FROM generate_series(1, 20) AS i;
SELECT shuttle.distribute_table('orders', 'id', tablets => 6);
\set VERBOSITY sqlstate
INSERT INTO orders VALUES (21, 4);
DELETE FROM kind WHERE id = 1;
BEGIN;
TRUNCATE kind CASCADE;
ROLLBACK;
DROP TABLE kind;
\set VERBOSITY terse
UPDATE kind SET id = 10 WHERE id = 1;
DELETE FROM kind WHERE id = 3;
SELECT kind, count(*), min(name) FROM orders JOIN kind ON kind.id = orders.kind GROUP BY 1 ORDER BY 1;
SELECT * FROM shuttle.check();

-- what check() finds and repairs
SELECT server, ok FROM shuttle.run_on_nodes('UPDATE shop.kind SET name = ''lost'' WHERE id = 2', '{n1}');
SELECT server, ok FROM shuttle.run_on_nodes('INSERT INTO shop.kind VALUES (77, ''more'')', '{n2}');
SELECT server, ok FROM shuttle.run_on_nodes('DROP TABLE shop.pairs', '{n3}');
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.product ADD COLUMN more int', '{n3}');
SELECT relation, node, left(problem, 20) AS problem, repaired FROM shuttle.check();
SELECT relation, node, left(problem, 20) AS problem, repaired FROM shuttle.check(true);
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.product DROP COLUMN more', '{n3}');
SELECT * FROM shuttle.check();
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.orders DETACH PARTITION shop.orders_t1', '{n2}');
SELECT * FROM shuttle.check();
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.orders ATTACH PARTITION shop.orders_t1 FOR VALUES WITH (MODULUS 6, REMAINDER 1)', '{n2}');
SELECT * FROM shuttle.check();

-- the end: a key to a reference table returns with the table
SELECT shuttle.local_table('kind');
BEGIN;
SELECT shuttle.local_tables('{kind, orders}');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'kind'::regclass AND NOT tgisinternal;
INSERT INTO orders VALUES (21, 4);
ROLLBACK;
SELECT shuttle.local_table('orders');
SELECT shuttle.local_table('kind');
SELECT shuttle.install_citus_names('shop');
SELECT create_reference_table('kind');
INSERT INTO kind VALUES (4, 'four');
SELECT * FROM shuttle.check();
DROP TABLE orders;
SELECT shuttle.remove_node('n3');
INSERT INTO kind VALUES (50, 'fifty');
SELECT * FROM shuttle.check();
DROP TABLE kind CASCADE;
DROP SCHEMA shop CASCADE;
SELECT count(*) FROM shuttle.tables;
SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace$$, '{n1,n2}');
