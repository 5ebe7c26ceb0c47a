-- A CTE that reads nodes is not computed for a hash join whose outer side is empty.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.sale AS SELECT i AS id, i % 100 AS customer, i % 7 AS kind FROM generate_series(1, 3000) i;
SELECT pair.tables('sale') \g /dev/null
ANALYZE stock.sale, ours.sale;
-- rows that were computed for the CTE
CREATE FUNCTION pair.of_cte(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'CTE Scan' THEN
			RETURN CASE WHEN line ~ 'never executed' THEN 'not computed' ELSE 'computed' END;
		END IF;
	END LOOP;
	RETURN 'no CTE';
END $$;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET search_path = ours;
SELECT filter, pair.of_cte(format('WITH many AS MATERIALIZED (SELECT customer, count(DISTINCT pair.here(kind)) AS kinds FROM sale GROUP BY customer)
	SELECT s.id, m.kinds FROM sale s JOIN many m USING (customer) WHERE %s', filter))
FROM unnest('{s.kind = 9,s.kind = 3 AND s.id < 1000}'::text[]) AS filter;
RESET search_path;
-- the same rows for all kinds of joins, whichever side is empty
SELECT j, a, b, pair.same(format('WITH many AS MATERIALIZED (SELECT customer, count(DISTINCT pair.here(kind)) AS kinds FROM sale WHERE %2$s GROUP BY customer)
	SELECT s.id, m.kinds FROM (SELECT * FROM sale WHERE %3$s) s %1$s JOIN many m USING (customer)', j, a, b))
FROM unnest('{INNER,LEFT,RIGHT,FULL}'::text[]) j, unnest('{true,kind = 9}'::text[]) a, unnest('{kind = 3,kind = 9}'::text[]) b
ORDER BY a, b, j;
SELECT b, pair.same(format('WITH many AS MATERIALIZED (SELECT customer FROM sale WHERE pair.here(kind) = 2)
	SELECT s.id FROM sale s WHERE %s AND s.customer IN (TABLE many)', b))
FROM unnest('{kind = 3,kind = 9}'::text[]) b;
