-- Prepared statements: parameters beside keys, as keys, in subqueries; a plan
-- for each value and one for all.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 8, 0) AS k, i % 3 AS v FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 4 AS n, 't' || i % 3 AS t FROM generate_series(1, 30) i;
CALL test.mirror('b');
SELECT test.same_prepared('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.n = $1', 'int', '1', '3', NULL, '77');
SELECT test.same_prepared('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k + $1', 'int', '0', '2', NULL);
SELECT test.same_prepared('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.t = $1', 'text', 't1', 't2', '$1', '');
SELECT test.same_prepared('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.v = $1', 'int', '1', '0', '9');
SELECT test.same_prepared('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT $1) s', 'int', '1', '0', '3');
SELECT test.same_prepared('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k AND b.n > $1) FROM a', 'int', '1', '3', NULL);
SELECT test.same_prepared('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.n = ANY ($1)', 'int[]', '{1,2}', '{}', '{NULL,3}');
SELECT test.same_prepared('SELECT s.id FROM (SELECT a.id FROM a LEFT JOIN b ON b.k = a.k AND b.n = $1 ORDER BY a.id, b.id LIMIT 7) s', 'int', '1', '2');
