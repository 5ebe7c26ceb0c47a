-- Joins are planned alike with and without an EXISTS that is hashed in the end: its
-- price by row, a thousand times theirs, does not hide what they cost.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE middle AS SELECT i AS id, (i * 7919) % 50000 + 1 AS r, i % 100 + 1 AS k FROM generate_series(1, 5000) i;
CREATE TABLE large AS SELECT i AS id, (i * 31) % 1000 AS n FROM generate_series(1, 50000) i;
CREATE UNIQUE INDEX ON large (id);
CREATE TABLE parts (id int, n int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE parts%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s)', i, i * 10000 + 1, i * 10000 + 10001)
FROM generate_series(0, 4) i \gexec
INSERT INTO parts SELECT id, n FROM large;
CREATE INDEX ON parts (id);
CALL test.mirror('middle', 'large');
CALL test.mirror_partitions('parts');
-- so that plans do not hang on how busy the machine is
ALTER SERVER engine OPTIONS (ADD shuttle_round_trip_cost '20');
ANALYZE engine.middle, engine.large, engine.parts;
-- Kinds of joins and scans from the top, the plans of subqueries, and whether the total
-- is below 50000 units.
CREATE FUNCTION plan(query text) RETURNS TABLE (nodes text, subplans text, cheap bool) LANGUAGE plpgsql AS $$
DECLARE
	printed jsonb;
BEGIN
	PERFORM set_config('search_path', 'engine, local, public', true);
	EXECUTE 'EXPLAIN (VERBOSE, FORMAT JSON) ' || query INTO printed;
	PERFORM set_config('search_path', 'local, public', true);
	RETURN QUERY SELECT
		(SELECT string_agg(coalesce(node ->> 'Custom Plan Provider', node ->> 'Alias', node ->> 'Node Type'), ', ')
			FROM jsonb_path_query(printed,
				'strict $.** ? (@."Node Type" like_regex "Loop|Join|Custom" || @."Node Type" == "Foreign Scan" && exists(@."Alias"))') AS node),
		(SELECT CASE WHEN printed::text LIKE '%hashed SubPlan%' THEN 'hashed' ELSE 'by row' END),
		(printed -> 0 -> 'Plan' ->> 'Total Cost')::float < 50000;
END $$;

-- in an aggregate, in a target list, in HAVING
SELECT * FROM plan('SELECT a.k, sum(b.n) FROM middle a JOIN large b ON b.id = a.r WHERE b.n < 400 GROUP BY a.k');
SELECT * FROM plan('SELECT a.k, sum(b.n) FILTER (WHERE EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500)) FROM middle a JOIN large b ON b.id = a.r WHERE b.n < 400 GROUP BY a.k');
SELECT * FROM plan('SELECT a.k, b.n, EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500) FROM middle a JOIN large b ON b.id = a.r WHERE b.n < 400 ORDER BY a.k');
SELECT * FROM plan('SELECT a.k, a.r, count(*) FROM middle a JOIN large b ON b.id = a.r WHERE b.n < 400 GROUP BY a.k, a.r HAVING EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500)');
-- grouped and sorted by
SELECT * FROM plan('SELECT EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500) AS e, count(*) FROM middle a JOIN large b ON b.id = a.r WHERE b.n < 400 GROUP BY e ORDER BY e');
-- in a relation's condition: fewer rows are looked up
SELECT * FROM plan('SELECT a.k FROM middle a JOIN large b ON b.id = a.r WHERE EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500) OR EXISTS (SELECT FROM large c WHERE c.id = a.id AND c.n > 700)');
-- in a join's
SELECT * FROM plan('SELECT a.k FROM middle a JOIN large b ON b.id = a.r WHERE EXISTS (SELECT FROM large c WHERE c.id = a.id + b.n AND c.n < 500) OR a.k = b.n');
-- few rows have it run by row still
SELECT * FROM plan('SELECT a.k, EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500) FROM middle a WHERE a.id = 7');
SELECT * FROM plan('SELECT a.k FROM middle a WHERE a.id = 7 AND (EXISTS (SELECT FROM large c WHERE c.id = a.r AND c.n < 500) OR a.k = 3)');

-- partitions compute, group and sort by copies of it
SET enable_partitionwise_aggregate = on;
SET enable_hashagg = off;
SELECT subplans, cheap FROM plan('SELECT id, EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500) AS e, count(*) FROM parts p GROUP BY id, e ORDER BY id, e');
SELECT subplans, cheap FROM plan('SELECT p.id FROM parts p WHERE EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500) OR EXISTS (SELECT FROM large c WHERE c.id = p.n AND c.n > 700)');
SET search_path = engine, local, public;
WITH nodes AS (SELECT id, EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500) AS e, count(*) FROM parts p GROUP BY id, e ORDER BY e, id),
here AS (SELECT id, EXISTS (SELECT FROM local.large c WHERE c.id = p.id AND c.n < 500) AS e, count(*) FROM local.parts p GROUP BY id, e)
SELECT (SELECT count(*) FROM here), (SELECT count(*) FROM (TABLE nodes EXCEPT ALL TABLE here) AS a);
WITH nodes AS (SELECT NOT EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500) AS e, count(*) FROM parts p
	GROUP BY EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500), e HAVING NOT EXISTS (SELECT FROM large c WHERE c.id = p.id AND c.n < 500))
TABLE nodes;
SET search_path = local, public;
