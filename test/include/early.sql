\set ECHO none
\set QUIET on
SET client_min_messages = warning;
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
-- Whose transactions have ended can be met for a moment.
CREATE PROCEDURE node.settle() LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 4711) LOOP
		PERFORM pg_sleep(0.005);
	END LOOP;
END $$;
CREATE VIEW node.meet1 AS SELECT 1 AS id, node.meet(1, '{2,3}') AS met;
CREATE VIEW node.meet2 AS SELECT 2 AS id, node.meet(2, '{1,3}') AS met;
CREATE VIEW node.meet3 AS SELECT 3 AS id, node.meet(3, '{1,2}') AS met;
CREATE VIEW node.pair1 AS SELECT 1 AS id, node.meet(1, '{2}') AS met;
CREATE VIEW node.pair2 AS SELECT 1 AS id, node.meet(2, '{1}') AS met;
CREATE VIEW node.failing AS SELECT 1 AS id, 1 / (seconds - seconds) AS zero FROM node.patience;
DROP SERVER IF EXISTS node1, node2, node3 CASCADE;
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
RESET client_min_messages;
\set QUIET off
\set ECHO all
