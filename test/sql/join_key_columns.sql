-- Keys of two and three columns, and constants beside a key.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 4 AS x, (i % 3)::bigint AS y, chr(97 + i % 5) AS t FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS x, i % 3 AS y, chr(97 + i % 4) AS t, i % 2 AS v FROM generate_series(1, 50) i;
CREATE INDEX ON b (x, y);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.y = a.y');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND b.y = a.y AND b.t = a.t');
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.t = a.t AND b.x = a.x AND b.y = a.y)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON (b.x, b.t) = (a.x, a.t)');
-- one outer column twice, two outer columns for one inner column
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.y = a.x');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.x = a.y');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x OR b.y = a.y');
-- constants beside a key, and ones that core makes of a key
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND b.v = 1 AND b.t <> ''a''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.y = a.y WHERE a.y = 2');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND b.y = 1 WHERE a.id BETWEEN 10 AND 40');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.x = a.x AND b.y = ANY (''{0,2}'')');
-- columns that differ only in which key they belong to
SELECT test.same_rows('SELECT a.id, b.id FROM (VALUES (1, 1, 11), (2, 11, 1)) AS a (id, x, y) JOIN (VALUES (1)) AS v ON true
	LEFT JOIN b ON b.id = a.x AND b.x = a.y % 5');
