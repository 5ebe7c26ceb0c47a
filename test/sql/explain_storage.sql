-- What a node checks, and with shuttle.explain_remote its own plan, as EXPLAIN shows it.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, g int, t text);
INSERT INTO here.t SELECT i, i % 7, 't' || i % 13 FROM generate_series(1, 4000) i;
CALL smart.distribute('t', '{1,1001,2001,3001,4001}');
CREATE INDEX ON node1.t (k);
ANALYZE node1.t;
SET search_path = dist;
CREATE FUNCTION smart.is_wanted(t text, n int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT t LIKE ''t1%'' AND n % 2 = 0';
CREATE FUNCTION smart.here(i int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
-- Scans with their conditions, and the nodes' plans.
CREATE FUNCTION smart.lines(query text, options text DEFAULT 'DIST, COSTS OFF') RETURNS SETOF text
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	line text;
	label_at int;
	at int;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		at := length(line) - length(ltrim(line));
		label_at := CASE WHEN line ~ '^ *Remote Plan:' THEN at WHEN at > label_at THEN label_at END;
		IF label_at IS NOT NULL OR line ~ '^ *((->  )?Foreign Scan|Storage Filter:|Filter:)' THEN
			RETURN NEXT replace(line, '.00 loops', ' loops');
		END IF;
	END LOOP;
END $$;
-- functions that are inlined show as what they are; what stays here is no part of it
SELECT * FROM smart.lines('SELECT * FROM t1 WHERE smart.is_wanted(t, g) AND smart.here(g) > 2 AND k < 100');
SELECT * FROM smart.lines('SELECT * FROM t1 x, t2 y WHERE x.g = smart.here(y.k) AND x.k = (SELECT 5) AND y.t = ''a''');
SELECT * FROM smart.lines('SELECT * FROM t1');
SELECT * FROM smart.lines('SELECT * FROM t1 WHERE k = 1', 'COSTS OFF');
SELECT * FROM smart.lines('SELECT * FROM t1 WHERE now() > ''2020-01-01'' AND k = ANY (ARRAY[1, 2])');
-- below a batched join the key is a parameter
SET shuttle.debug_force_batched_join = on;
SELECT * FROM smart.lines('SELECT * FROM generate_series(1, 3) i, t1 WHERE k = i AND g > 2');
-- the node's plan
SET shuttle.explain_remote = on;
\set options '''ANALYZE, DIST, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF'''
SELECT count(*) > 3 AS shown FROM smart.lines('SELECT * FROM generate_series(1, 3) i, t1 WHERE k = i AND g > 2', :options);
-- a request for one key alone is another statement
SET shuttle.batch_size = 3;
SELECT regexp_replace(regexp_replace(line, '\(actual.*', ''), 'SELECT .* CROSS JOIN', 'SELECT ...') AS line
FROM smart.lines('SELECT * FROM generate_series(1, 4) i, t1 WHERE k = i AND g >= 0', :options) line WHERE line !~ 'Cond|Filter|InitPlan|Result';
RESET shuttle.batch_size;
RESET shuttle.debug_force_batched_join;
SELECT * FROM smart.lines('SELECT g, count(*) FROM t1 GROUP BY g', :options);
SELECT * FROM smart.lines('SELECT k FROM t1 WHERE k = (SELECT 7)', :options);
SELECT * FROM smart.lines('SELECT k FROM t1 WHERE k = 1', 'DIST, VERBOSE, COSTS OFF');
SELECT * FROM smart.lines('SELECT k FROM t1 WHERE k = 1', 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT * FROM smart.lines('SELECT k FROM t1 WHERE k = 1 LIMIT 0', :options);
-- parameters have the values that were sent
SET plan_cache_mode = force_generic_plan;
PREPARE part(int) AS SELECT g FROM t1 WHERE k = $1;
SELECT * FROM smart.lines('EXECUTE part(3)', :options);
RESET plan_cache_mode;
CREATE FUNCTION smart.property(label text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, format('$.**.%I', label)::jsonpath);
END $$;
SELECT smart.property('Remote Plan', 'SELECT k FROM dist.t1 WHERE k = 1'), smart.property('Storage Filter', 'SELECT k FROM dist.t1 WHERE k = 1');
-- what the node refuses is told, and harms nothing
CREATE FUNCTION node1.not_explained() RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_query() LIKE 'EXPLAIN%' THEN
		RAISE 'this is not explained';
	END IF;
	RETURN true;
END $$;
CREATE VIEW node1.v AS SELECT k FROM node1.t WHERE node1.not_explained();
CREATE FOREIGN TABLE dist.v (k int) SERVER smart1 OPTIONS (schema_name 'node1');
BEGIN;
SELECT * FROM smart.lines('SELECT k FROM v WHERE k = 1', :options);
SELECT count(*) FROM v WHERE k < 4;
COMMIT;
-- nothing is executed twice
CREATE SEQUENCE node1.calls;
CREATE VIEW node1.w AS SELECT nextval('node1.calls') AS n;
CREATE FOREIGN TABLE dist.w (n bigint) SERVER smart1 OPTIONS (schema_name 'node1', shuttle_volatile 'true');
SELECT * FROM smart.lines('SELECT n FROM w', :options);
SELECT n FROM w;
