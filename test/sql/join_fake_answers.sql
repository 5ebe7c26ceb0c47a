-- Answers that are made up to measure our own work: one row a key, with a
-- warning, for superusers only, and never of rows that are locked or changed.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, nullif(i % 10, 0) AS k FROM generate_series(1, 30) i;
CREATE TABLE b (id int, name text, other int);
CALL test.mirror('b');
SET search_path = engine, local, public;
SET shuttle.debug_force_batched_join = on;
SELECT count(*) FROM a JOIN b ON b.id = a.k;
SET shuttle.debug_fake_answers = on;
SET client_min_messages = warning;
SELECT count(*), count(b.id), count(b.other), count(b.name), bool_and(b.id = a.k) FROM a JOIN b ON b.id = a.k;
SELECT count(*), count(b.id) FROM a LEFT JOIN b ON b.id = a.k;
SELECT count(*), min(b.name), max(b.name) FROM a JOIN b ON b.name = a.id::text;
SET shuttle.debug_find_by_key = on;
SELECT count(*), bool_and(b.id = a.k) FROM a JOIN b ON b.id = a.k;
SET search_path = guest, local, public;
SELECT count(*), bool_and(b.id = a.k) FROM a JOIN b ON b.id = a.k;
SELECT a.id FROM a JOIN b ON b.id = a.k FOR UPDATE OF b;
UPDATE b SET name = '' FROM a WHERE b.id = a.k;
RESET shuttle.debug_fake_answers;
SELECT count(*) FROM a JOIN b ON b.id = a.k;
CREATE ROLE regress_shuttle_ordinary;
SET ROLE regress_shuttle_ordinary;
SET shuttle.debug_fake_answers = on;
RESET ROLE;
DROP ROLE regress_shuttle_ordinary;
