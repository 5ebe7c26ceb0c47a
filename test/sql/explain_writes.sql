-- What EXPLAIN (ANALYZE, DIST) shows of statements that write: with
-- shuttle.explain_remote the nodes' own plans, and rows that are routed to nodes.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.t (k int, n int);
INSERT INTO here.t SELECT i, i % 7 FROM generate_series(1, 400) i;
CALL smart.distribute('t', '{1,101,201,301,401}');
CREATE UNIQUE INDEX ON node4.t (k);
SET search_path = dist;
-- The plan without what is another one each time, and with short texts.
CREATE FUNCTION smart.lines(query text, options text DEFAULT 'ANALYZE, DIST, VERBOSE', dropped text DEFAULT '^$') RETURNS SETOF text
LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) %s', options, query) LOOP
		CONTINUE WHEN line ~ '^ *(Storage Bytes|Output|Storage Read|Storage Rows|Storage: )' OR line ~ dropped;
		line := regexp_replace(line, 'ROWS FROM \(.*\) WITH ORDINALITY AS (\w+)\([^()]*\)', 'ROWS FROM (...) AS \1');
		line := regexp_replace(line, '\(SELECT pg_catalog\.unnest.*\) AS (shuttle_rows)', '(SELECT ...) AS \1');
		line := regexp_replace(line, 'CASE WHEN true THEN \(?(\S+?)\)? ELSE .*? END(?=,| FROM| WHERE)', '\1', 'g');
		line := regexp_replace(line, 'InitPlan .*', 'InitPlan');
		RETURN NEXT replace(line, '.00 loops', ' loops');
	END LOOP;
