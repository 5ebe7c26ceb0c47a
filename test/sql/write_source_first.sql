-- trap 24: what a statement asks by key, and a STABLE function that it calls, sees the
-- state before it; a VOLATILE one sees the rows that were written before its call.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CREATE TABLE remote_item (id int PRIMARY KEY, v int);
INSERT INTO remote_item SELECT i, i FROM generate_series(1, 5) i;
CREATE FOREIGN TABLE item (id int, v int) SERVER near OPTIONS (table_name 'remote_item');
CREATE FUNCTION total(int) RETURNS bigint STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(v) FROM item WHERE id <> $1 + 100); END';
CREATE FUNCTION rows_now() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM item); END';

-- in what is set, in a condition, in what is inserted
BEGIN;
UPDATE item SET v = v + total(id);
SELECT * FROM item ORDER BY id;
ROLLBACK;
BEGIN;
UPDATE item SET v = 100 WHERE total(id) = 15 RETURNING id, v;
ROLLBACK;
BEGIN;
DELETE FROM item WHERE id < 4 AND total(id) = 15;
INSERT INTO item VALUES (11, total(0)), (12, total(0));
INSERT INTO item SELECT i, total(i) FROM generate_series(21, 23) i;
SELECT * FROM item ORDER BY id;
ROLLBACK;
-- rows come in the source's order, with all their columns, junk ones too
BEGIN;
UPDATE item SET v = g.x * 10 + total(id) FROM (VALUES (5, 1), (3, 2), (1, 3)) g (k, x) WHERE g.k = id AND total(g.x) > 0 RETURNING id, v, x;
ROLLBACK;
-- within a function, and in a loop over what is returned
BEGIN;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN UPDATE item SET v = total(id) WHERE id < 3 RETURNING id, v LOOP
		RAISE WARNING '%', r;
	END LOOP;
END $$;
ROLLBACK;
-- volatile ones
BEGIN;
INSERT INTO item SELECT i, rows_now() FROM generate_series(21, 23) i RETURNING *;
ROLLBACK;
-- also above a Materialize
CREATE FUNCTION total_now() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(v) FROM item); END';
CREATE TABLE wanted AS SELECT generate_series(1, 3) AS k;
BEGIN;
SET LOCAL shuttle.enable_batched_join = off;
UPDATE item SET v = total_now() FROM wanted WHERE k = id RETURNING id, v;
ROLLBACK;
BEGIN;
SET LOCAL shuttle.debug_force_batched_join = on;
UPDATE item SET v = total_now() FROM wanted WHERE k = id RETURNING id, v;
ROLLBACK;
DROP TABLE wanted;
-- by key, row by row, in more rows than are sent at once
INSERT INTO item SELECT i, i % 4 FROM generate_series(101, 200) i;
SET shuttle.enable_batched_join = off;
SET shuttle.write_buffer_size = '1kB';
BEGIN;
UPDATE item SET v = (SELECT count(*) FROM item z WHERE z.v = item.v) WHERE id > 100;
SELECT v, count(*) FROM item WHERE id > 100 GROUP BY v ORDER BY v;
ROLLBACK;
BEGIN;
INSERT INTO item SELECT g + 1000, z.n FROM generate_series(1, 100) g, LATERAL (SELECT count(*) AS n FROM item WHERE id > g) z;
SELECT sum(v) FROM item WHERE id > 1000;
ROLLBACK;
DROP TABLE remote_item CASCADE;
