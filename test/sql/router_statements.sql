-- Statements whose distributed tables all have their key fixed go to one node as a whole; answers
-- and changes are those of core's plans, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE customer (id int PRIMARY KEY, kind int, name text, since timestamptz DEFAULT '2020-01-01 00:00+0');
CREATE TABLE orders (customer int, id bigint, kind int, price numeric(10,2), note varchar(20), PRIMARY KEY (customer, id));
CREATE TABLE lines (customer int, orders bigint, no int, amount int, PRIMARY KEY (customer, orders, no));
CREATE TABLE named (name varchar(30) PRIMARY KEY, value numeric);
INSERT INTO kind VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO customer SELECT i, nullif(i % 5, 0), 'c' || i FROM generate_series(1, 100) AS i;
INSERT INTO orders SELECT i % 100 + 1, i, i % 4, i * 1.5, nullif('n' || i % 3, 'n0') FROM generate_series(1, 600) AS i;
INSERT INTO lines SELECT customer, id, no, (customer + id + no) % 17 FROM orders, generate_series(1, 3) AS no;
INSERT INTO named SELECT 'n' || i, i FROM generate_series(1, 50) AS i;
CREATE SCHEMA plain;
CREATE TABLE plain.kind (LIKE kind INCLUDING ALL);
CREATE TABLE plain.customer (LIKE customer INCLUDING ALL);
CREATE TABLE plain.orders (LIKE orders INCLUDING ALL);
CREATE TABLE plain.lines (LIKE lines INCLUDING ALL);
CREATE TABLE plain.named (LIKE named INCLUDING ALL);
INSERT INTO plain.kind TABLE kind;
INSERT INTO plain.customer TABLE customer;
INSERT INTO plain.orders TABLE orders;
INSERT INTO plain.lines TABLE lines;
INSERT INTO plain.named TABLE named;
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{customer.id, orders.customer, lines.customer}', tablets => 4);
SELECT shuttle.distribute_table('named', 'name', tablets => 4);
CREATE VIEW totals AS SELECT customer, id, (SELECT sum(amount) FROM lines l WHERE l.customer = o.customer AND l.orders = o.id) AS amount FROM orders o;
CREATE VIEW plain.totals AS SELECT customer, id, (SELECT sum(amount) FROM plain.lines l WHERE l.customer = o.customer AND l.orders = o.id) AS amount FROM plain.orders o;
CREATE VIEW dear AS SELECT id, customer, price AS cost FROM orders AS o WHERE price > 10;
CREATE VIEW plain.dear AS SELECT id, customer, price AS cost FROM plain.orders AS o WHERE price > 10;
RESET client_min_messages;

\i :test/include/routed.sql
-- whether it is routed, and whether rows and their order are the same without the router and on
-- plain tables
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	routed bool := is_routed(query);
	sorted text := CASE WHEN query ~ 'ORDER BY' THEN '' ELSE ' ORDER BY 1' END;
	rows_of text := 'SELECT array(SELECT t::text FROM (' || query || ') AS t' || sorted || ')';
	a text[];
	b text[];
	c text[];
BEGIN
	EXECUTE rows_of INTO a;
	SET LOCAL shuttle.enable_router = off;
	EXECUTE rows_of INTO b;
	SET LOCAL search_path = plain, shop;
	EXECUTE rows_of INTO c;
	SET LOCAL search_path = shop;
	SET LOCAL shuttle.enable_router = on;
	RETURN format('%s, %s rows, %s', CASE WHEN routed THEN 'routed' ELSE 'by core' END, cardinality(a),
		CASE WHEN a = b AND a = c THEN 'same' ELSE format('DIFFERENT: %s %s %s', a, b, c) END);
END $$;

EXPLAIN (COSTS OFF, VERBOSE) SELECT c.name, o.id, o.price FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = 7 ORDER BY o.id;
EXPLAIN (COSTS OFF, VERBOSE) UPDATE orders SET note = 'x' WHERE customer = 7 AND id = 6 RETURNING id, note;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id, 1 + sum(price) OVER w, rank() OVER (ORDER BY id) FROM orders WHERE customer = 7 WINDOW w AS (PARTITION BY kind);
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, DIST) ' || query LOOP
		IF line !~ 'Bytes|Rows Scanned' THEN RETURN NEXT regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1'); END IF;
	END LOOP;
END $$;
SELECT explain('SELECT count(*) FROM orders o JOIN lines l USING (customer) WHERE o.customer = 7');
BEGIN;
SELECT explain('DELETE FROM orders WHERE customer = 7 RETURNING id');
ROLLBACK;

