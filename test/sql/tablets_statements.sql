-- Statements that act differently on a table with partitions, or on a node: each does what it
-- does on a local table, or fails and changes nothing.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SET shuttle.tablets = 4;
SET client_min_messages = warning;
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE customer (id int PRIMARY KEY, name text, double int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE orders (customer_id int REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE, no int, PRIMARY KEY (customer_id, no));
CREATE TABLE thing (id int PRIMARY KEY, kind_id int REFERENCES kind);
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO customer SELECT i, 'c' || i FROM generate_series(1, 20) AS i;
INSERT INTO orders SELECT i, 1 FROM generate_series(1, 20) AS i;
INSERT INTO thing SELECT i, 1 + i % 2 FROM generate_series(1, 20) AS i;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}');
SELECT shuttle.distribute_table('thing', 'id');
RESET client_min_messages;
\set VERBOSITY default

-- a new key: what refers to the row stays with it, where a node can do that, or the row stays
CREATE FUNCTION move(old_key int, new_key int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE customer SET id = new_key WHERE id = old_key;
	RETURN 'moved';
EXCEPTION WHEN feature_not_supported THEN
	RETURN 'refused';
END$$;
SELECT move(i, i + 1000) AS outcome, count(*) > 0 FROM generate_series(1, 20) AS i GROUP BY 1 ORDER BY 1;
SELECT count(*), count(customer.id) FROM orders LEFT JOIN customer ON id = customer_id;
SELECT count(*) FROM customer;
DO $$BEGIN
	UPDATE customer SET id = id + 2000;
EXCEPTION WHEN feature_not_supported THEN
	RAISE NOTICE '%', regexp_replace(SQLERRM, '_t\d', '_t');
END$$;
SELECT count(*), count(customer.id) FROM orders LEFT JOIN customer ON id = customer_id;
ALTER TABLE orders DROP CONSTRAINT orders_customer_id_fkey;
UPDATE customer SET id = id + 3000;
SELECT count(*), min(id) > 3000 FROM customer;
UPDATE customer SET id = (SELECT count(*) FROM customer AS c WHERE c.id <= customer.id);
SELECT count(*), min(id), max(id) FROM customer;
DELETE FROM orders WHERE customer_id > 20;
ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customer ON DELETE CASCADE;

-- actions of foreign keys that a node cannot do
ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customer ON DELETE SET NULL;
CREATE TABLE seldom (id int PRIMARY KEY, kind_id int DEFAULT 1 REFERENCES kind ON DELETE SET DEFAULT);
SELECT shuttle.distribute_table('seldom', 'id');
ALTER TABLE seldom DROP CONSTRAINT seldom_kind_id_fkey;
ALTER TABLE seldom ADD FOREIGN KEY (kind_id) REFERENCES kind ON DELETE SET DEFAULT;
ALTER TABLE seldom ADD FOREIGN KEY (id) REFERENCES kind ON UPDATE SET NULL;
ALTER TABLE seldom ADD FOREIGN KEY (kind_id) REFERENCES kind ON DELETE SET NULL;
CREATE TABLE own (id int PRIMARY KEY, up int);
CREATE TABLE below (id int REFERENCES own ON DELETE SET NULL, other int);
SELECT shuttle.distribute_tables('{own.id, below.id}');
DROP TABLE below, own;


-- nodes fire no triggers for what foreign keys do
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN COALESCE(new, old); END$$;
CREATE TRIGGER noted BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER noted AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER noted_too AFTER DELETE ON orders FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER noted AFTER UPDATE ON seldom FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO orders VALUES (1, 1) ON CONFLICT (customer_id, no) DO UPDATE SET no = 1;
DROP TRIGGER noted ON orders;
CREATE TABLE lesser (id int PRIMARY KEY, kind_id int REFERENCES kind ON DELETE CASCADE);
CREATE TRIGGER noted AFTER DELETE ON lesser FOR EACH ROW EXECUTE FUNCTION note();
SELECT shuttle.distribute_table('lesser', 'id');
ALTER TABLE lesser DROP CONSTRAINT lesser_kind_id_fkey;
ALTER TABLE lesser ADD FOREIGN KEY (kind_id) REFERENCES kind ON DELETE CASCADE;
ALTER TABLE lesser ADD FOREIGN KEY (kind_id) REFERENCES kind ON DELETE SET NULL;
DROP TABLE lesser;

-- COPY of the whole table
COPY (SELECT * FROM customer WHERE id < 3 ORDER BY id) TO STDOUT;
DELETE FROM customer WHERE id > 1;
COPY customer TO STDOUT;
COPY customer (name, id) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (name));
COPY customer (nothing) TO STDOUT;
COPY customer (id, id) TO STDOUT;
DO $$ BEGIN
	EXECUTE 'CREATE TABLE twice (id int PRIMARY KEY, v int GENERATED ALWAYS AS (id * 2) '
		|| CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'VIRTUAL)' ELSE 'STORED)' END;
