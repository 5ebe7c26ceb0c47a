-- Looking at a finished plan takes time by the number of its nodes: a deep
-- plan is planned as fast as without us.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE f AS SELECT i AS id, i % 20 AS k FROM generate_series(1, 100) i;
CREATE TABLE o AS SELECT i AS id FROM generate_series(1, 30) i;
CALL test.mirror('f');
SET statement_timeout = '60s';

-- A query inside of a query, so many times.
CREATE FUNCTION test.nested(query text, times int) RETURNS text LANGUAGE sql AS $$
	SELECT repeat('SELECT * FROM (', times) || query || repeat(') q LIMIT 1000', times)
$$;
SELECT count(*) > 60 AS deep FROM test.plan_shape(test.nested('SELECT o.id, f.k FROM o JOIN f ON f.id = o.id', 60));
SELECT test.same_rows(test.nested('SELECT o.id, f.k FROM o JOIN f ON f.id = o.id', 60));
SELECT test.same_rows(test.nested('SELECT o.id, (SELECT count(*) FROM f WHERE f.k = o.id) FROM o', 60));
SELECT test.same_rows('SELECT o.id, s.* FROM o CROSS JOIN LATERAL (' ||
	test.nested('SELECT f.id, f.k FROM f WHERE f.k = o.id ORDER BY f.id', 60) || ') s');
DROP TABLE f, o;
