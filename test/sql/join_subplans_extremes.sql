-- The minimum or maximum of a key's rows: core makes an initplan with LIMIT 1
-- of it, which asks for one row a key.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE f AS
	SELECT i AS id, i % 40 AS k, nullif(i % 3, 0) AS j, 'name ' || i AS t FROM generate_series(1, 400) i;
CREATE INDEX ON f (k, id);
CREATE TABLE o AS SELECT i AS id, nullif(i % 50, 7) AS k, i % 2 = 0 AS flag FROM generate_series(1, 70) i;
CREATE TABLE g (k int, v int) PARTITION BY LIST (k);
CREATE TABLE g0 PARTITION OF g FOR VALUES IN (0, 1, 2, 3);
CREATE TABLE g1 PARTITION OF g DEFAULT;
INSERT INTO g SELECT i % 9, i FROM generate_series(1, 90) i;
CALL test.mirror('f');
CALL test.mirror_partitions('g');

SELECT * FROM test.numbers('SELECT id, (SELECT max(id) FROM f WHERE f.k = o.k) FROM o');
SELECT * FROM test.numbers('SELECT o.id, s.* FROM o CROSS JOIN LATERAL (SELECT min(id) FROM f WHERE f.k = o.k) s');
SELECT test.plan_shape('SELECT id, (SELECT max(id) FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT max(id) FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT min(j) FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT max(t) FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT max(id) + min(id) FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, coalesce((SELECT max(id) FROM f WHERE f.k = o.k), -1) FROM o');
SELECT test.same_rows('SELECT id FROM o WHERE id > (SELECT min(id) FROM f WHERE f.k = o.k)');
SELECT test.same_rows('SELECT id, CASE WHEN flag THEN (SELECT max(id) FROM f WHERE f.k = o.k) END FROM o');
SELECT test.same_rows('SELECT id, (SELECT CASE WHEN o.flag THEN max(id) END FROM f WHERE f.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT max(id) FROM f WHERE f.k = o.k HAVING o.flag) FROM o');
SELECT test.same_rows('SELECT sum((SELECT max(id) FROM f WHERE f.k = o.k)) FROM o');
SELECT test.same_rows('SELECT k, count(*) FROM o GROUP BY k HAVING count(*) < (SELECT min(id) FROM f WHERE f.k = o.k)');
SELECT test.same_rows('SELECT o.id, s.* FROM o LEFT JOIN LATERAL (SELECT max(id) AS m FROM f WHERE f.k = o.k) s ON m > 50');
SELECT test.same_rows($$
	SELECT id, (SELECT max(id) FROM f WHERE f.k = (SELECT min(h.k) FROM f h WHERE h.id = o.k)) FROM o $$);

-- An order and LIMIT 1 that stay here, and a condition that does.
CREATE FUNCTION test.is_odd(i int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i % 2 <> 0; END';
SELECT test.same_rows('SELECT id, (SELECT max(id) FROM f WHERE f.k = o.k AND test.is_odd(f.id / 40)) FROM o');
SELECT test.same_rows($$
	SELECT o.id, s.* FROM o CROSS JOIN LATERAL
		(SELECT * FROM (SELECT id, t FROM f WHERE f.k = o.k ORDER BY id DESC OFFSET 0) q LIMIT 1) s $$);

-- Partitions, each of which has a first row.
SELECT test.same_rows('SELECT id, (SELECT max(v) FROM g WHERE g.k = o.k) FROM o');
SELECT test.same_rows('SELECT id, (SELECT min(v) FROM g WHERE g.k = o.k % 4) FROM o');

-- An initplan that is not evaluated for all rows does not fail for the others.
SELECT test.same_rows($$
	SELECT id, (SELECT CASE WHEN o.k > 0 THEN (SELECT max(id) FROM f WHERE f.k = 100 / o.k) END OFFSET 0) FROM o $$);
SELECT test.same_error('SELECT id, (SELECT max(id) FROM f WHERE f.k = 100 / o.k) FROM o');
DROP TABLE f, o, g;
