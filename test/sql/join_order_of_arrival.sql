-- trap 34d: rows of a key stay in the order in which the node sent them, on
-- which the nodes above the scan rely.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 24) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS k, (i * 17) % 40 AS v, chr(65 + i % 3) AS t FROM generate_series(1, 40) i;
CALL test.mirror('b');
SELECT test.same_order('SELECT a.id, s.* FROM a, LATERAL (SELECT b.v, b.id FROM b WHERE b.k = a.k ORDER BY b.v, b.id OFFSET 0) s ORDER BY a.id');
SELECT test.same_order('SELECT a.id, s.* FROM a, LATERAL (SELECT b.v, b.id FROM b WHERE b.k = a.k ORDER BY b.v DESC, b.id OFFSET 1 LIMIT 3) s ORDER BY a.id');
SELECT test.same_rows('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT DISTINCT ON (b.t) b.t, b.v FROM b WHERE b.k = a.k ORDER BY b.t, b.v) s ON true');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, sum(b.v) OVER (ORDER BY b.v, b.id) FROM b WHERE b.k = a.k) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.t, array_agg(b.v ORDER BY b.v, b.id) FROM b WHERE b.k = a.k GROUP BY b.t) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, lag(b.id) OVER w, first_value(b.v) OVER w FROM b WHERE b.k = a.k
	WINDOW w AS (PARTITION BY b.t ORDER BY b.v, b.id)) s');
-- no columns at all
SELECT test.same_rows('SELECT a.id, s.n FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.k = a.k) s');
SELECT test.same_rows('SELECT a.id FROM a, LATERAL (SELECT FROM b WHERE b.k = a.k OFFSET 0) s');
SELECT test.same_rows('SELECT 1 FROM a JOIN b ON b.k = a.k AND b.v > a.id');
SELECT test.same_rows('SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE b.k = a.k OFFSET 2)');
