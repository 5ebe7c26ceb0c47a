-- Inner tables with partitions by list, with a default one and one for NULL.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 13, 0) AS k, (ARRAY['a', 'b', 'c', NULL, 'd', ''])[1 + i % 6] AS t FROM generate_series(1, 28) i;
CREATE TABLE p (id int, k int, t text) PARTITION BY LIST (t);
CREATE TABLE p_ab PARTITION OF p FOR VALUES IN ('a', 'b');
CREATE TABLE p_c PARTITION OF p FOR VALUES IN ('c', NULL);
CREATE TABLE p_rest PARTITION OF p DEFAULT;
INSERT INTO p SELECT i, i % 11, (ARRAY['a', 'b', 'c', NULL, 'd', 'e', ''])[1 + i % 7] FROM generate_series(1, 60) i;
CALL test.mirror_partitions('p');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.t = a.t AND p.k = a.k');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.k = a.k AND p.t IN (''c'', ''d'')');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.t IS NOT DISTINCT FROM a.t AND p.k = a.k');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM p WHERE p.t = a.t AND p.k > a.k)');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT p.id FROM p WHERE p.t = a.t ORDER BY p.id LIMIT 2) s');
-- two partitions are here, the default one among them
CALL test.mirror_partitions('p', 'p_rest', 'p_c');
SELECT test.same_rows('SELECT a.id, p.id FROM a LEFT JOIN p ON p.t = a.t');
SELECT test.same_rows('SELECT a.id, p.id FROM a JOIN p ON p.k = a.k AND p.t > a.t');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM p WHERE p.t = a.t) FROM a');
