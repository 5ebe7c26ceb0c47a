-- DISTINCT aggregates beside others over distributed tables: nodes group by their values,
-- too, if that is cheaper; answers are those without that, and those of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/sales.sql
SELECT shuttle.reference_table('item');
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{sale.id, other.id}');
RESET client_min_messages;
ANALYZE sale, other;
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
