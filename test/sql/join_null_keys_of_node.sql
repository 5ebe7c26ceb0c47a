-- trap 1: NULL keys find the same rows on a node that takes NULL in an array for a word.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 10, 0) AS k, CASE i % 4 WHEN 0 THEN 'NULL' WHEN 1 THEN 'null' WHEN 2 THEN 'x' END AS t,
	ARRAY[nullif(i % 3, 0), i % 2] AS l FROM generate_series(1, 30) i;
CREATE TABLE b AS SELECT * FROM a WHERE id % 7 > 0;
CALL test.mirror('b');
CREATE ROLE test_node LOGIN SUPERUSER;
ALTER ROLE test_node SET array_nulls = off;
SELECT format('ALTER USER MAPPING FOR CURRENT_USER SERVER %I OPTIONS (ADD user %L)', t, 'test_node') FROM unnest(test.transports()) t \gexec
SELECT test.same_rows('SELECT a.id, b.* FROM a JOIN b ON b.t IS NOT DISTINCT FROM a.t');
SELECT test.same_rows('SELECT a.id, b.* FROM a LEFT JOIN b ON b.k IS NOT DISTINCT FROM a.k AND b.t = a.t');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k OR (a.k IS NULL AND b.k = 7)) FROM a');
SELECT test.same_rows('SELECT a.id, s.* FROM a JOIN (SELECT t, count(*) FROM b GROUP BY t) s ON s.t = a.t');
-- keys that are arrays
SELECT test.same_rows('SELECT a.id, b.* FROM a JOIN b ON b.l = a.l');
SELECT test.same_rows('SELECT a.id, b.* FROM a LEFT JOIN b ON b.l IS NOT DISTINCT FROM a.l AND b.k = a.k');
-- values and keys of our own statements
BEGIN;
INSERT INTO engine.b SELECT id + 100, k, t, l FROM a WHERE id < 9;
SELECT * FROM engine.b WHERE id > 100 ORDER BY id;
UPDATE engine.b SET t = a.t, l = a.l FROM a WHERE b.k IS NOT DISTINCT FROM a.k AND a.id > 27 AND b.id < 12;
SELECT * FROM engine.b WHERE k IS NULL OR k > 7 ORDER BY id;
DELETE FROM engine.b USING a WHERE b.t IS NOT DISTINCT FROM a.t AND b.id = a.id;
SELECT * FROM engine.b WHERE id < 100 ORDER BY id;
ROLLBACK;
DROP ROLE test_node;
