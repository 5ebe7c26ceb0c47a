-- Batched joins in subqueries, CTEs, set operations, views and functions.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 20) i;
CREATE TABLE c AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 10) i;
CALL test.mirror('b', 'c');
SELECT test.same_rows('SELECT s.n, count(*) FROM (SELECT a.id, b.n FROM a JOIN b ON b.k = a.k) s GROUP BY s.n');
SELECT test.same_rows('WITH s AS MATERIALIZED (SELECT a.id, b.n FROM a JOIN b ON b.k = a.k) SELECT x.id, y.id FROM s x JOIN s y ON y.n = x.id % 5');
SELECT test.same_rows('WITH s AS NOT MATERIALIZED (SELECT a.id, b.n FROM a JOIN b ON b.k = a.k) SELECT s.*, c.id FROM s LEFT JOIN c ON c.k = s.n');
SELECT test.same_rows('WITH s AS MATERIALIZED (SELECT * FROM a WHERE id < 20) SELECT s.id, b.id FROM s LEFT JOIN b ON b.k = s.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k UNION ALL SELECT a.id, c.id FROM a LEFT JOIN c ON c.k = a.k');
SELECT test.same_rows('SELECT a.k, b.n FROM a JOIN b ON b.k = a.k UNION SELECT a.k, c.id FROM a JOIN c ON c.k = a.k');
SELECT test.same_rows('SELECT a.k, b.n FROM a JOIN b ON b.k = a.k EXCEPT ALL SELECT a.k, c.id FROM a JOIN c ON c.k = a.k');
SELECT test.same_rows('SELECT s.id, s.k, c.id FROM (SELECT id, k FROM a UNION ALL SELECT id + 100, id FROM a) s LEFT JOIN c ON c.k = s.k');
SELECT test.same_rows('SELECT a.id, s.id FROM a LEFT JOIN (SELECT id, k FROM b UNION ALL SELECT id + 100, k FROM c) s ON s.k = a.k');
SELECT test.same_rows('SELECT v.x, b.id FROM (VALUES (1), (3), (NULL), (3), (77)) AS v (x) LEFT JOIN b ON b.k = v.x');
SELECT test.same_rows('SELECT g, b.id FROM generate_series(1, 10) g LEFT JOIN b ON b.k = g');
SELECT test.same_rows('SELECT g, b.id FROM unnest(''{1,2,NULL,2}''::int[]) WITH ORDINALITY AS u (g, o) LEFT JOIN b ON b.k = g AND b.n = o');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.k > (SELECT avg(b.n) FROM a AS x JOIN b ON b.k = x.k)');
SELECT test.same_rows('SELECT s.m, b.id FROM (SELECT max(id) AS m, k FROM a GROUP BY k) s LEFT JOIN b ON b.k = s.k AND b.id < s.m');
SELECT test.same_rows('SELECT s.*, b.id FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM a) s LEFT JOIN b ON b.k = s.r');
