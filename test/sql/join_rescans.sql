-- Batched joins that start again: in subqueries, loops, recursion.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id, i % 4 AS v FROM generate_series(1, 14) i;
CREATE TABLE a AS SELECT i AS id, i % 7 AS k, i % 4 AS v FROM generate_series(1, 25) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, i % 5 AS n FROM generate_series(1, 18) i;
CALL test.mirror('b');
-- in a correlated subquery, whose parameter is used outer, inner, and both
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM a JOIN b ON b.k = a.k WHERE a.v = o.v) FROM o');
SELECT test.same_rows('SELECT o.id, (SELECT count(*) FROM a JOIN b ON b.k = a.k WHERE b.n = o.v) FROM o');
SELECT test.same_rows('SELECT o.id, (SELECT sum(b.id) FROM a LEFT JOIN b ON b.k = a.k AND b.n > o.v WHERE a.v = o.v) FROM o');
SELECT test.same_rows('SELECT o.id FROM o WHERE o.id IN (SELECT b.id FROM a JOIN b ON b.k = a.k WHERE a.v = o.v OFFSET 0)');
SELECT test.same_rows('SELECT o.id, ARRAY(SELECT b.id FROM a JOIN b ON b.k = a.k AND b.n = o.v ORDER BY 1) FROM o');
SELECT test.same_rows('SELECT o.id FROM o WHERE NOT EXISTS (SELECT FROM a JOIN b ON b.k = a.k AND b.n = o.v WHERE a.id = o.id OFFSET 0)');
-- a parameter that stays the same for some rows
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (SELECT a.id AS a_id, b.id AS b_id FROM a JOIN b ON b.k = a.k WHERE a.v = o.v / 2 OFFSET 0) s');
-- the inner side of a nested loop without parameters
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT test.same_rows('SELECT o.id, s.* FROM o LEFT JOIN (SELECT a.id AS a_id, b.n FROM a JOIN b ON b.k = a.k OFFSET 0) s ON s.n = o.v + 1');
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- recursion, whose working table is the outer side, and one on the inner side
SELECT test.same_rows('WITH RECURSIVE r (id, n, depth) AS (SELECT a.id, a.k, 1 FROM a WHERE a.id < 5
	UNION ALL SELECT b.id, b.n, r.depth + 1 FROM r JOIN b ON b.k = r.n WHERE r.depth < 4) SELECT * FROM r');
SELECT test.same_rows('WITH RECURSIVE r (id) AS (SELECT a.k FROM a UNION SELECT (b.n * 2) % 7 FROM r LEFT JOIN b ON b.k = r.id) SELECT * FROM r');
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (WITH RECURSIVE r (n, depth) AS (SELECT o.v, 0
	UNION ALL SELECT b.n, depth + 1 FROM r JOIN b ON b.k = r.n AND b.id > o.id WHERE depth < 3) SELECT count(*), max(depth) FROM r) s');
-- remembered by Memoize
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL (SELECT count(*), sum(b.id) FROM b WHERE b.k = o.v) s');
