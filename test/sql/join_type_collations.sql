-- Collations: keys that a collation holds equal are different keys, and one
-- that is not the table's own is applied where the comparison is made.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words (id int, t text);
INSERT INTO words VALUES (1, 'name'), (2, 'Name'), (3, 'NAME'), (4, 'näme'), (5, 'other'), (6, 'Other'), (7, 'B'), (8, 'a'), (9, 'b'), (10, 'A');
CREATE TABLE a AS SELECT id, t, t COLLATE "C" AS c, t COLLATE ignore_case AS i FROM words UNION ALL
	SELECT id + 20, t, t, t FROM words WHERE id < 6;
CREATE TABLE b AS SELECT id + 100 AS id, t, c, i FROM a;
CREATE INDEX ON b (i);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id, b.i FROM a JOIN b ON b.i = a.i');
SELECT test.same_rows('SELECT a.id, b.id, b.i FROM a LEFT JOIN b ON b.i = a.i AND b.id > 105');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.c = a.c');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t = a.t');
-- of two kinds; outer columns of a collation of their own are not shipped
SELECT test.same_rows('SELECT a.id, b.id, b.i FROM a JOIN b ON b.i = a.t');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c = a.t');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.c > a.t AND b.i > a.t AND b.t <> a.t');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.i = a.t AND b.id < 103)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t = a.t COLLATE "C"');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t = a.t COLLATE ignore_case');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t COLLATE ignore_case = a.t');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.i COLLATE "C" = a.i');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t = a.i COLLATE "default"');
-- in ranges and in what is unique
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.c > a.c AND b.t > a.t');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.i > a.i AND b.id < 108');
SELECT test.same_rows('SELECT a.id, s.n FROM a, LATERAL (SELECT count(DISTINCT b.i) AS n FROM b WHERE b.i <> a.i) s');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.i = a.i AND b.t <> a.t)');
