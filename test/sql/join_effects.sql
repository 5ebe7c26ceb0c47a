-- trap 12: reading the outer side ahead does nothing that shows, wherever the
-- volatile function, lock or write is: in a CTE, an initplan, an aggregate.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i % 5 + 1 AS k FROM generate_series(1, 40) i;
CREATE TABLE i AS SELECT i AS id, i % 5 AS k, i * 10 AS v FROM generate_series(1, 60) i;
CALL test.mirror('i');
CREATE SEQUENCE s;
CREATE FUNCTION test.add_up(bigint, int) RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT $1 + $2 + 0 * nextval('local.s') $$;
CREATE AGGREGATE test.total(int) (SFUNC = test.add_up, STYPE = bigint, INITCOND = '0');
-- the answer in each way, and where the sequence stands then
CREATE FUNCTION test.same_state(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	answer text;
	expected text;
BEGIN
	FOR way IN SELECT 'local', NULL, false, 1024, 1024, false UNION ALL SELECT w.* FROM unnest(test.transports()) AS t, test.ways(t) AS w LOOP
		PERFORM setval('local.s', 1, false);
		answer := test.answer(query, way)::text || ' ' || nextval('local.s');
		expected := coalesce(expected, answer);
		IF answer IS DISTINCT FROM expected THEN
			RETURN format('DIFFERENT: %s: %s, and not %s', way.label, answer, expected);
		END IF;
	END LOOP;
	RETURN 'same ' || expected;
END $$;
-- CTEs, also of one another, and recursive
SELECT test.same_state('WITH c AS MATERIALIZED (SELECT id, nextval(''local.s'') AS n FROM o) SELECT id, n, nextval(''local.s''), (SELECT v FROM i WHERE i.id = c.id) FROM c LIMIT 3');
SELECT test.same_state('WITH c AS MATERIALIZED (SELECT id, nextval(''local.s'') AS n FROM o), d AS MATERIALIZED (SELECT c.id FROM c WHERE c.n > 2) SELECT d.id, nextval(''local.s''), (SELECT v FROM i WHERE i.id = d.id) FROM d LIMIT 2');
SELECT test.same_state('WITH RECURSIVE c AS (SELECT 1 AS id, nextval(''local.s'') AS n UNION ALL SELECT id + 1, nextval(''local.s'') FROM c WHERE id < 20) SELECT id, n, (SELECT v FROM i WHERE i.id = c.id) FROM c LIMIT 3');
-- initplans that stock would not have executed
SELECT test.same_state('SELECT o.id, (SELECT v FROM i WHERE i.id = o.id) FROM (SELECT id FROM o WHERE id < 3 OR id > (SELECT nextval(''local.s'')) OFFSET 0) o LIMIT 2');
-- functions of aggregates
SELECT test.same_state('SELECT g.k, nextval(''local.s''), (SELECT v FROM i WHERE i.id = g.k) FROM (SELECT k, test.total(id) FROM (SELECT * FROM o ORDER BY k) x GROUP BY k ORDER BY k OFFSET 0) g LIMIT 1');
SELECT test.same_state('SELECT g.id, nextval(''local.s''), (SELECT v FROM i WHERE i.id = g.id) FROM (SELECT id, test.total(id) OVER (ORDER BY id ROWS CURRENT ROW) AS w FROM o ORDER BY id OFFSET 0) g WHERE w > 0 LIMIT 1');
-- a LIMIT further down
SELECT test.same_state('SELECT l.id, nextval(''local.s''), (SELECT v FROM i WHERE i.id = l.id) FROM (SELECT id FROM o ORDER BY id LIMIT nextval(''local.s'') + 3) l');
-- what has no effect is read ahead
SELECT test.same_rows('WITH c AS MATERIALIZED (SELECT id, k FROM o WHERE id < 30) SELECT id, (SELECT v FROM i WHERE i.id = c.id) FROM c');
SELECT test.same_rows('WITH RECURSIVE c AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM c WHERE id < 20) SELECT id, (SELECT v FROM i WHERE i.id = c.id) FROM c');
SELECT test.same_rows('SELECT k, n, (SELECT v FROM i WHERE i.id = g.n) FROM (SELECT k, count(*) AS n FROM o GROUP BY k) g');

-- traps 13, 21: rows are locked as stock locks them: of a CTE, here; and on a
-- node for the rows that a subquery is evaluated for
CREATE FUNCTION test.locked_rows(query text, counting text) RETURNS TABLE (nlocked bigint, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
	nlocked bigint;
BEGIN
	CREATE TEMP TABLE seen (nlocked bigint);
	FOR way IN SELECT w.* FROM unnest(test.transports()) AS t, test.ways(t) AS w LOOP
		UPDATE local.o SET k = k;
		BEGIN
			PERFORM test.answer(query, way);
			EXECUTE counting INTO nlocked;
			RAISE EXCEPTION SQLSTATE 'UL000' USING MESSAGE = nlocked;
		EXCEPTION WHEN SQLSTATE 'UL000' THEN
			INSERT INTO seen VALUES (SQLERRM::bigint);
		END;
	END LOOP;
	RETURN QUERY SELECT s.nlocked, count(*) FROM seen s GROUP BY 1;
	DROP TABLE seen;
END $$;
\set locked_here 'SELECT count(*) FROM local.o WHERE xmax::text <> \'0\''
\set locked_on_node 'SELECT 60 - count(*) FROM (SELECT FROM local.i FOR UPDATE SKIP LOCKED) x'
SELECT * FROM test.locked_rows('WITH c AS MATERIALIZED (SELECT id FROM o FOR UPDATE) SELECT id, (SELECT v FROM i WHERE i.id = c.id) FROM c LIMIT 4', :'locked_here');
SELECT * FROM test.locked_rows('SELECT id FROM o WHERE CASE WHEN id > 38 THEN EXISTS (SELECT FROM i WHERE i.id = o.id FOR UPDATE OFFSET 0) ELSE true END', :'locked_on_node');
SELECT * FROM test.locked_rows('SELECT id FROM o WHERE id < 39 OR EXISTS (SELECT FROM i WHERE i.id = o.id FOR UPDATE OFFSET 0)', :'locked_on_node');
SELECT * FROM test.locked_rows('SELECT id, (SELECT x.v FROM (SELECT WHERE o.id > 38) AS c, LATERAL (SELECT i.v FROM i WHERE i.id = o.id FOR UPDATE) AS x) FROM o', :'locked_on_node');
SELECT * FROM test.locked_rows('SELECT id, (SELECT i.v FROM i, (SELECT k FROM o z WHERE z.id = o.id AND z.id > 38 OFFSET 0) AS z WHERE i.id = o.id FOR UPDATE OF i) FROM o', :'locked_on_node');
SELECT * FROM test.locked_rows('SELECT id, EXISTS (SELECT FROM i WHERE i.id = o.id FOR UPDATE OFFSET 0) FROM o', :'locked_on_node');
SELECT test.look_ahead_verdict(test.explain('SELECT id, (SELECT v FROM i WHERE i.id = o.id FOR UPDATE) FROM o', ('', 'engine', true, 1024, 1024, false), 'ANALYZE, TIMING OFF,'));

-- a view with effects is asked as often as stock asks it
CREATE FUNCTION test.up(int) RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('local.s') $$;
CREATE VIEW w AS SELECT id, k, test.up(id) AS n FROM i;
CREATE FOREIGN TABLE engine.w (id int, k int, n bigint) SERVER engine OPTIONS (schema_name 'local', shuttle_volatile 'on');
CREATE FOREIGN TABLE engine.outer_w (id int, k int, n bigint) SERVER engine OPTIONS (schema_name 'local', table_name 'w', shuttle_volatile 'on');
CREATE FUNCTION test.calls(query text) RETURNS TABLE (calls bigint, ways bigint) LANGUAGE plpgsql AS $$
DECLARE
	way test.way;
BEGIN
	CREATE TEMP TABLE seen (calls bigint);
	FOR way IN SELECT w.* FROM test.ways('engine') AS w LOOP
		PERFORM setval('local.s', 1, false);
		PERFORM test.answer(query, way);
		INSERT INTO seen VALUES (nextval('local.s') - 1);
	END LOOP;
	RETURN QUERY SELECT s.calls, count(*) FROM seen s GROUP BY 1;
	DROP TABLE seen;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SELECT * FROM test.calls('SELECT (SELECT n FROM w WHERE w.id = o.id) FROM o LIMIT 3');
SELECT * FROM test.calls('SELECT (SELECT n FROM w WHERE w.id = o.k) FROM o');
SELECT * FROM test.calls('SELECT CASE WHEN o.id > 38 THEN (SELECT n FROM w WHERE w.id = o.id) END FROM o');
DROP VIEW w CASCADE;
DROP TABLE o, i CASCADE;
