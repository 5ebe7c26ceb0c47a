-- ANALYZE that may not copy statistics samples on the transaction's own
-- connection, with every method.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
ALTER SERVER our_node OPTIONS (ADD shuttle_copy_statistics 'off');
CREATE TABLE node.big AS SELECT i AS id, i % 10 AS ten, 'word ' || i % 3 AS word, NULL::int AS nothing FROM generate_series(1, 20000) i;
ANALYZE node.big;
CREATE VIEW node.big_view AS SELECT * FROM node.big;
SELECT pair.tables('big') \g /dev/null
CREATE FOREIGN TABLE ours.big_view (id int, ten int, word text) SERVER our_node OPTIONS (schema_name 'node');
CREATE FUNCTION pair.statistics(name text) RETURNS TABLE (tuples text, pages text, columns text) LANGUAGE sql AS $$
	SELECT CASE WHEN c.reltuples BETWEEN 19000 AND 21000 THEN 'about 20000' ELSE c.reltuples::text END,
		CASE WHEN c.relpages > 50 THEN 'many' ELSE c.relpages::text END,
		string_agg(s.attname || ' ' || CASE WHEN s.n_distinct = -1 OR s.n_distinct > 10000 THEN 'all' ELSE round(s.n_distinct)::text END || ' ' || s.null_frac, ', ' ORDER BY s.attname)
	FROM pg_class c LEFT JOIN pg_stats s ON s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname
	WHERE c.oid = name::regclass GROUP BY c.reltuples, c.relpages
$$;
SET default_statistics_target = 10;
ANALYZE ours.big;
SELECT * FROM pair.statistics('ours.big');
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 160000 THEN
		RETURN;					-- the option came with 16
	END IF;
	ALTER FOREIGN TABLE ours.big OPTIONS (ADD analyze_sampling 'system');
	ANALYZE ours.big;
	IF (SELECT tuples FROM pair.statistics('ours.big')) <> 'about 20000' THEN RAISE 'system'; END IF;
	ALTER FOREIGN TABLE ours.big OPTIONS (SET analyze_sampling 'random');
	ANALYZE ours.big;
	IF (SELECT tuples FROM pair.statistics('ours.big')) <> 'about 20000' THEN RAISE 'random'; END IF;
	ALTER FOREIGN TABLE ours.big OPTIONS (SET analyze_sampling 'off');
	ANALYZE ours.big;
	IF (SELECT tuples FROM pair.statistics('ours.big')) <> 'about 20000' THEN RAISE 'off'; END IF;
END $$;

-- a small table is taken whole; one that the node knows nothing of, too
ANALYZE ours.branch;
SELECT reltuples FROM pg_class WHERE oid = 'ours.branch'::regclass;
SELECT most_common_vals IS NULL AS unique_ids, histogram_bounds FROM pg_stats WHERE schemaname = 'ours' AND tablename = 'branch' AND attname = 'id';
ANALYZE ours.big_view;
SELECT tuples, columns FROM pair.statistics('ours.big_view');

-- within a transaction that has written, without waiting for itself
SET lock_timeout = '5s';
BEGIN;
INSERT INTO ours.branch SELECT i + 100 FROM generate_series(1, 10) i;
ANALYZE ours.branch;
SELECT reltuples FROM pg_class WHERE oid = 'ours.branch'::regclass;
ROLLBACK;

-- as the table's owner, who has no mapping
CREATE ROLE pair_owner;
ALTER FOREIGN TABLE ours.branch OWNER TO pair_owner;
\set VERBOSITY sqlstate
ANALYZE ours.branch;
\set VERBOSITY default
ALTER FOREIGN TABLE ours.branch OWNER TO CURRENT_USER;
DROP ROLE pair_owner;
