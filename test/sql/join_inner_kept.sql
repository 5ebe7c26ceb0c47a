-- A nested loop keeps the rows of an inner side that is the same for each outer row, also if one outer
-- row is expected: more may come, and nodes would compute the inner side for each.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 3 AS k FROM generate_series(1, 25) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS v FROM generate_series(1, 40) i;
CREATE TABLE p (id int, v int) PARTITION BY HASH (id);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO p TABLE b;
CALL test.mirror('b');
CALL test.mirror_partitions('p');
ANALYZE a, guest.b, guest.p, engine.b, engine.p;
SET shuttle.debug_force_batched_join = off;
-- nodes do not have it
CREATE FUNCTION here(i int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN i; END';
-- 25 rows, of which one is expected
CREATE VIEW few AS SELECT id, k FROM a WHERE id % 1 = 0 AND id % 1 + 0 = 0 AND id % 1 + 1 = 1;

SELECT test.plan_shape('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3');
SELECT * FROM test.loops('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3', 'Foreign Scan');
SELECT test.same_rows('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3');
SELECT * FROM test.loops('SELECT few.id, p.id FROM few LEFT JOIN p ON here(p.v) > few.k + 3', 'Foreign Scan');
SELECT test.same_rows('SELECT few.id, p.id FROM few LEFT JOIN p ON here(p.v) > few.k + 3');
SELECT * FROM test.loops('SELECT few.id, s.n FROM few JOIN (SELECT v, count(*) AS n FROM p GROUP BY v HAVING count(*) > 2) s ON here(s.v) <> few.k', 'Foreign Scan');
SELECT test.same_rows('SELECT few.id, s.n FROM few JOIN (SELECT v, count(*) AS n FROM p GROUP BY v HAVING count(*) > 2) s ON here(s.v) <> few.k');
SELECT test.same_rows('SELECT few.id FROM few WHERE NOT EXISTS (SELECT FROM b WHERE here(b.v) + 1 < few.k)');
SELECT test.same_rows('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3 JOIN p ON p.v < b.v AND p.id < few.id');
SELECT test.same_rows('SELECT few.id, (SELECT count(*) FROM few f JOIN b ON here(b.v) > f.k + few.k) FROM few');
SELECT test.same_order('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3 ORDER BY few.id, b.id LIMIT 9');

-- not if core may not, or if work_mem is too small
SET enable_material = off;
SELECT * FROM test.loops('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3', 'Foreign Scan');
RESET enable_material;
SET work_mem = '64kB';
SELECT test.plan_shape('SELECT few.id, b.id FROM few JOIN b ON here(b.v) > few.k + 3');
CREATE TABLE large AS SELECT i AS id, i % 9 AS v FROM generate_series(1, 3000) i;
CALL test.mirror('large');
ANALYZE guest.large, engine.large;
SELECT test.plan_shape('SELECT few.id, large.id FROM few JOIN large ON here(large.v) + few.k > 3');
RESET work_mem;
DROP VIEW few;
DROP FUNCTION here;
DROP TABLE a, b, p, large CASCADE;
