-- Joins on the partition key of partitions that lie on one node, and aggregates
-- over them, are computed there.
\getenv test PG_ABS_SRCDIR
\i :test/include/smart.sql
CREATE TABLE here.o (k int, g int, day date, total numeric);
INSERT INTO here.o SELECT i, nullif(i % 5, 0), date '2020-01-01' + i % 30, i / 3.0 FROM generate_series(1, 2000) i;
CREATE TABLE here.l (k int, n int, price numeric, t text COLLATE "C");
INSERT INTO here.l SELECT i % 2100 + 1, i % 9, i / 7.0, 't' || i % 11 FROM generate_series(1, 6000) i;
CALL smart.distribute('o', '{1,501,1001,1501,3000}');
CALL smart.distribute('l', '{1,501,1001,1501,3000}');
SET search_path = dist;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT g, count(*), avg(price) FROM o JOIN l USING (k) GROUP BY g;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, count(*), avg(price) FROM o JOIN l USING (k) GROUP BY g',
	'SELECT count(*), sum(price), max(day), stddev(n) FROM o JOIN l USING (k) WHERE day > ''2020-01-10'' AND n > 3',
	'SELECT k, day, sum(price * n), count(DISTINCT t) FROM o JOIN l USING (k) GROUP BY k, day HAVING sum(n) > 5 ORDER BY 3 DESC, k LIMIT 10',
	'SELECT t, sum(CASE WHEN g = 1 THEN 1 ELSE 0 END), count(*) FILTER (WHERE g > 1) FROM o JOIN l USING (k) GROUP BY t',
	'SELECT g, count(l.k), count(*) FROM o LEFT JOIN l USING (k) GROUP BY g',
	'SELECT n, count(o.k), count(*) FROM o RIGHT JOIN l USING (k) GROUP BY n',
	'SELECT g, count(*) FROM o FULL JOIN l USING (k) GROUP BY g',
	'SELECT k, count(*) FROM o FULL JOIN l USING (k) GROUP BY k',
	'SELECT a.g, b.n, count(*), sum(c.total) FROM o a JOIN l b ON b.k = a.k JOIN o c ON c.k = a.k WHERE b.n < 3 GROUP BY a.g, b.n',
	'SELECT DISTINCT g, n FROM o JOIN l USING (k)',
	'SELECT DISTINCT k, n FROM o JOIN l USING (k) WHERE n > 2',
	'SELECT count(DISTINCT l.t) FROM o JOIN l USING (k) WHERE k = 501 AND g > 0',
	'SELECT g, count(*) FROM o JOIN l USING (k) WHERE day < now() GROUP BY g',
	'SELECT x, s.* FROM generate_series(1, 2000, 600) x, LATERAL (SELECT g, count(*) c FROM o JOIN l USING (k) WHERE k > x AND k < x + 50 GROUP BY g) s']) q;
-- the rows are right in any case: semi joins go to the node from 17 on, anti joins nowhere
SELECT q, regexp_replace(smart.check(q), '\d', 'n') FROM unnest(ARRAY[
	'SELECT g, count(*) FROM o WHERE EXISTS (SELECT FROM l WHERE l.k = o.k AND n = 3) GROUP BY g',
	'SELECT g, count(*) FROM o WHERE NOT EXISTS (SELECT FROM l WHERE l.k = o.k) GROUP BY g',
	'SELECT g, count(*) FROM o JOIN l USING (k) WHERE k = 7 GROUP BY g']) q;
-- not on the nodes: other columns, a condition of this server, a local table
CREATE TABLE dist.h AS SELECT * FROM here.o;
CREATE VIEW here.h AS SELECT * FROM here.o;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT o.g, count(*) FROM o JOIN l ON l.n = o.g AND l.k < 20 AND o.k < 20 GROUP BY o.g',
	'SELECT g, count(*) FROM o JOIN l USING (k) WHERE to_char(o.day, ''DD'') = l.n::text GROUP BY g',
	'SELECT o.g, count(*) FROM o JOIN h USING (k) GROUP BY o.g']) q;
-- a partition here: its part is joined and aggregated here
ALTER TABLE o DETACH PARTITION o4;
ALTER TABLE l DETACH PARTITION l4;
CREATE TABLE o9 PARTITION OF o FOR VALUES FROM (1501) TO (3000);
CREATE TABLE l9 PARTITION OF l FOR VALUES FROM (1501) TO (3000);
INSERT INTO o SELECT * FROM here.o WHERE k > 1500;
INSERT INTO l SELECT * FROM here.l WHERE k > 1500;
ANALYZE o9;
ANALYZE l9;
SELECT q, smart.check(q) FROM unnest(ARRAY[
	'SELECT g, count(*), avg(price), stddev(n) FROM o JOIN l USING (k) GROUP BY g',
	'SELECT k, count(DISTINCT t) FROM o JOIN l USING (k) GROUP BY k HAVING count(*) > 1',
	'SELECT sum(price), count(*) FROM o LEFT JOIN l USING (k)']) q;