-- shapes of statements that are routed
SELECT q AS query, compare(q) FROM unnest(ARRAY[
	'SELECT * FROM customer WHERE id = 7',
	'SELECT * FROM customer WHERE 7 = id AND kind IS NOT NULL',
	'SELECT * FROM customer WHERE id = 7::bigint',
	'SELECT * FROM customer WHERE id = 3 + 4',
	'SELECT * FROM customer WHERE id = 1000',
	'SELECT * FROM named WHERE name = ''n7''',
	'SELECT * FROM named WHERE name = ''n7''::text',
	'SELECT c.name, o.* FROM customer c JOIN orders o ON o.customer = c.id WHERE o.customer = 7 ORDER BY o.id DESC',
	'SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.id > 300 WHERE c.id = 8',
	'SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = 8 AND o.id > 300 WHERE c.id = 8',
	'SELECT c.name, o.id FROM orders o RIGHT JOIN customer c ON o.customer = c.id WHERE c.id = 8',
	'SELECT * FROM orders JOIN lines USING (customer) WHERE customer = 9 AND orders = id ORDER BY no, id',
	'SELECT * FROM orders NATURAL JOIN (SELECT customer, orders AS id, sum(amount) FROM lines GROUP BY 1, 2) l WHERE customer = 9',
	'SELECT name, (SELECT count(*) FROM orders o WHERE o.customer = c.id) FROM customer c WHERE c.id = 9',
	'SELECT name FROM customer c WHERE c.id = 9 AND EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.price > 20)',
	'SELECT name FROM customer c WHERE c.id = 9 AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.id = (SELECT max(id) FROM orders WHERE customer = c.id))',
	'SELECT id FROM orders WHERE customer = 9 AND id IN (SELECT orders FROM lines WHERE customer = 9 AND amount > 10)',
	'SELECT note, count(*), sum(price) FROM orders WHERE customer = 9 GROUP BY note HAVING count(*) > 0',
	'SELECT count(*), min(price), max(price) FROM orders WHERE customer = 9',
	'SELECT c.kind, count(*) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.id = 11 GROUP BY c.kind, c.id',
	'SELECT id, row_number() OVER (ORDER BY price DESC) FROM orders WHERE customer = 9',
	'SELECT DISTINCT note FROM orders WHERE customer = 9',
	'SELECT id FROM orders WHERE customer = 9 ORDER BY price DESC LIMIT 2 OFFSET 1',
	'WITH o AS (SELECT * FROM orders WHERE customer = 9) SELECT o.id, sum(amount) FROM o JOIN lines l ON l.customer = o.customer AND l.orders = o.id GROUP BY o.id',
	'WITH o AS MATERIALIZED (SELECT id FROM orders WHERE customer = 9) SELECT count(*) FROM o AS a, o AS b',
	'WITH RECURSIVE r AS (SELECT id FROM orders WHERE customer = 9 AND id < 50 UNION ALL SELECT id + 100 FROM r WHERE id < 400) SELECT * FROM r',
	'SELECT id FROM orders WHERE customer = 9 UNION ALL SELECT no FROM lines WHERE customer = 9',
	'SELECT id FROM orders WHERE customer = 9 EXCEPT SELECT orders FROM lines WHERE customer = 9 AND amount > 8',
	'SELECT * FROM totals WHERE customer = 12',
	'SELECT t.* FROM totals t JOIN customer c ON c.id = t.customer WHERE c.id = 12',
	'SELECT * FROM customer c, LATERAL (SELECT sum(price) FROM orders o WHERE o.customer = c.id) s WHERE c.id = 12',
	'SELECT * FROM (SELECT customer, id, price FROM orders) o WHERE customer = 12',
	'SELECT * FROM (VALUES (12, ''x'')) AS v(c, t) JOIN orders ON customer = c',
	'SELECT o.id FROM unnest(ARRAY[8, 108, 208]) AS u(i), orders o WHERE o.customer = 9 AND o.id = u.i',
	'SELECT id, since < now(), since AT TIME ZONE ''UTC'' FROM customer WHERE id = 7',
	'SELECT id, CASE WHEN kind IS NULL THEN ''none'' ELSE kind::text END FROM customer WHERE id IN (7)',
	'SELECT id, coalesce(note, '' a  b ''''c'' || E''\\n'') AS "a  ""b" FROM orders WHERE customer = 7',
	'SELECT c.name, k.name AS kind FROM customer c JOIN kind k ON k.id = c.kind WHERE c.id = 7',
	'SELECT c.name, (SELECT max(name) FROM kind) FROM customer c WHERE c.id = 7',
	'SELECT a.id, b.id FROM orders a JOIN orders b ON b.customer = a.customer AND b.id > a.id WHERE a.customer = 7',
	'SELECT a.name, b.name AS other FROM customer a, customer b WHERE a.id = 7 AND b.id = 7',
	'SELECT name, 7 AS seven FROM customer c WHERE c.id = 7 AND c.id = c.id',
	'SELECT count(*) FROM customer c FULL JOIN orders o ON o.customer = c.id WHERE c.id = 7 AND o.customer = 7']) AS q;

-- those that core plans
SELECT q AS query, compare(q) FROM unnest(ARRAY[
	'SELECT count(*) FROM customer',
	'SELECT * FROM customer WHERE id = 7 OR id = 8',
	'SELECT * FROM customer WHERE id > 7 AND id < 10',
	'SELECT * FROM customer WHERE id = NULL',
	'SELECT * FROM customer WHERE id = 7.0',
	'SELECT a.name, b.name AS other FROM customer a, customer b WHERE a.id = 7 AND b.id <> 7',
	'SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND c.id = 8',
	'SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id WHERE o.customer = 8 OR o.id = 8',
	'SELECT c.name, o.id FROM customer c FULL JOIN orders o ON o.customer = c.id AND c.id = 7',
	'SELECT name, (SELECT count(*) FROM orders o) FROM customer c WHERE c.id = 9',
	'SELECT * FROM (SELECT customer, id FROM orders ORDER BY id LIMIT 20) o WHERE customer = 12',
	'SELECT * FROM (SELECT DISTINCT ON (note) customer, id FROM orders ORDER BY note, id) o WHERE customer = 12',
	'SELECT * FROM (SELECT customer, id, row_number() OVER (ORDER BY id) FROM orders) o WHERE customer = 12',
	'SELECT c.id, c FROM customer c WHERE id = 7',
	'SELECT count(tableoid) FROM customer WHERE id = 7',
	'SELECT count(*) FROM customer WHERE id = 7 AND since < date ''2030-01-01''',
	'SELECT count(*) FROM customer WHERE id = 7 AND random() < 2',
	'SELECT id FROM customer WHERE id = 7 AND name = ANY (current_schemas(false) || ''c7''::name)',
	'SELECT customer.name, p.id FROM customer JOIN plain.orders p ON p.customer = customer.id WHERE customer.id = 7',
	'SELECT count(*) FROM kind']) AS q;

