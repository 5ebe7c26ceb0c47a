-- Joins with groups of partitioned tables: each key goes to the partitions that
-- can have it, and what is combined here is combined for each key.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET enable_partitionwise_aggregate = off;
CREATE TABLE o AS SELECT i AS id, nullif(i % 9, 0) AS k, i % 3 AS m FROM generate_series(1, 30) i;
CREATE TABLE big (id int, k int, m int, n int, x numeric) PARTITION BY RANGE (k);
CREATE TABLE big1 PARTITION OF big FOR VALUES FROM (MINVALUE) TO (3);
CREATE TABLE big2 PARTITION OF big FOR VALUES FROM (3) TO (6);
CREATE TABLE big3 PARTITION OF big FOR VALUES FROM (6) TO (20);
CREATE TABLE big4 PARTITION OF big DEFAULT;
INSERT INTO big SELECT i, nullif(i % 12, 11), i % 5, i % 4, i / 7.0 FROM generate_series(1, 400) i;
CALL test.mirror_partitions('big', 'big2');
ANALYZE engine.big, guest.big;
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	-- by the partition key: whole groups
	(1, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*), sum(x), avg(x), min(n) FROM big GROUP BY k) s ON s.k = o.k'),
	(2, 'SELECT o.id, s.* FROM o LEFT JOIN (SELECT k, count(DISTINCT n) c, array_agg(id ORDER BY id) FROM big GROUP BY k HAVING count(*) > 33) s ON s.k = o.k'),
	(3, 'SELECT o.id, s.* FROM o JOIN (SELECT k, m, count(*) c FROM big GROUP BY k, m) s ON s.k = o.k AND s.m = o.m WHERE s.c > 6'),
	(4, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT k, n FROM big) s ON s.k = o.k'),
	(5, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT ON (k) k, id FROM big ORDER BY k, x DESC) s ON s.k = o.k'),
	-- by another column: parts of a group come from several partitions
	(6, 'SELECT o.id, s.* FROM o JOIN (SELECT m, count(*), sum(x), avg(x), stddev(n) FROM big GROUP BY m) s ON s.m = o.k'),
	(7, 'SELECT o.id, s.* FROM o LEFT JOIN (SELECT n, m, count(*) c, max(id) FROM big GROUP BY n, m HAVING sum(x) > 500) s ON s.m = o.m'),
	(8, 'SELECT o.id FROM o WHERE o.k NOT IN (SELECT m FROM big WHERE m > 1 GROUP BY m) IS TRUE'),
	(9, 'SELECT o.id FROM o WHERE o.k IN (SELECT m FROM big GROUP BY m HAVING count(*) > 79)'),
	(10, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT m FROM big WHERE n = 1) s ON s.m = o.k'),
	(11, 'SELECT o.id, s.c FROM o JOIN (SELECT m, count(*) c FROM (SELECT k AS m FROM big UNION ALL SELECT m FROM big) u GROUP BY m) s ON s.m = o.k');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
