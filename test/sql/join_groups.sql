-- Joins with groups: only those of the keys of a batch are made.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, nullif(i % 9, 0) AS k, i % 3 AS m, (i % 5)::int8 AS l, 'k' || i % 7 AS t, timestamptz '2026-01-01 UTC' + i % 9 * interval '1 day' AS d FROM generate_series(1, 30) i;
CREATE TABLE big AS SELECT i AS id, nullif(i % 12, 11) AS k, i % 5 AS m, i % 4 AS n, i / 7.0 AS x, 'k' || i % 8 AS t, timestamptz '2026-01-01 UTC' + i % 12 * interval '1 day' AS d FROM generate_series(1, 200) i;
CREATE INDEX ON big (k);
CREATE TABLE dim AS SELECT i AS m, 'd' || i AS name FROM generate_series(0, 3) i;
CALL test.mirror('big', 'dim');
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	-- aggregates, several grouping columns of which all or some are joined, DISTINCT, HAVING
	(1, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*), sum(x), min(t) FROM big GROUP BY k) s ON s.k = o.k'),
	(2, 'SELECT o.id, s.* FROM o JOIN (SELECT k, m, count(*) FROM big GROUP BY k, m) s ON s.k = o.k AND s.m = o.m'),
	(3, 'SELECT o.id, s.* FROM o JOIN (SELECT m, k, max(x) FROM big GROUP BY m, k) s ON s.k = o.k'),
	(4, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT k, n FROM big) s ON s.k = o.k'),
	(5, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT ON (k) k, id, x FROM big ORDER BY k, x DESC) s ON s.k = o.k'),
	(6, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k HAVING sum(n) > 23) s ON s.k = o.k'),
	(7, 'SELECT o.id, s.* FROM o JOIN (SELECT k, array_agg(id ORDER BY id) FROM big WHERE n > 1 GROUP BY k) s ON s.k = o.k'),
	(8, 'SELECT o.id, s.* FROM o JOIN (SELECT k + 1 AS k1, count(*) FROM big GROUP BY k + 1) s ON s.k1 = o.k'),
	(9, 'SELECT o.id, s.* FROM o JOIN (SELECT count(DISTINCT n) c, k FROM big GROUP BY k ORDER BY 1) s ON s.k = o.k'),
	-- join types; s on either side, in another join, under the nullable side of one
	(10, 'SELECT o.id, s.* FROM o LEFT JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k'),
	(11, 'SELECT o.id, s.* FROM o LEFT JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k AND s.c > 17'),
	(12, 'SELECT o.id FROM o WHERE o.k IN (SELECT k FROM big GROUP BY k HAVING count(*) > 16)'),
	(13, 'SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM (SELECT k, count(*) c FROM big GROUP BY k) s WHERE s.k = o.k AND s.c > 16)'),
	(14, 'SELECT o.id, s.c FROM o LEFT JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k WHERE s.c IS NULL'),
	(15, 'SELECT o.id, s.c FROM (SELECT k, count(*) c FROM big GROUP BY k) s RIGHT JOIN o ON s.k = o.k'),
	(16, 'SELECT o.id, s.c, p.id FROM o LEFT JOIN (o p JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = p.k) ON p.id = o.id + 20'),
	(17, 'SELECT o.id, s.c, r.c FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k JOIN (SELECT m, sum(x) c FROM big GROUP BY m) r ON r.m = o.m'),
	(18, 'SELECT o.id, p.id, s.c FROM o JOIN o p ON p.id = o.id + 3 JOIN (SELECT k, m, count(*) c FROM big GROUP BY k, m) s ON s.k = o.k AND s.m = p.m'),
	-- conditions of the upper query
	(19, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c, sum(n) FROM big GROUP BY k) s ON s.k = o.k WHERE s.c > 16 AND s.k < 7'),
	(20, 'SELECT o.id, s.* FROM o JOIN (SELECT k, m, count(*) c FROM big GROUP BY k, m) s ON s.k = o.k WHERE s.m = 2 AND o.id > 3'),
	(21, 'SELECT o.id, s.* FROM o LEFT JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k WHERE s.c > 16 OR s.c IS NULL'),
	(22, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k AND s.c > o.id'),
	(23, 'SELECT o.id, s.* FROM o JOIN (SELECT DISTINCT k, n FROM big) s ON s.k = o.k WHERE s.n <> 2'),
	(24, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k WHERE s.c IN (16, 17) AND EXISTS (SELECT FROM dim WHERE dim.m = s.k)'),
	-- types, ranges, expressions of the outer side, whole rows
	(25, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.l'),
	(26, 'SELECT o.id, s.* FROM o JOIN (SELECT t, count(*) c FROM big GROUP BY t) s ON s.t = o.t'),
	(27, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k BETWEEN o.k AND o.k + 1'),
	(28, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k + o.m'),
	(29, 'SELECT o.id, s FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k'),
	(30, 'SELECT o.id, s.c FROM o JOIN (SELECT k, count(*) c, sum(x) FROM big GROUP BY k) s ON s.k = o.k'),
	-- subqueries that are joins, that have levels, LATERAL ones
	(31, 'SELECT o.id, s.* FROM o JOIN (SELECT big.k, dim.name, count(*) c FROM big JOIN dim USING (m) GROUP BY big.k, dim.name) s ON s.k = o.k'),
	(32, 'SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM (SELECT k, n, count(*) FROM big GROUP BY k, n) b GROUP BY k) s ON s.k = o.k'),
	(33, 'SELECT o.id, s.* FROM o JOIN LATERAL (SELECT k, count(*) c FROM big WHERE n > o.m GROUP BY k) s ON s.k = o.k'),
	(34, 'SELECT o.id, (SELECT sum(s.c) FROM o p JOIN (SELECT k, m, count(*) c FROM big WHERE n < o.m GROUP BY k, m) s ON s.k = p.k AND s.m = o.m) FROM o WHERE o.id < 9'),
	(35, 'SELECT r.* FROM (SELECT o.m, sum(s.c) FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k GROUP BY o.m) r'),
	(36, 'SELECT o.id, s.*, coalesce(s.c, 0) + p.y FROM o LEFT JOIN (SELECT id, coalesce(k, 3) y FROM o WHERE id % 2 = 0) p ON p.id = o.id LEFT JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = p.y'),
	-- a value of the outer side that depends on a setting
	(37, 'SELECT o.id, s.* FROM o JOIN (SELECT d, count(*) c FROM big GROUP BY d) s ON s.d = o.d + interval ''1 day''');
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SELECT test.same_order('SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big GROUP BY k) s ON s.k = o.k ORDER BY o.id LIMIT 7');
SELECT test.same_prepared('SELECT o.id, s.* FROM o JOIN (SELECT k, count(*) c FROM big WHERE n > $1 GROUP BY k) s ON s.k = o.k WHERE s.c > $1', 'int', '0', '1', '2');
