-- EXPLAIN of batched joins in every format, executed and not.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 8 AS k FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 12) i;
CREATE TABLE c AS SELECT i AS id, i % 5 AS n FROM generate_series(1, 8) i;
CALL test.mirror('b', 'c');
SET shuttle.debug_force_batched_join = on;
SET search_path = guest, local, public;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.n > a.id;
EXPLAIN (COSTS OFF, VERBOSE) SELECT a.id, c.id FROM a JOIN b ON b.k = a.k JOIN c ON c.n = b.n AND c.id > a.k;
CREATE FUNCTION test.explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		RETURN NEXT regexp_replace(line, 'SubPlan \w+', 'SubPlan');  -- 19 names it
	END LOOP;
END $$;
SELECT * FROM test.explained('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a WHERE EXISTS (SELECT FROM b WHERE b.n = a.k)');
EXPLAIN (COSTS OFF, FORMAT JSON) SELECT a.id FROM a JOIN b ON b.k = a.k \g /dev/null
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT a.id FROM a JOIN b ON b.k = a.k \g /dev/null
EXPLAIN (COSTS OFF, FORMAT XML) SELECT a.id FROM a JOIN b ON b.k = a.k \g /dev/null
-- what Look Ahead says of itself when it was executed
CREATE FUNCTION look_lines(options text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	printed text;
BEGIN
	FOR printed IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, %s) %s', options, query) LOOP
		RETURN QUERY SELECT ltrim(line) FROM string_to_table(printed, E'\n') AS line
			WHERE line ~ '(Batches|Distinct Keys|Distinct-Keys|Keys|Largest.Batch|Most.In.Flight|Served|Alone|Custom.Plan.Provider|never executed)';
	END LOOP;
END $$;
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SELECT look_lines('FORMAT JSON', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SELECT look_lines('FORMAT YAML', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
SELECT look_lines('FORMAT XML', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k');
-- a join that never ran, beside one that did, and one without outer rows
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k LIMIT 0');
SELECT look_lines('FORMAT TEXT', 'SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id < 0');
SELECT look_lines('FORMAT JSON', 'SELECT a.id, s.* FROM a JOIN b ON b.k = a.k LEFT JOIN LATERAL (SELECT x.id FROM a AS x JOIN c ON c.n = x.k WHERE x.id < 3 OFFSET 0) s ON a.id < 0 WHERE a.id < 0');
-- of all transports: the same
SELECT t, look -> 'Batches' AS batches, look -> 'Largest Batch' AS largest, look -> 'Keys' AS keys, look -> 'Distinct Keys' AS distinct_keys,
	look -> 'Served' AS served, look -> 'Alone' AS alone
FROM unnest(test.transports()) AS t,
	test.look_aheads(test.explain('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k', (t, t, true, 7, 1024, false), 'ANALYZE, VERBOSE, TIMING OFF,')) AS look;