END $$;
CREATE FUNCTION smart.properties(label text, query text) RETURNS SETOF jsonb LANGUAGE plpgsql SET search_path = dist, public AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT jsonb_path_query(plan, format('strict $.**.%I', label)::jsonpath);
END $$;
SET shuttle.explain_remote = on;
-- shipped whole, to each node that has rows
SELECT * FROM smart.lines('UPDATE t SET n = n + 1 WHERE k BETWEEN 100 AND 101');
SELECT * FROM smart.lines('DELETE FROM t WHERE k = 5 RETURNING n');
-- nothing is asked without ANALYZE, without VERBOSE, without DIST, or where nothing was sent
SELECT * FROM smart.lines('UPDATE t SET n = 0 WHERE k = 6', 'DIST, VERBOSE');
SELECT * FROM smart.lines('UPDATE t SET n = 0 WHERE k = 6', 'ANALYZE, DIST');
SELECT * FROM smart.lines('UPDATE t SET n = 0 WHERE k = 6', 'ANALYZE, VERBOSE');
SELECT * FROM smart.lines('INSERT INTO t1 SELECT 1, i FROM generate_series(1, 0) i', dropped := '->|Function');
-- rows that travel: one, several before the node's types are known, and as arrays
SELECT * FROM smart.lines('INSERT INTO t1 VALUES (1, 1)');
SELECT * FROM smart.lines('INSERT INTO t1 VALUES (1, 2), (1, 3)', dropped := '->|Values');
SELECT * FROM smart.lines('INSERT INTO t1 SELECT 1, i FROM generate_series(1, 3) i', dropped := 'Function Call');
-- several statements of one table: each of them has its plan
SET shuttle.write_buffer_size = '1kB';
SELECT * FROM smart.lines('INSERT INTO t1 SELECT 1, i FROM generate_series(1, 29) i', dropped := 'Function Call');
RESET shuttle.write_buffer_size;
SET shuttle.enable_write_buffer = off;
SELECT * FROM smart.lines('INSERT INTO t1 SELECT 1, i FROM generate_series(1, 3) i', dropped := 'Function Call');
RESET shuttle.enable_write_buffer;
-- found by a scan of here
SELECT * FROM smart.lines('UPDATE t1 SET n = random() WHERE k IN (2, 3)', dropped := 'Storage Filter');
SELECT * FROM smart.lines('DELETE FROM t1 WHERE k = 2 AND n >= -random()', dropped := 'Storage Filter|  Filter');
-- joined by nodes
CREATE TABLE here.wanted AS SELECT i AS k FROM unnest(ARRAY[10, 20, 110]) i;
ANALYZE here.wanted;
SELECT * FROM smart.lines('UPDATE t SET n = 1 FROM here.wanted w WHERE t.k = w.k', dropped := 'Storage Filter|Remote SQL');
SELECT * FROM smart.lines('DELETE FROM t USING here.wanted w WHERE t.k = w.k RETURNING t.n, w.k', dropped := 'Storage Filter|Remote SQL');
-- in several pieces
SET shuttle.write_buffer_size = '1kB';
SELECT trim(left(line, 35)) AS line FROM smart.lines('UPDATE t1 SET n = 1 FROM generate_series(1, 90) w WHERE t1.k = w') line WHERE line ~ 'Remote Plan|UPDATE node1.t|  Update on t$' AND line !~ 'Remote SQL';
RESET shuttle.write_buffer_size;
-- routed to partitions
SELECT * FROM smart.lines('INSERT INTO t SELECT i, i FROM generate_series(100, 102) i', dropped := 'Function Call');
SELECT * FROM smart.lines('INSERT INTO t SELECT i, i FROM generate_series(100, 102) i', 'ANALYZE, DIST');
SELECT * FROM smart.lines('INSERT INTO t SELECT i, i FROM generate_series(100, 102) i', 'ANALYZE');
SELECT * FROM smart.lines('WITH new AS (INSERT INTO t VALUES (300, 1) RETURNING k) SELECT k FROM new');
SET shuttle.enable_write_buffer = off;
SELECT * FROM smart.lines('INSERT INTO t SELECT i, i FROM generate_series(100, 102) i', 'ANALYZE, DIST');
RESET shuttle.enable_write_buffer;
-- moved: to a partition of the statement, and to another one
SELECT * FROM smart.lines('UPDATE t SET k = k + 1 WHERE k = 200 AND n >= -random()', dropped := 'Storage Filter|  Filter');
SELECT * FROM smart.lines('UPDATE t SET k = k + 1 WHERE k IN (100, 150) AND n >= -random()', dropped := 'Storage Filter|  Filter');
-- ON CONFLICT
SELECT * FROM smart.lines('INSERT INTO t4 VALUES (301, 1), (302, 1) ON CONFLICT (k) DO UPDATE SET n = excluded.n', dropped := '->|Values');
SELECT * FROM smart.lines('INSERT INTO t VALUES (301, 1) ON CONFLICT (k) DO NOTHING');
SET shuttle.write_buffer_size = '1kB';
SELECT * FROM smart.lines('INSERT INTO t4 SELECT i, 1 FROM generate_series(310, 370) i ON CONFLICT (k) DO UPDATE SET n = excluded.n', dropped := 'Function Call|Conflict Filter');
RESET shuttle.write_buffer_size;
-- by a view, by a rule; and from partitions of here, which have no table of a node to show
-- them at
CREATE VIEW dist.seen AS SELECT * FROM t WHERE n >= 0;
SELECT * FROM smart.lines('INSERT INTO seen VALUES (120, 1)', 'ANALYZE, DIST');
CREATE RULE also AS ON INSERT TO here.wanted DO ALSO INSERT INTO t VALUES (NEW.k, 11), (NEW.k + 100, 11);
SELECT * FROM smart.lines('INSERT INTO here.wanted VALUES (30), (31)', dropped := '->|"\*|CASE');
SELECT count(*) FROM t WHERE n = 11;
INSERT INTO here.wanted VALUES (32);
SELECT count(*) FROM t WHERE n = 11;
DROP RULE also ON here.wanted;
CREATE TABLE dist.t_here PARTITION OF dist.t FOR VALUES FROM (1000) TO (2000);
INSERT INTO t VALUES (1000, 1);
INSERT INTO t VALUES (1001, 1), (1002, 1), (1003, 1), (1004, 1), (1005, 1), (1006, 1);
SELECT * FROM smart.lines('UPDATE t SET k = 130 WHERE k = 1000');
SELECT * FROM smart.lines('UPDATE t SET k = 130 WHERE k = 1001', 'ANALYZE, DIST');
SELECT * FROM smart.lines('UPDATE t SET k = 130 WHERE k = 1002', 'ANALYZE');
SELECT * FROM smart.lines('UPDATE t SET k = k - 800 WHERE k = 1003 RETURNING k', 'ANALYZE, DIST');
SELECT * FROM smart.lines('WITH moved AS (UPDATE t SET k = k - 800 WHERE k = 1004 RETURNING k) SELECT k FROM moved', 'ANALYZE, DIST');
CREATE TABLE dist.t_here2 PARTITION OF dist.t FOR VALUES FROM (2000) TO (3000);
SELECT * FROM smart.lines('UPDATE t SET k = k - 800 WHERE k > 1004 AND n = 1', 'ANALYZE, DIST', dropped := 'Filter');
INSERT INTO t VALUES (1000, 1), (2000, 1);
SELECT w ->> 'Relation Name' AS here, w #>> '{Written Tables,0,Relation Name}' AS there, w #>> '{Written Tables,0,Storage Write Requests}' AS rows
FROM smart.properties('Target Tables', 'UPDATE t SET k = k - 800 WHERE k >= 1000') l, jsonb_array_elements(l) w;
SELECT tableoid::regclass AS partition, k FROM t WHERE k BETWEEN 130 AND 206 AND n = 1 ORDER BY k, tableoid;
DROP TABLE t_here, t_here2;
-- the statement above its plan is short
CREATE TABLE node3.u (k int);
CREATE FOREIGN TABLE dist.u (k int) SERVER smart3 OPTIONS (schema_name 'node3');
SELECT left(line, 60) || '...' || right(line, 11) AS line, length(line) FROM smart.lines('INSERT INTO u SELECT i FROM generate_series(1, 300) i') line WHERE length(line) > 100;
-- in the other formats
SELECT smart.properties('Remote Plan', 'UPDATE t SET n = n + 1 WHERE k BETWEEN 100 AND 101');
SELECT w ->> 'Operation' AS operation, w ->> 'Relation Name' AS name, w ->> 'Storage Node' AS node,
	w ->> 'Storage Write Requests' AS rows, w ->> 'Storage Flush Requests' AS requests, w ->> 'Remote Plan' AS plan
