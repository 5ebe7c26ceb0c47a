-- Statements that differ in their literals only share a plan, whose values the node is
-- sent; each answer is the one that it has with a plan of its own.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TABLE remote_item (id int PRIMARY KEY, n int CHECK (n < 1000), price numeric(8, 2), note varchar(5), m mood DEFAULT 'sad', at date DEFAULT '2024-02-29');
INSERT INTO remote_item SELECT i, i % 5, i + 0.5, 'n' || i FROM generate_series(1, 1000) i;
ANALYZE remote_item;
CREATE FOREIGN TABLE item (id int, n int, price numeric(8, 2), note varchar(5)) SERVER near OPTIONS (table_name 'remote_item');
-- types that are others there
CREATE FOREIGN TABLE other_item (id bigint, n numeric, m text, at text) SERVER near OPTIONS (table_name 'remote_item');
ANALYZE item;
ANALYZE other_item;
-- what the session of the node has prepared
CREATE VIEW remote_prepared AS SELECT statement FROM pg_prepared_statements;
CREATE FOREIGN TABLE prepared (statement text) SERVER near OPTIONS (table_name 'remote_prepared');

-- the first is planned alone, the second is the first that is sent so, the third is prepared
SELECT n FROM item WHERE id = 7;
SELECT n FROM item WHERE id = 8;
SELECT n FROM item WHERE 9 = id;
SELECT n FROM item WHERE id = 10;
UPDATE item SET n = n + 2, price = price - 1.25, note = 'a' WHERE id = 7;
UPDATE item SET n = n + 3, price = price - 3.75, note = 'bb' WHERE id = 8;
UPDATE item SET n = n + -4, price = price - 0.05, note = NULL WHERE id = 9;
UPDATE item SET n = n + 5, price = price - 2.50, note = 'ccc' WHERE id = 10;
DELETE FROM item WHERE id = 11 AND n = 1;
DELETE FROM item WHERE id = 12 AND n = 3;
DELETE FROM item WHERE id = 13 AND n = 3;
UPDATE item SET n = n + 6, price = price - 3.50, note = 'dddd' WHERE id = 10;
INSERT INTO item VALUES (2001, 1, 1.5, 'x');
INSERT INTO item VALUES (2002, 2, 2.25, 'yyyy');
INSERT INTO item VALUES (2003, 3, 3, 'zz');
SELECT * FROM remote_item WHERE id BETWEEN 7 AND 13 OR id > 2000 ORDER BY id;
SELECT statement FROM prepared WHERE statement LIKE '%public.remote_item%' ORDER BY 1;

-- errors are of the statement, and the next one is as before
UPDATE item SET n = n + 1000 WHERE id = 7;
UPDATE item SET n = n + 2000, price = price - 1.5, note = 'd' WHERE id = 7;
UPDATE item SET n = n + 2, price = price - 1.5, note = 'much too long' WHERE id = 7;
UPDATE item SET n = n + 2147483647, price = price - 1.5, note = 'd' WHERE id = 10;
UPDATE item SET n = n + 2, price = price - 1.5, note = 'd' WHERE id = 7;
INSERT INTO item VALUES (2003, 3, 3.5, 'again');
INSERT INTO item VALUES (2004, 3, 12345678.5, 'large');
SELECT * FROM remote_item WHERE id = 7 OR id > 2000 ORDER BY id;

-- where several rows may be found, the node makes a plan for each value
SELECT count(*), min(id) FROM (SELECT id FROM item WHERE n = 1 OFFSET 0) x;
SELECT id FROM item WHERE n = 8;
SELECT id FROM item WHERE n = 9;
SELECT id FROM item WHERE n = 15;
UPDATE item SET price = price + 0.25 WHERE n = 4;
UPDATE item SET price = price + 0.75 WHERE n = 3;
UPDATE item SET price = price + 1.25 WHERE n = 2;
SELECT n, sum(price) FROM remote_item GROUP BY n ORDER BY n;
-- and where the answer's columns may be others the next time
UPDATE item SET n = n + 1 WHERE id = 20 RETURNING *;
UPDATE item SET n = n + 2 WHERE id = 20 RETURNING *;
UPDATE item SET n = n + 3 WHERE id = 20 RETURNING *;
SELECT statement FROM prepared WHERE statement LIKE '%WHERE ((n =%' OR statement LIKE '%RETURNING%' ORDER BY 1;
ALTER TABLE remote_item ALTER note TYPE text;
UPDATE item SET n = n + 4 WHERE id = 20 RETURNING *;
SELECT n FROM item WHERE id = 10;
BEGIN;
SELECT count(*) FROM item;
SELECT n FROM item WHERE id = 10;
UPDATE item SET n = n + 4 WHERE id = 20 RETURNING *;
COMMIT;

