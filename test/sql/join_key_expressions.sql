-- Keys that are expressions: of outer columns, of inner columns, of both.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS x, i % 3 AS y, CASE WHEN i % 2 = 0 THEN 'Na' ELSE 'nA' END || i % 7 AS t
FROM generate_series(1, 42) i;
CREATE TABLE b AS SELECT i AS id, i % 9 AS x, i % 4 AS y, 'NA' || i % 9 AS t FROM generate_series(1, 36) i;
CREATE INDEX ON b (lower(t));
CREATE INDEX ON b ((x + y));
CALL test.mirror('b');
-- on the outer side
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x + 1');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = upper(a.t)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x * 2 - a.y');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = ''NA'' || a.x');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = length(a.t) + a.y');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = CASE WHEN a.y = 0 THEN a.x ELSE 3 END');
-- on the inner side, with an index there
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON lower(b.t) = lower(a.t)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x + b.y = a.x');
-- on both sides of the operator
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x + a.y = a.x + b.y');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x - a.x = 2');
-- parts of an expression that cannot be shipped stay here
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND coalesce(b.y, 7) = coalesce(nullif(a.y, 1), 7)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = coalesce(nullif(a.x, 2), 5)');
SELECT test.same_rows('SELECT s.id, b.id FROM (SELECT id, coalesce(nullif(x, 2), 5) AS k FROM a OFFSET 0) s LEFT JOIN b ON b.x = s.k');
