-- trap 8: a LIMIT reads little more of the outer side than it needs, and does
-- not ask for whole batches again and again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 5000) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i % 5000 AS k, i % 10 AS v FROM generate_series(1, 5000) i;
CREATE INDEX ON b (k);
CALL test.mirror('b');
SET shuttle.debug_force_batched_join = on;
-- every row finds one: rows that were looked ahead for, against the limit
CREATE FUNCTION reads(query text) RETURNS TABLE (transport text, batches int, keys int) LANGUAGE sql AS $$
	SELECT transport, batches, keys FROM test.numbers(query) $$;
SELECT n, r.* FROM unnest('{0,1,2,10,100,1000}'::int[]) AS n,
	reads(format('SELECT a.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.id LIMIT %s', n)) AS r;
SELECT n, r.* FROM unnest('{0,1,10,100}'::int[]) AS n,
	reads(format('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k) LIMIT %s', n)) AS r;
-- one row in ten finds one
SELECT n, r.transport, r.batches < 10 AS few_batches, r.keys < 60 * n AS few_keys FROM unnest('{1,10,100}'::int[]) AS n,
	reads(format('SELECT a.id FROM a JOIN b ON b.k = a.k AND b.v = 5 LIMIT %s', n)) AS r;
-- a LIMIT that is reached above a sort or an aggregate tells nothing
SELECT r.* FROM reads('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY b.v, a.id LIMIT 1') AS r;
SELECT r.* FROM reads('SELECT count(*) FROM a LEFT JOIN b ON b.k = a.k LIMIT 1') AS r;
-- two joins
SELECT r.* FROM reads('SELECT a.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN b AS c ON c.k = b.id ORDER BY a.id LIMIT 5') AS r;
SELECT r.* FROM reads('SELECT a.id, EXISTS (SELECT FROM a AS x JOIN b ON b.k = x.k OFFSET 0) FROM a WHERE a.id < 3') AS r;
-- an inner side that takes nothing from the outer row is read to the row that
-- matches, but not by one row, two, four
SET shuttle.debug_force_batched_join = off;
SET shuttle.enable_batched_join = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_hashagg = off;
SET enable_sort = off;
CREATE FUNCTION local.twice(n int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 2 * n; END';
SET search_path = engine, local, public;
EXPLAIN (COSTS OFF) SELECT m FROM (VALUES (5000), (4000)) x (m) WHERE EXISTS (SELECT FROM b WHERE local.twice(b.id) = x.m);
SELECT (test.explain('SELECT m FROM (VALUES (5000), (4000)) x (m) WHERE EXISTS (SELECT FROM b WHERE local.twice(b.id) = x.m)',
	('engine', 'engine', false, 64, 1024, false), 'ANALYZE, DIST, TIMING OFF,') ->> 'Storage Read Requests')::int <= 10 AS few_requests;
-- an anti join, too, reads no further than to the row that matches
SELECT word, (test.explain(format('SELECT m FROM (VALUES (20), (40)) x (m) WHERE %s (SELECT FROM b WHERE local.twice(b.id) = x.m)', word),
	('engine', 'engine', false, 64, 1024, false), 'ANALYZE, DIST, TIMING OFF,') ->> 'Storage Rows Returned')::int < 1000 AS few_rows
FROM unnest('{EXISTS,NOT EXISTS}'::text[]) AS word;
RESET search_path;
