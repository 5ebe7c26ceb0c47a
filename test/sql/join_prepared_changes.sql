-- What happens to a plan that is kept when tables, options and settings
-- change under it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 8 AS k FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 30) i;
CREATE TABLE b2 AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 6) i;
CALL test.mirror('b');
SET shuttle.debug_force_batched_join = on;
SET plan_cache_mode = force_generic_plan;
SET search_path = guest, local, public;
-- batches of a kept plan: batch_size is part of it
CREATE FUNCTION look(statement text) RETURNS TABLE (batches text, largest text) LANGUAGE plpgsql AS $$
DECLARE
	printed json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE ' || statement INTO printed;
	RETURN QUERY SELECT l ->> 'Batches', l ->> 'Largest Batch' FROM test.look_aheads((printed -> 0)::jsonb) AS l;
END $$;
PREPARE q AS SELECT a.id, b.id AS b_id FROM a JOIN b ON b.k = a.k;
SELECT * FROM look('q');
SET shuttle.batch_size = 10;
SELECT * FROM look('q');
-- switched off: the plan that is kept runs without batches
SET shuttle.enable_batched_join = off;
SELECT * FROM look('q');
SET shuttle.enable_batched_join = on;
SELECT * FROM look('q');
-- an option, an index or statistics: it is planned again
ALTER SERVER guest OPTIONS (ADD fdw_tuple_cost '0.5');
SELECT * FROM look('q');
ALTER SERVER guest OPTIONS (DROP fdw_tuple_cost);
SET shuttle.batch_size = 20;
CREATE INDEX ON a (k);
SELECT * FROM look('q');
CREATE TEMP TABLE answer AS EXECUTE q;
SELECT count(*) FROM answer;
-- another remote table
ALTER FOREIGN TABLE b OPTIONS (ADD table_name 'b2');
CREATE TEMP TABLE answer2 AS EXECUTE q;
SELECT count(*) FROM answer2;
-- a table in the place of a foreign one
ALTER FOREIGN TABLE guest.b RENAME TO b_away;
CREATE TEMP TABLE answer3 AS EXECUTE q;
SELECT count(*) FROM answer3;
ALTER FOREIGN TABLE guest.b_away RENAME TO b;
-- plans of functions
CREATE FUNCTION local.count_join() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM a JOIN b ON b.k = a.k); END $$;
SELECT count_join(), count_join();
ALTER FOREIGN TABLE b OPTIONS (DROP table_name);
SELECT count_join(), count_join();
SET search_path = local, public;
SELECT count_join();