END $$;
SELECT shuttle.distribute_table('twice', 'id', 2);
INSERT INTO twice VALUES (1), (2);
COPY twice (id, v) TO STDOUT;
-- nothing else is set
UPDATE twice SET v = DEFAULT WHERE id = 1;
UPDATE twice SET v = DEFAULT;
SELECT * FROM twice ORDER BY 1;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE ROLE tablets_reader;
GRANT USAGE ON SCHEMA shop TO tablets_reader;
SET ROLE tablets_reader;
COPY customer TO STDOUT;
RESET ROLE;
GRANT SELECT ON customer TO tablets_reader;
ALTER TABLE customer ENABLE ROW LEVEL SECURITY;
CREATE POLICY nobody ON customer USING (id > 1);
COPY customer TO STDOUT;
SET ROLE tablets_reader;
COPY customer TO STDOUT;
RESET ROLE;
ALTER TABLE customer DISABLE ROW LEVEL SECURITY;

-- rules on views
INSERT INTO customer SELECT i, 'c' || i FROM generate_series(2, 9) AS i;
CREATE VIEW names AS SELECT id, name FROM customer;
CREATE RULE remove AS ON DELETE TO names DO INSTEAD UPDATE customer SET name = 'gone' WHERE id = old.id RETURNING customer.id, customer.name;
CREATE RULE change AS ON UPDATE TO names DO INSTEAD UPDATE customer SET name = new.name || old.name WHERE id = old.id;
DELETE FROM names WHERE id = 2 RETURNING *;
UPDATE names SET name = 'was ' WHERE id = 3;
DELETE FROM names USING orders WHERE names.id = customer_id AND names.id = 4;
SELECT id, name FROM customer WHERE id < 5 ORDER BY id;

\set VERBOSITY terse
-- TRUNCATE of a reference table and of what refers to it
TRUNCATE kind;
TRUNCATE kind, thing;
TRUNCATE thing, kind, seldom;
SELECT (SELECT count(*) FROM kind), (SELECT count(*) FROM thing);
INSERT INTO kind VALUES (1, 'one');
INSERT INTO thing VALUES (1, 1);
TRUNCATE kind CASCADE;
SELECT (SELECT count(*) FROM kind), (SELECT count(*) FROM thing);
INSERT INTO kind VALUES (1, 'one');
INSERT INTO thing VALUES (1, 1);
ALTER TABLE customer OWNER TO tablets_reader;
ALTER TABLE kind OWNER TO tablets_reader;
SET ROLE tablets_reader;
TRUNCATE customer CASCADE;
TRUNCATE kind CASCADE;
RESET ROLE;
GRANT TRUNCATE ON orders, thing, seldom TO tablets_reader;
SET ROLE tablets_reader;
TRUNCATE customer CASCADE;
TRUNCATE kind CASCADE;
RESET ROLE;
SELECT (SELECT count(*) FROM kind), (SELECT count(*) FROM thing), (SELECT count(*) FROM customer), (SELECT count(*) FROM orders);

-- rows in the details of a node's error are for those who may read them
CREATE TABLE secret (id int PRIMARY KEY, open int CHECK (open > 0), hidden text);
INSERT INTO secret VALUES (1, 1, 'hidden');
SELECT shuttle.distribute_table('secret', 'id');
GRANT INSERT, UPDATE, SELECT (id, open) ON secret TO tablets_reader;
\set VERBOSITY default
SET ROLE tablets_reader;
UPDATE secret SET open = -1 WHERE id = 1;
UPDATE secret SET open = -1 WHERE open = 1;
INSERT INTO secret VALUES (1, 1);
RESET ROLE;
UPDATE secret SET open = -1 WHERE id = 1;
\set VERBOSITY terse
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
DROP ROLE tablets_reader;
