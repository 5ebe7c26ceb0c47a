-- Keys go only to the partitions that can have them; where partitions are by
-- another column, all are asked.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 9 AS k, i % 3 AS v FROM generate_series(1, 36) i;
CREATE TABLE p (id int, k int, v int) PARTITION BY LIST (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 1, 2);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (3, 4, 5);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (6, 7, 8);
INSERT INTO p SELECT i, i % 9, i % 3 FROM generate_series(1, 60) i;
CALL test.mirror_partitions('p');
SET shuttle.debug_force_batched_join = on;
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k');
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k AND a.k < 3');
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.v = a.v');
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.v = a.v AND p.k = 4');
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k ORDER BY p.id LIMIT 1) s');
SELECT test.plan_shape('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k + 5');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k OR p.k = a.v');
-- parameters that core prunes by as well
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k AND p.k > (SELECT 3)');
SELECT test.same_prepared('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k AND p.k <> $1', 'int', '3', '8', '100');
SELECT test.same_prepared('SELECT a.id, p.id FROM a JOIN p ON p.v = a.v AND p.k = $1', 'int', '3', '8', '100');
-- through core's Append, which visits all of them
SET shuttle.enable_routed_append = off;
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k ORDER BY p.id LIMIT 2) s');
SELECT test.same_prepared('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k AND p.k <> $1', 'int', '3', '8', '100');
SELECT transport, keys, distinct_keys, alone, requests FROM test.numbers('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k');
-- by key where the position could be trusted
RESET shuttle.enable_routed_append;
SET shuttle.debug_find_by_key = on;
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k');