-- the node finds out the type of a literal that is written without one
SELECT id, n, m, at FROM other_item WHERE m = 'glad';
SELECT id FROM other_item WHERE m = 'sad' AND id = 1;
SELECT id FROM other_item WHERE m = 'sad' AND id = 2;
SELECT id FROM other_item WHERE at = '2024-02-29' AND id = 2;
SELECT id FROM other_item WHERE at = '2024-02-29' AND id = 3;
SELECT id FROM other_item WHERE at = '2024-02-30' AND id = 3;
SELECT id FROM other_item WHERE n = 3 AND id = 3;
SELECT id FROM other_item WHERE n = 3.0 AND id = 3;
SELECT id FROM other_item WHERE n = 3.5 AND id = 3;
SELECT id FROM other_item WHERE n = 3.00 AND id = 3;
UPDATE other_item SET n = n / 2 WHERE id = 101;
UPDATE other_item SET n = n / 2 WHERE id = 102;
UPDATE other_item SET n = n / 2 WHERE id = 103;
UPDATE other_item SET n = n / 2.0 WHERE id = 104;
UPDATE other_item SET n = n / 4.0 WHERE id = 103;
SELECT id, n FROM remote_item WHERE id BETWEEN 101 AND 104 ORDER BY id;

-- EXPLAIN shows the statement's own plan
EXPLAIN (VERBOSE, COSTS OFF) SELECT n FROM item WHERE id = 7;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE item SET n = n + 5, price = price - 2.50, note = 'ccc' WHERE id = 10;

-- whether a row stays in its partition, literals tell: then the node changes it
CREATE TABLE parts (id int, n int) PARTITION BY LIST (n);
CREATE FOREIGN TABLE part PARTITION OF parts FOR VALUES IN (1, 2) SERVER near OPTIONS (table_name 'remote_item');
UPDATE part SET id = 8, n = 2 WHERE id = 21;
UPDATE part SET id = 9, n = 1 WHERE id = 21;
UPDATE part SET id = 10, n = 2 WHERE id = 21;
DROP TABLE parts;

-- a plan is made anew when something changes: names, columns, servers, settings
CREATE TABLE second_item (LIKE remote_item INCLUDING ALL);
INSERT INTO second_item SELECT i, 100 + i FROM generate_series(1, 20) i;
SELECT n FROM item WHERE id = 3;
ALTER FOREIGN TABLE item OPTIONS (SET table_name 'second_item');
SELECT n FROM item WHERE id = 3;
SELECT n FROM item WHERE id = 4;
UPDATE item SET n = n + 2, price = price - 1.25, note = 'a' WHERE id = 7;
SELECT id, n, note FROM second_item WHERE id IN (7, 20) ORDER BY id;
ALTER FOREIGN TABLE item ALTER n OPTIONS (ADD column_name 'id');
SELECT n FROM item WHERE id = 4;
ALTER FOREIGN TABLE item ALTER n OPTIONS (DROP column_name);
ALTER FOREIGN TABLE item ADD here text;
SELECT n FROM item WHERE id = 4;
ALTER FOREIGN TABLE item DROP here;
ALTER SERVER near OPTIONS (ADD updatable 'false');
UPDATE item SET n = n + 2, price = price - 1.25, note = 'a' WHERE id = 7;
ALTER SERVER near OPTIONS (DROP updatable);
UPDATE item SET n = n + 2, price = price - 1.25, note = 'a' WHERE id = 7;
SET plan_cache_mode = force_custom_plan;
SELECT n FROM item WHERE id = 5;
RESET plan_cache_mode;
SET shuttle.enable_plan_reuse = off;
SELECT n FROM item WHERE id = 5;
RESET shuttle.enable_plan_reuse;
DISCARD PLANS;
SELECT n FROM item WHERE id = 6;
SELECT n FROM item WHERE id = 6;
CREATE SCHEMA other;
SET search_path = other, public;
SELECT n FROM item WHERE id = 6;
CREATE FOREIGN TABLE other.item (id int, n int) SERVER near OPTIONS (schema_name 'public', table_name 'remote_item');
SELECT n FROM item WHERE id = 6;
SELECT n FROM item WHERE id = 5;
RESET search_path;
SELECT n FROM item WHERE id = 5;
-- policies, and who may read, are the user's
CREATE ROLE regress_plans;
CREATE USER MAPPING FOR regress_plans SERVER near OPTIONS (password_required 'false');
SET ROLE regress_plans;
SELECT n FROM item WHERE id = 5;
RESET ROLE;
GRANT SELECT (id, n), INSERT (id, n) ON item TO regress_plans;
SET ROLE regress_plans;
SELECT n FROM item WHERE id = 5;
SELECT note FROM item WHERE id = 5;
UPDATE item SET n = n + 2, price = price - 1.25, note = 'a' WHERE id = 7;
RESET ROLE;
SELECT note FROM item WHERE id = 5;
SELECT note FROM item WHERE id = 6;
DROP OWNED BY regress_plans;
DROP ROLE regress_plans;

