-- The round trip that a plan was made for: by option, assumed, measured.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id FROM generate_series(1, 20) i;
CALL test.loopback('far');
CREATE FOREIGN TABLE ft (id int) SERVER far OPTIONS (table_name 'remote');
CREATE FUNCTION trips(options text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT trim(l)
	FROM test.explained('EXPLAIN (' || options || ') SELECT * FROM ft a, ft b WHERE b.id = a.id + 1') l
	WHERE l ~ 'Round Trip'
$$;
SELECT shuttle.reset_node_stats('far') \g /dev/null
-- the first statement is planned before anything was measured
SELECT round_trip_ms FROM shuttle.node_stats WHERE server = 'far';
SELECT DISTINCT trips('DIST, VERBOSE');
SELECT DISTINCT trips('ANALYZE, DIST, VERBOSE');
SELECT DISTINCT trips('DIST, VERBOSE');
SELECT round_trip_ms > 0 AS known FROM shuttle.node_stats WHERE server = 'far';
ALTER SERVER far OPTIONS (ADD shuttle_round_trip_cost '300');
SELECT DISTINCT trips('DIST, VERBOSE');
-- only if asked for
SELECT count(*) FROM unnest('{DIST,VERBOSE,"DIST, VERBOSE, COSTS OFF"}'::text[]) o, trips(o);
DROP FUNCTION trips;
DROP SERVER far CASCADE;
DROP TABLE remote;
