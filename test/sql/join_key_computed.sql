-- Keys that no node can compute: functions of outer columns that only this
-- server has are computed here, and their values are sent.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE FUNCTION test.twice(i int) RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN i * 2; END';
CREATE FUNCTION test.or_seven(i int) RETURNS int
LANGUAGE plpgsql STABLE AS 'BEGIN RETURN coalesce(i, 7); END';
CREATE FUNCTION test.sum(i int, j int) RETURNS int
LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i + j; END';
CREATE FUNCTION test.named(i int) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 'name ' || i; END $$;
CREATE FUNCTION test.any(i int) RETURNS int
LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN i; END';
CREATE DOMAIN test.small AS int CHECK (VALUE < 1000);
CREATE TABLE f AS
	SELECT i AS id, i % 40 AS k, nullif(i % 3, 0) AS j, 'name ' || i AS t, ARRAY[i % 5, i % 7] AS a, i % 2 = 0 AS b,
		date '2024-01-01' + i % 20 AS d, (i % 12)::numeric / 2 AS n
	FROM generate_series(1, 120) i;
CREATE TABLE o AS
	SELECT i AS id, nullif(i % 31, 7) AS k, i % 4 AS j, ARRAY[i % 5, nullif(i % 7, 2)] AS a,
		date '2024-01-05' + i % 9 AS d
	FROM generate_series(1, 60) i;
CREATE TABLE p AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 12) i;
CREATE INDEX ON o (id);
CREATE TABLE g (k int, v int) PARTITION BY HASH (k);
CREATE TABLE g0 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE g1 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE g2 PARTITION OF g FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO g SELECT i % 12, i FROM generate_series(1, 60) i;
CALL test.mirror('f', 'p');
CALL test.mirror_partitions('g', 'g1');

SELECT * FROM test.numbers('SELECT o.id, f.id FROM o LEFT JOIN f ON f.k = test.twice(o.k) AND f.j = o.j');
SELECT test.same_rows('SELECT o.id, f.id FROM o LEFT JOIN f ON f.k = test.twice(o.k) AND f.j = o.j');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = test.twice(o.k)');
SELECT test.same_rows('SELECT o.id FROM o WHERE EXISTS (SELECT FROM f WHERE f.k = test.twice(o.k))');
SELECT test.same_rows('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM f WHERE f.k = test.twice(o.k))');
SELECT test.same_rows('SELECT o.id, f.id FROM o LEFT JOIN f ON f.k = test.or_seven(o.k)');
SELECT test.same_rows('SELECT o.id, f.id FROM o LEFT JOIN f ON f.k IS NOT DISTINCT FROM test.twice(o.k)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.t = test.named(o.id + 1)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = 3 OR f.k = test.twice(o.k)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = 3 OR test.twice(o.k) = 10');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k BETWEEN test.twice(o.j) AND test.sum(o.j, 5)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.d = o.d + test.twice(1) AND f.d > o.d + test.twice(o.j)');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.n = test.twice(o.k)::numeric / 4');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.a && ARRAY[test.twice(o.j), o.j]');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = ANY (ARRAY[test.twice(o.j), 1])');

-- of several outer relations, of what an outer join made NULL, two levels up
SELECT test.same_rows('SELECT o.id, p.id, f.id FROM o JOIN p ON p.id = o.j JOIN f ON f.k = test.sum(o.k, p.k)');
SELECT test.same_rows($$
	SELECT o.id, s.one, f.id FROM o LEFT JOIN (SELECT id, 5 AS one FROM p WHERE k > 2 OFFSET 0) s ON s.id = o.j
	LEFT JOIN f ON f.k = test.twice(s.one) $$);
SELECT test.same_rows($$
	SELECT o.id, f.id FROM o LEFT JOIN (SELECT id, 5 AS one FROM p) s ON s.id = o.j JOIN f ON f.k = test.or_seven(s.one) $$);
SELECT test.same_rows($$
	SELECT o.id, p.id, f.id FROM o LEFT JOIN (p JOIN f ON f.j = p.k) ON p.id = test.twice(o.k) AND f.k = test.sum(o.j, 1) $$);

-- a key computed on the node, one computed here, one that is a column
SELECT test.same_rows($$
	SELECT o.id, f.id FROM o JOIN f ON f.k = o.k + 1 AND f.id % 5 = test.twice(o.j) AND f.j = o.j $$);
-- what uses both sides cannot be a value: it stays a condition here
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND test.sum(f.id, o.id) % 3 = 0');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = o.k AND CASE f.j WHEN test.or_seven(o.j) THEN f.b ELSE o.j > 1 END');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = CASE WHEN f.j > o.j THEN test.twice(o.j) ELSE o.k END');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON test.twice(f.k) = test.twice(o.k)');
-- types that the node does not know, functions that must run as often as they do
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = test.twice(o.j)::test.small');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.k = test.any(o.k)');

-- an element of an outer array
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.j = o.a[2]');
SELECT test.same_rows('SELECT o.id, f.id FROM o LEFT JOIN f ON f.a[1] = o.a[1] AND f.a[2] = o.a[o.j]');
SELECT test.same_rows('SELECT o.id, f.id FROM o JOIN f ON f.a = o.a[1:2]');

-- partitions are chosen by the value
SELECT * FROM test.numbers('SELECT o.id, g.v FROM o JOIN g ON g.k = test.twice(o.j)');
SELECT test.same_rows('SELECT o.id, g.v FROM o JOIN g ON g.k = test.twice(o.j)');
SELECT test.same_rows('SELECT o.id, g.v FROM o LEFT JOIN g ON g.k = test.twice(o.k) AND g.v > test.or_seven(o.j)');

-- trap 9: an error is raised where the join comes to the row that causes it
SET enable_sort = off;
SELECT test.same_order('SELECT o.id, f.id FROM o JOIN f ON f.id = test.twice(20 / (20 - o.id)) ORDER BY o.id LIMIT 9');
SELECT test.same_error('SELECT o.id, f.id FROM o JOIN f ON f.k = test.twice(20 / (20 - o.id)) ORDER BY o.id');
RESET enable_sort;

SELECT test.same_prepared('SELECT o.id, f.id FROM o JOIN f ON f.k = test.sum(o.k, $1)', 'int', '1', '5', NULL);
DROP TABLE f, o, p, g;
