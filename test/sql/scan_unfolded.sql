-- Set-returning functions in select lists: nodes are asked for no order and no groups of rows that
-- are not unfolded yet. Answers, and their order, are those of a plain table, over a distributed table,
-- over foreign tables, and over servers of postgres_fdw.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE plain (id int PRIMARY KEY, tags text[], a int[], n int, j jsonb, t text);
INSERT INTO plain SELECT i, ARRAY['t' || i % 4, 'u' || i % 2], ARRAY[i % 3, 5 - i % 5], i % 3, jsonb_build_array(i % 4, i % 2), 'x' || i % 3 || ' y' || i % 2
FROM generate_series(1, 40) AS i;
CREATE TABLE w AS TABLE plain;
ALTER TABLE w ADD PRIMARY KEY (id);
CREATE TABLE r AS TABLE plain;
ALTER TABLE r ADD PRIMARY KEY (id);
SELECT shuttle.distribute_table('w', 'id', 4);
SELECT shuttle.reference_table('r');
SELECT result FROM shuttle.run_on_nodes($$CREATE TABLE shop.far AS TABLE shop.r$$, '{n1}');
SELECT result FROM shuttle.run_on_nodes($$CREATE TABLE shop.low AS SELECT * FROM shop.r WHERE id < 20$$, '{n1}');
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
DROP SERVER IF EXISTS guest CASCADE;
DO $$BEGIN
	EXECUTE format('CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname ''tablets_n1'')',
		split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'));
	EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER guest OPTIONS (user %L)', current_user);
END$$;
RESET client_min_messages;
CREATE FOREIGN TABLE f (id int, tags text[], a int[], n int, j jsonb, t text) SERVER n1 OPTIONS (table_name 'far');
CREATE FOREIGN TABLE g (id int, tags text[], a int[], n int, j jsonb, t text) SERVER guest OPTIONS (table_name 'far');
CREATE FOREIGN TABLE h (id int, tags text[], a int[], n int, j jsonb, t text) SERVER guest OPTIONS (table_name 'far', use_remote_estimate 'true');
CREATE TABLE p (id int, tags text[], a int[], n int, j jsonb, t text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (20) SERVER guest OPTIONS (table_name 'low');
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20) TO (100);
INSERT INTO p2 SELECT * FROM plain WHERE id >= 20;
ANALYZE w, f, g, p1, p2;

-- TABLE stands for the table. ordered: the order of all rows is fixed
CREATE TABLE queries (n int PRIMARY KEY, ordered bool, query text);
INSERT INTO queries VALUES
(1, false, 'SELECT unnest(tags) AS u, count(*) FROM TABLE GROUP BY 1'),
(2, true, 'SELECT unnest(tags) AS u, count(*) FROM TABLE GROUP BY 1 ORDER BY 1'),
(3, false, 'SELECT DISTINCT unnest(tags) FROM TABLE'),
(4, true, 'SELECT id, unnest(a) FROM TABLE ORDER BY 1, 2'),
(5, true, 'SELECT id, unnest(a) FROM TABLE ORDER BY 2, 1 DESC'),
(6, true, 'SELECT unnest(a) FROM TABLE ORDER BY 1'),
(7, true, 'SELECT id, unnest(a) FROM TABLE ORDER BY 1, 2 LIMIT 7 OFFSET 3'),
(8, false, 'SELECT unnest(tags) AS u, n, count(*), sum(id) FROM TABLE GROUP BY ROLLUP (1, 2)'),
(9, true, 'SELECT DISTINCT ON (1) unnest(tags) AS u, id FROM TABLE ORDER BY 1, 2'),
(10, false, 'SELECT unnest(tags) FROM TABLE UNION SELECT t FROM TABLE'),
(11, false, 'SELECT unnest(a) FROM TABLE UNION ALL SELECT unnest(a) FROM TABLE'),
(12, false, 'SELECT unnest(a) FROM TABLE INTERSECT SELECT n FROM TABLE'),
(13, true, 'SELECT id, generate_series(1, n) FROM TABLE ORDER BY 1, 2'),
(14, false, 'SELECT generate_series(1, n) AS s, count(*) FROM TABLE GROUP BY 1'),
(15, true, 'SELECT generate_series(1, 3) AS s, id FROM TABLE ORDER BY 1, 2'),
(16, false, 'SELECT generate_series(1, 3) AS s, count(*) FROM TABLE GROUP BY 1'),
(17, false, 'SELECT jsonb_array_elements(j) AS e, count(*) FROM TABLE GROUP BY 1'),
(18, true, 'SELECT regexp_split_to_table(t, '' '') AS e, max(id) FROM TABLE GROUP BY 1 ORDER BY 1'),
(19, true, 'SELECT id FROM TABLE ORDER BY id, unnest(a)'),
(20, true, 'SELECT * FROM (SELECT id, unnest(a) AS u FROM TABLE) AS s ORDER BY u, id'),
(21, false, 'SELECT u, count(*) FROM (SELECT id, unnest(a) AS u FROM TABLE) AS s GROUP BY u HAVING count(*) > 3'),
(22, true, 'SELECT id, unnest(a), row_number() OVER (ORDER BY id) FROM TABLE ORDER BY 1, 2'),
(23, false, 'SELECT n, unnest(array_agg(id ORDER BY id)) FROM TABLE GROUP BY n'),
(24, true, 'SELECT n, generate_series(1, count(*)) FROM TABLE GROUP BY n ORDER BY 1, 2'),
(25, true, 'SELECT x.id, unnest(x.a) FROM TABLE AS x JOIN TABLE AS y USING (id) ORDER BY 1, 2'),
(26, false, 'SELECT unnest(x.tags), count(*) FROM TABLE AS x JOIN TABLE AS y ON x.n = y.id GROUP BY 1'),
(27, false, 'SELECT DISTINCT unnest(x.a) FROM TABLE AS x, LATERAL (SELECT unnest(y.a) FROM TABLE AS y WHERE y.id = x.n ORDER BY 1 LIMIT 1) AS s'),
(28, true, 'SELECT id, unnest(a), unnest(tags) FROM TABLE ORDER BY 1, 2, 3'),
(29, true, 'SELECT id, unnest(a) + 1, generate_series(1, unnest(a)) FROM TABLE ORDER BY 1, 2, 3'),
(30, true, 'SELECT id, unnest(a) FROM TABLE WHERE id = 4 ORDER BY 2'),
(31, false, 'SELECT unnest(a), count(*) FROM TABLE WHERE id = 4 GROUP BY 1'),
(32, true, 'SELECT DISTINCT unnest(a) FROM TABLE WHERE id IN (4, 5) ORDER BY 1'),
(33, false, 'SELECT id, (SELECT count(*) FROM (SELECT DISTINCT unnest(y.a) FROM TABLE AS y WHERE y.n = x.n) AS s) FROM TABLE AS x'),
(34, false, 'WITH s AS MATERIALIZED (SELECT unnest(tags) AS u FROM TABLE ORDER BY 1) SELECT u, count(*) FROM s GROUP BY 1'),
(35, false, 'SELECT CASE WHEN u > 1 THEN 1 ELSE 0 END, count(*) FROM (SELECT DISTINCT id, unnest(a) AS u FROM TABLE) AS s GROUP BY 1'),
(36, true, 'SELECT unnest(a) AS u FROM TABLE GROUP BY a, 1 ORDER BY 1');
CREATE FUNCTION rows_of(query text, relation text, ordered bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE format('SELECT string_agg(r, '' '' %s) FROM (SELECT (s.*)::text AS r, row_number() OVER () AS number FROM (%s) AS s) AS q',
		CASE WHEN ordered THEN 'ORDER BY number' ELSE 'ORDER BY r' END, replace(query, 'TABLE', relation)) INTO result;
	RETURN result;
EXCEPTION WHEN others THEN
	RETURN SQLERRM;
END $$;
CREATE VIEW differing AS SELECT relation, n, query FROM queries, unnest('{w,r,f,g,h,p}'::text[]) AS relation
	WHERE rows_of(query, relation, ordered) IS DISTINCT FROM rows_of(query, 'plain', ordered) ORDER BY 1, 2;
SELECT n, query FROM queries WHERE rows_of(query, 'plain', ordered) IS NULL OR rows_of(query, 'plain', ordered) !~ '^\(';
SELECT * FROM differing;
SET enable_hashagg = off;
SELECT * FROM differing;
RESET enable_hashagg;
SET enable_sort = off;
SELECT * FROM differing;
SET enable_partitionwise_aggregate = on;
SET enable_partitionwise_join = on;
SELECT * FROM differing;
RESET ALL;
SET search_path = shop;
-- views, and what is made of the answers
CREATE VIEW v AS SELECT unnest(tags) AS u, count(*) FROM w GROUP BY 1;
CREATE MATERIALIZED VIEW m AS SELECT DISTINCT unnest(tags) AS u FROM w;
CREATE TABLE made AS SELECT id, unnest(a) AS u FROM w ORDER BY 2, 1;
SELECT * FROM v ORDER BY 1;
SELECT * FROM m ORDER BY 1;
SELECT count(*) FROM made;
-- a constant that is grouped by: postgres_fdw does not find it, and its servers (g) fail
SELECT 1 AS one, count(*), generate_series(1, 2) FROM w GROUP BY 1 ORDER BY 3;
SELECT 1 AS one, count(*), generate_series(1, 2) FROM f GROUP BY 1 ORDER BY 3;
SELECT 'x' AS x, n, count(*), generate_series(1, least(count(*), 2)::int) FROM f GROUP BY 1, n ORDER BY 2, 4;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, unnest(a) FROM f ORDER BY 1, 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT unnest(tags) FROM g ORDER BY 1;
-- an order without them is still the nodes' (one in front of them, too, where core asks for it)
EXPLAIN (VERBOSE, COSTS OFF) SELECT x.id, unnest(x.a) FROM f AS x ORDER BY x.id;
DROP SERVER guest CASCADE;
