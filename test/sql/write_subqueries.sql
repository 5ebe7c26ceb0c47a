-- UPDATE and DELETE compared with an aggregate of a correlated subquery: the node's groups come first, and only rows
-- that match one are locked.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = pair, public;
CREATE TABLE node.orders (w int, d int, o int, n numeric, note text, PRIMARY KEY (w, d, o));
INSERT INTO node.orders SELECT i % 3, i % 5, i, i % 7, nullif('note ' || i % 4, 'note 3') FROM generate_series(1, 600) i;
CREATE TABLE node.limits AS SELECT i % 3 AS w, nullif(i % 6, 5) AS d, i % 40 AS most FROM generate_series(1, 50) i;
ANALYZE node.orders, node.limits;
SELECT pair.tables('orders'), pair.tables('limits') \g /dev/null
-- the same rows in partitions
CREATE SCHEMA far;
CREATE TABLE node.spread (LIKE node.orders);
INSERT INTO node.spread TABLE node.orders;
CREATE TABLE ours.spread (LIKE node.orders) PARTITION BY HASH (w);
DO $$
BEGIN
	FOR i IN 0 .. 2 LOOP
		EXECUTE format('CREATE TABLE far.spread%1$s (LIKE node.orders INCLUDING ALL);
			CREATE FOREIGN TABLE ours.spread%1$s PARTITION OF ours.spread FOR VALUES WITH (MODULUS 3, REMAINDER %1$s)
			SERVER our_node OPTIONS (schema_name ''far'')', i);
	END LOOP;
END $$;
INSERT INTO ours.spread TABLE node.orders;
ANALYZE ours.spread, ours.orders, ours.limits;
CREATE FUNCTION way(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('search_path', 'ours', true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN CASE WHEN plan::text ~ '"Parent Relationship": "SubPlan"' THEN 'by row' WHEN plan::text ~ 'Keyed Write' THEN 'keyed' ELSE 'joined' END;
END $$;
CREATE TABLE statements (nr int, statement text);
INSERT INTO statements VALUES
	(1, 'DELETE FROM orders WHERE w = 1 AND o = (SELECT min(o) FROM orders x WHERE x.w = orders.w AND x.d = orders.d)'),
	(2, 'DELETE FROM orders t WHERE o = (SELECT max(o) FROM orders x WHERE x.w = t.w AND x.d = t.d) RETURNING *'),
	(3, 'UPDATE orders t SET n = n + 1, note = NULL WHERE n > (SELECT 1.2 * avg(n) FROM orders x WHERE x.d = t.d)'),
	(4, 'UPDATE orders t SET d = d + 5 WHERE o >= (SELECT max(o) - 9 FROM orders x WHERE x.d = t.d) RETURNING w, d, o'),
	(5, 'DELETE FROM orders t USING limits l WHERE l.w = t.w AND l.d = t.d AND t.o < (SELECT max(most) FROM limits x WHERE x.d = l.d)'),
	(6, 'DELETE FROM orders t WHERE o > (SELECT max(most) FROM limits l WHERE l.d = t.d AND l.w = t.w)'),
	(7, 'UPDATE orders t SET note = t.o FROM limits l WHERE l.most = t.o AND t.n = (SELECT min(n) FROM orders x WHERE x.note = t.note)'),
	-- no group, NULL keys
	(8, 'DELETE FROM orders t WHERE o > (SELECT min(most) FROM limits l WHERE l.d = t.d AND l.most > 30)'),
	-- read by row: a value for no rows, a subquery that may fail, one in SET, one of which a row does not depend alone
	(9, 'DELETE FROM orders t WHERE n > (SELECT count(*) FROM limits l WHERE l.d = t.d)'),
	(10, 'DELETE FROM orders t WHERE n > (SELECT sum(1 / (most + 1)) FROM limits l WHERE l.d = t.d)'),
	(11, 'UPDATE orders t SET n = (SELECT max(most) FROM limits l WHERE l.d = t.d)'),
	(12, 'UPDATE orders t SET note = ''x'' WHERE n > (SELECT min(most) FROM limits l WHERE l.d = t.d) OR o < 5');
SELECT nr, same_here('SELECT * FROM orders ORDER BY w, d, o', statement) FROM statements ORDER BY nr;
SELECT nr, same_here('SELECT * FROM spread ORDER BY w, d, o', replace(statement, 'orders', 'spread')) FROM statements ORDER BY nr;
SELECT nr, way(statement), way(replace(statement, 'orders', 'spread')) FROM statements ORDER BY nr;
-- rows that do not match are not locked
SET search_path = ours, pair, public;
BEGIN;
DELETE FROM orders WHERE w = 1 AND o = (SELECT min(o) FROM orders x WHERE x.w = orders.w AND x.d = orders.d);
SELECT 600 - count(*) AS locked FROM (SELECT FROM node.orders FOR UPDATE SKIP LOCKED) free;
ROLLBACK;
SET shuttle.enable_subquery_joins = off;
BEGIN;
DELETE FROM orders WHERE w = 1 AND o = (SELECT min(o) FROM orders x WHERE x.w = orders.w AND x.d = orders.d);
SELECT 600 - count(*) AS locked FROM (SELECT FROM node.orders FOR UPDATE SKIP LOCKED) free;
ROLLBACK;
