-- trap 13: an error of an outer row belongs to that row. What stops before it, a
-- LIMIT, an EXISTS, a cursor or a join, does not see it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i % 7 AS k, 't' || i AS t FROM generate_series(1, 60) i;
CREATE TABLE p AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 20) i;
CREATE TABLE i AS SELECT i AS id, i % 7 AS k, i * 10 AS v FROM generate_series(1, 70) i;
CREATE INDEX ON i (id);
CREATE INDEX ON i (k);
CREATE INDEX ON i (v);
CALL test.mirror('i');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_sort = off;
-- what one way says: the rows or the error
CREATE FUNCTION test.outcome(query text, way test.way) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN test.answer(query, way);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- rows of a cursor that is fetched row by row, up to the error or the last one
CREATE FUNCTION test.fetched(query text, way test.way) RETURNS text LANGUAGE plpgsql
SET search_path FROM CURRENT
SET shuttle.enable_batched_join FROM CURRENT
SET shuttle.debug_force_batched_join FROM CURRENT
SET shuttle.batch_size FROM CURRENT
SET shuttle.request_limit FROM CURRENT
SET shuttle.debug_spoil_look_ahead FROM CURRENT
AS $$
DECLARE
	c refcursor;
	r record;
	seen text[];
BEGIN
	PERFORM test.set_way(way);
	OPEN c FOR EXECUTE query;
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		seen := seen || r::text;
	END LOOP;
	RETURN seen::text || ' to the end';
EXCEPTION WHEN OTHERS THEN
	RETURN coalesce(seen::text, 'nothing') || ' ' || SQLSTATE || ' ' || SQLERRM;
END $$;
-- both by a statement and by a cursor, batched: other plans may read other rows; the
-- first way that differs is told
CREATE FUNCTION test.same_outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	stock test.way := ('local', NULL, false, 1024, 1024, false);
	outcome text := test.outcome(query, stock);
	fetched text := test.fetched(query, stock);
	way test.way;
BEGIN
	FOR way IN SELECT w.* FROM unnest(test.transports()) AS t, test.ways_of(query, t) AS w WHERE w.batched LOOP
		IF test.outcome(query, way) <> outcome THEN
			RETURN format('DIFFERENT: %s: %s, and not %s', way.label, test.outcome(query, way), outcome);
		ELSIF test.fetched(query, way) <> fetched THEN
			RETURN format('DIFFERENT by a cursor: %s: %s, and not %s', way.label, test.fetched(query, way), fetched);
		END IF;
	END LOOP;
	RETURN left(outcome, 60) || ', ' || test.batched_or_not(query);
END $$;
-- whether the plan looks ahead at all
CREATE FUNCTION test.batched_or_not(query text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT CASE WHEN looks > 0 THEN 'looks ahead' ELSE 'DOES NOT LOOK AHEAD' END, ', ')
	FROM unnest(test.transports()) AS t, LATERAL (SELECT count(*) AS looks FROM test.look_aheads(test.explain(query, ('', t, true, 1024, 1024, false), 'COSTS OFF,'))) x $$;