-- a function that is evaluated while a plan is made
CREATE FUNCTION looks(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	found int;
BEGIN
	FOR i IN 1 .. 120 LOOP
		EXECUTE format('SELECT n AS c%s FROM item WHERE id = 5', i) INTO found;
		EXECUTE format('SELECT n AS c%s FROM item WHERE id = 6', i) INTO found;
	END LOOP;
	RETURN found + $1;
END $$;
SELECT n, looks(1) FROM item WHERE id = 7;
SELECT n, looks(1) FROM item WHERE id = 8;
SELECT n, looks(1) FROM item WHERE id = 9;
SELECT n, looks(1) FROM item WHERE id = 9;
CREATE FUNCTION raises(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RAISE ''% raised'', $1; END';
SELECT n, raises(1) FROM item WHERE id = 7;
SELECT n, raises(1) FROM item WHERE id = 8;
SELECT n FROM item WHERE id = 8;
SELECT n FROM item WHERE id = 9;

-- what the planner computes of literals is computed, or raised, before anything is done
CREATE FUNCTION tells(int) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''% was told'', $1; RETURN $1; END';
CREATE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''%'', tg_op; RETURN NULL; END';
CREATE TRIGGER notes BEFORE UPDATE ON item FOR EACH STATEMENT EXECUTE FUNCTION notes();
SET shuttle.debug_force_plan_reuse = on;
UPDATE item SET n = 2147483647 + 1 WHERE id = 7;
UPDATE item SET n = 1 / 0 WHERE id = 7;
UPDATE item SET n = 200 + 7 WHERE id = 7;
DROP TRIGGER notes ON item;
RESET shuttle.debug_force_plan_reuse;
UPDATE item SET n = tells(5) WHERE id = 7;
UPDATE item SET n = n - tells(6) WHERE id = 7;
SELECT n FROM item WHERE id = 7 AND n = 300000000000::int;
SELECT n FROM item WHERE false AND id = 300000000000::int;
SELECT n FROM item WHERE false AND id = 300000000000::int;
-- CHECK constraints refute literals where they are asked
ALTER FOREIGN TABLE item ADD CHECK (id > 0);
INSERT INTO second_item VALUES (-1, -1), (-2, -2), (-3, -3);
SELECT n FROM item WHERE id = -1;
SELECT n FROM item WHERE id = -2;
SET constraint_exclusion = on;
SELECT n FROM item WHERE id = -3;
RESET constraint_exclusion;
SELECT n FROM item WHERE id = -3;
-- no plans are kept for what is large
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		EXECUTE format('SELECT n FROM item WHERE id = %s AND note <> %L', i, repeat('x', 100000));
		EXECUTE format('SELECT n FROM item WHERE id = %s AND note <> %L', i, repeat('x', 1000));
	END LOOP;
END $$;
SELECT max(total_bytes) > 100000 AS large FROM pg_backend_memory_contexts WHERE name = 'CachedPlanQuery';

-- statements of functions, with parameters of their own
DO $$
DECLARE
	found int;
BEGIN
	FOR i IN 1 .. 8 LOOP
		SELECT n INTO found FROM item WHERE id = i;
		UPDATE item SET n = i + 5 WHERE id = i AND n = 100 + 3;
		SELECT n INTO found FROM item WHERE id = 3;
		EXECUTE 'UPDATE item SET n = $1 + 7 WHERE id = 9' USING i;
	END LOOP;
	RAISE WARNING '%', found;
END $$;
SELECT id, n FROM second_item WHERE id IN (3, 9) ORDER BY id;
-- cursors, LIMIT, locks, rows of columns
BEGIN;
DECLARE c CURSOR FOR SELECT n FROM item WHERE id = 5;
FETCH c;
SELECT item FROM item WHERE id = 5 FOR UPDATE;
SELECT item FROM item WHERE id = 6 FOR UPDATE;
SELECT item FROM item WHERE id = 7 FOR UPDATE;
SELECT n FROM item WHERE note = 'a' AND id = 7 ORDER BY n LIMIT 1;
SELECT n FROM item WHERE note = 'a' AND id = 8 ORDER BY n LIMIT 1;
SELECT n FROM item WHERE note = 'a' AND id = 7 ORDER BY n LIMIT 0;
COMMIT;
DROP FUNCTION looks, raises, tells, notes;
DROP TABLE remote_item, second_item CASCADE;
DROP TYPE mood;
DROP SCHEMA other CASCADE;
