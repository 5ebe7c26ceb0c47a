-- trap 9: an error is raised where the join reaches the key that causes it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 40 AS k FROM generate_series(1, 120) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i AS k, i % 5 AS v, 't' || i AS t FROM generate_series(1, 40) i;
CALL test.mirror('b');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND 10 / (b.v - 2) > 0');
SELECT test.same_error('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND 10 / (a.k - 7) > 0');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = 10 / (a.k - 7)');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.t::int = 4');
SELECT test.same_error('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND 10 / (b.v - 2) > 0)');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.id = 2147483647 + a.k');
-- rows in front of the one with the error are what a LIMIT takes; a guest
-- raises what it meets in a request, the engine keeps it for its row
CREATE FUNCTION outcomes(query text) RETURNS TABLE (transport text, outcome text, ways bigint) LANGUAGE sql AS $$
	SELECT t, test.error_of(query, way), count(*) FROM unnest(test.transports()) AS t, test.ways(t) AS way GROUP BY 1, 2 ORDER BY 1, 2 $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_sort = off;
SELECT n, o.* FROM unnest('{1,5,14}'::int[]) n,
	outcomes(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND 10 / (a.k - b.v * 0 - 30) < 100 ORDER BY a.id LIMIT %s', n)) AS o;
SELECT n, o.* FROM unnest('{29,30}'::int[]) n,
	outcomes(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND 10 / (a.k - b.v * 0 - 30) < 100 ORDER BY a.id LIMIT %s', n)) AS o
WHERE o.transport = 'engine';
SELECT o.* FROM outcomes('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND 10 / (a.k - b.v * 0 - 30) < 100) AND a.id < 30') AS o;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_sort;
-- rows that a filter hides from the expression
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v <> 2 AND 10 / (b.v - 2) > 0 WHERE a.k < 10');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND CASE WHEN b.v <> 2 THEN 10 / (b.v - 2) > 0 END');
-- the session goes on after an error, and so does its transaction
SET shuttle.debug_force_batched_join = on;
SET shuttle.batch_size = 4;
CREATE FUNCTION try_and_count(schema text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	PERFORM set_config('search_path', schema || ', local, public', true);
	SELECT count(*) INTO n FROM a JOIN b ON b.k = a.k;
	BEGIN
		SELECT count(*) INTO n FROM a JOIN b ON b.k = a.k AND 10 / (a.k - b.v * 0 - 30) < 100;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	SELECT count(*) + 1000 INTO n FROM a LEFT JOIN b ON b.k = a.k AND b.id = a.id;
	RETURN n;
END $$;
SELECT t, try_and_count(t), try_and_count(t) FROM unnest(test.transports() || 'local'::text) AS t;
BEGIN;
SET LOCAL search_path = guest, local, public;
SAVEPOINT s;
SELECT count(*) FROM a JOIN b ON b.k = a.k AND 10 / (a.k - b.v * 0 - 30) < 100;
ROLLBACK TO s;
SELECT count(*) FROM a JOIN b ON b.k = a.k;
COMMIT;