-- the error is in row 6: a LIMIT in front of it, at it, behind it
SELECT n, test.same_outcome(format('SELECT id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (id - 6) < 1000 LIMIT %s', n)) FROM unnest('{1,3,5,6,7}'::int[]) n;
SELECT n, test.same_outcome(format('SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 6) < 1000 LIMIT %s', n)) FROM unnest('{1,5,6}'::int[]) n;
SELECT test.same_outcome('SELECT o.id, i.v FROM o LEFT JOIN i ON i.k = o.k AND i.id < 30 WHERE 10 / (o.id - 6) < 1000 LIMIT 11');
SELECT test.same_outcome('SELECT id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (id - 6) < 1000 AND (SELECT v FROM i WHERE i.id = o.id) > 20 LIMIT 3');
-- values that are computed, texts that are no numbers, functions of others
SELECT test.same_outcome('SELECT q, (SELECT v FROM i WHERE i.id = x.q) FROM (SELECT 10 / (id - 6) AS q FROM o OFFSET 0) x LIMIT 5');
SELECT test.same_outcome('SELECT x.n, i.v FROM (SELECT substr(t, CASE WHEN id = 9 THEN 1 ELSE 2 END)::int AS n FROM o OFFSET 0) x LEFT JOIN i ON i.id = x.n LIMIT 8');
CREATE FUNCTION test.checked(int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN IF $1 = 6 THEN RAISE EXCEPTION 'no six'; END IF; RETURN $1; END $$;
SELECT test.same_outcome('SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE test.checked(o.id) > 0 LIMIT 5');
SELECT test.same_outcome('SELECT o.id, i.v FROM o LEFT JOIN i ON i.k = o.k AND i.id < 9 WHERE test.checked(o.id) > 0 LIMIT 6');
SELECT test.same_outcome('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE test.checked(o.id) > 0 LIMIT 6');
-- outer sides that are joins, aggregates, unions, subqueries, CTEs
SELECT test.same_outcome('SELECT x.id, i.v FROM (SELECT o.id FROM o LEFT JOIN p ON p.k = o.k AND 10 / (o.id - 6) < 1000 OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 9');
SET enable_hashjoin = on;
SELECT test.same_outcome('SELECT x.id, i.v FROM (SELECT o.id FROM o LEFT JOIN p ON p.k = o.k AND 10 / (o.id - 6 + p.k * 0) < 1000 OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 3');
SET enable_hashjoin = off;
SELECT test.same_outcome('SELECT x.id, (SELECT v FROM i WHERE i.id = x.id) FROM (SELECT id, count(*) FROM (SELECT * FROM o ORDER BY id) y GROUP BY id HAVING 10 / (id - 6) < 1000 OFFSET 0) x LIMIT 3');
SELECT test.same_outcome('SELECT x.id, (SELECT v FROM i WHERE i.id = x.id) FROM (SELECT id FROM p WHERE id < 4 UNION ALL SELECT id FROM o WHERE 10 / (id - 6) < 1000) x LIMIT 7');
SELECT test.same_outcome('WITH c AS MATERIALIZED (SELECT id FROM o WHERE 10 / (id - 6) < 1000) SELECT c.id, (SELECT v FROM i WHERE i.id = c.id), (SELECT count(*) FROM c d WHERE d.id < 3) FROM c LIMIT 3');
SELECT test.same_outcome('WITH c AS MATERIALIZED (SELECT id FROM o WHERE 10 / (id - 6) < 1000) SELECT c.id, (SELECT v FROM i WHERE i.id = c.id) FROM c LIMIT 3');
SELECT test.same_outcome('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE (SELECT 10 / (o.id - 6) FROM p WHERE p.id = 1) < 1000 LIMIT 4');
SELECT test.same_outcome('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE o.id < 4 OR o.id > (SELECT 10 / (count(*) - 20) FROM p) LIMIT 3');
SELECT test.same_outcome('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE (SELECT p.id FROM p WHERE p.id = o.id OR o.id = 6 AND p.id < 3) > 0 LIMIT 4');
SELECT test.same_outcome('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE o.id NOT IN (SELECT 10 / (p.id - 6) FROM p OFFSET 0) OR o.id < 0 LIMIT 4');
-- two joins with a node, one above the other
SELECT test.same_outcome('SELECT x.id, x.v, j.v FROM (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 6) < 1000 OFFSET 0) x LEFT JOIN i AS j ON j.v = x.v LIMIT 4');
SELECT test.same_outcome('SELECT x.id, x.v, j.v FROM (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id AND 10 / (i.id - 6) < 1000 OFFSET 0) x LEFT JOIN i AS j ON j.v = x.v LIMIT 4');
SELECT test.same_outcome('SELECT x.id, x.v, (SELECT j.v FROM i AS j WHERE j.id = x.id) FROM (SELECT o.id, i.v FROM o, LATERAL (SELECT v FROM i WHERE i.id = o.id AND 10 / (i.id - 6) < 1000 LIMIT 1) i OFFSET 0) x LIMIT 4');
-- EXISTS, semi joins, LATERAL, started again
SELECT test.same_outcome('SELECT EXISTS (SELECT FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 6) < 1000)');
SELECT test.same_outcome('SELECT p.id FROM p WHERE EXISTS (SELECT FROM o LEFT JOIN i ON i.id = o.id WHERE o.k = p.k AND 10 / (o.id - 13) < 1000 OFFSET 0)');
SELECT test.same_outcome('SELECT p.id FROM p WHERE p.id < 6 AND p.id IN (SELECT o.id FROM o LEFT JOIN i ON i.id = o.id WHERE o.id >= p.id AND 10 / (o.id - 6) < 1000 OFFSET 0)');
SELECT test.same_outcome('SELECT p.id, x.* FROM p, LATERAL (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE o.id >= p.id AND 10 / (o.id - 12) < 1000 LIMIT 2) x WHERE p.id < 8');
SELECT test.same_outcome('SELECT p.id, x.* FROM p, LATERAL (SELECT y.id, i.v, p.id AS pid FROM (SELECT o.id FROM o WHERE 10 / (o.id - 12) < 1000 OFFSET 0) y LEFT JOIN i ON i.id = y.id LIMIT 2) x WHERE p.id < 8 LIMIT 9');
SELECT test.same_outcome('SELECT (SELECT x.v FROM (SELECT i.v, o.id FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 12) < 1000 OFFSET 0) x LIMIT 1), p.id FROM p');
-- joins that may stop by themselves
SET enable_hashjoin = on;
SET enable_nestloop = on;
SELECT test.same_outcome('SELECT x.id FROM (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 6) < 1000 OFFSET 0) x JOIN (SELECT id FROM p WHERE id < 0 OFFSET 0) y ON y.id = x.id');
RESET enable_hashjoin;
SET enable_mergejoin = on;
SET enable_sort = on;
-- all rows are read: what is raised is raised
SELECT test.same_outcome('SELECT sum(id + v) FROM (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 6) < 1000) x');
SELECT test.same_outcome('SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id - 61) < 1000 ORDER BY o.id DESC LIMIT 2');

-- a node's own rows: those of a page are there together, the next is asked for when
-- its first row is needed
CREATE TABLE f AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 60) i;
CALL test.mirror('f');
ALTER FOREIGN TABLE guest.f OPTIONS (ADD fetch_size '5');
ALTER FOREIGN TABLE engine.f OPTIONS (ADD fetch_size '5');
RESET enable_sort;
SELECT test.same_outcome('SELECT f.id, (SELECT v FROM i WHERE i.id = f.id) FROM f WHERE 10 / (f.id - 6) < 1000 LIMIT 5');
SELECT test.same_outcome('SELECT f.id, (SELECT v FROM i WHERE i.id = f.id) FROM f WHERE 10 / (f.id - 11) < 1000 LIMIT 10');

