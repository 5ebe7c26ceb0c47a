-- trap 2: a scan that may stop at its first row, and ones that must not.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 50) i;
CREATE TABLE b AS SELECT i AS id, i % 8 AS k, i % 3 AS v FROM generate_series(1, 24) i;
CALL test.mirror('b');
CREATE FUNCTION is_odd(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 % 2 = 1; END';
-- the node checks everything
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND b.v = 2)');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.v = 2)');
-- a filter that stays here rejects a key's first rows
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND is_odd(b.v))');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND is_odd(b.v))');
-- so does a condition of the join that is no key
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND is_odd(b.v + a.id))');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND is_odd(b.v + a.id))');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND (b.v = 7 OR is_odd(a.id)))');
-- an inner side that is unique
SELECT test.same_rows('SELECT a.id, s.k FROM a JOIN (SELECT DISTINCT k FROM b) s ON s.k = a.k');
SELECT test.same_rows('SELECT a.id, s.k, s.n FROM a JOIN (SELECT k, count(*) AS n FROM b GROUP BY k) s ON s.k = a.k');
SELECT test.same_rows('SELECT a.id, s.n FROM a, LATERAL (SELECT DISTINCT b.k AS n FROM b WHERE b.k = a.k) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT DISTINCT ON (b.k) b.* FROM b WHERE b.k = a.k ORDER BY b.k, b.id) s ON true');
-- asked for: one row a key in the first, all rows in the second
SET shuttle.debug_force_batched_join = on;
SELECT transport, keys, distinct_keys, rows_returned
FROM test.numbers('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k)');
SELECT transport, keys, distinct_keys, rows_returned
FROM test.numbers('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k AND is_odd(b.v + a.id))');
