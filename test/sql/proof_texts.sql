-- A text for nodes is read again as a node reads it, and compared with the statement that it was
-- made of. Here the texts are given, right and wrong ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE FUNCTION difference(statement text, text text) RETURNS text LANGUAGE c STRICT AS 'pg_shuttle', 'shuttle_text_difference';
CREATE FUNCTION proof(statement text, text text) RETURNS text LANGUAGE sql
AS $$ SELECT CASE WHEN difference(statement, text) IS NULL THEN 'the same' ELSE 'something else' END $$;
CREATE TYPE pair AS (x int, y int);
CREATE TABLE item (id int PRIMARY KEY, a int[], p pair, j jsonb, t varchar(8), d date, n numeric(6,2));
CREATE TABLE orders (item int, id int, t text, PRIMARY KEY (item, id));
SELECT shuttle.distribute_tables('{item.id, orders.item}', tablets => 4);
CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int);
-- those that mean the same: names, order of tables' names, casts, joins, rows
SELECT s AS statement, proof(s, x) FROM (VALUES
	('SELECT id, t FROM item WHERE id = 1', 'SELECT item.id, item.t FROM shop.item WHERE (item.id = 1)'),
	('SELECT id, t FROM item WHERE id = 1', 'SELECT id AS a, t AS b FROM shop.item_t0 WHERE id = ''1''::integer'),
	('SELECT i.id FROM item i JOIN orders o ON o.item = i.id', 'SELECT a.id FROM (shop.item_t1 a JOIN shop.orders_t1 b ON ((b.item = a.id)))'),
	('SELECT * FROM item JOIN orders USING (id)', 'SELECT i.id, i.a, i.p, i.j, i.t, i.d, i.n, o.item, o.t FROM shop.item i JOIN shop.orders o ON i.id = o.id'),
	('SELECT id FROM item WHERE id = 1 AND (t = ''a'' AND n = 2)', 'SELECT id FROM shop.item WHERE (id = 1 AND t = ''a'') AND n = (2)::numeric'),
	('SELECT t, count(*) FROM item GROUP BY t HAVING count(*) > 1 ORDER BY 2 DESC, t', 'SELECT t, count(*) AS c FROM shop.item GROUP BY item.t HAVING (count(*) > 1) ORDER BY (count(*)) DESC, item.t'),
	('SELECT t FROM item ORDER BY n, id LIMIT 2', 'SELECT t FROM shop.item ORDER BY n, id LIMIT 2'),
	('SELECT unnest(a), unnest(a) FROM item ORDER BY 2, 1', 'SELECT unnest(a) AS unnest, unnest(a) AS unnest FROM shop.item ORDER BY (unnest(a)), (unnest(a))'),
	('SELECT id + 1, id + 1, count(*) FROM item GROUP BY 1, 2', 'SELECT id + 1, id + 1, count(*) FROM shop.item GROUP BY (id + 1), (id + 1)'),
	('SELECT count(*) FILTER (WHERE n > 1) OVER w FROM item WINDOW w AS (PARTITION BY t ORDER BY id)', 'SELECT count(*) FILTER (WHERE n > (1)::numeric) OVER (PARTITION BY t ORDER BY id) FROM shop.item'),
	('WITH x AS (SELECT id FROM item) SELECT * FROM x', 'WITH x AS (SELECT item.id FROM shop.item) SELECT x.id FROM x'),
	('SELECT id FROM item WHERE id = ANY (ARRAY[1, 2])', 'SELECT id FROM shop.item WHERE id = ANY (ARRAY[1, 2])'),
	('UPDATE item SET a[1] = 10, a[3] = 30 WHERE id = 1', 'UPDATE shop.item SET a[1] = 10, a[3] = 30 WHERE id = 1'),
	('UPDATE item SET p.x = 1, p.y = 2 WHERE id = 1', 'UPDATE shop.item_t2 SET p.x = 1, p.y = 2 WHERE id = 1'),
	('INSERT INTO item (id, t) VALUES (1, ''a''), (2, ''b'')', 'INSERT INTO shop.item (id, t) VALUES (1, ''a''::varchar), (2, ''b''::varchar)'),
	('INSERT INTO item (id, t) SELECT item, t FROM orders', 'INSERT INTO shop.item (id, t) SELECT s.item, s.t FROM (SELECT orders.item, orders.t FROM shop.orders) s'),
	('DELETE FROM item USING orders o WHERE o.item = item.id RETURNING o.t', 'DELETE FROM shop.item i USING shop.orders o WHERE o.item = i.id RETURNING o.t'),
	('SELECT id FROM item FOR UPDATE', 'SELECT id FROM shop.item FOR UPDATE OF item')) AS v(s, x);
