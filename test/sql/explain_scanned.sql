-- Storage Rows Scanned counts what nodes look at to write, by table and in total.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, n int);
INSERT INTO here.t SELECT i, i % 7 FROM generate_series(1, 400) i;
CALL smart.distribute('t', '{1,101,201,301,401}');
CREATE TABLE node1.u (k int, n int);
INSERT INTO node1.u SELECT i, 0 FROM generate_series(1, 10) i;
CREATE UNIQUE INDEX ON node1.u (k);
ANALYZE node1.u;
CREATE FOREIGN TABLE dist.u (k int, n int) SERVER smart1 OPTIONS (schema_name 'node1');
SET search_path = dist;
-- The numbers of all that a statement asked for, and its totals.
CREATE FUNCTION smart.scanned(query text) RETURNS TABLE (what text, scanned bigint, wrote bigint)
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0;
	RETURN QUERY SELECT concat_ws(' ', n ->> 'Node Type', n ->> 'Operation', n ->> 'Relation Name'),
		(n ->> 'Storage Rows Scanned')::bigint, (n ->> 'Storage Write Requests')::bigint
	FROM jsonb_path_query(plan -> 'Plan', 'strict $.**') n
	WHERE jsonb_typeof(n) = 'object' AND (n ? 'Storage Flush Requests' OR n ? 'Storage Read Requests');
	RETURN QUERY SELECT 'all', (plan ->> 'Storage Rows Scanned')::bigint, (plan ->> 'Storage Write Requests')::bigint;
END $$;
-- shipped whole: to one node, to several, with rows returned, and joined there
SELECT * FROM smart.scanned('UPDATE t SET n = n + 1 WHERE k = 5');
SELECT * FROM smart.scanned('UPDATE t SET n = n + 1 WHERE k BETWEEN 100 AND 205');
SELECT * FROM smart.scanned('DELETE FROM t WHERE k IN (5, 106) RETURNING n');
SELECT * FROM smart.scanned('DELETE FROM u WHERE n = 1');
SET enable_nestloop = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT * FROM smart.scanned('UPDATE t1 SET n = u.n FROM u WHERE t1.n = u.n + 1');
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- nothing of it is asked for without need, and every execution counts
SELECT * FROM smart.scanned('UPDATE t SET n = n + 1 WHERE k = 5 AND k = 6');
PREPARE again AS UPDATE t SET n = n + 1 WHERE k = 7;
SELECT * FROM smart.scanned('EXECUTE again');
SELECT * FROM smart.scanned('EXECUTE again');
-- found by a scan of here: looked at by that, and by ctid
SELECT w.what, w.scanned > 0 AS scanned, w.wrote FROM smart.scanned('UPDATE t1 SET n = random() WHERE k IN (2, 3)') w;
-- joined by nodes, with rows of here
CREATE TABLE here.wanted AS SELECT i AS k FROM unnest(ARRAY[10, 20, 110]) i;
ANALYZE here.wanted;
SELECT * FROM smart.scanned('UPDATE t SET n = 1 FROM here.wanted w WHERE t.k = w.k');
SELECT * FROM smart.scanned('DELETE FROM t USING here.wanted w WHERE t.k = w.k RETURNING t.n, w.k');
-- an INSERT looks for rows only to see conflicts
SELECT * FROM smart.scanned('INSERT INTO u VALUES (100, 1), (101, 1)');
SELECT * FROM smart.scanned('INSERT INTO u VALUES (1, 1), (101, 1), (102, 1) ON CONFLICT DO NOTHING');
SELECT * FROM smart.scanned('INSERT INTO u VALUES (2, 1), (3, 1), (103, 1) ON CONFLICT (k) DO UPDATE SET n = excluded.n');
SELECT * FROM smart.scanned('INSERT INTO t SELECT i, i FROM generate_series(1, 102) i');
-- by a function, and in a subtransaction; an error leaves no count behind
CREATE FUNCTION dist.writes() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		UPDATE u SET k = 9 WHERE n = 0;
	EXCEPTION WHEN unique_violation THEN
		UPDATE u SET n = n WHERE n = 0;
	END;
	RETURN (SELECT count(*) FROM u);
END $$;
SELECT * FROM smart.scanned('SELECT writes()');
