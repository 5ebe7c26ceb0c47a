-- Plan advice of PostgreSQL 19 beside batched joins. A look at the plan of a batched join is refused.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE a AS SELECT i AS id, i % 10 AS b_id FROM generate_series(1, 60) i;
CREATE TABLE remote_b AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 20000) i;
CREATE INDEX ON remote_b (id);
CALL test.loopback('far');
CREATE FOREIGN TABLE b (id int, name text) SERVER far OPTIONS (table_name 'remote_b');
ANALYZE a, remote_b, b;
-- older servers have no such library: these say what is wanted
CREATE FUNCTION advised(advice text, wanted text, options text DEFAULT 'COSTS OFF') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found text[] := '{}';
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		RETURN wanted;
	END IF;
	LOAD 'pg_plan_advice';
	PERFORM set_config('pg_plan_advice.advice', advice, true);
	FOR line IN EXECUTE 'EXPLAIN (' || options || ') SELECT a.id, b.name FROM a JOIN b ON b.id = a.b_id' LOOP
		found := found || array_remove(regexp_match(line, 'Nested Loop|Look Ahead|Hash Join|Merge Join'), NULL);
	END LOOP;
	RETURN array_to_string(found, ', ');
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS line = PG_EXCEPTION_HINT;
	RETURN sqlerrm || ' ' || line;
END $$;
SELECT advised('', 'Nested Loop, Look Ahead');
SELECT advised('JOIN_ORDER(a b) HASH_JOIN(b)', 'Hash Join');
SELECT advised('JOIN_ORDER(a b) MERGE_JOIN_PLAIN(b)', 'Merge Join');
SELECT advised('JOIN_ORDER(a b) NESTED_LOOP_PLAIN(b)', 'plan advice cannot be given for the plan of a batched join Set shuttle.enable_batched_join = off for this statement, or advise another kind of join.');
SELECT advised('', 'plan advice cannot be given for the plan of a batched join Set shuttle.enable_batched_join = off for this statement, or advise another kind of join.', 'PLAN_ADVICE');
SET shuttle.enable_batched_join = off;
SELECT advised('', 'Hash Join', 'PLAN_ADVICE');
SELECT advised('JOIN_ORDER(a b) NESTED_LOOP_PLAIN(b)', 'Nested Loop');
RESET shuttle.enable_batched_join;
DROP FUNCTION advised;
DROP SERVER far CASCADE;
DROP TABLE a, remote_b;
