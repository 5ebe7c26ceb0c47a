-- Batches that do not fit into work_mem: smaller ones, rows in files, rows
-- that are asked for again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 20 AS k, repeat('x', 100) AS wide FROM generate_series(1, 400) i;
CREATE TABLE b AS SELECT i AS id, i % 15 AS k, repeat(chr(97 + i % 26), 300) AS t FROM generate_series(1, 600) i;
CREATE TABLE one AS SELECT i AS id, 7 AS k FROM generate_series(1, 3000) i;
CREATE INDEX ON b (k);
CALL test.mirror('b', 'one');
SET work_mem = '64kB';
SELECT test.same_rows('SELECT a.id, count(b.id), sum(length(b.t)) FROM a LEFT JOIN b ON b.k = a.k WHERE a.id < 60 GROUP BY a.id');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.id < 100');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT md5(string_agg(b.t, '''' ORDER BY b.id)) FROM b WHERE b.k = a.k) s WHERE a.id < 50');
-- one key whose rows do not fit
SELECT test.same_rows('SELECT count(*), sum(one.id) FROM (SELECT * FROM a WHERE id < 4) x LEFT JOIN one ON one.k = 7 + x.id - x.id');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM one WHERE one.k = a.k) FROM a WHERE a.id < 30');
-- answers in pages of a few rows
SET shuttle.fetch_limit = 1;
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.id < 8');
SET shuttle.fetch_limit = 3;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 50 WHERE a.id < 30');
RESET shuttle.fetch_limit;
SET shuttle.fetch_size_limit = '1kB';
SET shuttle.fetch_ahead = '1kB';
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.k = a.k AND b.id < 50 WHERE a.id < 30');
SET shuttle.batches_in_flight = 1;
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.k = a.k AND b.id < 50 WHERE a.id < 30');
SET shuttle.batches_in_flight = 3;
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.k = a.k AND b.id < 50 WHERE a.id < 30');
