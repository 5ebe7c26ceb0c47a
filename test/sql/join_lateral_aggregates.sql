-- An aggregate in a lateral subquery that takes a value of the outer row alone: it
-- is one of the subquery's rows, whatever the request for several keys looks like.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 4, 0) * 10 AS x FROM generate_series(1, 40) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS g, i % 3 * 10 AS y FROM generate_series(1, 200) i;
CALL test.mirror('a', 'b');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT g, sum(v) AS s, count(*) AS n FROM (SELECT g, a.x AS v FROM b WHERE b.id > a.id) t GROUP BY g) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT count(*) FILTER (WHERE v > a.x) AS n, max(v) AS m FROM (SELECT 15 AS v FROM b WHERE b.id > a.id) t) s');
SELECT test.same_rows('SELECT a.id, (SELECT max(v) FROM (SELECT g, a.x AS v FROM b WHERE b.y = a.x) t) FROM a');
-- beside a column
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT g, sum(y + a.x) AS s FROM b WHERE b.id > a.id GROUP BY g) s');
-- in HAVING
SET search_path = engine, public;
SET shuttle.debug_force_batched_join = on;
SELECT count(*), sum(s.g) FROM a, LATERAL (SELECT g FROM (SELECT g, 15 AS v FROM b WHERE b.id > a.id) t GROUP BY g HAVING count(*) FILTER (WHERE v > a.x) > 35) s;
SET search_path = local, public;
SELECT count(*), sum(s.g) FROM a, LATERAL (SELECT g FROM (SELECT g, 15 AS v FROM b WHERE b.id > a.id) t GROUP BY g HAVING count(*) FILTER (WHERE v > a.x) > 35) s;
DROP TABLE a, b CASCADE;
