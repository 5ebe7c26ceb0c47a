-- trap 6: two batches that are alive at once, at different positions, and
-- neither is read with the other's position.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 3 AS k, i % 5 AS l FROM generate_series(1, 31) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k, i % 6 AS n FROM generate_series(1, 23) i;
CREATE TABLE c AS SELECT i AS id, i % 6 AS k FROM generate_series(1, 17) i;
CALL test.mirror('b', 'c');
-- the lower join has many rows for each of a, so the upper one's batches end elsewhere
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.k = a.k JOIN c ON c.k = b.n AND c.id > a.id % 4');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.k = a.k LEFT JOIN c ON c.k = b.n AND c.id % 5 = a.l');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.k = a.k LEFT JOIN c ON c.k = a.l');
-- side by side below a merge and a hash join
SELECT test.same_rows('SELECT s.*, t.* FROM (SELECT a.id, b.id AS b_id FROM a JOIN b ON b.k = a.k OFFSET 0) s
	JOIN (SELECT a.id, c.id AS c_id FROM a LEFT JOIN c ON c.k = a.l OFFSET 0) t ON t.id = s.id');
SELECT test.same_rows('SELECT s.*, t.* FROM (SELECT a.id, b.id AS b_id FROM a JOIN b ON b.k = a.k ORDER BY a.id OFFSET 0) s
	FULL JOIN (SELECT a.id, c.id AS c_id FROM a LEFT JOIN c ON c.k = a.l ORDER BY a.id OFFSET 0) t ON t.id = s.id + 9');
-- one in the other, each with keys of its own; a join inside is started again
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id AS b_id, c.id AS c_id FROM b
	JOIN c ON c.k = b.n WHERE b.k = a.k AND c.id < a.id OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a LEFT JOIN LATERAL (SELECT x.id AS x_id, b.id AS b_id FROM a AS x
	LEFT JOIN b ON b.n = x.l AND b.k = a.k WHERE x.k = a.k OFFSET 0) s ON true WHERE a.id < 12');
SELECT test.same_rows('SELECT a.id, s.* FROM a JOIN c ON c.k = a.l, LATERAL (SELECT b.id AS b_id FROM b WHERE b.k = a.k AND b.n = c.k LIMIT 2) s');
-- a self join, whose two sides read the same local rows
SELECT test.same_rows('SELECT x.id, y.id, b.id FROM a AS x JOIN a AS y ON y.k = x.l LEFT JOIN b ON b.k = y.l AND b.n = x.k WHERE x.id < 15');
