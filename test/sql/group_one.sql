-- An aggregate without GROUP BY answers one row, also where no aggregate is left
-- of it: postgres_fdw's SELECT answered a row for each row, or none.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, nullif(i % 9, 4) AS k FROM generate_series(1, 30) i;
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 50) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS k FROM generate_series(1, 40) i;
CREATE TABLE nothing (id int, k int);
CREATE TABLE p (id int, k int) PARTITION BY LIST (k);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0, 1, 2);
CREATE TABLE p1 PARTITION OF p DEFAULT;
INSERT INTO p SELECT i, i % 6 FROM generate_series(1, 60) i;
CALL test.mirror('a', 'b', 'nothing');
CALL test.mirror_partitions('p');

-- not wanted from a subquery
SELECT test.same_rows('SELECT count(*) FROM (SELECT sum(a.id) FROM a JOIN b ON b.id = a.id) s');
SELECT test.same_rows('SELECT count(*) FROM (SELECT sum(a.id) FROM a JOIN nothing n ON n.id = a.id) s');
SELECT test.same_rows('SELECT s.one FROM (SELECT 1 AS one, max(a.id) FROM a JOIN nothing n ON n.id = a.id) s');
SELECT test.same_rows('SELECT o.id FROM o CROSS JOIN LATERAL (SELECT min(a.id) FROM a LEFT JOIN nothing n ON n.id = a.k WHERE n.id = o.k) s');
SELECT test.same_rows('SELECT o.id, s.one FROM o LEFT JOIN LATERAL (SELECT 1 AS one, sum(b.id) FROM a JOIN b ON b.id = a.id WHERE a.k = o.k) s ON true');
SELECT test.same_rows('SELECT id FROM o WHERE EXISTS (SELECT sum(a.id) FROM a JOIN nothing n ON n.id = a.id WHERE a.k = o.k)');
SELECT test.same_rows('SELECT id, EXISTS (SELECT sum(a.id) FROM a JOIN nothing n ON n.id = a.id WHERE a.k = o.k) FROM o');
-- folded away
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM a JOIN b ON b.id = a.id');
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM a JOIN nothing n ON n.id = a.id');
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM p JOIN p q ON q.k = p.k AND q.id = p.id');
SELECT test.same_rows('SELECT count(*) FROM (SELECT sum(p.id) FROM p JOIN a ON a.id = p.id) s');
SELECT test.same_rows('SELECT count(*) FROM (SELECT count(*) FROM p JOIN nothing n ON n.id = p.id) s');
-- of HAVING it depends if the row is there
SELECT test.same_rows('SELECT 1 FROM a JOIN b ON b.id = a.id HAVING count(*) > 3');
SELECT test.same_rows('SELECT 1 FROM a JOIN nothing n ON n.id = a.id HAVING count(*) > 3');
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM a JOIN b ON b.id = a.id HAVING random() >= 0');
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM a JOIN nothing n ON n.id = a.id HAVING 1 = 1');
-- groups answer as many rows as there are of them
SELECT test.same_rows('SELECT count(*) FROM (SELECT a.k, sum(b.id) FROM a JOIN b ON b.id = a.id GROUP BY a.k) s');
SELECT test.same_rows('SELECT count(*) FROM (SELECT sum(b.id) FROM a JOIN nothing b ON b.id = a.id GROUP BY ()) s');
SELECT test.same_rows('SELECT count(*) FROM (SELECT sum(b.id) FROM a JOIN b ON b.id = a.id GROUP BY GROUPING SETS ((), ())) s');
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM p JOIN p q ON q.k = p.k AND q.id = p.id');
SELECT test.same_rows('SELECT CASE WHEN true THEN 1 ELSE count(*) END FROM p JOIN p q ON q.k = p.k AND q.id = -p.id');
DROP TABLE o, a, b, nothing, p CASCADE;
