-- Partitions of this server, whose indexes are looked into by what comes from the
-- partitions of others that they are joined with one by one.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE p (id int, k int, v int) PARTITION BY LIST (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 1, 2);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (3, 4);
CREATE TABLE l (LIKE p) PARTITION BY LIST (k);
CREATE TABLE l0 PARTITION OF l FOR VALUES IN (0, 1, 2);
CREATE TABLE l1 PARTITION OF l FOR VALUES IN (3, 4);
CREATE INDEX ON l (v, id);
INSERT INTO p SELECT i, i % 5, i % 7 FROM generate_series(1, 40) i;
INSERT INTO l SELECT i, i % 5, i % 11 FROM generate_series(1, 120) i;
CREATE TABLE o AS SELECT i AS id, i % 9 AS v FROM generate_series(1, 20) i;
ANALYZE p, l, o;
CALL test.mirror('o');
CALL test.mirror_partitions('p');
SET enable_partitionwise_join = on;
SELECT test.same_rows('SELECT p.id, l.id FROM l JOIN p ON p.k = l.k AND p.v = l.v');
SELECT test.same_rows('SELECT o.id, p.id, l.id FROM o LEFT JOIN (l JOIN p ON p.k = l.k AND p.v = l.v) ON l.id = o.id');
SELECT test.same_rows('SELECT o.id, p.id, l.id FROM o LEFT JOIN (l JOIN p ON p.k = l.k AND p.v = l.v) ON true WHERE o.id < 4');
SELECT test.same_rows('SELECT o.id, p.id, l.id FROM o JOIN (l LEFT JOIN p ON p.k = l.k AND p.v = l.v) ON l.v = o.v AND l.id > o.id');
