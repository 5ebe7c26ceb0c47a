-- Conditions with correlated subqueries on the inner side of a join are tested
-- above it, where whole batches pass: for the same rows, and in the same order.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 9, 0) AS k, nullif(i % 7, 3) AS v FROM generate_series(1, 15) i;
CREATE TABLE b AS SELECT i AS id, nullif(i % 11, 5) AS k, nullif(i % 9, 4) AS v FROM generate_series(1, 30) i;
CREATE TABLE c AS SELECT i AS id, nullif(i % 17, 7) AS k, nullif(i % 5, 2) AS v FROM generate_series(1, 40) i;
CREATE TABLE p (id int, k int, v int) PARTITION BY HASH (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE p2 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO p SELECT i, nullif(i % 13, 11), nullif(i % 6, 1) FROM generate_series(1, 40) i;
CREATE INDEX ON c (k);
CREATE VIEW secured WITH (security_barrier) AS SELECT id, k, v FROM b WHERE v <> 2;
CALL test.mirror('b', 'c');
CALL test.mirror_partitions('p');
ANALYZE guest.b, guest.c, guest.p, engine.b, engine.c, engine.p;
CREATE VIEW guest.secured WITH (security_barrier) AS SELECT id, k, v FROM guest.b WHERE v <> 2;
CREATE VIEW engine.secured WITH (security_barrier) AS SELECT id, k, v FROM engine.b WHERE v <> 2;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET shuttle.enable_subquery_joins = off;

-- where they stand, and what is asked for
SELECT test.plan_shape('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.v = 1 AND b.v > coalesce((SELECT sum(c.v) FROM c WHERE c.k = b.id), 0)');
SELECT transport, largest_batch, alone, requests FROM test.numbers('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.v = 1 AND b.v > coalesce((SELECT sum(c.v) FROM c WHERE c.k = b.id), 0)');
SELECT test.plan_shape('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE a.v = 1 AND (EXISTS (SELECT FROM b WHERE b.id = p.id) OR EXISTS (SELECT FROM c WHERE c.k = p.v))');
SELECT transport, largest_batch, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE a.v = 1 AND (EXISTS (SELECT FROM b WHERE b.id = p.id) OR EXISTS (SELECT FROM c WHERE c.k = p.v))');

-- a relation's own conditions
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0)');
SELECT test.same_rows('SELECT a.id, b FROM a JOIN b ON b.k = a.k WHERE EXISTS (SELECT FROM c WHERE c.id = b.k) OR EXISTS (SELECT FROM p WHERE p.k = b.v)');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE p.v < coalesce((SELECT avg(q.v) FROM p q WHERE q.k = p.k), 9)');
SELECT test.same_rows('SELECT a.id, p.tableoid IS NULL FROM a JOIN p ON p.k = a.k WHERE p.v IN (SELECT c.v FROM c WHERE c.k = p.id)');
-- of an inner local table
SELECT test.same_rows('SELECT a.id, c.id FROM a JOIN local.c ON c.k = a.k WHERE c.v > (SELECT count(*) FROM b WHERE b.k = c.id)');
-- of the join
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id AND c.v > a.v), 0)');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE EXISTS (SELECT FROM c WHERE c.k = p.id AND c.v = a.v) OR p.v = a.v');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id < a.id AND b.k > a.k + 3 WHERE EXISTS (SELECT FROM c WHERE c.id = a.id + b.id) OR a.v = b.v');
SET enable_hashjoin = on;
SET shuttle.debug_force_batched_join = off;
SELECT test.same_rows('SELECT a.id, c.id FROM a JOIN local.c ON c.v = a.v WHERE (SELECT max(b.v) FROM b WHERE b.id = a.id AND b.v >= c.v) > 1');
SET enable_hashjoin = off;

