-- A NULL key matches nothing, and a left join keeps its row.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 10, 0) AS b_id, nullif(i % 3, 0) AS v FROM generate_series(1, 60) i;
CREATE TABLE b AS SELECT nullif(i, 3) AS id, 'name ' || i AS name, nullif(i % 3, 1) AS v FROM generate_series(1, 12) i;
CREATE INDEX ON b (id);
CALL test.mirror('b');
SELECT test.same_rows('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = a.b_id');
SELECT test.same_rows('SELECT a.id, b.name FROM a JOIN b ON b.id = a.b_id');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.id = a.b_id)');
SELECT test.same_rows('SELECT a.id FROM a WHERE a.b_id NOT IN (SELECT b.id FROM b WHERE b.id IS NOT NULL AND b.v = a.v)');
-- in one of two columns, and in both
SELECT test.same_rows('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = a.b_id AND b.v = a.v');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.id = a.b_id AND b.v = a.v)');
-- NULL is the value of a function that is not strict
SELECT test.same_rows('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = coalesce(a.b_id, 7)');
SELECT test.same_rows('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = nullif(a.b_id, 5)');
-- every key of a batch is NULL: nothing is asked for
SELECT test.same_rows('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = a.b_id WHERE a.b_id IS NULL');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.id = a.b_id) AND a.b_id IS NULL');
SET shuttle.debug_force_batched_join = on;
SELECT * FROM test.numbers('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = a.b_id WHERE a.b_id IS NULL');
SELECT * FROM test.numbers('SELECT a.id, b.name FROM a LEFT JOIN b ON b.id = a.b_id');
