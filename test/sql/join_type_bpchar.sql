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
