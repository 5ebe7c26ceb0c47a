-- Values that core computes at one place of a query and takes above it (placeholders): of grouping sets over subqueries, of the nullable side of an
-- outer join. A nested loop over a child of a table cannot pass them to its inner side; PostgreSQL's own tables fail then, too ("variable not
-- found in subplan target list"), but only with enable_partitionwise_join.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE big (id int PRIMARY KEY, n int);
CREATE TABLE few (id int PRIMARY KEY, z int, s text);
INSERT INTO big SELECT i, i % 5 FROM generate_series(1, 4000) AS i;
INSERT INTO few SELECT i, 1 + i % 3, i::text FROM generate_series(1, 12) AS i;
CREATE TABLE plain.big (LIKE big INCLUDING ALL);
CREATE TABLE plain.few (LIKE few INCLUDING ALL);
INSERT INTO plain.big SELECT * FROM big;
INSERT INTO plain.few SELECT * FROM few;
SET client_min_messages = warning;
SELECT shuttle.distribute_table('big', 'id', 3);
SELECT shuttle.distribute_table('few', 'id', 3);
ANALYZE big, few, plain.big, plain.few;
-- the rows of a query as one text, or its error
CREATE FUNCTION rows_of(query text, path text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE format('SELECT coalesce(string_agg(q::text, '' '' ORDER BY q::text), ''no rows'') FROM (%s) AS q', query) INTO answer;
	PERFORM set_config('search_path', 'shop', true);
EXCEPTION WHEN OTHERS THEN
	answer := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE queries (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO queries (query) VALUES
	('SELECT n, n, count(*) FROM big WHERE n < ANY (SELECT 10 / few.z FROM few WHERE few.id = big.id AND pg_size_bytes(s) > 0) GROUP BY ROLLUP (n, n)'),
	('SELECT n, sum(id) FROM big WHERE id IN (SELECT 6 / few.z FROM few WHERE few.id = big.id AND pg_size_bytes(s) > 0) GROUP BY CUBE (n)'),
	('SELECT n % 2, sum(id) FROM big WHERE id IN (SELECT 6 / few.z FROM few WHERE few.id = big.id AND pg_size_bytes(s) > 0) GROUP BY GROUPING SETS ((n % 2), (n % 2, n), ())'),
	('SELECT n, count(*) FROM big WHERE EXISTS (SELECT FROM few WHERE few.id = big.id AND few.z > big.n AND pg_size_bytes(s) > 0) GROUP BY ROLLUP (n)'),
	('SELECT big.n, x.v FROM few AS f LEFT JOIN (SELECT id, coalesce(z, 0) AS v FROM few WHERE pg_size_bytes(s) > 3) AS x ON x.id = f.id JOIN big ON big.id = f.id AND big.n < x.v'),
	('SELECT f.id, big.n, x.v FROM few AS f LEFT JOIN (SELECT id, coalesce(z, 0) AS v FROM few WHERE pg_size_bytes(s) > 3) AS x ON x.id = f.id LEFT JOIN big ON big.id = f.id AND big.n < coalesce(x.v, 2)'),
	('SELECT f.id, x.v FROM few AS f LEFT JOIN (SELECT id, coalesce(z, 0) AS v FROM few WHERE pg_size_bytes(s) > 3) AS x ON x.id = f.id WHERE NOT EXISTS (SELECT FROM big WHERE big.id = f.id AND big.n < x.v)'),
	('SELECT DISTINCT big.n, big.n FROM few AS f LEFT JOIN (SELECT id, coalesce(z, 0) AS v FROM few WHERE pg_size_bytes(s) > 3) AS x ON x.id = f.id JOIN big ON big.id = f.id AND big.n < x.v');
-- few ways to join are left, so that nested loops over tablets are chosen
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE VIEW differing AS SELECT number, query, there, plain FROM queries, rows_of(query, 'shop') AS there, rows_of(query, 'plain') AS plain WHERE there <> plain;
SELECT number, left(rows_of(query, 'shop'), 80) AS there FROM queries ORDER BY number;
SELECT * FROM differing ORDER BY number;
SET shuttle.debug_force_batched_join = on;
SELECT * FROM differing ORDER BY number;
RESET shuttle.debug_force_batched_join;
SET shuttle.enable_batched_join = off;
SELECT * FROM differing ORDER BY number;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
