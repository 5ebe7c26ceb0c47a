-- trap 13: what chooses the partitions of a key may fail; for a row to which
-- nobody comes it does not.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, nullif(i, 5) AS k, 7 - i AS j FROM generate_series(1, 10) i;
CREATE INDEX ON o (id);
CREATE TABLE g (k int, v int) PARTITION BY LIST (k);
CREATE TABLE g0 PARTITION OF g FOR VALUES IN (0, 1, 2, 3);
CREATE TABLE g1 PARTITION OF g FOR VALUES IN (4, 5, 6);
CREATE TABLE g2 PARTITION OF g DEFAULT;
INSERT INTO g SELECT i % 19 - 9, i FROM generate_series(1, 90) i;
CALL test.mirror('o');
CALL test.mirror_partitions('g', 'g1');
SELECT test.same_rows('SELECT id, CASE WHEN j <> 0 THEN (SELECT count(*) FROM g WHERE g.k = 10 / o.j) END FROM o');
SELECT test.same_rows('SELECT id, j = 0 OR EXISTS (SELECT FROM g WHERE g.k = 10 / o.j OFFSET 0) FROM o');
SET enable_sort = off;
SELECT test.same_order('SELECT id, v FROM o JOIN g ON g.k = 10 / o.j WHERE v < 20 ORDER BY id LIMIT 3');
SELECT test.same_order('SELECT id, (SELECT sum(v) FROM g WHERE g.k = 10 / o.j) FROM o ORDER BY id LIMIT 3');
SELECT test.same_error('SELECT id, v FROM o JOIN g ON g.k = 10 / o.j');
SELECT test.same_error('SELECT id, (SELECT sum(v) FROM g WHERE g.k = 10 / o.j) FROM o');

-- a cursor that is not read to that row, and one that is
BEGIN;
SET LOCAL search_path = engine, local;
SET LOCAL shuttle.debug_force_batched_join = on;
DECLARE c CURSOR FOR SELECT id, v FROM o JOIN g ON g.k = 10 / o.j WHERE v < 20 ORDER BY id;
FETCH 4 FROM c;
SAVEPOINT s;
FETCH 10 FROM c;
ROLLBACK;
DROP TABLE o, g;

-- a subquery chooses the partition: it is executed for the rows that need it
CREATE TABLE o AS SELECT i AS id, i % 5 + 1 AS k FROM generate_series(1, 40) i;
CREATE TABLE p (k int, v int) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1, 2);
CREATE TABLE p2 PARTITION OF p DEFAULT;
INSERT INTO p SELECT i % 6, i FROM generate_series(1, 12) i;
CALL test.mirror_partitions('p', 'p2');
SELECT test.same_rows('SELECT o.id, p.v FROM o LEFT JOIN p ON p.v = o.k AND p.k = (SELECT z.k FROM o z WHERE z.id = o.id)');
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM p WHERE p.v > o.k AND p.k = (SELECT z.k FROM o z WHERE z.id = o.id)) FROM o');
DROP TABLE o, p CASCADE;
