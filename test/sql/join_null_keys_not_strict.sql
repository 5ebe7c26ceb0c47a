-- trap 1: a NULL key finds rows where a shipped condition is not strict in it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 10, 0) AS k, nullif(i % 3, 0) AS v FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT i AS id, nullif(i % 12, 4) AS k, nullif(i % 3, 1) AS v FROM generate_series(1, 24) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k OR (a.k IS NULL AND b.k = 7)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k OR (a.k IS NULL AND b.k = 7)');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k OR (a.k IS NULL AND b.k = 7))');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k IS NOT DISTINCT FROM a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k IS DISTINCT FROM a.k AND b.id = a.id');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k IS NOT DISTINCT FROM a.k)');
-- strict in one column, not in the other
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.v IS NOT DISTINCT FROM a.v');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k IS NOT DISTINCT FROM a.k AND b.v = a.v');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON (b.k = a.k OR a.k IS NULL) AND b.v = a.v');
-- the same column in a strict condition and in one that is not
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND (b.v = a.v OR a.k IS NULL)');
-- true for NULL, for all rows of b
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON (b.k = a.k) IS NOT TRUE AND b.id = a.id');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id = a.id AND (b.k < a.k) IS UNKNOWN');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id < 4 AND CASE WHEN a.k IS NULL THEN b.k = 1 ELSE b.k = a.k END');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = ANY (ARRAY[a.k, a.v, 5])');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON (b.k, b.v) IS NOT DISTINCT FROM (a.k, a.v)');