-- those that do not
SELECT s AS statement, proof(s, x) FROM (VALUES
	('SELECT id, t FROM item WHERE id = 1', 'SELECT id, t FROM shop.item WHERE id = 2'),
	('SELECT id FROM item', 'SELECT id FROM shop.orders'),
	('SELECT id FROM item WHERE n > 1', 'SELECT id FROM shop.item WHERE n >= (1)::numeric'),
	('SELECT id FROM item i JOIN orders o USING (id)', 'SELECT i.id FROM shop.item i LEFT JOIN shop.orders o USING (id)'),
	('SELECT id FROM item LEFT JOIN orders USING (id)', 'SELECT o.id FROM shop.item i LEFT JOIN shop.orders o ON i.id = o.id'),
	('SELECT t FROM item ORDER BY n, id', 'SELECT t FROM shop.item ORDER BY id, n'),
	('SELECT unnest(a), unnest(a), id FROM item ORDER BY 2, 1, 3', 'SELECT unnest(a), unnest(a), id FROM shop.item ORDER BY 1, 2'),
	('SELECT t FROM item ORDER BY n DESC', 'SELECT t FROM shop.item ORDER BY n DESC NULLS LAST'),
	('SELECT DISTINCT ON (t) id FROM item ORDER BY t', 'SELECT DISTINCT id FROM shop.item'),
	('SELECT id FROM item LIMIT 2', 'SELECT id FROM shop.item LIMIT 3'),
	('SELECT id FROM item WHERE t < ''a'' COLLATE "C"', 'SELECT id FROM shop.item WHERE t < ''a'''),
	('SELECT id FROM item FOR UPDATE', 'SELECT id FROM shop.item FOR SHARE'),
	('SELECT id FROM item FOR UPDATE', 'SELECT id FROM shop.item FOR UPDATE NOWAIT'),
	('SELECT sum(n) FROM item', 'SELECT sum(DISTINCT n) FROM shop.item'),
	('SELECT count(*) FROM item GROUP BY ROLLUP (t, id)', 'SELECT count(*) FROM shop.item GROUP BY ROLLUP (id, t)'),
	('SELECT id FROM item UNION SELECT item FROM orders', 'SELECT id FROM shop.item UNION ALL SELECT item FROM shop.orders'),
	('UPDATE item SET a[1] = 10, a[3] = 30 WHERE id = 1', 'UPDATE shop.item SET a[3] = 30 WHERE id = 1'),
	('UPDATE item SET p.x = 1, p.y = 2 WHERE id = 1', 'UPDATE shop.item SET p.y = 2 WHERE id = 1'),
	('UPDATE item SET t = ''a'', n = 1 WHERE id = 1', 'UPDATE shop.item SET n = 1 WHERE id = 1'),
	('INSERT INTO item (id, t) SELECT item, t FROM orders', 'INSERT INTO shop.item (id, t) SELECT item, t::varchar(8) FROM shop.orders'),
	('INSERT INTO item (id, n) VALUES (1, 2), (2, 3)', 'INSERT INTO shop.item (id, n) VALUES (1, 3), (2, 2)'),
	('INSERT INTO item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = excluded.n', 'INSERT INTO shop.item (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = item.n'),
	('DELETE FROM item WHERE id = 1 RETURNING t', 'DELETE FROM shop.item WHERE id = 1 RETURNING n'),
	-- what a node does not have, or reads otherwise
	('SELECT id FROM item WHERE id === 1', 'SELECT id FROM shop.item WHERE id OPERATOR(shop.===) 1'),
	('SELECT id FROM ONLY item', 'SELECT id FROM ONLY shop.item')) AS v(s, x);
-- texts are read with the settings of nodes
SET datestyle = 'SQL, DMY';
SELECT proof('SELECT id FROM item WHERE d = ''03/02/2024''', 'SELECT id FROM shop.item WHERE d = ''03/02/2024''::date');
SELECT proof('SELECT id FROM item WHERE d = ''03/02/2024''', 'SELECT id FROM shop.item WHERE d = ''2024-02-03''::date');
RESET datestyle;
SET transform_null_equals = on;
SELECT proof('SELECT id FROM item WHERE t = NULL', 'SELECT id FROM shop.item WHERE t = NULL');
RESET transform_null_equals;
SELECT proof('SELECT id FROM item WHERE id = 1', 'SELECT id FROM shop.item WHERE id = $1');
\set VERBOSITY sqlstate
SELECT proof('SELECT id FROM item', 'SELECT id FROM item');
SELECT proof('SELECT id FROM item', 'SELECT id FROM shop.item WHERE id = ');
\set VERBOSITY default
-- proofs are switched off by default; routed statements pass them
SELECT boot_val FROM pg_settings WHERE name = 'shuttle.debug_prove_texts';
SET shuttle.debug_prove_texts = on;
INSERT INTO item (id, t) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET t = excluded.t || 'c' RETURNING *;
PREPARE change(int, text) AS UPDATE item SET t = $2, n = n + 1 WHERE id = $1 RETURNING id, t;
EXECUTE change(1, 'long text');
EXECUTE change(1, 'text');
-- equal columns, of which a node sorts by the first one
UPDATE item SET a = '{3, 1, 2}' WHERE id = 1;
SELECT unnest(a), unnest(a), id FROM item WHERE id = 1 ORDER BY 2 DESC, 1, 3;
SELECT DISTINCT t, t AS again, max(n) FROM item WHERE id = 1 GROUP BY 1, 2 ORDER BY 2, 1;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
