-- Conditions beside the keys: on the node, here, on both sides of the join.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 9 AS k, i % 4 AS v FROM generate_series(1, 45) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS k, i % 5 AS v, 'b' || i % 3 AS t FROM generate_series(1, 60) i;
CALL test.mirror('b');
-- functions that are not shipped
CREATE FUNCTION here(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 3 = 1; END';
CREATE FUNCTION here_not_strict(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 IS NULL OR $1 % 3 = 1; END';
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE b.v = 2 AND b.t <> ''b1''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE here(b.v)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND here(b.v) AND b.t = ''b0''');
-- conditions of the join that are no keys are checked for every pair
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND here(b.v + a.v)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND here(b.v + a.v)');
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND here(b.v + a.v))');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND here(b.v + a.v))');
-- a condition of the outer side alone, in a left join's ON
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND a.v = 2');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND here(a.v)');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND a.v = 2)');
-- above the join, on the side that may be NULL
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE here_not_strict(b.v)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE b.v IS NULL OR b.v = a.v');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v = 9');
-- no rows for most keys, for all keys, and no table at all
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k * 6');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k + 100');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k + 100)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND false');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE 1 = 0');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE (SELECT false)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v = (SELECT max(v) FROM a)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.v > (SELECT avg(x.v) FROM b AS x WHERE x.k = 2)');
-- core knows that the inner side has no rows (from 16 on), or finds out
SELECT split_part(test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v = 3 AND b.v = 4'), ',', 1);
SELECT split_part(test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.k = 3 WHERE a.k = 4'), ',', 1);
