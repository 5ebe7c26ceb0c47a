-- Scans that will be read are sent before the first answer is waited for.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql

-- Scans of the views meet<n> say whether all others were under way at the
-- same time; they wait for that as long as patience says.
CREATE TABLE node.patience (seconds float8);
INSERT INTO node.patience VALUES (20);
CREATE FUNCTION node.meet(me int, others int[]) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	limit_at timestamptz := clock_timestamp() + (SELECT seconds FROM node.patience) * interval '1 second';
BEGIN
	PERFORM pg_advisory_xact_lock_shared(4711, me);
	LOOP
		IF (SELECT count(DISTINCT objid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 4711
			AND objid::int = ANY (others) AND granted) = cardinality(others) THEN
			RETURN true;
		END IF;
		IF clock_timestamp() > limit_at THEN
			RETURN false;
		END IF;
		PERFORM pg_sleep(0.005);
	END LOOP;
END $$;
CREATE VIEW node.meet1 AS SELECT 1 AS id, node.meet(1, '{2,3}') AS met;
CREATE VIEW node.meet2 AS SELECT 2 AS id, node.meet(2, '{1,3}') AS met;
CREATE VIEW node.meet3 AS SELECT 3 AS id, node.meet(3, '{1,2}') AS met;
CREATE VIEW node.pair1 AS SELECT 1 AS id, node.meet(1, '{2}') AS met;
CREATE VIEW node.pair2 AS SELECT 1 AS id, node.meet(2, '{1}') AS met;
CREATE VIEW node.failing AS SELECT 1 AS id, 1 / (seconds - seconds) AS zero FROM node.patience;
SET client_min_messages = warning;
DROP SERVER IF EXISTS node1, node2, node3 CASCADE;
RESET client_min_messages;
DO $$
DECLARE
	options text := (SELECT string_agg(format('%s %L', split_part(o, '=', 1), split_part(o, '=', 2)), ', ')
		FROM pg_foreign_server, unnest(srvoptions) o WHERE srvname = 'our_node');
BEGIN
	FOR i IN 1..3 LOOP
		EXECUTE format('CREATE SERVER node%s FOREIGN DATA WRAPPER shuttle OPTIONS (%s)', i, options);
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER node%s', i);
		EXECUTE format('CREATE FOREIGN TABLE ours.meet%1$s (id int, met bool) SERVER node%1$s OPTIONS (schema_name ''node'')', i);
		EXECUTE format('CREATE FOREIGN TABLE ours.pair%1$s (id int, met bool) SERVER node%1$s OPTIONS (schema_name ''node'')', i);
	END LOOP;
END $$;
CREATE FOREIGN TABLE ours.failing (id int, zero float8) SERVER node2 OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.nodes_account (id int, balance numeric) SERVER node1 OPTIONS (schema_name 'node', table_name 'account');
CREATE FOREIGN TABLE ours.other_account (id int, balance numeric) SERVER node2 OPTIONS (schema_name 'node', table_name 'account');
SET search_path = ours;
SET shuttle.enable_batched_join = off;

-- inputs of Append, of MergeAppend, of aggregates over them
SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3;
SELECT count(*), bool_and(met) FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3) u;
SELECT * FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3) u ORDER BY id LIMIT 3;
-- both sides of joins
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SET enable_hashjoin = off;
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SET enable_mergejoin = off;
SELECT * FROM pair1 a JOIN pair2 b USING (id);
RESET enable_hashjoin;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT * FROM pair1 a JOIN pair2 b USING (id);
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SELECT * FROM pair1 a LEFT JOIN pair2 b USING (id);
SELECT * FROM pair1 a FULL JOIN pair2 b USING (id);
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT met FROM pair1 INTERSECT SELECT met FROM pair2;
-- subqueries that run once, CTEs, the source of a write
SELECT (SELECT met FROM meet1), (SELECT met FROM meet2), (SELECT met FROM meet3);
SELECT id FROM account WHERE id = (SELECT count(*) FROM pair1 WHERE met) + (SELECT count(*) FROM pair2 WHERE met);
WITH a AS MATERIALIZED (SELECT * FROM pair1), b AS MATERIALIZED (SELECT * FROM pair2)
SELECT * FROM a, b;
CREATE TABLE pair.met AS SELECT * FROM meet1 UNION ALL SELECT * FROM meet2 UNION ALL SELECT * FROM meet3;
SELECT * FROM pair.met ORDER BY id;
INSERT INTO pair.met SELECT * FROM pair1 UNION ALL SELECT * FROM pair2 RETURNING met;

-- not where a part of the inputs may do, and not where it is switched off
UPDATE node.patience SET seconds = 0.1;
SELECT * FROM (SELECT * FROM meet1 UNION ALL SELECT * FROM meet2) u LIMIT 1;
SELECT CASE WHEN met THEN 'both' WHEN NOT met THEN 'alone' ELSE (SELECT 'never' FROM pair2) END FROM pair1;
SET shuttle.enable_early_start = off;
SELECT * FROM pair1 a JOIN pair2 b USING (id);
SELECT met FROM meet1 UNION ALL SELECT met FROM meet2;
RESET shuttle.enable_early_start;

-- an error of a scan that turns out not to be needed does not show, and the
-- node's transaction goes on
CREATE TABLE pair.empty (id int);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
BEGIN;
SELECT count(*) FROM other_account;
EXPLAIN (COSTS OFF) SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT count(*) FROM other_account;
COMMIT;
-- where it is needed it does
INSERT INTO pair.empty VALUES (2);
SELECT * FROM pair.empty e JOIN failing f ON e.id <> f.id;
SELECT id FROM account WHERE id < 3 UNION ALL SELECT id FROM failing WHERE zero = 1;
SELECT count(*) FROM other_account;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- trap 24: a read sees the node as it was before its statement's writes,
-- started early or not
SET shuttle.enable_early_start = off;
BEGIN;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = 3 RETURNING id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM account);
SELECT count(*) FROM account;
WITH more AS (UPDATE account SET balance = balance + 1000 WHERE id > 290 RETURNING id)
SELECT (SELECT count(*) FROM more), max(balance), count(*) FROM account;
-- a cursor that was not read yet keeps what it was opened for
DECLARE c CURSOR FOR SELECT count(*) FROM account;
DELETE FROM account;
FETCH c;
SELECT count(*) FROM account;
ROLLBACK;
RESET shuttle.enable_early_start;
BEGIN;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = 3 RETURNING id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM account);
ROLLBACK;
RESET search_path;
SET client_min_messages = warning;
DROP SERVER node1, node2, node3 CASCADE;
