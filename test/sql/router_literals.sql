-- Routed statements that differ in their literals only share a plan; each goes to the node of its
-- own key, and answers are those of plans of their own, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE orders (customer int, id int, price numeric(8,2), note varchar(8), PRIMARY KEY (customer, id));
CREATE TABLE named (name varchar(10) PRIMARY KEY, value int);
INSERT INTO orders SELECT i % 20 + 1, i, i * 1.37, nullif('n' || i % 3, 'n0') FROM generate_series(1, 200) AS i;
INSERT INTO named SELECT 'n' || i, i FROM generate_series(1, 30) AS i;
CREATE SCHEMA plain;
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
CREATE TABLE plain.named (LIKE named INCLUDING ALL);
INSERT INTO plain.orders TABLE orders;
INSERT INTO plain.named TABLE named;
SET client_min_messages = warning;
SELECT shuttle.distribute_table('orders', 'customer', tablets => 4);
SELECT shuttle.distribute_table('named', 'name', tablets => 4);
RESET client_min_messages;

-- on distributed and on plain tables
CREATE FUNCTION on_both(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one record;
	found text[] := '{}';
	n bigint;
BEGIN
	FOR i IN 1..2 LOOP
		IF statement ~ '^SELECT|RETURNING' THEN
			EXECUTE 'SELECT array_agg(q::text)::text FROM (' || statement || ') q' INTO one;
			found := found || one::text;
		ELSE
			EXECUTE statement;
			GET DIAGNOSTICS n = ROW_COUNT;
			found := found || n::text;
		END IF;
		SET LOCAL search_path = plain, shop;
	END LOOP;
	SET LOCAL search_path = shop;
	RETURN CASE WHEN found[1] IS NOT DISTINCT FROM found[2] THEN 'same ' || coalesce(found[1], 'nothing') ELSE 'DIFFERENT ' || found::text END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT price, note FROM orders WHERE customer = 7 AND id = 6;
SELECT price, note FROM orders WHERE customer = 7 AND id = 26;
SELECT price, note FROM orders WHERE customer = 7 AND id = 46;
SELECT price, note FROM orders WHERE customer = 7 AND id = 66;
-- another key, another node
SELECT customer, price, note FROM orders WHERE customer = 8 AND id = 7;
SELECT customer, count(*), sum(id) FROM orders WHERE customer = 1 GROUP BY customer;
SELECT k, on_both(format('SELECT price, note FROM orders WHERE customer = %s AND id = %s', k, k + 19)) FROM generate_series(1, 20) AS k WHERE k % 3 = 0;
SELECT k, on_both(format('SELECT id FROM orders WHERE %s = customer AND note = ''n%s''', k, k % 3)) FROM generate_series(1, 6) AS k;
SELECT k, on_both(format('SELECT value FROM named WHERE name = ''n%s''', k)) FROM generate_series(1, 32, 5) AS k;
SELECT k, on_both(format('UPDATE orders SET price = price + %s.5, note = ''u%s'' WHERE customer = %s AND id < 100', k, k, k)) FROM generate_series(1, 8) AS k;
SELECT k, on_both(format('DELETE FROM orders WHERE customer = %s AND id = %s', k, k + 39)) FROM generate_series(1, 8) AS k;
SELECT (SELECT count(*) FROM (TABLE orders EXCEPT ALL TABLE plain.orders) d), (SELECT count(*) FROM (TABLE plain.orders EXCEPT ALL TABLE orders) d);
-- other types, other settings, errors
SELECT on_both('SELECT id FROM orders WHERE customer = 7::bigint AND id = 6'), on_both('SELECT id FROM orders WHERE customer = 8::bigint AND id = 7'), on_both('SELECT id FROM orders WHERE customer = 9::bigint AND id = 8');
SELECT k, on_both(format('UPDATE orders SET note = ''much too long %s'' WHERE customer = %s', k, k)) FROM generate_series(1, 4) AS k;
SELECT k, on_both(format('UPDATE orders SET customer = %s WHERE customer = %s AND id = %s', k + 1, k, k + 119)) FROM generate_series(1, 4) AS k;
SET shuttle.enable_router = off;
SELECT price, note FROM orders WHERE customer = 7 AND id = 86;
RESET shuttle.enable_router;
-- rights and policies of whoever asks
CREATE ROLE literal_reader;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO literal_reader;
SET ROLE literal_reader;
SELECT price, note FROM orders WHERE customer = 7 AND id = 86;
RESET ROLE;
GRANT SELECT ON orders TO literal_reader;
SET ROLE literal_reader;
SELECT price, note FROM orders WHERE customer = 7 AND id = 86;
RESET ROLE;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON orders TO literal_reader USING (id < 50);
SET ROLE literal_reader;
SELECT price, note FROM orders WHERE customer = 7 AND id = 86;
SELECT price, note FROM orders WHERE customer = 7 AND id = 46;
RESET ROLE;
SELECT price, note FROM orders WHERE customer = 7 AND id = 106;
-- another layout
ALTER TABLE orders DISABLE ROW LEVEL SECURITY;
ALTER TABLE orders RENAME COLUMN note TO remark;
SELECT price, remark FROM orders WHERE customer = 7 AND id = 106;
SELECT price, remark FROM orders WHERE customer = 7 AND id = 126;
SELECT shuttle.local_table('orders');
SELECT price, remark FROM orders WHERE customer = 7 AND id = 106;
SELECT shuttle.distribute_table('orders', 'customer', tablets => 3);
SELECT price, remark FROM orders WHERE customer = 7 AND id = 106;
SELECT price, remark FROM orders WHERE customer = 7 AND id = 126;
DROP SCHEMA shop CASCADE;
DROP ROLE literal_reader;