-- parameters, and plans that are kept
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(int) AS SELECT c.name, count(o.id) FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.price > $1 WHERE c.id = $1 GROUP BY c.name, $1 + 1;
EXPLAIN (COSTS OFF) EXECUTE by_id(7);
EXPLAIN (COSTS OFF) EXECUTE by_id(8);
EXECUTE by_id(7);
EXECUTE by_id(8);
EXECUTE by_id(NULL);
PREPARE big(bigint) AS SELECT name FROM customer WHERE id = $1;
EXECUTE big(7);
EXECUTE big(1234567890123);
PREPARE by_name(text) AS SELECT value FROM named WHERE name = $1;
EXECUTE by_name('n5');
-- keys that may be on one node or not
PREPARE two(int, int) AS SELECT a.name, b.name AS other FROM customer a, customer b WHERE a.id = $1 AND b.id = $2;
CREATE TEMP TABLE pairs AS SELECT a, b, is_routed(format('EXECUTE two(%s, %s)', a, b)) FROM generate_series(1, 3) AS a, generate_series(1, 3) AS b;
SELECT bool_and(is_routed) AS of_one, (SELECT count(DISTINCT is_routed) FROM pairs WHERE a <> b) AS others FROM pairs WHERE a = b;
EXECUTE two(1, 1);
EXECUTE two(1, 2);
EXECUTE two(1, 3);
EXECUTE two(2, 1);
-- another layout
ALTER TABLE customer ADD COLUMN more int DEFAULT 5;
EXECUTE by_id(7);
SELECT shuttle.local_tables('{customer, orders, lines}');
EXECUTE by_id(7);
SELECT shuttle.distribute_tables('{customer.id, orders.customer, lines.customer}', tablets => 3);
EXECUTE by_id(7);
DEALLOCATE ALL;
RESET plan_cache_mode;
ALTER TABLE plain.customer ADD COLUMN more int DEFAULT 5;

