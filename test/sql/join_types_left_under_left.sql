-- A left join whose outer side is a left join; rows without a match go on.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 9, 0) AS k FROM generate_series(1, 40) i;
CREATE TABLE b AS SELECT i AS id, i % 6 AS k, nullif(i % 4, 0) AS c_id FROM generate_series(1, 12) i;
CREATE TABLE c AS SELECT i AS id, 'c ' || i AS name FROM generate_series(1, 2) i;
CALL test.mirror('b', 'c');
SELECT test.same_rows('SELECT a.id, b.id, c.name FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.id = b.c_id');
SELECT test.same_rows('SELECT a.id, b.id, c.name FROM a LEFT JOIN (b LEFT JOIN c ON c.id = b.c_id) ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id, c.name FROM a LEFT JOIN (b JOIN c ON c.id = b.c_id) ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id, c.name FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.id = a.k');
-- conditions on the nullable side above the join
SELECT test.same_rows('SELECT a.id, c.name FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.id = b.c_id WHERE c.id IS NULL');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE coalesce(b.c_id, a.id) > 2');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.id = coalesce(b.c_id, 2)');
-- an outer relation in the condition of the inner left join
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.k = a.k LEFT JOIN c ON c.id = b.c_id AND a.id > 20');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.k = a.k AND a.id > 20 LEFT JOIN c ON c.id = b.c_id');
-- core makes an inner join of this one
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.k = a.k JOIN c ON c.id = b.c_id');
