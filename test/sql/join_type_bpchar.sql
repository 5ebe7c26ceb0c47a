-- trap 10: character(n) with its padding, varchar(n), "char", bit(n): an array
-- of keys must not carry a length of its own.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, ('ab' || i % 6)::char(8) AS c8, ('ab' || i % 6)::char(3) AS c3, ('ab' || i % 6 || '  ')::varchar(6) AS v6,
	('ab' || i % 6 || '  ')::text AS t, (i % 6)::text::"char" AS q, (i % 6)::bit(5) AS b5 FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT id + 100 AS id, c8, c3, v6, t, q, b5 FROM a WHERE id % 6 < 4;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id, b.c8 FROM a LEFT JOIN b ON b.c8 = a.c8');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c8 = a.c3');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c3 = a.c8');
SELECT test.same_rows('SELECT a.id, b.id, b.v6 FROM a LEFT JOIN b ON b.v6 = a.v6');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = a.v6');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t = a.c8');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c8 = a.t');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.q = a.q');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.b5 = a.b5');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c8 LIKE a.c8 AND b.c3 >= a.c3');
-- casts that a query does not write, and so postgres_fdw neither
CREATE TABLE d AS SELECT i AS id, format('ab%s%s', i / 2, CASE WHEN i % 2 = 0 THEN '' ELSE ' ' END) AS t FROM generate_series(1, 12) i;
ALTER TABLE d ADD v6 varchar(6);
UPDATE d SET v6 = t;
SELECT test.same_rows('SELECT d.id, b.id FROM d JOIN (SELECT DISTINCT v6 FROM d) s ON s.v6 = d.t JOIN b ON b.c8 = d.t');
SELECT test.same_rows('SELECT s.v6, b.id FROM (SELECT DISTINCT v6 FROM d) s JOIN a ON s.v6 = a.c8 JOIN b ON b.v6 = a.c8');
SELECT test.same_rows('SELECT d.id, b.id FROM (SELECT DISTINCT t, v6 FROM d) s JOIN d ON d.t = s.t AND d.t = s.v6 JOIN b ON b.c8 = s.t');
-- so in joins on the node
CREATE TABLE x AS SELECT DISTINCT c8 FROM a;
CALL test.mirror('d', 'x');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT test.same_rows('SELECT d.id, b.id FROM d JOIN x ON d.v6 = x.c8 JOIN b ON b.v6 = x.c8');
SELECT test.same_rows('SELECT d.id, e.id FROM d JOIN x ON d.v6 = x.c8 JOIN d e ON e.v6 = x.c8');
SELECT test.same_rows('SELECT d.id, e.id FROM d JOIN (SELECT DISTINCT c8 FROM a) x ON d.v6 = x.c8 JOIN d e ON e.v6 = x.c8');

