-- Keys with columns of two and three outer relations.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 5 AS x FROM generate_series(1, 20) i;
CREATE TABLE b AS SELECT i AS id, i % 4 AS y, i % 5 AS a_x FROM generate_series(1, 15) i;
CREATE TABLE c AS SELECT i AS id, i % 8 AS k, i % 3 AS z FROM generate_series(1, 24) i;
CREATE TABLE d AS SELECT i AS id, i % 10 AS k FROM generate_series(1, 20) i;
CALL test.mirror('c', 'd');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.a_x = a.x JOIN c ON c.k = a.x + b.y');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a JOIN b ON b.a_x = a.x LEFT JOIN c ON c.k = a.x AND c.z = b.y');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a LEFT JOIN b ON b.id = a.id LEFT JOIN c ON c.k = a.x + b.y');
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a, b LEFT JOIN c ON c.k = b.y WHERE a.x = b.a_x AND (c.z = a.x OR c.z IS NULL)');
-- from two relations without a condition between them
SELECT test.same_rows('SELECT a.id, b.id, c.id FROM a, b, c WHERE c.k = a.x + b.y AND a.id < 5 AND b.id < 5');
-- one of the outer relations is remote as well
SELECT test.same_rows('SELECT a.id, c.id, d.id FROM a JOIN c ON c.k = a.x JOIN d ON d.k = a.x + c.z');
SELECT test.same_rows('SELECT a.id, c.id, d.id FROM a LEFT JOIN c ON c.k = a.x AND c.z = 1 LEFT JOIN d ON d.k = a.x + c.z');
SELECT test.same_rows('SELECT a.id, b.id, c.id, d.id FROM a JOIN b ON b.a_x = a.x JOIN c ON c.k = b.y JOIN d ON d.k = a.x + b.y + c.z AND a.id < 9');
SELECT test.same_rows('SELECT a.id FROM a JOIN b ON b.a_x = a.x WHERE NOT EXISTS (SELECT FROM c WHERE c.k = a.x + b.y AND c.z = 2)');
