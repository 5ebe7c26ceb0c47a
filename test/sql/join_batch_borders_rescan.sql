-- A batched join that starts again, with no outer rows at times.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE o AS SELECT i AS id FROM generate_series(0, 12) i;
CREATE TABLE a AS SELECT i AS id, i % 5 AS k FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS k FROM generate_series(1, 6) i;
CREATE INDEX ON a (id);
CALL test.mirror('b');
-- the join runs once a row of o, over 0 to 12 rows of a
SELECT test.same_rows('SELECT o.id, s.* FROM o LEFT JOIN LATERAL
	(SELECT a.id AS a_id, b.id AS b_id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id <= o.id OFFSET 0) s ON true');
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL
	(SELECT a.id AS a_id, b.id AS b_id FROM a JOIN b ON b.k = a.k WHERE a.id <= (o.id * 7) % 13 OFFSET 0) s');
-- full, empty, full again
SELECT test.same_rows('SELECT o.id, s.* FROM o, LATERAL
	(SELECT count(*), sum(b.id) FROM a LEFT JOIN b ON b.k = a.k WHERE a.id <= 7 * (1 - o.id % 2)) s');
SELECT test.same_rows('SELECT o.id, (SELECT sum(b.id) FROM a LEFT JOIN b ON b.k = a.k WHERE a.id <= 7 * (o.id % 3)) FROM o');
