-- Correlated subqueries: in the select list, in conditions, in aggregates.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 8, 0) AS k, i % 3 AS v FROM generate_series(1, 25) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, nullif(i % 6, 5) AS k, i % 4 AS n FROM generate_series(1, 30) i;
CREATE TABLE c AS SELECT i AS id, i % 4 AS n FROM generate_series(1, 10) i;
CALL test.mirror('b', 'c');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT a.id, (SELECT max(b.id) FROM b WHERE b.k = a.k AND b.n = a.v), (SELECT min(c.id) FROM c WHERE c.n = a.v) FROM a');
SELECT test.same_rows('SELECT a.id, ARRAY(SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id) FROM a');
SELECT test.same_rows('SELECT a.id, EXISTS (SELECT FROM b WHERE b.k = a.k AND b.n > a.v OFFSET 0) FROM a');
SELECT test.same_rows('SELECT a.id, a.v IN (SELECT b.n FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT a.id, a.v > ALL (SELECT b.n FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT a.id, (a.v, a.id) = (SELECT b.n, b.id FROM b WHERE b.id = a.id) FROM a');
SELECT test.same_rows('SELECT a.id, (SELECT b FROM b WHERE b.id = a.id) FROM a');
SELECT test.same_rows('SELECT a.id FROM a WHERE (SELECT count(*) FROM b WHERE b.k = a.k) > 2');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.v = 1 AND (SELECT sum(b.n) FROM b WHERE b.k = a.k) > (SELECT sum(c.id) FROM c WHERE c.n = a.v)');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.id NOT IN (SELECT b.id FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.v IN (SELECT b.n FROM b WHERE b.k = a.k) OR a.id < 3');
-- as an argument, in aggregates, under GROUP BY and HAVING, beside windows
SELECT test.same_rows('SELECT sum((SELECT count(*) FROM b WHERE b.k = a.k)), max(a.id) FROM a');
SELECT test.same_rows('SELECT a.v, sum((SELECT count(*) FROM b WHERE b.k = a.k)) FILTER (WHERE a.id > 5) FROM a GROUP BY a.v');
SELECT test.same_rows('SELECT a.k, count(*), (SELECT count(*) FROM b WHERE b.k = a.k) FROM a GROUP BY a.k');
SELECT test.same_rows('SELECT a.k FROM a GROUP BY a.k HAVING count(*) < (SELECT count(*) + 2 FROM b WHERE b.k = a.k)');
SELECT test.same_rows('SELECT (SELECT count(*) FROM b WHERE b.k = max(a.v)) FROM a GROUP BY a.k');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) + rank() OVER (ORDER BY a.id) FROM a');
SELECT test.same_rows('SELECT DISTINCT (SELECT count(*) FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_order('SELECT a.id FROM a ORDER BY (SELECT count(*) FROM b WHERE b.k = a.k), a.id');
SELECT test.same_order('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a ORDER BY a.id LIMIT 5');
-- in one another, and over a join
SELECT test.same_rows('SELECT a.id, (SELECT sum((SELECT count(*) FROM c WHERE c.n = b.n)) FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT a.id, (SELECT sum((SELECT count(*) FROM c WHERE c.n = b.n AND c.id > a.v)) FROM b WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT a.id, b.id, (SELECT count(*) FROM c WHERE c.n = b.n AND c.id > a.v) FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b JOIN c ON c.n = b.n WHERE b.k = a.k) FROM a');
SELECT test.same_rows('SELECT s.n, (SELECT count(*) FROM b WHERE b.n = s.n) FROM (SELECT a.id, (SELECT max(b.n) FROM b WHERE b.k = a.k) AS n FROM a) s');
SELECT test.same_rows('SELECT a.id, x.n FROM a LEFT JOIN (SELECT id, (SELECT count(*) FROM b WHERE b.k = y.k) AS n FROM a AS y) x ON x.id = a.v');