-- who pauses for a page goes on with the row behind: two joins, partitions, merge
-- joins, sides that are started again
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (20);
CREATE TABLE parts_b PARTITION OF parts FOR VALUES FROM (20) TO (40);
CREATE TABLE parts_c PARTITION OF parts FOR VALUES FROM (40) TO (100);
INSERT INTO parts SELECT i, i % 7 FROM generate_series(1, 60) i;
CREATE INDEX ON parts (id);
CREATE INDEX ON f (id);
CALL test.mirror('f');
CALL test.mirror_partitions('parts', 'parts_b');
ALTER FOREIGN TABLE guest.f OPTIONS (ADD fetch_size '5');
ALTER FOREIGN TABLE engine.f OPTIONS (ADD fetch_size '5');
ALTER FOREIGN TABLE guest.parts_a OPTIONS (ADD fetch_size '3');
ALTER FOREIGN TABLE engine.parts_a OPTIONS (ADD fetch_size '3');
SET enable_hashjoin = off;
SELECT test.same_outcome('SELECT f.id, (SELECT v FROM i WHERE i.id = f.id) FROM f WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id LIMIT 33');
SELECT test.same_outcome('SELECT x.id, x.v, j.v AS w FROM (SELECT f.id, i.v FROM f LEFT JOIN i ON i.id = f.id WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) x LEFT JOIN i AS j ON j.v = x.v LIMIT 33');
SELECT test.same_outcome('SELECT x.id, x.v, j.v AS w FROM (SELECT f.id, i.v FROM f LEFT JOIN i ON i.id = f.id AND 10 / (i.id - 100) < 1000 WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) x LEFT JOIN i AS j ON j.v = x.v LIMIT 33');
SELECT test.same_outcome('SELECT x.id, (SELECT v FROM i WHERE i.id = x.id) FROM (SELECT id FROM parts WHERE 10 / (id - 100) < 1000 ORDER BY id OFFSET 0) x LIMIT 45');
SELECT test.same_outcome('SELECT x.id, i.v FROM (SELECT id FROM parts WHERE 10 / (id - 100) < 1000 ORDER BY id OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 45');
SET enable_mergejoin = off;
SELECT test.same_outcome('SELECT x.id, i.v FROM (SELECT id FROM parts WHERE 10 / (id - 30) < 1000 OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 28');
SET enable_mergejoin = on;
SELECT test.same_outcome('SELECT count(*) FROM (SELECT x.id, i.v FROM (SELECT f.id FROM f JOIN p ON p.k = f.k WHERE 10 / (f.id - 100) < 1000 OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 70) y');
SELECT test.same_outcome('SELECT count(*), sum(v) FROM (SELECT x.id, i.v FROM (SELECT DISTINCT f.id FROM f JOIN p ON p.k = f.k WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 50) y');
SELECT test.same_outcome('SELECT x.id, x.pid, i.v FROM (SELECT f.id, p.id AS pid FROM f LEFT JOIN p ON p.id = f.id WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) x LEFT JOIN i ON i.id = x.id LIMIT 40');
SELECT test.same_outcome('SELECT p.id, EXISTS (SELECT FROM (SELECT f.id FROM f WHERE f.id >= p.id AND 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) f LEFT JOIN i ON i.id = f.id WHERE coalesce(i.v, 0) > 120) FROM p ORDER BY p.id');
SELECT test.same_outcome('SELECT p.id, x.* FROM p, LATERAL (SELECT f.id AS fid, i.v FROM (SELECT f.id FROM f WHERE f.id >= p.id AND 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) f LEFT JOIN i ON i.id = f.id LIMIT 7) x ORDER BY p.id, x.fid');
SELECT test.same_outcome('SELECT p.id, x.* FROM p, LATERAL (SELECT f.id AS fid, i.v FROM (SELECT f.id FROM f WHERE 10 / (f.id - 100) < 1000 ORDER BY f.id OFFSET 0) f LEFT JOIN i ON i.id = f.id WHERE f.id < p.id * 3 LIMIT 7) x ORDER BY p.id, x.fid');
-- values of set-returning functions, VALUES and windows
SELECT test.same_outcome('SELECT g, (SELECT v FROM i WHERE i.id = x.g) FROM (SELECT 10 / (7 - generate_series(1, 30)) AS g OFFSET 0) x LIMIT 6');
SELECT test.same_outcome('SELECT x.a, (SELECT v FROM i WHERE i.id = x.a) FROM (VALUES (1), (10 / (2 - (SELECT 1))), (3), (4)) x(a) LIMIT 3');
SELECT test.same_outcome('SELECT x.id, x.n, (SELECT v FROM i WHERE i.id = x.n) FROM (SELECT id, sum(10 / (id - 9)) OVER (ORDER BY id ROWS CURRENT ROW) AS n FROM o ORDER BY id OFFSET 0) x LIMIT 8');

