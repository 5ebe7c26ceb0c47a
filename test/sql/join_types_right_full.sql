-- Right and full joins: core's other joins, or left joins turned round.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 9, 0) AS k FROM generate_series(1, 40) i;
CREATE TABLE b AS SELECT i AS id, nullif(i % 12, 1) AS k FROM generate_series(1, 30) i;
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.id FROM b RIGHT JOIN a ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a RIGHT JOIN b ON b.k = a.k');
SELECT test.same_rows('SELECT a.id, b.id FROM a FULL JOIN b ON b.k = a.k');
-- below and above a batched join
SELECT test.same_rows('SELECT a.id, b.id, x.id FROM (a FULL JOIN a AS x ON x.id = a.k) LEFT JOIN b ON b.k = x.k');
SELECT test.same_rows('SELECT a.id, s.id FROM a FULL JOIN (SELECT x.id, b.k FROM a AS x JOIN b ON b.k = x.k) s ON s.id = a.id + 20');
SELECT test.same_rows('SELECT a.id, s.id FROM a RIGHT JOIN (SELECT x.id, b.k FROM a AS x LEFT JOIN b ON b.k = x.k) s ON s.k = a.id');
