-- A request that is made again, because its rows did not fit into work_mem or
-- had to make room, asks for the same keys: of types of any length.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS
	SELECT i AS id, (i % 12)::numeric AS n, 'name ' || i % 12 AS t, ARRAY[i % 12] AS r, uuid(lpad(to_hex(i % 12), 32, '0')) AS u,
		i % 12 AS k, jsonb_build_object('k', i % 12) AS j
	FROM generate_series(1, 36) i;
CREATE TABLE b AS SELECT n, t, r, u, k, j, id, repeat('x', 900) AS wide FROM a, generate_series(1, 30);
CALL test.mirror('b');
SET work_mem = '64kB';
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.n = a.n GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.t = a.t GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.r = a.r GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.u = a.u GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.j = a.j GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, count(b), sum(length(b.wide)) FROM a LEFT JOIN b ON b.t = a.t AND b.n = a.n AND b.k = a.k GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, b.id, b.wide FROM a JOIN b ON b.n = a.n OR b.t = a.t WHERE a.id < 10');
DROP TABLE a, b;
