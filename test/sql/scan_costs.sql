-- fdw_startup_cost means what it means to postgres_fdw: it is on each scan.
-- shuttle_round_trip_cost is the price of an answer that is waited for, and of
-- nothing else.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set ECHO none
ANALYZE stock.account, stock.branch, ours.account, ours.branch;
CREATE TABLE pair.here AS SELECT i AS id FROM generate_series(1, 300) i;
ANALYZE pair.here;
CREATE FUNCTION pair.cost(query text, OUT start numeric, OUT total numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	start := plan -> 0 -> 'Plan' ->> 'Startup Cost';
	total := plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
-- How much dearer a query gets when an option of a server is changed.
CREATE FUNCTION pair.change(query text, server text, option text, low text, high text, OUT more numeric) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER SERVER %I OPTIONS (ADD %I %L)', server, option, low);
	more := (pair.cost(query)).total;
	EXECUTE format('ALTER SERVER %I OPTIONS (SET %I %L)', server, option, high);
	more := (pair.cost(query)).total - more;
	EXECUTE format('ALTER SERVER %I OPTIONS (DROP %I)', server, option);
END $$;
\set ECHO all
-- one table: the costs of postgres_fdw
SELECT (pair.cost('SELECT * FROM ours.account')).start, pair.cost('SELECT * FROM ours.account') = pair.cost('SELECT * FROM stock.account') AS same;
SELECT pair.change('SELECT * FROM stock.account', 'stock_node', 'fdw_startup_cost', '100', '350') AS stock,
	pair.change('SELECT * FROM ours.account', 'our_node', 'fdw_startup_cost', '100', '350') AS ours,
	pair.change('SELECT * FROM ours.account', 'our_node', 'shuttle_round_trip_cost', '0', '1000') AS trip;
SELECT pair.change('SELECT * FROM stock.account ORDER BY branch', 'stock_node', 'fdw_startup_cost', '100', '350') AS stock,
	pair.change('SELECT * FROM ours.account ORDER BY branch', 'our_node', 'fdw_startup_cost', '100', '350') AS ours;

-- joins: each scan has it once, also where others price scans anew
SET shuttle.enable_batched_join = on;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'fdw_startup_cost', '100', '350') AS one,
	pair.change('SELECT * FROM ours.branch b JOIN pair.here h ON h.id = b.id JOIN ours.account a ON a.owner = h.id::text', 'our_node', 'fdw_startup_cost', '100', '350') AS two,
	pair.change('SELECT * FROM ours.branch b JOIN pair.here h ON h.id = b.id JOIN ours.account a ON a.owner = h.id::text', 'our_node', 'shuttle_round_trip_cost', '0', '1000') AS trip;
RESET enable_nestloop;
RESET enable_mergejoin;

-- batched joins: keys that are here go out with everything else
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id;
SELECT pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'shuttle_round_trip_cost', '0', '10') AS keys_here;
-- they have what was set beyond the default, for each table that they ask
SELECT pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'fdw_startup_cost', '100', '350') AS ours,
	pair.change('SELECT * FROM pair.here h JOIN stock.account a ON a.id = h.id', 'stock_node', 'fdw_startup_cost', '100', '350') AS stock,
	pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'fdw_startup_cost', '0', '100') AS up_to_the_default;
-- keys that come from a node have to come first
SELECT pair.change('SELECT * FROM stock.branch b JOIN ours.account a ON a.id = b.id', 'our_node', 'shuttle_round_trip_cost', '0', '10') AS keys_there;
-- batches that cannot be under way together
SET shuttle.batches_in_flight = 1;
SET shuttle.batch_size = 30;
SELECT pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'shuttle_round_trip_cost', '0', '10') AS ten_batches;
SET shuttle.batches_in_flight = 5;
SELECT pair.change('SELECT * FROM pair.here h JOIN ours.account a ON a.id = h.id', 'our_node', 'shuttle_round_trip_cost', '0', '10') AS five_at_once;
