-- LIMIT and OFFSET over batched joins.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 11 AS k FROM generate_series(1, 200) i;
CREATE INDEX ON a (id);
CREATE TABLE b AS SELECT i AS id, i % 9 AS k FROM generate_series(1, 27) i;
CALL test.mirror('b');
SELECT n, test.same_order(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 10 ORDER BY a.id LIMIT %s', n))
FROM unnest('{0,1,2,3,7,8,50}'::int[]) AS n;
SELECT n, test.same_order(format('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k AND b.id < 10 ORDER BY a.id OFFSET %s LIMIT 5', n))
FROM unnest('{0,1,3,160,300}'::int[]) AS n;
SELECT test.same_rows('SELECT count(*) FROM (SELECT FROM a JOIN b ON b.k = a.k LIMIT 100) s');
SELECT test.same_order('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k) ORDER BY a.id LIMIT 6');
SELECT test.same_order('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k ORDER BY a.id, b.id FETCH FIRST 4 ROWS ONLY');
SELECT test.same_order('SELECT a.id FROM a JOIN b ON b.k = a.k ORDER BY a.id FETCH FIRST 4 ROWS WITH TIES');
SELECT test.same_order('SELECT a.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 10 ORDER BY a.id LIMIT (SELECT 4) OFFSET (SELECT 2)');
SELECT test.same_order('SELECT a.id FROM a LEFT JOIN b ON b.k = a.k AND b.id < 10 ORDER BY a.id LIMIT NULL OFFSET 190');
SELECT test.same_rows('SELECT EXISTS (SELECT FROM a JOIN b ON b.k = a.k AND b.id > a.id)');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.id < 20 AND EXISTS (SELECT FROM a AS x JOIN b ON b.k = x.k WHERE x.id = a.id OFFSET 0)');
SELECT test.same_order('SELECT s.* FROM (SELECT a.id FROM a JOIN b ON b.k = a.k ORDER BY a.id LIMIT 9) s LEFT JOIN b ON b.id = s.id ORDER BY s.id LIMIT 4');
