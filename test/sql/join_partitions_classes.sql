-- An equivalence class with a member of both sides of the join has no copy for
-- the partitions, and the join must go on checking it.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i % 10 AS k FROM generate_series(1, 20) i;
CREATE TABLE b (id int, s int) PARTITION BY RANGE (id);
CREATE TABLE b1 PARTITION OF b FOR VALUES FROM (0) TO (50);
CREATE TABLE b2 PARTITION OF b FOR VALUES FROM (50) TO (1000);
INSERT INTO b SELECT i, i % 10 FROM generate_series(1, 100) i;
ANALYZE a, b;
CALL test.mirror_partitions('b');
-- batched on 15 only, where the partitions get the clause after all
SELECT test.same_rows('SELECT a.k, b.id, b.s FROM a JOIN b ON b.s = a.k + 1 AND b.s = a.k + b.id % 3') LIKE 'same rows%' AS same;
SELECT test.same_rows('SELECT a.k, b.id, b.s FROM a JOIN b ON b.s = a.k + 1');
SELECT test.same_rows('SELECT a.k, b.id FROM a LEFT JOIN b ON b.s = a.k AND b.s + b.id = a.k + 20');
