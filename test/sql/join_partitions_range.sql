-- Inner tables with partitions by range, over two columns and two levels.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 13, 0) AS k, i % 4 AS v FROM generate_series(1, 28) i;
CREATE TABLE p (id int, k int, v int) PARTITION BY RANGE (k, v);
CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (MINVALUE, MINVALUE) TO (4, 2);
CREATE TABLE p_mid PARTITION OF p FOR VALUES FROM (4, 2) TO (8, 0);
CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (8, 0) TO (MAXVALUE, MAXVALUE);
INSERT INTO p SELECT i, i % 11, i % 4 FROM generate_series(1, 60) i;
CALL test.mirror_partitions('p');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.v = a.v');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k BETWEEN a.v AND a.v + 1');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k > a.k + 5');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.k = a.k AND p.v > a.v)');
CALL test.mirror_partitions('p', 'p_low');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.v = a.v');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.k >= a.k ORDER BY p.id LIMIT 2) s');
-- a partition that is itself partitioned
DROP FOREIGN TABLE guest.p_high, engine.p_high;
CREATE TABLE guest.p_high PARTITION OF guest.p FOR VALUES FROM (8, 0) TO (MAXVALUE, MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE engine.p_high PARTITION OF engine.p FOR VALUES FROM (8, 0) TO (MAXVALUE, MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE p_high_0 AS SELECT p.* FROM p_high p WHERE satisfies_hash_partition('guest.p_high'::regclass, 2, 0, p.id);
CREATE TABLE p_high_1 AS SELECT p.* FROM p_high p WHERE satisfies_hash_partition('guest.p_high'::regclass, 2, 1, p.id);
CREATE FOREIGN TABLE guest.p_high_0 PARTITION OF guest.p_high FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER guest OPTIONS (schema_name 'local');
CREATE FOREIGN TABLE guest.p_high_1 PARTITION OF guest.p_high FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER guest OPTIONS (schema_name 'local');
CREATE FOREIGN TABLE engine.p_high_0 PARTITION OF engine.p_high FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER engine OPTIONS (schema_name 'local');
CREATE FOREIGN TABLE engine.p_high_1 PARTITION OF engine.p_high FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER engine OPTIONS (schema_name 'local');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.v = a.v');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.id = a.id');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.id = a.id');
