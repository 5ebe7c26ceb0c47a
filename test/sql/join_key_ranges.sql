-- Ranges: inequalities beside an equality and alone, BETWEEN, LIKE.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS k, i * 2 AS lo, i * 2 + i % 7 AS hi,
	timestamp '2024-01-01' + i * interval '7 hours' AS ts, (ARRAY['n', 'na', 'name 1', 'x', '', 'n_m', '50%'])[1 + i % 7] AS t
FROM generate_series(1, 35) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k, i * 3 AS v,
	timestamp '2024-01-01' + i * interval '11 hours' AS ts, (ARRAY['name ', 'Name ', 'n_m', '50% ', 'x\'])[1 + i % 5] || i AS t
FROM generate_series(1, 30) i;
CREATE INDEX ON b (v);
CREATE INDEX ON b (t text_pattern_ops);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.ts <= a.ts');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.ts > a.ts AND b.v < a.hi');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.v > a.lo AND b.v <= a.hi');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.v BETWEEN a.lo AND a.hi');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.v BETWEEN SYMMETRIC a.hi AND a.lo AND b.k <> a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON a.lo BETWEEN b.v AND b.v + a.k');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.v >= a.lo AND b.v <= a.hi)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON (b.k, b.v) > (a.k, a.lo) AND b.v < 40');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.ts >= a.ts - interval ''1 day'' AND b.ts < a.ts');
-- LIKE with the pattern from the outer side, and from the inner
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t LIKE a.t || ''%''');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t ILIKE a.t || ''%'' AND b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t LIKE replace(a.t, ''_'', ''\_'') || ''%''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON a.t LIKE left(b.t, 3) || ''%''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.t ~ (a.k || ''$'')');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON starts_with(b.t, a.t) AND b.k = a.k');
