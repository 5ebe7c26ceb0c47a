-- Chains and stars of batched joins: over one another, up to five.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 25) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 14) i;
CREATE TABLE c AS SELECT i AS id, i % 5 AS k, i % 4 AS n FROM generate_series(1, 12) i;
CREATE TABLE d AS SELECT i AS id, i % 4 AS k, i % 3 AS n FROM generate_series(1, 10) i;
CREATE TABLE e AS SELECT i AS id, i % 3 AS k, nullif(i % 3, 2) AS n FROM generate_series(1, 7) i;
CREATE TABLE f AS SELECT i AS id, i % 2 AS k FROM generate_series(1, 3) i;
CALL test.mirror('b', 'c', 'd', 'e', 'f');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.n');
SELECT test.same_rows('SELECT a.id, b.id, c.id, d.id FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.n JOIN d ON d.k = c.n WHERE a.id < 12');
SELECT test.same_rows('SELECT a.id, b.id, c.id, d.id, e.id, f.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.n
	LEFT JOIN d ON d.k = c.n LEFT JOIN e ON e.k = d.n LEFT JOIN f ON f.k = e.n WHERE a.id < 6');
SELECT test.same_rows('SELECT count(*), sum(f.id) FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.n AND c.id > 3
	LEFT JOIN d ON d.k = c.n AND d.id < a.id LEFT JOIN e ON e.k = d.n LEFT JOIN f ON f.k = e.n WHERE a.id < 8');
-- a star
SELECT test.same_rows('SELECT a.id, b.id, c.id, d.id FROM a JOIN b ON b.k = a.k JOIN c ON c.k = a.k LEFT JOIN d ON d.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id > 5 WHERE EXISTS (SELECT FROM c WHERE c.k = a.k)
	AND NOT EXISTS (SELECT FROM d WHERE d.k = a.k AND d.n = 2)');
-- a ring
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a, b, c WHERE b.k = a.k AND c.k = b.n AND c.n = a.k');
-- the same table in all places
SELECT test.same_rows('SELECT x.id, y.id, z.id FROM b AS x JOIN b AS y ON y.k = x.n JOIN b AS z ON z.k = y.n');
SELECT test.same_rows('SELECT a.id, x.id, y.id FROM a JOIN b AS x ON x.k = a.k LEFT JOIN b AS y ON y.k = a.k AND y.id > x.id');
SET shuttle.debug_force_batched_join = on;
SELECT test.plan_shape('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.n');
