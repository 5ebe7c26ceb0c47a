-- EXPLAIN (ANALYZE, DIST): what a scan shows, in every format, and the totals.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, 20) i;
CALL test.loopback('far');
CREATE FOREIGN TABLE ft (id int, v text) SERVER far OPTIONS (table_name 'remote');
ANALYZE remote, ft;
-- only our lines; core's differ between versions
CREATE FUNCTION test.ours(statement text) RETURNS SETOF text LANGUAGE sql AS
$$SELECT line FROM test.explained(statement) line WHERE line ~* 'storage|memory|planning.time|execution.time'$$;
SELECT * FROM test.ours('EXPLAIN (ANALYZE, DIST, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
SELECT * FROM test.ours('EXPLAIN (ANALYZE, DIST, VERBOSE, TIMING OFF, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
SELECT * FROM test.ours('EXPLAIN (ANALYZE, DIST, SUMMARY OFF, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
SELECT l FROM test.ours('EXPLAIN (ANALYZE, DIST, BUFFERS OFF, COSTS OFF, FORMAT YAML) SELECT * FROM ft') s, regexp_split_to_table(s, '\n') l
WHERE l ~* 'storage|memory';
SELECT l FROM test.ours('EXPLAIN (ANALYZE, DIST, BUFFERS OFF, COSTS OFF, FORMAT XML) SELECT * FROM ft') s, regexp_split_to_table(s, '\n') l
WHERE l ~* 'storage|memory';
-- no lines without ANALYZE, without DIST, with DIST off
SELECT * FROM test.ours('EXPLAIN (DIST, COSTS OFF) SELECT * FROM ft');
SELECT * FROM test.ours('EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
SELECT * FROM test.ours('EXPLAIN (ANALYZE, DIST OFF, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
SELECT * FROM test.ours('EXPLAIN (ANALYZE, DIST, DIST OFF, BUFFERS OFF, COSTS OFF) SELECT * FROM ft');
-- the numbers
WITH e AS (SELECT test.dist_json('SELECT * FROM ft') AS j)
SELECT j #> '{Plan,Storage Read Requests}' AS requests, j #> '{Plan,Storage Rows Scanned}' AS scanned,
	j #> '{Plan,Storage Rows Returned}' AS returned,
	(j #>> '{Plan,Storage Bytes Sent}')::int > 0 AS sent, (j #>> '{Plan,Storage Bytes Received}')::int > 20 AS received,
	(j #>> '{Plan,Storage Read Time}')::numeric >= 0 AS waited
FROM e;
-- the totals are the sum of the nodes, and of this statement alone
SELECT key, value::text::numeric = coalesce((SELECT sum((node ->> key)::numeric) FROM json_array_elements(j #> '{Plan,Plans}') node), 0) AS adds_up
FROM test.dist_json('SELECT * FROM ft UNION ALL SELECT * FROM ft') j, json_each(j) WHERE key LIKE 'Storage%' ORDER BY key;
SELECT j ->> 'Storage Read Requests' AS requests, j ->> 'Storage Rows Scanned' AS scanned, j ->> 'Storage Rows Returned' AS returned
FROM test.dist_json('SELECT * FROM ft UNION ALL SELECT * FROM ft') j;
SELECT (j ->> 'Peak Memory Usage')::int >= 0 AS memory FROM test.dist_json('SELECT * FROM ft') j;
SELECT j ->> 'Storage Read Requests' AS requests, j ->> 'Storage Rows Returned' AS returned FROM test.dist_json('SELECT 1') j;
-- what is wrong is refused as core does
EXPLAIN (DIST perhaps) SELECT 1;
EXPLAIN (ANALYZE, DUST) SELECT 1;
DROP SERVER far CASCADE;
DROP TABLE remote;
DROP FUNCTION test.ours;
