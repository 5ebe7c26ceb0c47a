-- Parallel workers below and above: refused or right.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, i % 17 AS k FROM generate_series(1, 400) i;
CREATE TABLE b AS SELECT i AS id, i % 13 AS k FROM generate_series(1, 40) i;
CREATE TABLE l AS SELECT i AS id, i % 13 AS k FROM generate_series(1, 40) i;
CALL test.mirror('b');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE a SET (parallel_workers = 2);
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.k = a.k WHERE a.id % 3 = 0');
SELECT test.same_rows('SELECT count(*), sum(b.id) FROM a LEFT JOIN b ON b.k = a.k WHERE a.id % 3 = 0');
SELECT test.same_rows('SELECT a.id, l.id, b.id FROM a JOIN l ON l.k = a.k LEFT JOIN b ON b.k = l.id WHERE a.id < 50');
SELECT test.same_rows('SELECT a.id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a WHERE a.id < 40');
SELECT test.same_rows('SELECT s.n, b.id FROM (SELECT k, count(*) AS n FROM a GROUP BY k) s LEFT JOIN b ON b.k = s.k');
SET parallel_leader_participation = off;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.k = a.k WHERE a.id % 3 = 0');
RESET parallel_leader_participation;
-- a function whose query is parallel, in a statement that has locked rows
CREATE FUNCTION found(bigint) RETURNS bigint STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(b.id) FROM a JOIN b ON b.k = a.k + $1); END';
SELECT test.same_rows('SELECT id, found(id) FROM l WHERE id < 9 ORDER BY id FOR SHARE');
-- also where the lock is a node's, and the transaction has written nothing here
SET shuttle.debug_force_batched_join = on;
SET search_path = guest, local, public;
SELECT id, found(id) FROM b WHERE id < 4 ORDER BY id FOR SHARE;
SET search_path = engine, local, public;
SELECT id, found(id) FROM b WHERE id < 4 ORDER BY id FOR SHARE;
