-- trap 13: a subquery that stock would not evaluate for a row is not
-- evaluated for it, or its error is not seen.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS j, i % 3 AS v FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 4 AS n FROM generate_series(1, 30) i;
CREATE INDEX ON a (id);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, CASE WHEN a.j <> 0 THEN (SELECT count(*) FROM b WHERE b.k = 10 / a.j) END FROM a');
SELECT test.same_rows('SELECT a.id, CASE WHEN a.j <> 0 THEN (SELECT sum(10 / (b.n - b.n + a.j)) FROM b WHERE b.k = a.j) ELSE -1 END FROM a');
SELECT test.same_rows('SELECT a.id, CASE a.v WHEN 0 THEN (SELECT count(*) FROM b WHERE b.k = a.j) WHEN 1 THEN (SELECT max(b.id) FROM b WHERE b.k = a.j) END FROM a');
SELECT test.same_rows('SELECT a.id, coalesce(nullif(a.j, 0), (SELECT max(b.id) FROM b WHERE b.k = a.v)) FROM a');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.j = 0 OR (SELECT count(*) FROM b WHERE b.k = 10 / a.j) > 2');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.j <> 0 AND (SELECT count(*) FROM b WHERE b.k = 10 / a.j) > 2');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.j = 0 OR EXISTS (SELECT FROM b WHERE b.k = a.j AND 10 / (a.j * b.id) >= 0)');
SELECT test.same_rows('SELECT a.id, a.j = 0 OR EXISTS (SELECT FROM b WHERE b.k = a.j AND 10 / (a.j * b.id) >= 0) FROM a');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.j AND b.n = 10 / a.j) FROM a WHERE a.j > 0');
SELECT test.same_rows('SELECT a.v, sum((SELECT count(*) FROM b WHERE b.k = 10 / a.j)) FILTER (WHERE a.j <> 0) FROM a GROUP BY a.v');
SELECT test.same_rows('SELECT a.id, (SELECT max(CASE WHEN a.j <> 0 THEN 10 / a.j + b.id END) FROM b WHERE b.k = a.j) FROM a');
-- rows that a LIMIT or an EXISTS does not come to
SELECT test.same_order('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = 10 / (a.id - 20)) FROM a ORDER BY a.id LIMIT 7');
SELECT test.same_rows('SELECT EXISTS (SELECT FROM a WHERE (SELECT count(*) FROM b WHERE b.k = 10 / (a.id - 20)) >= 0 OFFSET 0)');
-- errors that are reached
SELECT test.same_error('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = 10 / a.j) FROM a');
SELECT test.same_error('SELECT a.id, (SELECT sum(10 / (b.n - a.v)) FROM b WHERE b.k = a.j) FROM a');
SELECT test.same_error('SELECT a.id, (SELECT b.id FROM b WHERE b.k = a.j) FROM a');
SELECT test.same_error('SELECT a.id, CASE WHEN a.id = 29 THEN (SELECT b.id FROM b WHERE b.k = a.j) END FROM a');
