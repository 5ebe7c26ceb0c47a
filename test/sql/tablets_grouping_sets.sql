-- GROUPING SETS, ROLLUP and CUBE over distributed tables: nodes group by all columns, if
-- that is cheaper; answers are those without that, and those of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/sales.sql
SELECT shuttle.reference_table('item');
SET shuttle.tablets = 4;
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{sale.id, other.id}');
RESET client_min_messages;
ANALYZE sale, other;
SELECT * FROM explain('SELECT g, h, avg(i), count(*) FROM sale GROUP BY ROLLUP (g, h)');
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT g, h, count(*), count(i) AS ci, sum(i) AS si, avg(i) AS ai, min(i), max(i) FROM sale GROUP BY ROLLUP (g, h)',
	'SELECT g, h, sum(s), avg(s), sum(l) AS sl, avg(l) AS al, min(l), max(l) FROM sale GROUP BY CUBE (g, h)',
	'SELECT g, h, sum(n), avg(n), min(n), max(n) FROM sale GROUP BY GROUPING SETS ((g), (h), (), (g, h))',
	'SELECT g, h, sum(f), bool_and(b), bool_or(b), every(b) AS e, bit_and(i) AS ba, bit_or(i) AS bo, min(d), max(t) FROM sale GROUP BY GROUPING SETS ((g), (h))',
	'SELECT g, h, grouping(g, h), grouping(h) AS gh, sum(i) FILTER (WHERE b) AS sb, count(*) FILTER (WHERE i > 3) AS c3, avg(i + h) FILTER (WHERE n > 1) AS an FROM sale GROUP BY ROLLUP (g, h)',
	-- no rows: one group of them all, if it is asked for
	'SELECT g, count(*), sum(i), avg(i), max(i) FROM sale WHERE id < 0 GROUP BY ROLLUP (g)',
	'SELECT g, count(*), sum(i) FROM sale WHERE id < 0 GROUP BY GROUPING SETS ((g), (g, h))',
	-- expressions, sets that repeat, no aggregates, DISTINCT sets, groups of NULLs
	'SELECT g + 1 AS x, t || ''x'' AS y, sum(i) + count(*) * 2 AS z, g + 1 + sum(h) AS w FROM sale GROUP BY ROLLUP (g + 1, t || ''x'')',
	'SELECT g, h, count(*) FROM sale GROUP BY ROLLUP (g, h), CUBE (g)',
	'SELECT g, h, count(*) FROM sale GROUP BY DISTINCT ROLLUP (g, h), CUBE (g)',
	'SELECT g, h FROM sale GROUP BY CUBE (g, h)',
	'SELECT g, count(*) FROM sale GROUP BY g, ROLLUP (h, b)',
	'SELECT coalesce(g, -1) AS x, coalesce(h, -1) AS y, count(*) FROM sale GROUP BY ROLLUP (coalesce(g, -1), coalesce(h, -1))',
	'SELECT g IS NULL AS x, sum(i) FROM sale GROUP BY ROLLUP (g)',
	-- HAVING, ORDER BY, LIMIT, windows, DISTINCT above
	'SELECT g, h, sum(i) FROM sale GROUP BY ROLLUP (g, h) HAVING count(*) > 200 AND sum(i) > 1000 OR grouping(g) = 1',
	'SELECT g, h, avg(i) AS a FROM sale GROUP BY ROLLUP (g, h) ORDER BY avg(i) NULLS FIRST, g, h LIMIT 5',
	'SELECT g, h, sum(i), rank() OVER (PARTITION BY grouping(g) + grouping(h), g ORDER BY sum(i) DESC) FROM sale GROUP BY ROLLUP (g, h)',
	'SELECT DISTINCT count(*) FROM sale GROUP BY CUBE (h, t)',
	-- DISTINCT aggregates
	'SELECT g, count(DISTINCT i) FROM sale GROUP BY ROLLUP (g)',
	-- joins with reference tables, subqueries, WITH, branches of a UNION ALL
	'SELECT brand, class, avg(i), count(*) FROM sale JOIN item ON item.id = sale.item WHERE w > 2 GROUP BY ROLLUP (brand, class)',
	'SELECT brand, class, sum(w) FROM sale LEFT JOIN item ON item.id = sale.item AND class = ''c1'' GROUP BY CUBE (brand, class)',
	'SELECT g, h, sum(i) FROM (SELECT g, h, i FROM sale WHERE b) x GROUP BY ROLLUP (g, h)',
	'WITH k AS (SELECT 2 AS x), x AS (SELECT g, h, sum(i) AS a FROM sale, k WHERE sale.h < k.x GROUP BY ROLLUP (g, h)) SELECT * FROM x WHERE a > 3',
	'WITH k AS MATERIALIZED (SELECT 2 AS x) SELECT g, h, sum(i) FROM sale WHERE h < (SELECT x FROM k) GROUP BY ROLLUP (g, h)',
	'SELECT g, h, sum(i), count(*) FROM (SELECT g, h, i FROM sale UNION ALL SELECT g, h, i FROM other) x GROUP BY ROLLUP (g, h)',
	'SELECT brand, g, count(*) FROM (SELECT g, item, i FROM sale WHERE b UNION ALL SELECT g, h, i FROM other) x JOIN item ON item.id = x.item GROUP BY ROLLUP (brand, g)',
	'SELECT y, (SELECT string_agg(x::text, '','' ORDER BY x::text) FROM (SELECT g, sum(i) FROM sale WHERE h = y GROUP BY ROLLUP (g)) x) FROM generate_series(0, 2) y',
	'SELECT y, x.* FROM generate_series(0, 2) y, LATERAL (SELECT g, y + sum(i + y) AS s FROM sale WHERE h >= y GROUP BY CUBE (g)) x'
]) AS q;
-- these are not divided: other aggregates, ordered ones; constants, subqueries and
-- volatile functions in SELECT, subqueries in LIMIT; more groups than pays; rows that are not those of tables
SELECT q, compare(q) FROM unnest(ARRAY[
	'SELECT g, round(stddev(i), 6) FROM sale GROUP BY ROLLUP (g)',
	'SELECT g, avg(f) FROM sale GROUP BY ROLLUP (g)',
	'SELECT g, h, length(string_agg(t, '','')) FROM sale GROUP BY ROLLUP (g, h)',
	'SELECT g, array_agg(t ORDER BY id) FROM sale GROUP BY ROLLUP (g)',
	'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM sale GROUP BY ROLLUP (g)',
	'SELECT g, ''x'' AS x, count(*) FROM sale GROUP BY ROLLUP (g, ''x''::text)',
	'SELECT g, (SELECT count(*) FROM item WHERE id = g) AS x, count(*) FROM sale GROUP BY ROLLUP (g)',
	'WITH k AS MATERIALIZED (SELECT 3 AS x) SELECT g, h, count(*) FROM sale GROUP BY ROLLUP (g, h) ORDER BY g, h LIMIT (SELECT x FROM k)',
	'SELECT g, count(*) FROM sale WHERE random() < 2 GROUP BY ROLLUP (g)',
	'SELECT id, g, count(*) FROM sale GROUP BY ROLLUP (g, id)',
	'SELECT g, sum(n) FROM (SELECT g, h, count(*) AS n FROM sale GROUP BY g, h) x GROUP BY ROLLUP (g)',
	'SELECT count(*), sum(i) FROM sale GROUP BY GROUPING SETS ((), ())',
	'SELECT brand, count(*) FROM item GROUP BY ROLLUP (brand)'
]) AS q;
-- sums that overflow
SELECT g, sum(x) FROM (SELECT h AS g, 9223372036854775807 AS x FROM sale) s GROUP BY ROLLUP (g) ORDER BY g LIMIT 1;
\set VERBOSITY terse
SELECT g, sum(i * 1000000000) FROM sale GROUP BY ROLLUP (g);
-- kept plans, rights, policies
SET plan_cache_mode = force_generic_plan;
PREPARE by_size(int, text) AS SELECT g, h, count(*), avg(i) AS a FROM sale WHERE s < $1 AND t < $2 GROUP BY ROLLUP (g, h) HAVING count(*) > $1 ORDER BY 1, 2;
SELECT count(*) FROM explain('EXECUTE by_size(3, ''t2'')') AS line WHERE line ~ 'Relations: Aggregate on';
EXECUTE by_size(3, 't2');
EXECUTE by_size(NULL, 't2');
RESET plan_cache_mode;
CREATE ROLE seller;
GRANT USAGE ON SCHEMA shop TO seller;
GRANT SELECT (id, g, h, i) ON sale TO seller;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET ROLE seller;
SELECT g, sum(i) FROM sale WHERE h = 1 GROUP BY ROLLUP (g) ORDER BY g;
SELECT g, sum(l) FROM sale WHERE h = 1 GROUP BY ROLLUP (g) ORDER BY g;
RESET ROLE;
GRANT SELECT ON item TO seller;
CREATE POLICY part ON item TO seller USING (brand <> 'b1');
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
GRANT SELECT (item) ON sale TO seller;
SET ROLE seller;
SELECT brand, count(*) FROM sale JOIN item ON item.id = sale.item GROUP BY ROLLUP (brand) ORDER BY brand;
RESET ROLE;
REVOKE ALL ON ALL TABLES IN SCHEMA shop FROM seller;
REVOKE ALL ON SCHEMA shop FROM seller;
DROP OWNED BY seller;
DROP ROLE seller;
SET client_min_messages = warning;
SELECT shuttle.local_tables('{sale, other, item}');
DROP SCHEMA shop, plain CASCADE;
