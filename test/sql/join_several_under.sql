-- Batched joins under hash joins, merge joins, aggregates and set operations.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 21) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 20) i;
CREATE TABLE l AS SELECT i AS id, i % 8 AS n FROM generate_series(1, 12) i;
CALL test.mirror('b');
CREATE TABLE queries (nr int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT a.id, b.id, l.id FROM a JOIN b ON b.k = a.k JOIN l ON l.n = b.n'),
	(2, 'SELECT a.id, b.id, l.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN l ON l.n = b.n'),
	(3, 'SELECT l.id, s.* FROM l LEFT JOIN (SELECT a.id AS a_id, b.n FROM a JOIN b ON b.k = a.k) s ON s.n = l.n'),
	(4, 'SELECT l.id FROM l WHERE l.n NOT IN (SELECT b.n FROM a JOIN b ON b.k = a.k WHERE a.id < 4)'),
	(5, 'SELECT l.id FROM l WHERE NOT EXISTS (SELECT FROM a JOIN b ON b.k = a.k WHERE a.id < 4 AND b.n = l.n)'),
	(6, 'SELECT b.n, count(*), sum(a.id) FROM a JOIN b ON b.k = a.k GROUP BY b.n HAVING count(*) > 2'),
	(7, 'SELECT DISTINCT b.n, a.k FROM a LEFT JOIN b ON b.k = a.k');
SET enable_mergejoin = off;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SET enable_hashagg = off;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT nr, test.same_rows(query) FROM queries ORDER BY nr;
