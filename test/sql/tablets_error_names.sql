-- Errors have the names that the user declared: in messages, details and fields, on both sides of a foreign key, of rows that are locked,
-- and after keys and tables are renamed.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE customer (id int PRIMARY KEY, mail text, UNIQUE (id, mail));
CREATE TABLE orders (id int, customer_id int REFERENCES customer, n int CHECK (n > 0), CONSTRAINT "Once, each" UNIQUE (customer_id, id),
	CONSTRAINT second_key FOREIGN KEY (customer_id) REFERENCES customer);
CREATE TABLE plain.customer (LIKE customer INCLUDING ALL);
CREATE TABLE plain.orders (LIKE orders INCLUDING CONSTRAINTS, CONSTRAINT "Once, each" UNIQUE (customer_id, id), CONSTRAINT orders_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES plain.customer,
	CONSTRAINT second_key FOREIGN KEY (customer_id) REFERENCES plain.customer);
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 5);
-- all that an application can read of an error
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; m text; d text; s text; t text; c text; k text;
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	PERFORM set_config('search_path', 'shop', true);
	RETURN 'done';
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, t = TABLE_NAME, c = CONSTRAINT_NAME, k = COLUMN_NAME;
	RETURN concat_ws(' | ', SQLSTATE, m, d, t, c, k);
END $$;
CREATE TABLE done (n serial, statement text, distributed text, plain text);
CREATE PROCEDURE run(statement text) LANGUAGE sql AS $$
	INSERT INTO shop.done (statement, distributed, plain) SELECT statement, shop.outcome(statement, 'shop'), shop.outcome(statement, 'plain, shop')
$$;
CALL run('INSERT INTO customer SELECT i, i FROM generate_series(1, 9) AS i');
CALL run('INSERT INTO orders SELECT i, i, 1 FROM generate_series(1, 9) AS i');
CALL run('INSERT INTO orders VALUES (1, 20, 1)');
CALL run('INSERT INTO orders VALUES (1, 1, 1)');
CALL run('INSERT INTO orders VALUES (1, 2, 0)');
CALL run('INSERT INTO customer VALUES (1)');
CALL run('INSERT INTO customer VALUES (NULL)');
CALL run('DELETE FROM customer WHERE id = 1');
CALL run('DELETE FROM customer WHERE id = 7');
CALL run('UPDATE customer SET id = 100 WHERE id = 3');
CALL run('ALTER TABLE orders RENAME CONSTRAINT orders_customer_id_fkey TO "first_t1"');
CALL run('DELETE FROM customer WHERE id = 1');
CALL run('INSERT INTO orders VALUES (1, 20, 1)');
CALL run('ALTER TABLE orders DROP CONSTRAINT first_t1');
CALL run('DELETE FROM customer WHERE id = 1');
CALL run('ALTER TABLE orders ADD CONSTRAINT third FOREIGN KEY (customer_id) REFERENCES customer');
CALL run('ALTER TABLE orders DROP CONSTRAINT second_key');
CALL run('DELETE FROM customer WHERE id = 2');
CALL run('ALTER TABLE customer RENAME TO client');
CALL run('DELETE FROM client WHERE id = 2');
CALL run('ALTER TABLE orders RENAME TO bought');
CALL run('DELETE FROM client WHERE id = 2');
CALL run('INSERT INTO bought VALUES (1, 20, 1)');
CREATE VIEW client_view AS SELECT id, mail FROM client;
CREATE VIEW plain.client_view AS SELECT id, mail FROM plain.client;
CALL run('ALTER TABLE client RENAME mail TO id');
CALL run('ALTER TABLE client RENAME nothing TO id');
CALL run('ALTER TABLE client DROP COLUMN mail');
SELECT statement, distributed FROM done WHERE plain <> 'done' ORDER BY n;
SELECT n, statement, distributed, plain FROM done WHERE distributed IS DISTINCT FROM plain ORDER BY n;
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