-- through several loops
SELECT test.same_rows('SELECT a.id, b.id, p.id FROM a JOIN b ON b.k = a.k JOIN p ON p.k = b.id WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0) AND (EXISTS (SELECT FROM c WHERE c.k = p.id) OR p.v = a.v)');
SELECT test.same_rows('SELECT a.id, s.* FROM a CROSS JOIN LATERAL (SELECT b.id, p.id FROM b JOIN p ON p.k = b.id WHERE b.k = a.k AND p.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = p.id AND c.v <= a.v), 0) OFFSET 0) s (b, p)');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b JOIN p ON p.k = b.id WHERE b.k = a.k AND p.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = p.id), 0)) FROM a');
-- not through joins of another type
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0)');
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM p WHERE p.k = a.k AND (EXISTS (SELECT FROM c WHERE c.k = p.id) OR p.v = 2))');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.k = a.k AND p.v > coalesce((SELECT max(c.v) FROM c WHERE c.k = p.id AND c.v < a.v), 0))');
SELECT test.same_rows('SELECT a.id, b.id, p.id FROM a LEFT JOIN (b JOIN p ON p.k = b.id AND p.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = p.id), 0)) ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE EXISTS (SELECT FROM c WHERE c.k = b.id) OR a.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = a.id), 0)');

-- one row at most
CREATE TABLE one AS SELECT i AS id, i % 9 AS v, i % 4 AS w FROM generate_series(1, 20) i;
CREATE UNIQUE INDEX ON one (id);
CREATE UNIQUE INDEX ON one (v, id);
ANALYZE one;
SELECT test.same_rows('SELECT a.id, one.v FROM a JOIN one ON one.id = a.k WHERE EXISTS (SELECT FROM c WHERE c.k = one.id AND c.v > one.w) OR one.w = a.v');
SELECT test.same_rows('SELECT a.id, (SELECT string_agg(b.id || '' '' || one.id, '','' ORDER BY b.id, one.id) FROM b JOIN one ON one.w = b.v WHERE one.v = (SELECT max(c.v) FROM c WHERE c.k = a.k)) FROM a');

-- LIMIT, prepared statements, locks, a cursor's rows
SELECT test.same_order('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0) ORDER BY a.id, b.id LIMIT 7');
SELECT test.same_prepared('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE a.v < $1 AND (p.v > $1 OR EXISTS (SELECT FROM c WHERE c.k = p.id AND c.v = $1))', 'int', '1', '3', NULL);
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0) FOR UPDATE OF a');
SET search_path = engine, local, public;
SELECT count(*), sum(aid * bid) FROM (SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0)) AS s (aid, bid);
SELECT count(*), sum(aid * bid) FROM (SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v > coalesce((SELECT min(c.v) FROM c WHERE c.k = b.id), 0) FOR UPDATE OF b) AS s (aid, bid);
SET search_path = local, public;

