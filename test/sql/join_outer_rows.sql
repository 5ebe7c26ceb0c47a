-- Outer rows that are computed are kept as values: of every kind of storage,
-- NULLs, large ones, and arrays that are in a form of their own in memory.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k, nullif(i % 5, 0)::text AS name, ARRAY[i, nullif(i % 3, 0)] AS list,
	i / 3::numeric AS n, ('2020-01-01'::date + i)::timestamptz AS t, md5(i::text)::uuid AS u, i % 2 = 0 AS even,
	repeat(md5(i::text), 200 * (i % 3)) AS large, (i % 11)::int2 AS small, i::float4 AS f, ('x' || i % 4)::name AS word
FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS k, (i % 5)::text AS name, ARRAY[i, nullif(i % 3, 0)] AS list,
	md5(i::text)::uuid AS u, ('x' || i % 6)::name AS word FROM generate_series(1, 50) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT o.*, b.id FROM (SELECT a.*, id + 1 AS next FROM a OFFSET 0) o LEFT JOIN b ON b.k = o.k');
SELECT test.same_rows('SELECT o.*, b.id FROM (SELECT id, name || k AS both, name, large || id AS large, n * 2 AS n, t + ''1 day'' AS t FROM a OFFSET 0) o LEFT JOIN b ON b.name = o.name');
SELECT test.same_rows('SELECT o.*, b.id FROM (SELECT id, array_append(list, 7) AS longer, array_append(list[1:1], list[2]) AS list FROM a OFFSET 0) o LEFT JOIN b ON b.list = o.list');
SELECT test.same_rows('SELECT o.*, b.id FROM (SELECT u, word, even, small, f, id * 2 AS id FROM a OFFSET 0) o LEFT JOIN b ON b.u = o.u AND b.word >= o.word');
SELECT test.same_rows('SELECT o, b FROM (SELECT k, a AS whole, NULL::text AS nothing FROM a OFFSET 0) o JOIN b ON b.k = o.k');
SELECT test.same_rows('SELECT o.large, o.n, (SELECT max(b.id) FROM b WHERE b.k = o.k) FROM (SELECT k, upper(large) AS large, sum(n) AS n FROM a GROUP BY 1, 2) o');
SELECT test.same_order('SELECT o.large, s.id FROM (SELECT k, lower(large) AS large, id FROM a ORDER BY id DESC OFFSET 0) o, LATERAL (SELECT b.id FROM b WHERE b.k = o.k ORDER BY b.id) s');
SELECT test.same_error('SELECT o.n, b.id FROM (SELECT k, 10 / (k - 6) AS n FROM a OFFSET 0) o JOIN b ON b.k = o.k');
