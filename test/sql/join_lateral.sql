-- LATERAL subqueries with LIMIT, aggregates, DISTINCT and set operations.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 8, 0) AS k, i % 3 AS v FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 4 AS n, 'b ' || i AS t FROM generate_series(1, 40) i;
CREATE TABLE c AS SELECT i AS id, i % 4 AS n FROM generate_series(1, 12) i;
CREATE INDEX ON b (k, n);
CALL test.mirror('b', 'c');
CREATE TABLE subqueries (nr int, query text);
INSERT INTO subqueries VALUES
	(1, 'SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.n, b.id LIMIT 2'),
	(2, 'SELECT b.id, b.t FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1 OFFSET 1'),
	(3, 'SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT a.v'),
	(4, 'SELECT count(*), sum(b.n), max(b.t) FROM b WHERE b.k = a.k'),
	(5, 'SELECT b.n, count(*) FROM b WHERE b.k = a.k GROUP BY b.n'),
	(6, 'SELECT b.n, count(*) FROM b WHERE b.k = a.k GROUP BY b.n HAVING count(*) > a.v'),
	(7, 'SELECT DISTINCT b.n FROM b WHERE b.k >= a.k'),
	(8, 'SELECT DISTINCT ON (b.n) b.n, b.id FROM b WHERE b.k = a.k ORDER BY b.n, b.id'),
	(9, 'SELECT b.id FROM b WHERE b.k = a.k UNION ALL SELECT c.id FROM c WHERE c.n = a.v'),
	(10, 'SELECT b.n FROM b WHERE b.k = a.k UNION SELECT c.n FROM c WHERE c.n = a.v'),
	(11, 'SELECT b.n FROM b WHERE b.k = a.k INTERSECT SELECT c.n FROM c WHERE c.n <> a.v'),
	(12, 'SELECT b.n FROM b WHERE b.k = a.k EXCEPT SELECT c.n FROM c WHERE c.n = a.v'),
	(13, 'SELECT b.id, c.id FROM b JOIN c ON c.n = b.n WHERE b.k = a.k ORDER BY 1, 2 LIMIT 3'),
	(14, 'SELECT b.id, c.id FROM b LEFT JOIN c ON c.n = b.n AND c.id > a.id WHERE b.k = a.k'),
	(15, 'SELECT b.id, row_number() OVER (ORDER BY b.n, b.id) FROM b WHERE b.k = a.k'),
	(16, 'SELECT array_agg(b.id ORDER BY b.id) FROM b WHERE b.k = a.k AND EXISTS (SELECT FROM c WHERE c.n = b.n AND c.id > a.id)'),
	(17, 'SELECT x.n, b.id FROM (SELECT a.v + 1 AS n) x LEFT JOIN b ON b.n = x.n AND b.k = a.k'),
	(18, 'SELECT a.k + b.id FROM b WHERE b.k = a.k AND b.n = a.v'),
	(19, 'SELECT * FROM (SELECT b.id FROM b WHERE b.k = a.k LIMIT 1) s, (SELECT c.id FROM c WHERE c.n = a.v ORDER BY c.id LIMIT 1) t'),
	(20, 'VALUES (a.k, (SELECT max(b.id) FROM b WHERE b.k = a.k))'),
	(21, 'SELECT * FROM (SELECT b.id, b.k FROM b WHERE b.n = a.v ORDER BY b.id LIMIT 3) s WHERE s.k = a.k'),
	(22, 'SELECT sum(s.m) FROM (SELECT max(b.id) AS m FROM b WHERE b.k = a.k GROUP BY b.n) s');
SELECT nr, test.same_rows(format('SELECT a.id, s.* FROM a, LATERAL (%s) s', query)) FROM subqueries ORDER BY nr;
SELECT nr, test.same_rows(format('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (%s) s ON true WHERE a.id < 15', query)) FROM subqueries WHERE nr IN (1, 4, 5, 9, 13, 14, 17, 19);
SELECT test.same_order('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 2) s ORDER BY a.id, s.id LIMIT 11');