-- trap 13: what a condition keeps from another one
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND (b.v + a.v) * 0 = 0 / (b.id - 10) WHERE b.id <> 10 AND EXISTS (SELECT FROM c WHERE c.k = b.v OFFSET 0)');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k WHERE p.v > 0 AND (SELECT count(*) FROM c WHERE c.k = p.id AND c.v < 12 / p.v) > 0');
SELECT test.same_error('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v >= (SELECT min(10 / c.v) FROM c WHERE c.k = b.id)');
-- trap 4: a security barrier comes first
CREATE FUNCTION test.leaks(i int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF i = 2 THEN RAISE 'it was shown'; END IF;
	RETURN true;
END $$;
SELECT test.same_rows('SELECT a.id, s.id FROM a JOIN secured s ON s.k = a.k WHERE test.leaks(s.v) AND (EXISTS (SELECT FROM c WHERE c.k = s.id) OR s.v = a.v)');
CREATE VIEW hidden WITH (security_barrier) AS SELECT id, k, v FROM b WHERE v <> 2 OR EXISTS (SELECT FROM c WHERE c.k = b.id AND c.v < 0);
CREATE VIEW guest.hidden WITH (security_barrier) AS SELECT id, k, v FROM guest.b WHERE v <> 2 OR EXISTS (SELECT FROM guest.c WHERE c.k = b.id AND c.v < 0);
CREATE VIEW engine.hidden WITH (security_barrier) AS SELECT id, k, v FROM engine.b WHERE v <> 2 OR EXISTS (SELECT FROM engine.c WHERE c.k = b.id AND c.v < 0);
SELECT test.same_rows('SELECT a.id, s.id FROM a JOIN hidden s ON s.k = a.k WHERE test.leaks(s.v) AND test.leaks(s.v + a.v * 0)');

-- and so does a policy
CREATE TABLE owned AS TABLE b;
CREATE INDEX ON owned (k);
ANALYZE owned;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON owned USING (v <> 2 AND EXISTS (SELECT FROM engine.c WHERE c.k = owned.id AND c.v < 4 OFFSET 0));
CREATE FUNCTION test.tells(i int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM local.c WHERE c.k = i AND c.v < 4) THEN RAISE 'it was shown'; END IF;
	RETURN true;
END $$;
CREATE FUNCTION test.top_node(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO printed;
	RETURN printed -> 0 -> 'Plan' ->> 'Custom Plan Provider';
END $$;
CREATE ROLE regress_late;
GRANT USAGE ON SCHEMA test, local, engine TO regress_late;
GRANT SELECT ON ALL TABLES IN SCHEMA local, engine TO regress_late;
SELECT format('CREATE USER MAPPING FOR regress_late SERVER engine OPTIONS (user %L, password_required ''false'')', current_user) \gexec
SET enable_seqscan = off;
SET ROLE regress_late;
SELECT test.top_node('SELECT a.id, s.id FROM a JOIN owned s ON s.k = a.k WHERE a.id < 3 AND test.tells(s.id) AND test.tells(s.id + a.id * 0)');
SELECT count(*) FROM a JOIN owned s ON s.k = a.k WHERE a.id < 3 AND test.tells(s.id) AND test.tells(s.id + a.id * 0);
SET shuttle.enable_batched_join = off;
SELECT count(*) FROM a JOIN owned s ON s.k = a.k WHERE a.id < 3 AND test.tells(s.id) AND test.tells(s.id + a.id * 0);
RESET shuttle.enable_batched_join;
RESET ROLE;
RESET enable_seqscan;
DROP OWNED BY regress_late;
DROP ROLE regress_late;

-- an EXISTS is hashed if reading all rows once costs less than asking for each
CREATE TABLE wide AS SELECT i AS id, i % 1500 AS k FROM generate_series(1, 3000) i;
CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 300) i;
CALL test.mirror('wide', 'few');
ANALYZE guest.wide, guest.few, engine.wide, engine.few;
CREATE FUNCTION hashes(query text) RETURNS TABLE (transport text, hashes bool, requests text) LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	FOREACH transport IN ARRAY test.transports() LOOP
		PERFORM set_config('search_path', transport || ', local, public', true);
		EXECUTE 'EXPLAIN (ANALYZE, DIST, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		hashes := plan ~ 'hashed SubPlan';
		requests := CASE WHEN substring(plan FROM '.*"Storage Read Requests": (\d+)')::int < 40 THEN 'few' ELSE 'many' END;
		RETURN NEXT;
	END LOOP;
END $$;
SET shuttle.debug_force_batched_join = off;
SELECT * FROM hashes('SELECT a.id FROM a JOIN wide w ON w.k = a.id WHERE a.v = 1 AND (EXISTS (SELECT FROM wide x WHERE x.id = w.id) OR w.id = 5)');
SELECT * FROM hashes('SELECT w.id FROM wide w WHERE EXISTS (SELECT FROM few x WHERE x.id = w.id) OR EXISTS (SELECT FROM few x WHERE x.id = w.k)');

-- subqueries that run once for each start of a routed append
SELECT test.same_rows('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT p.id FROM p WHERE p.k = a.k AND (p.v = coalesce((SELECT min(c.v) FROM c WHERE c.k = a.id), 2) OR EXISTS (SELECT FROM b WHERE b.k = a.id AND b.v > a.v)) OFFSET 0) s ON true');
SELECT test.plan_shape('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT b.id FROM b WHERE b.k = a.k AND (EXISTS (SELECT FROM c WHERE c.k = a.id AND c.v > b.v) OR EXISTS (SELECT FROM c WHERE c.k = a.id AND c.v > a.v)) OFFSET 0) s ON true');
DROP TABLE a, b, c, p, one, owned, wide, few CASCADE;