FROM smart.properties('Written Tables', 'INSERT INTO t VALUES (300, 0), (101, 1)') l, jsonb_array_elements(l) w;
DO $$
DECLARE
	plan xml;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, DIST, VERBOSE, FORMAT XML) INSERT INTO dist.t VALUES (300, 0), (101, 1)' INTO plan;
END $$;
-- in a transaction that goes on, and nothing is written a second time
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM smart.lines('INSERT INTO t SELECT 50, i FROM generate_series(1, 5) i');
SELECT count(*) FROM t WHERE k = 50;
ROLLBACK TO s;
SELECT count(*) FROM smart.lines('INSERT INTO t SELECT 50, i FROM generate_series(1, 4) i');
SELECT count(*) FROM t WHERE k = 50;
COMMIT;
SELECT count(*) FROM node1.t WHERE k = 50;
-- what the node refuses is told, and harms nothing
CREATE FUNCTION node1.not_explained() RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_query() LIKE 'EXPLAIN%' THEN
		RAISE 'this is not explained';
	END IF;
	RETURN true;
END $$;
CREATE VIEW node1.v AS SELECT k, n FROM node1.t WHERE node1.not_explained();
CREATE FOREIGN TABLE dist.v (k int, n int) SERVER smart1 OPTIONS (schema_name 'node1');
BEGIN;
SELECT * FROM smart.lines('UPDATE v SET n = 99 WHERE k = 50');
SELECT count(*) FROM t WHERE n = 99;
COMMIT;
SELECT count(*) FROM node1.t WHERE n = 99;
-- statements of functions, with INSERTs that are not waited for
CREATE FUNCTION dist.adds() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t VALUES (60, 1), (160, 2);
	INSERT INTO t VALUES (60, 3), (160, 4);
	RETURN QUERY SELECT * FROM smart.lines('INSERT INTO t VALUES (60, 5), (160, 6)', dropped := '->|Values');
	INSERT INTO t VALUES (60, 7), (160, 8);
END $$;
SELECT * FROM adds();
SELECT * FROM smart.lines('SELECT count(*) FROM adds()');
-- whose errors are their own where auto_explain asks behind them
LOAD 'auto_explain';
CREATE FUNCTION dist.adds_again() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t4 VALUES (0, 1);
	BEGIN
		INSERT INTO t4 VALUES (-1, 1);
		INSERT INTO t4 VALUES (301, 1);
	EXCEPTION WHEN unique_violation THEN
		RETURN SQLERRM;
	END;
	RETURN 'no error';
END $$;
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_analyze = on;
SET auto_explain.log_verbose = on;
SET auto_explain.log_nested_statements = on;
SET shuttle.explain_dist = on;
SET shuttle.strict_savepoints = off;
SELECT adds_again();
RESET shuttle.strict_savepoints;
DELETE FROM node4.t WHERE k = 0;
SELECT adds_again();
DELETE FROM node4.t WHERE k < 1 RETURNING k;
RESET auto_explain.log_min_duration;
RESET shuttle.explain_dist;
-- while rows of the statement around them wait to be sent
CREATE FUNCTION dist.add() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM adds()); END $$;
SELECT line FROM smart.lines('INSERT INTO t1 SELECT 61, add() FROM generate_series(1, 3) i') line
WHERE line ~ 'Storage|Remote Plan|Insert on t';
SELECT count(*) FROM t WHERE k = 61;
SELECT k, count(*) FROM t WHERE n BETWEEN 1 AND 8 AND k IN (60, 160) GROUP BY k ORDER BY k;
-- only what is explained is kept
INSERT INTO t SELECT i, i FROM generate_series(100, 102) i;
RESET shuttle.explain_remote;
SELECT count(*) FILTER (WHERE line ~ 'Remote Plan'), count(*) > 3 AS lines FROM smart.lines('INSERT INTO t SELECT i, i FROM generate_series(100, 102) i') line;
-- how many rows were in conflict
DELETE FROM t WHERE k = 399;
SELECT * FROM smart.lines('INSERT INTO t4 SELECT i, 1 FROM generate_series(397, 400) i ON CONFLICT DO NOTHING', 'ANALYZE');
SELECT * FROM smart.lines('INSERT INTO t SELECT i, 1 FROM generate_series(399, 400) i ON CONFLICT DO NOTHING', 'ANALYZE');
