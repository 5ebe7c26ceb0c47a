-- An input of a join that nodes work long for is not sent before the other input has
-- a row.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/early.sql
CREATE FUNCTION pair.requests(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 ->> 'Storage Read Requests';
END $$;
ALTER SERVER node1 OPTIONS (SET fdw_tuple_cost '1000', ADD shuttle_round_trip_cost '100');
ALTER SERVER node2 OPTIONS (SET fdw_tuple_cost '1000', ADD shuttle_round_trip_cost '100');
ALTER SERVER node3 OPTIONS (SET fdw_tuple_cost '1000', ADD shuttle_round_trip_cost '100');
CREATE TABLE pair.empty (id int);
CREATE TABLE pair.one AS SELECT 7 AS id;
ANALYZE pair.one;
-- nested loops
EXPLAIN (COSTS OFF) SELECT * FROM pair.empty e LEFT JOIN other_account f ON e.id <> f.id;
SELECT pair.requests('SELECT * FROM pair.empty e LEFT JOIN other_account f ON e.id <> f.id');
SELECT count(f.id) > 1 AS found FROM pair.one e LEFT JOIN other_account f ON e.id <> f.id;
-- when it has come, all nodes are asked at the same time
SELECT * FROM pair.one LEFT JOIN
	(SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3) u ON one.id <> u.id ORDER BY u.id;
WITH u AS MATERIALIZED (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3)
SELECT * FROM pair.one LEFT JOIN u ON one.id <> u.id ORDER BY u.id;
-- hash joins look for a row first, too
SET enable_mergejoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) WITH c AS MATERIALIZED (SELECT * FROM other_account WHERE balance = 5 UNION ALL SELECT * FROM nodes_account WHERE balance = 5)
SELECT * FROM account a JOIN c ON c.id = a.id WHERE a.id < 0;
SELECT pair.requests('WITH c AS MATERIALIZED (SELECT * FROM other_account WHERE balance = 5 UNION ALL SELECT * FROM nodes_account WHERE balance = 5)
	SELECT * FROM account a JOIN c ON c.id = a.id WHERE a.id < 0');
RESET enable_mergejoin;
RESET enable_nestloop;
-- if a round trip costs as much, nothing waits
ALTER SERVER node2 OPTIONS (SET shuttle_round_trip_cost '1000000000');
SELECT pair.requests('SELECT * FROM pair.empty e LEFT JOIN other_account f ON e.id <> f.id');