-- a subquery of a condition, whose own initplan asks again for each row: a row is not
-- left in the middle of it
SELECT test.same_outcome('SELECT o.id FROM o JOIN i x ON x.id = o.id LEFT JOIN LATERAL (SELECT v FROM i WHERE i.k = x.k ORDER BY v LIMIT 2) y ON true WHERE (SELECT count(*) FROM i z WHERE z.id = x.k AND NOT EXISTS (SELECT DISTINCT 1 FROM i WHERE i.v = o.id % 9)) <= 1 LIMIT 21');

-- the session goes on, and so does its transaction; EXPLAIN measures what it ran
SET shuttle.debug_force_batched_join = on;
SET enable_hashjoin = off;
BEGIN;
SET LOCAL search_path = engine, local, public;
SELECT id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (id - 6) < 1000 LIMIT 3;
DECLARE c CURSOR FOR SELECT id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (id - 6) < 1000;
FETCH 2 FROM c;
FETCH 2 FROM c;
SAVEPOINT s;
FETCH ALL FROM c;
ROLLBACK TO s;
SELECT count(*) FROM i;
COMMIT;
SELECT t, test.look_ahead_verdict(test.explain('SELECT id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (id - 6) < 1000 LIMIT 4', ('', t, true, 1024, 1024, false), 'ANALYZE,')) FROM unnest(test.transports()) t;

-- batches are as large as where nothing can be raised; a function of the user's is
-- only called for rows that are surely needed
CREATE FUNCTION test.batches(query text) RETURNS TABLE (transport text, batches int) LANGUAGE sql AS $$
	SELECT t, (look ->> 'Batches')::int FROM unnest(test.transports()) t,
		test.look_aheads(test.explain(query, ('', t, true, 1024, 1024, false), 'ANALYZE, TIMING OFF,')) AS look $$;
SELECT * FROM test.batches('SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE 10 / (o.id + 6) < 1000 LIMIT 50') AS values,
	test.batches('SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE o.id > 0 LIMIT 50') AS nothing WHERE values.transport = nothing.transport;
SELECT * FROM test.batches('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE test.checked(o.id + 6) > 0 LIMIT 50');
SELECT * FROM test.batches('SELECT count(*) FROM (SELECT o.id, i.v FROM o LEFT JOIN i ON i.id = o.id WHERE test.checked(o.id + 6) > 0 OFFSET 0) x');
-- loops, and a plan for all values of a parameter
SET search_path = engine, local, public;
DO $$ DECLARE r record; n int := 0; BEGIN
	BEGIN
		FOR r IN SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) AS v FROM o WHERE 10 / (o.id - 6) < 1000 LOOP n := n + 1; END LOOP;
	EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'after % rows: %', n, SQLERRM; END;
	FOR r IN SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) AS v FROM o WHERE 10 / (o.id - 6) < 1000 LOOP n := n + 1; EXIT WHEN r.id = 5; END LOOP;
	SELECT count(*) INTO r FROM i; RAISE NOTICE '% %', n, r;
END $$;
SET plan_cache_mode = force_generic_plan;
PREPARE q(int) AS SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM o WHERE 10 / (o.id - 6) < 1000 LIMIT $1;
EXECUTE q(5);
EXECUTE q(6);
