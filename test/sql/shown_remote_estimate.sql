-- With estimates of the node, plans are those of postgres_fdw with them.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE pair.here (id int PRIMARY KEY, branch int);
INSERT INTO pair.here SELECT i, i % 9 FROM generate_series(1, 2000) i;
CREATE INDEX ON pair.here (branch);
ANALYZE pair.here;
CREATE INDEX ON node.account (branch);
CREATE TABLE node.large AS SELECT i AS id, i % 100 AS k, repeat('x', 100) AS filler FROM generate_series(1, 5000) i;
ALTER TABLE node.large ADD PRIMARY KEY (id);
CREATE INDEX ON node.large (k);
ANALYZE node.large;
SELECT pair.tables('large');
CREATE FUNCTION pair.odd(int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT $1 % 2 = 1' COST 50;
-- rows are the node's, though nobody ran ANALYZE here
CREATE FUNCTION pair.estimated(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT pair.estimated('SELECT * FROM ours.large') AS guessed;
ALTER SERVER stock_node OPTIONS (use_remote_estimate 'true');
ALTER SERVER our_node OPTIONS (shuttle_remote_estimate 'true');
SELECT pair.estimated('SELECT * FROM ours.large') AS asked,
	pair.estimated('SELECT * FROM ours.large WHERE k = 5') AS with_condition,
	pair.estimated('SELECT * FROM ours.large a JOIN ours.large b ON b.id = a.k WHERE a.k < 10') AS joined,
	pair.estimated('SELECT k FROM ours.large GROUP BY k') AS grouped;
CREATE FUNCTION pair.verdicts(VARIADIC queries text[]) RETURNS TABLE (nr bigint, plan text, rows text)
LANGUAGE sql AS $$
	SELECT nr, (SELECT string_agg(line, '') FROM pair.plan(query) AS line),
		CASE WHEN query LIKE '%FOR UPDATE' THEN 'not run' ELSE pair.same(query) END
	FROM unnest(queries) WITH ORDINALITY AS q (query, nr)
$$;
-- scans, orders, limits
SELECT * FROM pair.verdicts(
	'SELECT * FROM large WHERE id = 5',
	'SELECT * FROM large WHERE k = 5 AND pair.odd(id) ORDER BY id',
	'SELECT * FROM large ORDER BY id LIMIT 10',
	'SELECT * FROM large ORDER BY k, id',
	'SELECT id FROM large WHERE k = 3 ORDER BY filler, id LIMIT 5',
	'SELECT count(*) FROM (SELECT * FROM large LIMIT 10) l',
	'SELECT id FROM large WHERE k = 3 ORDER BY id FOR UPDATE');
-- parameters of a nested loop, and orders for a merge join
SELECT * FROM pair.verdicts(
	'SELECT l.id FROM pair.here h JOIN large l ON l.id = h.branch WHERE h.id = 7',
	'SELECT l.id FROM pair.here h JOIN large l ON l.id + 0 = h.branch AND l.k = h.branch WHERE h.id = 7',
	'SELECT h.id FROM pair.here h JOIN large l ON l.id = h.id ORDER BY h.id',
	'SELECT h.id, l.k FROM pair.here h LEFT JOIN large l ON l.id = h.id ORDER BY h.id',
	'SELECT h.id FROM pair.here h WHERE EXISTS (SELECT 1 FROM large l WHERE l.id = h.id) ORDER BY h.id');
-- joins and aggregates on the node
SELECT * FROM pair.verdicts(
	'SELECT a.id, b.city FROM account a JOIN branch b ON b.id = a.branch WHERE a.id < 20 ORDER BY a.id',
	'SELECT a.id, b.city FROM account a LEFT JOIN branch b ON b.id = a.branch AND b.id < 3 ORDER BY a.id',
	'SELECT a.id, b.id FROM account a FULL JOIN branch b ON b.id = a.id ORDER BY 1, 2',
	'SELECT a.id, h.id FROM account a LEFT JOIN branch b ON b.id = a.branch LEFT JOIN pair.here h ON h.id = b.id ORDER BY a.id',
	'SELECT h.id, a.id, b.id FROM pair.here h LEFT JOIN account a ON a.branch = h.id LEFT JOIN branch b ON b.id = a.id LEFT JOIN pair.here i ON i.id = b.id ORDER BY 1, 2, 3',
	'SELECT a.id FROM account a WHERE EXISTS (SELECT 1 FROM branch b WHERE b.id = a.branch) ORDER BY a.id LIMIT 5',
	'SELECT branch, count(*), sum(balance) FROM account GROUP BY branch HAVING count(*) > 2 ORDER BY branch',
	'SELECT b.city, count(*) FROM account a JOIN branch b ON b.id = a.branch GROUP BY b.city ORDER BY 1 LIMIT 3',
	'SELECT h.id, x.n FROM pair.here h, LATERAL (SELECT l.id + h.id AS n FROM large l WHERE l.id = h.branch) x WHERE h.id < 4 ORDER BY 1, 2',
	'SELECT a.id FROM account a JOIN large l ON l.id = a.id WHERE a.id < 9 ORDER BY a.id FOR UPDATE');
-- with joins ordered by chance
SET geqo_threshold = 2;
SELECT * FROM pair.verdicts(
	'SELECT h.id FROM pair.here h JOIN large l ON l.id = h.id JOIN account a ON a.id = l.k JOIN branch b ON b.id = a.branch ORDER BY 1');
RESET geqo_threshold;
-- writes
SELECT (SELECT string_agg(line, '') FROM pair.plan(statement) AS line) AS plan,
	pair.same_write('SELECT id, k FROM large WHERE id < 20 ORDER BY id', statement) AS rows
FROM unnest(ARRAY['UPDATE large l SET k = -1 FROM account a WHERE a.id = l.id AND pair.odd(l.id) AND l.id < 9',
	'DELETE FROM large l USING branch b WHERE b.id = l.id']) AS statement;
-- an inheritance tree with a table of the node in it
CREATE TABLE pair.parent (id int, k int);
CREATE INDEX ON pair.parent (id);
INSERT INTO pair.parent SELECT i, i FROM generate_series(10001, 10100) i;
ANALYZE pair.parent;
ALTER FOREIGN TABLE ours.large DROP COLUMN filler;
ALTER FOREIGN TABLE ours.large INHERIT pair.parent;
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT h.id FROM pair.parent p JOIN pair.here h ON h.id = p.id;
SELECT count(*) FROM pair.parent p JOIN pair.here h ON h.id = p.id;
RESET enable_hashjoin;
RESET enable_nestloop;
-- a node that cannot be asked
ALTER FOREIGN TABLE ours.branch OPTIONS (SET schema_name 'nosuch');
\set VERBOSITY sqlstate
EXPLAIN SELECT * FROM ours.branch;
\set VERBOSITY default
