-- Pages: by rows (fetch_limit) or by bytes (fetch_size_limit), of the setting or
-- of an option; how many are asked for ahead; how few where few are wanted.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.parcel AS SELECT i AS id, repeat('x', 1000) AS content FROM generate_series(1, 3000) i;
ALTER TABLE node.parcel ADD PRIMARY KEY (id);
CREATE TABLE node.label AS SELECT i AS id, i % 10 AS kind FROM generate_series(1, 5000) i;
ALTER TABLE node.label ADD PRIMARY KEY (id);
SELECT pair.tables('parcel'), pair.tables('label') \g /dev/null
ANALYZE ours.parcel, ours.label;
-- what a query asked for
CREATE FUNCTION pair.asked(query text, OUT requests int, OUT nrows int)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
	requests := plan->0->'Storage Read Requests';
	nrows := plan->0->'Storage Rows Returned';
END $$;
-- by rows: 5000 are 50 pages, and an empty one where the last was full
SET shuttle.fetch_limit = 100;
SELECT CASE WHEN requests BETWEEN 50 AND 52 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.label');
SET shuttle.fetch_limit = 700;
SELECT CASE WHEN requests BETWEEN 8 AND 9 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.label');
ALTER SERVER our_node OPTIONS (ADD fetch_size '500');
SELECT CASE WHEN requests BETWEEN 10 AND 12 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.label');
ALTER SERVER our_node OPTIONS (ADD shuttle_fetch_limit '1000');
SELECT CASE WHEN requests BETWEEN 5 AND 7 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.label');
ALTER FOREIGN TABLE ours.label OPTIONS (ADD shuttle_fetch_limit '250');
SELECT CASE WHEN requests BETWEEN 20 AND 22 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.label');
ALTER SERVER our_node OPTIONS (DROP fetch_size, DROP shuttle_fetch_limit);
-- by bytes: 3000 rows of 1 kB are 3 MB
SET shuttle.fetch_limit = 100000;
SELECT CASE WHEN requests BETWEEN 3 AND 6 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.parcel');
SET shuttle.fetch_size_limit = '100kB';
SELECT CASE WHEN requests BETWEEN 30 AND 40 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.parcel');
ALTER SERVER our_node OPTIONS (ADD shuttle_fetch_size_limit '50kB');
SELECT CASE WHEN requests BETWEEN 60 AND 80 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.parcel');
ALTER FOREIGN TABLE ours.parcel OPTIONS (ADD shuttle_fetch_size_limit '300kB');
SELECT CASE WHEN requests BETWEEN 10 AND 14 THEN 0 ELSE requests END AS wrong_pages, nrows FROM pair.asked('SELECT * FROM ours.parcel');
ALTER SERVER our_node OPTIONS (DROP shuttle_fetch_size_limit);
ALTER FOREIGN TABLE ours.parcel OPTIONS (DROP shuttle_fetch_size_limit);
RESET shuttle.fetch_limit;
RESET shuttle.fetch_size_limit;

-- asked for ahead: a scan that is started and then not read, because the other
-- side of its join is empty, has asked for half of fetch_ahead; two scans for no
-- more than one
CREATE TABLE nobody (id int);
ANALYZE nobody;
SET shuttle.fetch_size_limit = '10kB';
SET enable_nestloop = off;
SET enable_mergejoin = off;
CREATE FUNCTION pair.ahead(size text, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	allowed double precision;
	asked double precision;
BEGIN
	PERFORM set_config('shuttle.fetch_ahead', size, true);
	SELECT requests * 10 INTO asked FROM pair.asked(query);
	allowed := pg_size_bytes(size) / 1024 / 2;
	RETURN CASE WHEN asked > allowed THEN 'too much: ' || asked
		WHEN asked < 0.7 * allowed THEN 'too little: ' || asked
		ELSE 'as much as is allowed' END;
END $$;
SELECT pair.ahead('200kB', 'SELECT * FROM ours.parcel JOIN nobody USING (id)');
SELECT pair.ahead('1MB', 'SELECT * FROM ours.parcel JOIN nobody USING (id)');
SELECT pair.ahead('1MB', 'SELECT * FROM (SELECT * FROM ours.parcel UNION ALL SELECT * FROM ours.parcel) p JOIN nobody USING (id)');
ALTER SERVER our_node OPTIONS (ADD shuttle_fetch_ahead '200kB');
SELECT requests BETWEEN 8 AND 10 AS by_option FROM pair.asked('SELECT * FROM ours.parcel JOIN nobody USING (id)');
ALTER SERVER our_node OPTIONS (DROP shuttle_fetch_ahead);
RESET shuttle.fetch_size_limit;
RESET enable_nestloop;
RESET enable_mergejoin;
DROP TABLE nobody;

-- LIMIT: at most two pages, whatever stands between it and the scans
SELECT * FROM pair.asked('SELECT * FROM ours.parcel LIMIT 1');
SELECT * FROM pair.asked('SELECT * FROM ours.parcel WHERE pair.here(id) > 0 LIMIT 1');
SELECT * FROM pair.asked('SELECT p.content FROM ours.parcel p JOIN ours.label l ON l.id = p.id LIMIT 1');
SELECT * FROM pair.asked('SELECT p.content FROM ours.parcel p JOIN ours.label l ON l.id = p.id WHERE pair.here(p.id + l.id) > 0 LIMIT 1');
SELECT * FROM pair.asked('SELECT p.content FROM ours.parcel p, LATERAL (SELECT * FROM ours.label l WHERE l.id = p.id OFFSET 0) l LIMIT 1');
SELECT * FROM pair.asked('SELECT p.content, (SELECT kind FROM ours.label l WHERE l.id = p.id) FROM ours.parcel p LIMIT 1');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT requests <= 2 AS few, nrows <= 64 AS short FROM pair.asked('SELECT p.content FROM (SELECT * FROM ours.parcel ORDER BY id OFFSET 0) p JOIN (SELECT * FROM ours.label ORDER BY id OFFSET 0) l ON l.id = p.id LIMIT 1');
RESET enable_nestloop;
SET enable_mergejoin = off;
SELECT requests <= 2 AS few, nrows <= 33 AS short FROM pair.asked('SELECT p.content FROM ours.parcel p LEFT JOIN (SELECT * FROM ours.label OFFSET 0) l ON l.id = p.id LIMIT 1');
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT * FROM pair.asked('SELECT EXISTS (SELECT FROM ours.parcel WHERE pair.here(id) > 0)');
