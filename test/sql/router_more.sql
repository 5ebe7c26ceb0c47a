-- Statements with one key whose key is only apparent, or whose text for the node is not the
-- statement's: answers and changes are those of core's plans, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (customer int, id int, kind int, note text, size int,
	twice int GENERATED ALWAYS AS (size * 2) STORED, PRIMARY KEY (customer, id));
CREATE TABLE named (name varchar(10) PRIMARY KEY, value int);
CREATE TABLE others (name varchar(10) PRIMARY KEY, value int);
INSERT INTO customer SELECT i, 'c' || i FROM generate_series(1, 40) AS i;
INSERT INTO orders SELECT i, 1, i, 'n' || i, i FROM generate_series(1, 40) AS i;
INSERT INTO named SELECT 'n' || repeat(' ', i), i FROM generate_series(0, 8) AS i;
INSERT INTO others TABLE named;
CREATE SCHEMA plain;
CREATE TABLE plain.customer (LIKE customer INCLUDING ALL);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
CREATE TABLE plain.named (LIKE named INCLUDING ALL);
CREATE TABLE plain.others (LIKE others INCLUDING ALL);
INSERT INTO plain.customer TABLE customer;
INSERT INTO plain.orders SELECT customer, id, kind, note, size FROM orders;
INSERT INTO plain.named TABLE named;
INSERT INTO plain.others TABLE others;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{customer.id, orders.customer}', tablets => 4);
SELECT shuttle.distribute_tables('{named.name, others.name}', tablets => 4);
RESET client_min_messages;

-- what a statement returns and leaves, with the router, without it and on plain tables; all of it
-- is rolled back
CREATE FUNCTION run(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text := '';
BEGIN
	BEGIN
		FOR line IN EXECUTE query LOOP
			found := found || line || ' ';
		END LOOP;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN NULL;
		WHEN OTHERS THEN found := found || SQLSTATE;
	END;
	RETURN found;
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a text := run(query);
	b text;
	c text;
BEGIN
	SET LOCAL shuttle.enable_router = off;
	b := run(query);
	SET LOCAL search_path = plain, shop;
	c := run(query);
	SET LOCAL search_path = shop;
	SET LOCAL shuttle.enable_router = on;
	RETURN CASE WHEN a = b AND a = c THEN 'same: ' || a ELSE format('DIFFERENT: %s, %s, %s', a, b, c) END;
END $$;

-- a column that the statement changes has two values
SELECT key, compare(format('WITH u AS (UPDATE orders SET kind = kind + 1 WHERE customer = %1$s AND kind = %1$s RETURNING kind)
	SELECT c.name FROM u JOIN customer c ON c.id = u.kind', key)) FROM generate_series(1, 4) AS key;
SELECT key, compare(format('UPDATE orders SET kind = kind + 1 WHERE customer = %1$s AND kind = %1$s
	RETURNING (SELECT name FROM customer c WHERE c.id = kind)', key)) FROM generate_series(1, 4) AS key;

-- values that are equal as char(n) differ as varchar
SELECT compare('SELECT value FROM named WHERE name::bpchar = ''n''::varchar::bpchar ORDER BY value');
SELECT compare('SELECT n.value FROM named n JOIN others o ON n.name::bpchar = o.name::bpchar WHERE o.name = ''n'' ORDER BY 1');

-- columns that are set from one subquery, in another order than the table's
SELECT compare('UPDATE orders SET (size, kind) = (SELECT 5, 6) WHERE customer = 3 RETURNING size * 1000 + kind');
SELECT compare('UPDATE orders SET (kind, size) = (SELECT 5, 6) WHERE customer = 3 RETURNING size * 1000 + kind');
SELECT compare('UPDATE orders SET (size, note) = (SELECT 5, ''x''), kind = 9 WHERE customer = 3 RETURNING size * 1000 + kind');
SELECT compare('UPDATE orders SET (size, kind) = (SELECT c.id, c.id + 1 FROM customer c WHERE c.id = customer) WHERE customer = 3 RETURNING size * 1000 + kind');

-- nothing is left to set
SELECT compare('UPDATE orders SET twice = DEFAULT WHERE customer = 3 RETURNING twice');

-- the text names tablets, those of a renamed table, too, but not if their columns have other numbers
CREATE FUNCTION text_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line LIKE '%Remote SQL%' THEN
			RETURN regexp_replace(line, '_t\d', '_tN', 'g');
		END IF;
	END LOOP;
	RETURN 'not routed';
END $$;
SELECT text_of('SELECT note FROM orders o WHERE customer = 3 AND EXISTS (SELECT FROM customer WHERE customer.id = o.customer)');
SELECT text_of('UPDATE orders SET note = ''x'' WHERE customer = 3');
SELECT text_of('DELETE FROM orders WHERE customer = 3');
SELECT compare(format($$SELECT orders_t2.name || orders.note || orders_t1 FROM customer AS orders_t2
	JOIN orders ON orders.customer = orders_t2.id, (SELECT %1$s AS orders_t1) AS x WHERE orders_t2.id = %1$s$$, key))
FROM generate_series(1, 8) AS key;
SELECT compare(format($$UPDATE orders SET note = o.note || 'y' FROM orders AS o WHERE orders.customer = %1$s AND o.customer = %1$s
	RETURNING orders.note$$, key)) FROM generate_series(1, 8) AS key;
ALTER TABLE customer RENAME TO client;
ALTER TABLE plain.customer RENAME TO client;
SELECT text_of('SELECT name FROM client WHERE id = 3');
SELECT compare('SELECT name FROM client WHERE id = 3');
ALTER TABLE orders DROP COLUMN kind;
ALTER TABLE plain.orders DROP COLUMN kind;
SELECT compare('UPDATE orders SET size = 7 WHERE customer = 3 RETURNING note || twice');
CREATE TABLE scar (gone int, id int PRIMARY KEY, note text);
ALTER TABLE scar DROP COLUMN gone;
SELECT shuttle.distribute_table('scar', 'id', tablets => 2) \gset
INSERT INTO scar VALUES (1, 'a'), (2, 'b');
SELECT note FROM scar WHERE id = 2;
SELECT text_of('SELECT note FROM scar WHERE id = 2');

DROP SCHEMA shop CASCADE;
