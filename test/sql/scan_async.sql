-- Under async_capable an Append takes rows from whichever scan has one, and
-- never waits for one scan while another has rows.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.p1 (a int, b int);
CREATE TABLE node.p2 (a int, b int);
CREATE TABLE node.empty (a int, b int);
INSERT INTO node.p1 SELECT i, i % 7 FROM generate_series(0, 999) i;
INSERT INTO node.p2 SELECT i, i % 7 FROM generate_series(1000, 4999) i;
-- waits until somebody holds the lock: rows come late
CREATE FUNCTION node.wait_for_lock() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..5000 LOOP
		IF EXISTS (SELECT FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND classid = 4712 AND granted) THEN
			RETURN true;
		END IF;
		PERFORM pg_catalog.pg_sleep(0.002);
	END LOOP;
	RETURN false;
END $$;
CREATE VIEW node.late AS SELECT -1 AS a, 0 AS b WHERE node.wait_for_lock();
SELECT pair.tables(t) FROM unnest('{p1,p2,empty}'::text[]) t \g /dev/null
SELECT pair.both('CREATE TABLE %1$s.pt (a int, b int) PARTITION BY RANGE (a)') \g /dev/null
SELECT pair.both('CREATE TABLE %1$s.here (a int, b int)') \g /dev/null
SELECT pair.both('INSERT INTO %1$s.here SELECT i, i %% 7 FROM generate_series(5000, 5010) i') \g /dev/null
SELECT pair.both('ALTER TABLE %1$s.pt ATTACH PARTITION %1$s.p1 FOR VALUES FROM (0) TO (1000)') \g /dev/null
SELECT pair.both('ALTER TABLE %1$s.pt ATTACH PARTITION %1$s.p2 FOR VALUES FROM (1000) TO (5000)') \g /dev/null
SELECT pair.both('ALTER TABLE %1$s.pt ATTACH PARTITION %1$s.here FOR VALUES FROM (5000) TO (6000)') \g /dev/null
SELECT pair.both('ALTER SERVER %2$s OPTIONS (ADD async_capable ''true'')') \g /dev/null
SELECT pair.plan('SELECT * FROM pt');
SELECT pair.plan('SELECT * FROM pt WHERE b = 3 LIMIT 1');
SELECT query, pair.same(query) FROM unnest(ARRAY[
	'SELECT count(*), sum(a) FROM pt',
	'SELECT a FROM pt WHERE pair.here(b) = 3 ORDER BY a',
	'SELECT x, (SELECT count(*) FROM pt WHERE a < x) FROM generate_series(998, 1002) x',
	'SELECT x, a FROM generate_series(998, 1002) x, LATERAL (SELECT a FROM pt WHERE a = x OR a = 5005) s ORDER BY 1, 2',
	'SELECT a FROM pt UNION ALL SELECT a FROM empty ORDER BY a',
	'SELECT p.a, q.a FROM pt p JOIN pt q ON q.a = p.a + 2000 WHERE p.a < 3000 ORDER BY 1, 2',
	'SELECT a FROM pt WHERE a / (b - 7) > 1 ORDER BY a',
	'SELECT a / b FROM pt ORDER BY a']) AS query;
-- the local child is read while nothing has come; each scan's rows are counted once
SET search_path = ours;
SELECT a FROM pt LIMIT 1;
CREATE FUNCTION pair.actual_rows(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT concat_ws(' ', node ->> 'Node Type', node ->> 'Relation Name', round((node ->> 'Actual Rows')::numeric))
		FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" starts with "" && exists (@."Actual Rows"))') node;
END $$;
SELECT * FROM pair.actual_rows('SELECT * FROM pt WHERE a < 1010');
SET shuttle.enable_batched_join = on;
SELECT * FROM pair.actual_rows('SELECT x, a FROM generate_series(998, 1002) x, LATERAL (SELECT a FROM pt WHERE a = x) s');
SET shuttle.enable_batched_join = off;
-- a late scan holds up none on another node: the lock that it waits for is taken for a row of p1
DO $$
DECLARE
	options text := (SELECT string_agg(format('%s %L', split_part(o, '=', 1), split_part(o, '=', 2)), ', ')
		FROM pg_foreign_server, unnest(srvoptions) o WHERE srvname = 'our_node');
BEGIN
	EXECUTE format('CREATE SERVER other_node FOREIGN DATA WRAPPER shuttle OPTIONS (%s)', options);
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER other_node;
CREATE FOREIGN TABLE late (a int, b int) SERVER other_node OPTIONS (schema_name 'node');
SELECT count(*), min(a) FROM (
	SELECT a FROM late UNION ALL SELECT a FROM p1 WHERE pg_advisory_xact_lock_shared(4712, a)::text = '') u;
-- rescans and cursors that are left before the end
BEGIN;
DECLARE c CURSOR FOR SELECT a FROM pt;
FETCH 1 FROM c;
MOVE 2000 IN c;
CLOSE c;
COMMIT;
-- in small pages, over two servers
SELECT pair.both('ALTER SERVER %2$s OPTIONS (ADD fetch_size ''10'')') \g /dev/null
SELECT pair.same('SELECT count(*), sum(a) FROM pt');
SELECT count(*), sum(n) FROM (SELECT a AS n FROM ours.pt UNION ALL SELECT a FROM stock.pt) u;
DROP SERVER other_node CASCADE;
