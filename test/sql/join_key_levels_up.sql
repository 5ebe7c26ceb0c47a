-- A scan that takes keys of a join two levels up is looked ahead for by the
-- join that binds the last of its parameters.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS x, i % 3 AS v FROM generate_series(1, 24) i;
CREATE TABLE b AS SELECT i AS id, i % 5 AS x, i % 4 AS y FROM generate_series(1, 20) i;
CREATE TABLE c AS SELECT i AS id, i % 4 AS y, i % 3 AS v FROM generate_series(1, 18) i;
CREATE TABLE l AS SELECT i AS id, i % 4 AS y FROM generate_series(1, 8) i;
CALL test.mirror('b', 'c');
-- c takes y from b, and v from a
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL
	(SELECT b.id AS b_id, c.id AS c_id FROM b JOIN c ON c.y = b.y AND c.v = a.v WHERE b.x = a.x OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a LEFT JOIN LATERAL
	(SELECT b.id AS b_id, c.id AS c_id FROM b LEFT JOIN c ON c.y = b.y AND c.v = a.v WHERE b.x = a.x OFFSET 0) s ON true');
-- only the upper join has a key for c; the lower one repeats it
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL
	(SELECT l.id AS l_id, c.id AS c_id FROM l LEFT JOIN c ON c.v = a.v AND c.y > 1 OFFSET 0) s WHERE s.l_id < 4');
-- both through a table of this server
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL
	(SELECT l.id AS l_id, c.id AS c_id FROM l JOIN c ON c.y = l.y AND c.v = a.v WHERE l.id > a.x OFFSET 0) s');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL
	(SELECT sum(q.n) FROM l, LATERAL (SELECT count(*) AS n FROM c WHERE c.y = l.y AND c.v = a.v AND c.id > a.x) q) s');
-- three levels
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id AS b_id, q.* FROM b, LATERAL
	(SELECT l.id AS l_id, c.id AS c_id FROM l JOIN c ON c.y = l.y AND c.v = a.v AND c.id > b.y WHERE l.id < 5 OFFSET 0) q
	WHERE b.x = a.x OFFSET 0) s WHERE a.id < 9');
-- the same parameter at both levels
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL
	(SELECT b.id AS b_id, c.id AS c_id FROM b LEFT JOIN c ON c.y = a.v WHERE b.x = a.x OFFSET 0) s');
