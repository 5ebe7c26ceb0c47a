-- trap 10: keys that are arrays themselves, of any shape, and types whose
-- arrays have another delimiter.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, ARRAY[i % 3, NULL, i % 2] AS n, ARRAY['a, "' || i % 3, '', 'NULL', NULL, '\'] AS t,
	ARRAY[[i % 2, 1], [2, i % 3]] AS m, ('[5:6]={' || i % 3 || ',7}')::int[] AS bounds, '{}'::int[] AS nothing,
	box(point(0, 0), point(i % 3, 1)) AS bx, ARRAY[box(point(0, 0), point(i % 3, 1)), box(point(0, 0), point(2, 2))] AS boxes,
	ARRAY[1 + (i % 4) * 1e-16::float8] AS f FROM generate_series(1, 36) i;
CREATE TABLE b AS SELECT id + 100 AS id, n, t, m, bounds, nothing, bx, boxes, f, id % 3 AS k FROM a WHERE id < 20;
CALL test.mirror('b');
SELECT c, test.same_rows(format('SELECT a.id, b.id, b.%1$s FROM a LEFT JOIN b ON b.%1$s = a.%1$s', c))
FROM unnest('{n,t,m,bounds,nothing,f}'::text[]) AS c;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.bx ~= a.bx AND b.id < 112');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.bx && a.bx AND b.id < 112');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.bx ~= ANY (a.boxes) AND b.k = a.id % 3');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = ANY (a.n)');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k <> ALL (a.n || 5)');
-- elements of an outer array, which postgres_fdw cannot write, are computed here
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.n @> a.n[1:1]');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.n[1] AND b.t[1] = a.t[1]');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.n[1] = a.id % 3 AND b.t[1] <> ''''');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = (a.n || 5)[1]');
