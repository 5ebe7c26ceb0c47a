-- Results of SQL functions that are cast to the type that they return: a node that computes the groups
-- casts them, too.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE t AS SELECT i AS id, i % 3 AS k, i > 2 AS b, i + 0.5 AS n, (i + 0.25)::float8 AS f, ('10.0.0.' || i)::inet AS ip,
	3 * i::int8 AS large, ARRAY[i + 0.5, 2] AS list FROM generate_series(1, 10) AS i;
CALL test.mirror('t');
CREATE FUNCTION public.number() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT avg(n) FROM t';
CREATE FUNCTION public.of_float() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT min(f) FROM t';
CREATE FUNCTION public.of_large() RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT max(large) FROM t';
CREATE FUNCTION public.word() RETURNS SETOF text LANGUAGE sql STABLE AS 'SELECT bool_and(b) FROM t';
CREATE FUNCTION public.address() RETURNS SETOF text LANGUAGE sql STABLE AS 'SELECT max(ip) FROM t';
CREATE FUNCTION public.list() RETURNS SETOF int[] LANGUAGE sql STABLE AS 'SELECT max(list) FROM t GROUP BY k';
CREATE FUNCTION public.groups() RETURNS TABLE (g text, n int, b text) LANGUAGE sql STABLE AS
	'SELECT k > 1, sum(n), bool_or(b) FROM t GROUP BY k > 1 HAVING count(*) > 1';
CREATE FUNCTION public.distinct_words() RETURNS SETOF text LANGUAGE sql STABLE AS 'SELECT DISTINCT b FROM t';
-- the rows of a function in a schema
CREATE FUNCTION test.rows_of(name text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('search_path', path || ', public', true);
	EXECUTE format('SELECT string_agg(r::text, %L ORDER BY r::text) FROM %I() AS r', ' ', name) INTO found;
	PERFORM set_config('search_path', 'local, public', true);
	RETURN found;
END $$;
SELECT name, test.rows_of(name, 'local'), test.rows_of(name, 'engine') AS engine
FROM unnest('{number,of_float,of_large,word,address,list,groups,distinct_words}'::text[]) AS name;
SET search_path = engine, public;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM number();
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM groups();
