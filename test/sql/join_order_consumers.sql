-- Nodes above that rely on the order: merge joins, windows, groups, DISTINCT.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, (i * 37) % 53 AS k, i % 4 AS g FROM generate_series(1, 60) i;
CREATE INDEX ON a (k);
CREATE TABLE b AS SELECT i AS id, (i * 7) % 60 AS k, i % 3 AS v FROM generate_series(1, 60) i;
CREATE TABLE l AS SELECT (i * 11) % 53 AS k, i AS id FROM generate_series(1, 50) i;
CREATE INDEX ON l (k);
CALL test.mirror('b');
SET enable_hashjoin = off;
SET enable_hashagg = off;
SELECT test.same_rows('SELECT a.id, b.id, l.id FROM a LEFT JOIN b ON b.k = a.k JOIN l ON l.k = a.k');
SELECT test.same_rows('SELECT s.id, s.b_id, l.id FROM (SELECT a.id, a.k, b.id AS b_id FROM a LEFT JOIN b ON b.k = a.k) s FULL JOIN l ON l.k = s.k');
SELECT test.same_rows('SELECT s.*, t.* FROM (SELECT a.k, b.id FROM a JOIN b ON b.k = a.k) s
	JOIN (SELECT l.k, b.v FROM l LEFT JOIN b ON b.k = l.k) t ON t.k = s.k');
SELECT test.same_order('SELECT a.k, b.id, sum(b.v) OVER (ORDER BY a.k, b.id), rank() OVER (ORDER BY a.k)
	FROM a LEFT JOIN b ON b.k = a.k ORDER BY 1, 2');
SELECT test.same_order('SELECT a.g, a.id, row_number() OVER (PARTITION BY a.g ORDER BY a.id, b.id) FROM a JOIN b ON b.k = a.g ORDER BY 1, 2, 3');
SELECT test.same_order('SELECT DISTINCT ON (a.k) a.k, b.id FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k, b.id DESC');
SELECT test.same_order('SELECT a.k, count(b.id), max(b.v) FROM a LEFT JOIN b ON b.k = a.k GROUP BY a.k ORDER BY a.k');
SELECT test.same_order('SELECT a.k, string_agg(b.id::text, '','' ORDER BY b.id DESC) FROM a JOIN b ON b.k = a.k GROUP BY a.k ORDER BY a.k');
SELECT test.same_order('SELECT DISTINCT a.k, b.v FROM a JOIN b ON b.k = a.k ORDER BY a.k, b.v');
SELECT test.same_order('SELECT k FROM (SELECT a.k FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.k LIMIT 30) s UNION ALL SELECT k FROM (SELECT k FROM l ORDER BY k LIMIT 3) t');
-- merge append over two joins
SELECT test.same_order('SELECT k FROM (SELECT a.k FROM a LEFT JOIN b ON b.k = a.k UNION ALL SELECT l.k FROM l LEFT JOIN b ON b.k = l.k) s ORDER BY k LIMIT 40');
SET enable_seqscan = off;
SELECT test.same_order('SELECT a.k, b.id, sum(b.v) OVER (ORDER BY a.k) FROM a LEFT JOIN b ON b.k = a.k AND b.id < 30 ORDER BY a.k, b.id');
SELECT test.same_order('SELECT a.k, count(*) FROM a LEFT JOIN b ON b.k = a.k GROUP BY a.k ORDER BY a.k LIMIT 7');
