-- "big WHERE k IN (SELECT ...)": the subquery's values, each once, are the keys that
-- big's rows are asked for by, in place of reading big for a hash join.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 10, 0) AS b_id, nullif(i % 3, 0) AS v, 'n' || i % 7 AS name FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT nullif(i, 3) AS id, 'n' || i % 20 AS name, nullif(i % 3, 1) AS v FROM generate_series(1, 400) i;
CREATE INDEX ON b (id);
CALL test.mirror('b');
SELECT test.same_rows('SELECT b.id, b.name FROM b WHERE b.id IN (SELECT a.b_id FROM a)');
SELECT test.same_rows('SELECT b.id, b.name FROM b WHERE b.name IN (SELECT a.name FROM a WHERE a.id > 20)');
SELECT test.same_rows('SELECT b.id FROM b WHERE (b.id, b.v) IN (SELECT a.b_id, a.v FROM a)');
SELECT test.same_rows('SELECT b.id FROM b WHERE EXISTS (SELECT FROM a WHERE a.b_id = b.id AND a.v = b.v)');
-- a condition that is none of the keys; with rows of other tables, on both sides
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a) AND b.v > 0 AND length(b.name) < 3');
SELECT test.same_rows('SELECT b.id, c.id FROM b JOIN a c ON c.id = b.id WHERE b.id IN (SELECT a.b_id FROM a)');
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT x.b_id FROM a x JOIN a y USING (v))');
SELECT test.same_rows('SELECT x.id, b.name FROM a x LEFT JOIN b ON b.id = x.id AND b.id IN (SELECT a.b_id FROM a)');
-- no value at all, nothing but NULL
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a WHERE a.id > 1000)');
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a WHERE a.b_id IS NULL)');
-- groups, DISTINCT and LIMIT of the subquery
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a GROUP BY a.b_id HAVING count(*) > 5)');
SELECT test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a ORDER BY a.id LIMIT 4)');
SELECT test.same_order('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a) ORDER BY b.id LIMIT 3');
-- not batched until 18, so "NOT" is left out: values that are computed to be compared, of another type; sorted to be made unique
SELECT replace(test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id + 1 FROM a)'), 'NOT ', '');
SELECT replace(test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id::int8 FROM a)'), 'NOT ', '');
SET enable_hashagg = off;
SELECT test.same_rows('SELECT b.id, b.name FROM b WHERE b.id IN (SELECT a.b_id FROM a)');
SELECT replace(test.same_rows('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id + 1 FROM a)'), 'NOT ', '');
SELECT test.same_rows('SELECT b.id FROM b WHERE (b.id, b.v) IN (SELECT a.b_id, a.v FROM a)');
RESET enable_hashagg;
SELECT test.same_prepared('SELECT b.id FROM b WHERE b.id IN (SELECT a.b_id FROM a WHERE a.id < $1)', 'int', '5', '50', '0');
-- many rows on the node and few values: taken by its price, and only its rows come
CREATE TABLE big AS SELECT i AS id, i % 5000 AS k FROM generate_series(1, 50000) i;
CREATE INDEX ON big (k);
CREATE TABLE wanted AS SELECT i * 37 % 500 AS k FROM generate_series(1, 200) i;
CALL test.mirror('big');
ANALYZE big, wanted, engine.big, guest.big;
SELECT test.plan_shape('SELECT count(*) FROM big WHERE k IN (SELECT k FROM wanted)');
SELECT test.same_rows('SELECT * FROM big WHERE k IN (SELECT k FROM wanted)');
