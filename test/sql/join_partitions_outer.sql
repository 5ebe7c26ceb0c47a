-- Outer sides with partitions, both sides with them, and joins by partition.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE rows AS SELECT i AS id, i % 11 AS k, i % 4 AS v FROM generate_series(1, 60) i;
CREATE TABLE p (LIKE rows) PARTITION BY HASH (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE q (LIKE rows) PARTITION BY HASH (k);
CREATE TABLE q0 PARTITION OF q FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE q1 PARTITION OF q FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE o (LIKE rows) PARTITION BY RANGE (id);
CREATE TABLE o0 PARTITION OF o FOR VALUES FROM (0) TO (30);
CREATE TABLE o1 PARTITION OF o FOR VALUES FROM (30) TO (100);
CREATE INDEX ON o (id);
INSERT INTO p SELECT * FROM rows;
INSERT INTO q SELECT id + 100, k, v FROM rows WHERE id % 3 > 0;
INSERT INTO o SELECT * FROM rows;
CREATE TABLE b AS SELECT i AS id, i % 9 AS k FROM generate_series(1, 20) i;
CALL test.mirror('b');
CALL test.mirror_partitions('p');
CALL test.mirror_partitions('q', 'q1');
-- partitions of this server outside, tables of others inside
SELECT test.same_rows('SELECT o.id, b.id FROM o LEFT JOIN b ON b.k = o.k');
SELECT test.same_order('SELECT o.id, b.id FROM o JOIN b ON b.k = o.k ORDER BY o.id, b.id LIMIT 12');
SELECT test.same_rows('SELECT o.id, p.id FROM o LEFT JOIN p ON p.k = o.k AND p.v = o.v');
SELECT test.same_rows('SELECT o.id FROM o WHERE o.id > 20 AND NOT EXISTS (SELECT FROM p WHERE p.k = o.v + 8)');
-- partitions of others on both sides
SELECT test.same_rows('SELECT p.id, q.id FROM p JOIN q ON q.k = p.k AND q.v > p.v');
SELECT test.same_rows('SELECT p.id, b.id FROM p LEFT JOIN b ON b.k = p.k AND b.id > p.v');
SELECT test.same_rows('SELECT o.id, p.id, q.id FROM o JOIN p ON p.id = o.id LEFT JOIN q ON q.k = p.k AND q.v = o.v');
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT test.same_rows('SELECT p.id, q.id FROM p JOIN q ON q.k = p.k AND q.v > p.v');
SELECT test.same_rows('SELECT p.id, q.id FROM p LEFT JOIN q ON q.k = p.k AND q.v = p.v');
SELECT test.same_rows('SELECT p.k, count(*), max(q.id) FROM p JOIN q ON q.k = p.k GROUP BY p.k');
SELECT test.same_rows('SELECT o.id, p.id, q.id FROM o JOIN p ON p.k = o.k JOIN q ON q.k = p.k WHERE o.id < 9');