-- changes: the tag, the rows returned, and what is there afterwards
CREATE FUNCTION change(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	routed bool := is_routed(statement);
	a text[];
	b text[];
	na bigint;
	nb bigint;
	returns text := CASE WHEN statement ~ 'RETURNING' THEN 'WITH w AS (' || statement || ') SELECT array(SELECT w::text FROM w ORDER BY 1)' END;
BEGIN
	IF returns IS NOT NULL THEN
		EXECUTE returns INTO a;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS na = ROW_COUNT;
	END IF;
	SET LOCAL search_path = plain, shop;
	IF returns IS NOT NULL THEN
		EXECUTE returns INTO b;
	ELSE
		EXECUTE statement;
		GET DIAGNOSTICS nb = ROW_COUNT;
	END IF;
	SET LOCAL search_path = shop;
	RETURN format('%s, %s, %s', CASE WHEN routed THEN 'routed' ELSE 'by core' END, coalesce(na, cardinality(a)),
		CASE WHEN a IS NOT DISTINCT FROM b AND na IS NOT DISTINCT FROM nb
			AND NOT EXISTS (TABLE customer EXCEPT ALL TABLE plain.customer)
			AND NOT EXISTS (TABLE plain.orders EXCEPT ALL TABLE orders) AND NOT EXISTS (TABLE orders EXCEPT ALL TABLE plain.orders)
			AND NOT EXISTS (TABLE plain.lines EXCEPT ALL TABLE lines) AND NOT EXISTS (TABLE lines EXCEPT ALL TABLE plain.lines)
			THEN 'same' ELSE 'DIFFERENT' END);
END $$;
SELECT q AS statement, change(q) FROM unnest(ARRAY[
	'UPDATE orders SET price = price + 1 WHERE customer = 7',
	'UPDATE orders SET price = price + 1, note = ''changed'' WHERE customer = 7 AND id = 6 RETURNING id, price, note',
	'UPDATE orders SET (price, note) = (SELECT sum(amount), max(no::text) FROM lines l WHERE l.customer = orders.customer AND l.orders = orders.id) WHERE customer = 8',
	'UPDATE orders o SET price = l.amount FROM lines l WHERE l.customer = o.customer AND l.orders = o.id AND l.no = 1 AND o.customer = 8',
	'UPDATE orders o SET note = k.name FROM kind k WHERE k.id = o.kind AND o.customer = 10',
	'UPDATE orders SET note = left(now()::text, 0) WHERE customer = 9 AND id = 8',
	'UPDATE orders SET customer = 9 WHERE customer = 9 AND id = 8',
	'DELETE FROM lines WHERE customer = 10 AND orders = (SELECT min(orders) FROM lines WHERE customer = 10)',
	'DELETE FROM lines l USING orders o WHERE o.customer = l.customer AND o.id = l.orders AND o.customer = 10 AND o.price > 100 RETURNING l.no, o.id',
	'DELETE FROM lines WHERE customer = 11 AND orders IN (SELECT (SELECT min(id) FROM orders o WHERE o.customer = 11 AND o.kind = d.d) FROM unnest(ARRAY[0, 1, 2, 3]) AS d(d))',
	'DELETE FROM orders WHERE customer = 12 AND id < 0',
	'UPDATE dear SET cost = cost + 1 WHERE customer = 17',
	'UPDATE dear AS d SET cost = l.amount FROM lines l WHERE l.customer = d.customer AND l.orders = d.id AND l.no = 2 AND d.customer = 17 RETURNING d.id, cost',
	'DELETE FROM dear AS d WHERE d.customer = 17 AND cost > 5 RETURNING id, cost',
	'UPDATE orders SET note = ''all''']) AS q;
-- CTEs that write
WITH u AS (UPDATE orders SET price = price + 1 WHERE customer = 13 RETURNING id, price), d AS (DELETE FROM lines WHERE customer = 13 AND no = 1 RETURNING orders)
SELECT u.id, u.price, count(d.orders) FROM u LEFT JOIN d ON d.orders = u.id GROUP BY 1, 2 ORDER BY 1;
EXPLAIN (COSTS OFF) WITH u AS (UPDATE orders SET price = price + 1 WHERE customer = 13 RETURNING id, customer) SELECT l.* FROM u JOIN lines l ON l.customer = u.customer AND l.orders = u.id;
SELECT id, price FROM orders WHERE customer = 13 ORDER BY 1;
-- row locks
BEGIN;
EXPLAIN (COSTS OFF) SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer WHERE c.id = 13 FOR UPDATE OF o SKIP LOCKED;
SELECT o.id FROM orders o JOIN customer c ON c.id = o.customer WHERE c.id = 13 ORDER BY 1 FOR UPDATE OF o SKIP LOCKED;
EXPLAIN (COSTS OFF) SELECT o.id FROM orders o JOIN kind k ON k.id = o.kind WHERE o.customer = 13 FOR UPDATE;
COMMIT;

-- what belongs to the query node: triggers, policies, rights, check options
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE '% %', TG_OP, TG_LEVEL; RETURN NULL; END$$;
CREATE TRIGGER tell AFTER UPDATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION tell();
UPDATE orders SET note = 'told' WHERE customer = 14;
SELECT is_routed('DELETE FROM orders WHERE customer = 14') AS delete, is_routed('UPDATE orders SET note = NULL WHERE customer = 14') AS update;
DROP TRIGGER tell ON orders;
CREATE VIEW cheap AS SELECT * FROM orders WHERE price < 500 WITH CHECK OPTION;
UPDATE cheap SET price = 600 WHERE customer = 14;
CREATE VIEW hidden WITH (security_barrier) AS SELECT * FROM orders WHERE kind = 1;
SELECT is_routed('SELECT * FROM hidden WHERE customer = 14');
CREATE ROLE router_reader;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO router_reader;
GRANT SELECT ON totals TO router_reader;
GRANT SELECT (id, name) ON customer TO router_reader;
SET ROLE router_reader;
SELECT count(*) FROM totals WHERE customer = 14;
SELECT name FROM customer WHERE id = 14;
SELECT kind FROM customer WHERE id = 14;
UPDATE customer SET name = 'x' WHERE id = 14;
SELECT count(*) FROM lines WHERE customer = 14;
RESET ROLE;
-- a view of the current user beside his table
PREPARE own AS SELECT count(*) FROM totals t JOIN customer c ON c.id = t.customer WHERE c.id = 14;
EXECUTE own;
SET ROLE router_reader;
EXECUTE own;
RESET ROLE;
DEALLOCATE own;
ALTER TABLE customer ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON customer TO router_reader USING (id < 10);
SET ROLE router_reader;
SELECT name FROM customer WHERE id = 14;
SELECT name FROM customer WHERE id = 4;
RESET ROLE;
BEGIN READ ONLY;
UPDATE orders SET note = NULL WHERE customer = 14;
ROLLBACK;

-- cursors, functions, errors
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM orders WHERE customer = 15 ORDER BY id;
FETCH 2 FROM c;
DELETE FROM orders WHERE customer = 15;
FETCH ALL FROM c;
DECLARE s SCROLL CURSOR FOR SELECT id FROM orders WHERE customer = 16 ORDER BY id;
FETCH LAST FROM s;
FETCH FIRST FROM s;
ROLLBACK;
DO $$
DECLARE r record; n int;
BEGIN
	FOR r IN SELECT id FROM orders WHERE customer = 15 ORDER BY id LOOP
		UPDATE orders SET note = 'loop' WHERE customer = 15 AND id = r.id;
		IF NOT FOUND THEN RAISE 'not found'; END IF;
	END LOOP;
	DELETE FROM lines WHERE customer = 15;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE '% lines', n;
	SELECT count(*) INTO n FROM orders WHERE customer = 15 AND note = 'loop';
	RAISE NOTICE '% orders', n;
	UPDATE orders SET id = 5000 WHERE customer = 15;
EXCEPTION WHEN unique_violation THEN
	RAISE NOTICE '%', SQLERRM;
END$$;
SELECT count(*), min(note) FROM orders WHERE customer = 15;
SELECT price / (id - 15) FROM orders WHERE customer = 16 ORDER BY id;
-- a change of a reference table, seen by the statement behind it
BEGIN;
UPDATE kind SET name = upper(name);
SELECT k.name FROM orders o JOIN kind k ON k.id = o.kind WHERE o.customer = 10 AND o.id = 9;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is_routed('SELECT k.name FROM orders o JOIN kind k ON k.id = o.kind WHERE o.customer = 7') AS with_copies, is_routed('SELECT note FROM orders WHERE customer = 7') AS alone;
ROLLBACK;
DROP SCHEMA shop CASCADE;
DROP ROLE router_reader;
