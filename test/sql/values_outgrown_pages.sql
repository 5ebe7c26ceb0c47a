-- An answer of more rows than a page, where few were expected: it is kept, and not
-- computed again by a cursor, unless its rows would be too many or too wide.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.parcel AS SELECT i AS id, repeat('x', 900) AS content FROM generate_series(1, 6000) i;
CREATE TABLE node.label AS SELECT i AS id, i % 10 AS kind FROM generate_series(1, 5000) i;
SELECT pair.tables('parcel'), pair.tables('label') \g /dev/null
ANALYZE ours.parcel, ours.label;
CREATE FUNCTION pair.asked(query text, OUT requests int, OUT nrows int)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
	requests := plan->0->'Storage Read Requests';
	nrows := plan->0->'Storage Rows Returned';
END $$;
-- 25 rows are expected, and 2500 come
SELECT * FROM pair.asked('SELECT * FROM ours.label WHERE id % 2 = 0');
SELECT pair.same('SELECT * FROM label WHERE id % 2 = 0');
-- at most 16 pages, whose size is the setting's
SET shuttle.fetch_limit = 100;
SELECT requests > 1 AS again, nrows > 2500 AS twice FROM pair.asked('SELECT * FROM ours.label WHERE id % 2 = 0');
SELECT pair.same('SELECT * FROM label WHERE id % 2 = 0');
SELECT * FROM pair.asked('SELECT * FROM ours.label WHERE id % 4 = 0');
RESET shuttle.fetch_limit;
-- wide rows: no more than the size of two pages
SELECT * FROM pair.asked('SELECT * FROM ours.parcel WHERE id % 4 = 0');
SELECT requests > 1 AS again, nrows > 3000 AS twice FROM pair.asked('SELECT * FROM ours.parcel WHERE id % 2 = 0');
SELECT pair.same('SELECT * FROM parcel WHERE id % 2 = 0');
