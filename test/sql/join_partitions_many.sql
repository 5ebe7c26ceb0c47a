-- trap 36: what is found out about one partition is not asked of each of them,
-- and parameters that several joins take from the same table are found out once.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 50, 0) AS k, (i % 7)::bigint AS x, 'name ' || i % 11 AS name FROM generate_series(1, 60) i;
CREATE TABLE b (id int, x int, at date, name text) PARTITION BY HASH (id);
SELECT format('CREATE TABLE b%s PARTITION OF b FOR VALUES WITH (MODULUS 3, REMAINDER %s)', i, i) FROM generate_series(0, 2) i \gexec
INSERT INTO b SELECT i, i % 9, date '2024-01-01' + i, 'name ' || i % 13 FROM generate_series(1, 90) i;
CREATE TABLE c (name text, id int) PARTITION BY LIST (name);
CREATE TABLE c1 PARTITION OF c FOR VALUES IN ('name 1', 'name 2') PARTITION BY RANGE (id);
CREATE TABLE c11 PARTITION OF c1 DEFAULT;
CREATE TABLE c2 (id int, extra int, name text);
ALTER TABLE c2 DROP extra;
ALTER TABLE c ATTACH PARTITION c2 DEFAULT;
INSERT INTO c SELECT 'name ' || i % 13, i FROM generate_series(1, 40) i;
ANALYZE a, b, c;
CALL test.mirror_partitions('b');
CALL test.mirror_partitions('c');
-- keys that are computed
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id BETWEEN a.k AND a.k + 3');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.id = a.k + a.x AND b.x < abs(a.k - 20)');
-- what a node must not be asked, asked of no partition
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k AND b.at < now() + a.x * interval ''1 day''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k AND random() * a.x >= 0');
-- columns that are elsewhere in a partition, and those of the system
SELECT test.same_rows('SELECT a.id, c.id FROM a JOIN c ON c.name = a.name AND c.id > a.k + 1');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.id = a.k AND b.tableoid::bigint > a.x');
-- several joins take their keys from the same table
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN a AS a2 ON a2.id = a.k AND a2.x > 2 LEFT JOIN b ON b.id = a2.k LEFT JOIN c ON c.name = a.name AND c.id = b.id');
-- of two tables together
SELECT test.same_rows('SELECT a.id, u.id FROM a JOIN (SELECT id, name FROM b UNION ALL SELECT id, name FROM c) u ON u.id = a.k AND u.name > a.name');
SET enable_partitionwise_join = on;
SELECT test.same_rows('SELECT a.id, b.id, b2.id FROM a JOIN b ON b.id = a.k JOIN b AS b2 ON b2.id = b.id AND b2.x = b.x');
