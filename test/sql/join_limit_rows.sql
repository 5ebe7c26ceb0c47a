-- trap 7: a LIMIT reaches the batches by way of the plan, as far as rows are
-- handed on as they come: nodes send at most twice the rows that are needed.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i AS k, i % 10 AS v, i % 3 AS g FROM generate_series(1, 10000) i;
CREATE UNIQUE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i AS k, i % 10 AS v FROM generate_series(1, 10000) i;
CREATE INDEX ON b (k);
CREATE TABLE c AS SELECT i AS id, (i + 3) / 4 AS k, i % 10 AS v FROM generate_series(1, 40000) i;
CREATE INDEX ON c (k);
CREATE FUNCTION test.here(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i >= 0; END';
CALL test.mirror('a', 'b', 'c');
ANALYZE guest.a, guest.b, guest.c, engine.a, engine.b, engine.c;
-- needed: rows of all nodes that the first rows of the answer come from
CREATE TABLE queries (nr int, needed int, query text);
INSERT INTO queries VALUES
	(1, 5, 'SELECT a.id FROM local.a JOIN b ON b.k = a.k LIMIT 5'),
	(2, 5, 'SELECT a.id FROM local.a LEFT JOIN b ON b.k = a.k ORDER BY a.id LIMIT 5'),
	(3, 25, 'SELECT a.id FROM local.a JOIN b ON b.k = a.k ORDER BY a.id LIMIT 5 OFFSET 20'),
	(4, 5, 'SELECT a.id FROM local.a JOIN b ON b.k = a.k AND b.v = 5 ORDER BY a.id LIMIT 5'),
	(5, 45, 'SELECT a.id FROM local.a LEFT JOIN b ON b.k = a.k WHERE b.v = 5 OR b.v IS NULL ORDER BY a.id LIMIT 5'),
	-- four rows a key
	(6, 8, 'SELECT a.id FROM local.a JOIN c ON c.k = a.k ORDER BY a.id LIMIT 5'),
	(7, 5, 'SELECT a.id FROM local.a WHERE EXISTS (SELECT FROM c WHERE c.k = a.k) ORDER BY a.id LIMIT 5'),
	(8, 41, 'SELECT a.id FROM local.a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.v < 9) ORDER BY a.id LIMIT 5'),
	(9, 5, 'SELECT a.id, (SELECT count(*) FROM c WHERE c.k = a.k) FROM local.a ORDER BY a.id LIMIT 5'),
	(10, 6, 'SELECT a.id, s.* FROM local.a, LATERAL (SELECT c.id FROM c WHERE c.k = a.k ORDER BY c.id LIMIT 2) s ORDER BY a.id LIMIT 5'),
	-- three tables
	(11, 10, 'SELECT a.id FROM local.a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.k ORDER BY a.id LIMIT 5'),
	(12, 10, 'SELECT a.id FROM local.a JOIN b ON b.k = a.k JOIN c ON c.k = b.id ORDER BY a.id LIMIT 5'),
	-- EXISTS, once
	(13, 1, 'SELECT EXISTS (SELECT FROM local.a JOIN b ON b.k = a.k)'),
	(14, 1, 'SELECT EXISTS (SELECT FROM local.a JOIN b ON b.k = a.k AND b.v = 9)'),
	-- nodes that look at a row more than they hand on
	(15, 6, 'SELECT a.id FROM local.a JOIN b ON b.k = a.k GROUP BY a.id ORDER BY a.id LIMIT 5'),
	(16, 6, 'SELECT DISTINCT a.id FROM local.a JOIN b ON b.k = a.k ORDER BY a.id LIMIT 5'),
	(17, 6, 'SELECT DISTINCT ON (a.id) a.id, b.id FROM local.a LEFT JOIN b ON b.k = a.k ORDER BY a.id LIMIT 5'),
	(18, 6, 'SELECT a.id, row_number() OVER (ORDER BY a.id) FROM local.a JOIN b ON b.k = a.k ORDER BY a.id LIMIT 5'),
	(19, 6, 'SELECT a.id, a.g FROM local.a JOIN b ON b.k = a.k ORDER BY a.id, a.g LIMIT 5'),
	(20, 6, 'SELECT a.id, count(b.id) FROM local.a LEFT JOIN b ON b.k = a.k GROUP BY a.id ORDER BY a.id LIMIT 5'),
	(21, 5, 'SELECT id FROM (SELECT a.id FROM local.a JOIN b ON b.k = a.k UNION ALL SELECT a.id FROM local.a JOIN b ON b.k = a.k) x LIMIT 5'),
	(22, 12, 'SELECT s.id FROM (SELECT a.id, b.v FROM local.a LEFT JOIN b ON b.k = a.k ORDER BY a.id OFFSET 0) s
		JOIN (SELECT a.id, b.v FROM local.a LEFT JOIN b ON b.k = a.k ORDER BY a.id OFFSET 0) t ON t.id = s.id LIMIT 5'),
	-- a foreign outer side
	(23, 10, 'SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND test.here(b.v + a.v) ORDER BY a.id LIMIT 5'),
	(24, 10, 'SELECT a.id, c.id FROM a JOIN c ON c.k = a.k AND test.here(c.v + a.v) ORDER BY a.id LIMIT 5'),
	(25, 5, 'SELECT a.id, l.id FROM a LEFT JOIN local.b l ON l.k = a.k ORDER BY a.id LIMIT 5');
CREATE FUNCTION fetched(query text, OUT transport text, OUT nrows int, OUT requests int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO printed;
		nrows := printed -> 0 ->> 'Storage Rows Returned';
		requests := printed -> 0 ->> 'Storage Read Requests';
		RETURN NEXT;
	END LOOP;
END $$;
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
SET enable_hashagg = off;
SET enable_sort = off;
SELECT nr, needed, f.* FROM queries, fetched(query) AS f WHERE f.nrows > 2 * needed OR f.nrows = 0 AND f.transport = 'engine' ORDER BY nr, transport;
SELECT transport, count(*), max(f.requests) <= 4 AS few_requests FROM queries, fetched(query) AS f GROUP BY 1 ORDER BY 1;
-- rows of a scan under a LIMIT are as many as it says, and then double
SET shuttle.debug_force_batched_join = off;
SELECT n, f.nrows <= 2 * n AS few_rows, f.requests <= 12 AS few_requests FROM unnest('{1,10,100,1000,5000}'::int[]) n,
	fetched(format('SELECT count(*) FROM (SELECT a.id FROM a JOIN local.b l ON l.k = a.id AND l.v >= 0 ORDER BY a.id LIMIT %s) x', n)) AS f
WHERE f.transport = 'engine';
-- one row in fifty finds one, which nobody knows
SELECT n, f.nrows <= 2 * 50 * n + 100 AS few_rows, f.requests <= 12 AS few_requests FROM unnest('{1,10,100}'::int[]) n,
	fetched(format('SELECT count(*) FROM (SELECT a.id FROM a JOIN local.b l ON l.k = a.id AND (l.v + a.k) %% 50 < 1 ORDER BY a.id LIMIT %s) x', n)) AS f
WHERE f.transport = 'engine';
-- what reads all of its input has no goal for it
SET shuttle.debug_force_batched_join = on;
SELECT f.nrows FROM fetched('SELECT a.id, count(*) OVER () FROM local.a JOIN b ON b.k = a.k LIMIT 5') AS f;
SELECT f.nrows FROM fetched('SELECT a.id, b.id FROM local.a LEFT JOIN b ON b.k = a.k ORDER BY b.v, a.id LIMIT 5') AS f;
RESET enable_sort;
RESET shuttle.debug_force_batched_join;
SELECT nr, test.same_order(query) FROM queries WHERE nr BETWEEN 15 AND 24 AND nr <> 21 ORDER BY nr;
