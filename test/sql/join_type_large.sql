-- Values of a megabyte, as keys and as rows; outer rows larger than work_mem.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET work_mem = '1MB';
CREATE TABLE a AS SELECT i AS id, i % 3 AS k, repeat(md5((i % 3)::text), 32768) AS big FROM generate_series(1, 5) i;
CREATE TABLE b AS SELECT i AS id, i % 2 AS k, repeat(md5((i % 2)::text), 32768) AS big FROM generate_series(1, 3) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id, md5(a.big), md5(b.big) FROM a LEFT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, length(b.big) FROM a LEFT JOIN b ON b.k = a.k AND b.big = a.big');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.big = a.big)');
-- compressed and kept out of line: a key is what it holds
ALTER TABLE a ALTER big SET STORAGE EXTERNAL;
INSERT INTO a SELECT id + 20, k, big || '' FROM a WHERE id < 4;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.big = a.big WHERE a.k = 1');
SET work_mem = '64kB';
SELECT test.same_rows('SELECT a.id, b.id, md5(b.big) FROM a LEFT JOIN b ON b.k = a.k WHERE a.id < 4');
