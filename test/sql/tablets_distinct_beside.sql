-- DISTINCT aggregates beside others over distributed tables: nodes group by their values,
-- too, if that is cheaper; answers are those without that, and those of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE item (id int PRIMARY KEY, brand text COLLATE "C", class text COLLATE "C", w int);
CREATE TABLE sale (id int PRIMARY KEY, item int, g int, h int, s smallint, i int, l bigint, n numeric, f float8, b bool, d date, t varchar(9) COLLATE "C");
CREATE TABLE other (id int PRIMARY KEY, g int, h int, i int);
INSERT INTO item SELECT k, 'b' || k % 4, nullif('c' || k % 3, 'c2'), k FROM generate_series(1, 12) AS k;
INSERT INTO sale SELECT k, nullif(k % 13, 0), nullif(k % 4, 0), k % 3, k % 7, nullif(k % 11, 0), k * 1000000000::bigint, nullif(k % 17, 3) / 8.0 + (k % 2) * 0.100, k % 9, nullif(k % 3, 1) = 0, date '2020-01-01' + k % 40, 't' || k % 5
FROM generate_series(1, 3000) AS k;
INSERT INTO other SELECT k, nullif(k % 3, 0), k % 2, k FROM generate_series(1, 500) AS k;
INSERT INTO sale (id, g, h, n) VALUES (5001, 8, 1, 'NaN'), (5002, 9, NULL, NULL), (5003, 9, NULL, NULL);
CREATE SCHEMA plain;
CREATE TABLE plain.item AS TABLE item;
CREATE TABLE plain.sale AS TABLE sale;
CREATE TABLE plain.other AS TABLE other;
ANALYZE;
SELECT shuttle.reference_table('item');
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{sale.id, other.id}');
RESET client_min_messages;
ANALYZE sale, other;
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		line := regexp_replace(line, '(pg_shuttle_copies\.\w+)_\d+', '\1_OID', 'g');
		RETURN NEXT regexp_replace(line, '\mr\d+\M', 'r', 'g');
	END LOOP;
END $$;
-- how many scans group on their node, and how the answer differs from one without that and
-- from that of plain tables
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	scans int;
	nrows int;
	ndifferent int[];
BEGIN
	SELECT count(*) INTO scans FROM explain(query) AS line WHERE line ~ '^ *Relations: Aggregate on';
	EXECUTE 'CREATE TEMP TABLE on_nodes AS ' || query;
	SET LOCAL shuttle.enable_storage_aggregate = off;
	EXECUTE 'CREATE TEMP TABLE without AS ' || query;
	SET LOCAL shuttle.enable_storage_aggregate = on;
	SET LOCAL search_path = plain, shop;
	EXECUTE 'CREATE TEMP TABLE plain_tables AS ' || query;
	SET LOCAL search_path = shop;
	-- as texts: the scale of a numeric counts
	SELECT ARRAY[
		(SELECT count(*) FROM (SELECT a::text FROM on_nodes a EXCEPT ALL SELECT a::text FROM without a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM without a EXCEPT ALL SELECT a::text FROM on_nodes a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM on_nodes a EXCEPT ALL SELECT a::text FROM plain_tables a) AS x),
		(SELECT count(*) FROM (SELECT a::text FROM plain_tables a EXCEPT ALL SELECT a::text FROM on_nodes a) AS x)] INTO ndifferent;
	SELECT count(*) INTO nrows FROM on_nodes;
	DROP TABLE on_nodes, without, plain_tables;
	RETURN format('%s, %s rows, %s', scans, nrows, CASE WHEN ndifferent = '{0,0,0,0}' THEN 'same' ELSE ndifferent::text END);
END $$;
SELECT * FROM explain('SELECT g, count(DISTINCT h), count(*), avg(i) FROM sale GROUP BY g');
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT g, count(DISTINCT h) AS nd, count(*), sum(i), avg(i), max(n) FROM sale GROUP BY g',
	'SELECT count(DISTINCT i) AS nd, count(*), sum(l) FROM sale',
	'SELECT g, count(DISTINCT h) AS a, sum(DISTINCT s) AS b, count(*) FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT coalesce(h, 7)) AS a, array_agg(DISTINCT t) AS b, sum(f) FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT g) AS a, min(d) FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT i + 1) AS a, count(i) AS b FROM sale GROUP BY g HAVING count(DISTINCT i + 1) > 5 AND count(*) > 10 OR g IS NULL',
	'SELECT count(DISTINCT g) AS nd, count(*), sum(i), max(i) FROM sale WHERE id < 0',
	'SELECT g, h, count(DISTINCT t) AS nd, count(*), grouping(h) FROM sale GROUP BY ROLLUP (g, h)',
	'SELECT brand, count(DISTINCT g) AS nd, count(*) FROM sale JOIN item ON item.id = sale.item GROUP BY brand ORDER BY count(DISTINCT g) DESC, brand LIMIT 3',
	'SELECT count(DISTINCT g) AS nd, avg(i) FROM (SELECT g, h, i FROM sale WHERE b UNION ALL SELECT g, h, i FROM other) x',
	'SELECT y, (SELECT count(DISTINCT g) + count(*) FROM sale WHERE h >= y) FROM generate_series(0, 2) y'
]) AS q;
-- these are not divided: other aggregates, filters and order, several arguments; more groups
-- than pays; whole groups, which nodes return
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT g, count(DISTINCT h) FILTER (WHERE b) AS nd, count(*) AS n FROM sale GROUP BY g',
	'SELECT g, string_agg(DISTINCT t, '','' ORDER BY t), count(*) FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT h) AS nd, round(stddev(i), 6) FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT id) AS nd, count(*) AS n FROM sale GROUP BY g',
	'SELECT g, count(DISTINCT 1) AS nd, count(*) AS n FROM sale GROUP BY g',
	'SELECT id, g, count(DISTINCT h) AS nd, count(*) AS n FROM sale GROUP BY id, g'
]) AS q;
SET plan_cache_mode = force_generic_plan;
PREPARE below(int) AS SELECT h, count(DISTINCT g) AS nd, count(*) FROM sale WHERE s < $1 GROUP BY h ORDER BY h;
SELECT count(*) FROM explain('EXECUTE below(3)') AS line WHERE line ~ 'Relations: Aggregate on';
EXECUTE below(3);
EXECUTE below(NULL);
SET client_min_messages = warning;
SELECT shuttle.local_tables('{sale, other, item}');
DROP SCHEMA shop, plain CASCADE;
