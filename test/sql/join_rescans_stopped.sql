-- Batched joins that are stopped before their end and then start again.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i % 4 AS v FROM generate_series(1, 14) i;
CREATE TABLE a AS SELECT i AS id, i % 7 AS k, i % 4 AS v FROM generate_series(1, 25) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 18) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (SELECT b.id AS b_id FROM a JOIN b ON b.k = a.k WHERE a.id > o.id ORDER BY a.id, b.id LIMIT 2) s');
SELECT test.same_rows('SELECT o.id FROM o WHERE EXISTS (SELECT FROM a JOIN b ON b.k = a.k WHERE a.v = o.v AND b.id > o.id * 2 OFFSET 0)');
-- the first rows of the next run are not the last ones of the run before
SELECT test.same_rows('SELECT o.id, EXISTS (SELECT FROM a JOIN b ON b.k = a.k WHERE a.v = o.v * 2 OFFSET 0) FROM o');
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (SELECT a.id AS a_id, b.n FROM a LEFT JOIN b ON b.id = a.id WHERE a.id > o.id LIMIT 1) s WHERE s.a_id <> o.id + 1');
CREATE INDEX ON a (id);
SET enable_sort = off;
SET enable_seqscan = off;
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (SELECT a.id AS a_id, b.n FROM a LEFT JOIN b ON b.id = a.id WHERE a.v = o.v ORDER BY a.id LIMIT 2) s');
SELECT test.same_rows('SELECT o.id, (SELECT a.id * 100 + b.id FROM a JOIN b ON b.id = a.k WHERE a.id > o.id ORDER BY a.id LIMIT 1) FROM o');
RESET enable_sort;
RESET enable_seqscan;
