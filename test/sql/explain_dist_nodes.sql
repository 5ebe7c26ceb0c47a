-- EXPLAIN (ANALYZE, DIST) of batched joins over both transports, and of writes.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, 200) i;
CREATE UNIQUE INDEX ON remote (id);
CREATE TABLE driving AS SELECT CASE WHEN i <= 50 THEN i % 30 END AS k FROM generate_series(1, 60) i;
CALL test.loopback('ours', 'shuttle');
CALL test.loopback('theirs', 'postgres_fdw');
CREATE FOREIGN TABLE engine (id int, v text) SERVER ours OPTIONS (table_name 'remote');
CREATE FOREIGN TABLE guest (id int, v text) SERVER theirs OPTIONS (table_name 'remote');
ANALYZE remote, driving, engine, guest;
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
-- every label with its number; times and bytes only whether they are there
CREATE FUNCTION test.raw(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE statement;
END $$;
CREATE FUNCTION test.lines(statement text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(line, '\m(Scanned|Sent|Received|Usage): [0-9.]+', '\1: N'), ' \(actual.*', '')
	FROM (SELECT regexp_replace(l, '^ *->  ', '') AS line
		FROM test.raw('EXPLAIN (ANALYZE, DIST, COSTS OFF, BUFFERS OFF, TIMING OFF) ' || statement) l) x
	WHERE line !~ '(Planning|Execution) Time|Planning:|Filter|Relations|Memory: '
$$;
SELECT test.lines('SELECT * FROM driving LEFT JOIN engine ON id = k');
SELECT test.lines('SELECT * FROM driving LEFT JOIN guest ON id = k');
SET shuttle.batch_size = 20;
SELECT line FROM test.lines('SELECT * FROM driving LEFT JOIN engine ON id = k') line WHERE line ~ 'Batches|Keys|Largest|Served|Alone|Requests';
SET shuttle.batch_size = 1;
SELECT line FROM test.lines('SELECT * FROM driving LEFT JOIN engine ON id = k') line WHERE line ~ 'Batches|Keys|Largest|Served|Alone|Requests';
RESET shuttle.batch_size;
-- a join that never ran
SELECT test.lines('SELECT * FROM driving LEFT JOIN engine ON id = k LIMIT 0');
-- writes
SELECT test.lines('INSERT INTO engine SELECT id + 1000, v FROM engine WHERE id <= 3');
SELECT test.lines($$UPDATE engine SET v = 'direct' WHERE id > 1000$$);
SELECT test.lines($$DELETE FROM engine WHERE id > 1000 AND v <> (random() || 'x')$$);
SELECT count(*) FROM remote;
RESET shuttle.debug_force_batched_join;
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP SERVER ours, theirs CASCADE;
DROP TABLE remote, driving;
DROP FUNCTION test.lines, test.raw;
