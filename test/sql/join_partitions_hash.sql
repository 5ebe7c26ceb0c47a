-- Inner tables with partitions by hash, of other servers and of this one.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 13, 0) AS k, i % 4 AS v FROM generate_series(1, 28) i;
CREATE TABLE p (id int, k int, v int) PARTITION BY HASH (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE p2 PARTITION OF p FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO p SELECT i, i % 11, i % 4 FROM generate_series(1, 60) i;
CALL test.mirror_partitions('p');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.v = a.v');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.v = a.v AND p.k < 4');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.k = a.k AND p.v = a.v)');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k IS NOT DISTINCT FROM a.k');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k ORDER BY p.id LIMIT 2) s');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM p WHERE p.k = a.k) FROM a');
-- one partition is here
CALL test.mirror_partitions('p', 'p1');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k');
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM p WHERE p.k = a.k AND p.v > a.v)');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k = a.k ORDER BY p.id LIMIT 2) s');
