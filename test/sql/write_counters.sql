-- EXPLAIN (ANALYZE, DIST) of writes: rows sent, and the requests that carried them.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE FUNCTION pair.counters(statement text) RETURNS TABLE (node text, write_requests int, flush_requests int, read_requests int, returned int)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
	RETURN QUERY
	WITH RECURSIVE nodes(n) AS (
		SELECT plan -> 0 -> 'Plan'
		UNION ALL
		SELECT json_array_elements(n -> 'Plans') FROM nodes)
	SELECT n ->> 'Node Type', (n ->> 'Storage Write Requests')::int, (n ->> 'Storage Flush Requests')::int,
		(n ->> 'Storage Read Requests')::int, (n ->> 'Storage Rows Returned')::int FROM nodes
	UNION ALL
	SELECT 'all', (plan -> 0 ->> 'Storage Write Requests')::int, (plan -> 0 ->> 'Storage Flush Requests')::int,
		(plan -> 0 ->> 'Storage Read Requests')::int, (plan -> 0 ->> 'Storage Rows Returned')::int;
END $$;
SET search_path = ours;
SELECT * FROM pair.counters('INSERT INTO account SELECT i + 1000 FROM generate_series(1, 20) i');
ALTER FOREIGN TABLE account OPTIONS (ADD batch_size '7');
SELECT * FROM pair.counters('INSERT INTO account SELECT i + 2000 FROM generate_series(1, 20) i');
SELECT * FROM pair.counters('UPDATE account SET balance = 0 WHERE id <= 10');
SELECT * FROM pair.counters('UPDATE account SET balance = 0 WHERE id <= 10 RETURNING id');
SELECT * FROM pair.counters('DELETE FROM account WHERE id > 1000 AND pair.here(id) % 4 = 0');
SELECT * FROM pair.counters('SELECT count(*) FROM account');
SELECT * FROM pair.counters('SELECT * FROM account WHERE id = 7');
SELECT * FROM pair.counters('SELECT * FROM account ORDER BY id LIMIT 7');
-- a filter here wants more rows: six times as many, or those that come at once
SELECT * FROM pair.counters('SELECT id FROM account WHERE pair.here(id) > 0 ORDER BY id LIMIT 7');
RESET search_path;
