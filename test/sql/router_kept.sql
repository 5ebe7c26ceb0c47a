-- What executions of a routed plan have in common is kept from the second one on (routed_kept.c): it
-- follows each change, and answers are those of a plain table.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS numeric(4, 1);
CREATE TABLE item (id int PRIMARY KEY, name text, price small, hue colour, parts pair, days date[], raw bytea);
CREATE TABLE named (name text PRIMARY KEY, n int);
INSERT INTO item SELECT i, repeat('n', i), i / 2.0, CASE WHEN i % 2 = 0 THEN 'red' ELSE 'blue' END::colour,
	ROW(i, NULL::text)::pair, ARRAY['2020-01-01'::date + i], '\x00ff' FROM generate_series(1, 20) AS i;
INSERT INTO named SELECT 'n' || i, i FROM generate_series(1, 20) AS i;
SET client_min_messages = warning;
SELECT shuttle.distribute_table('item', 'id', tablets => 4);
SELECT shuttle.distribute_table('named', 'name', tablets => 4, colocate_with => NULL);
RESET client_min_messages;
SET plan_cache_mode = force_generic_plan;

-- parameters and columns of many types
PREPARE find(int) AS SELECT * FROM item WHERE id = $1;
EXECUTE find(1);
EXECUTE find(2);
EXECUTE find(3);
EXECUTE find(NULL);
EXECUTE find(4);
PREPARE find_big(bigint) AS SELECT id FROM item WHERE id = $1;
EXECUTE find_big(1);
EXECUTE find_big(2);
EXECUTE find_big(3000000000);
PREPARE change(int, text, numeric, colour, pair, date[], bytea) AS
	UPDATE item SET name = $2, price = $3, hue = $4, parts = $5, days = $6, raw = $7 WHERE id = $1;
EXECUTE change(1, 'one', 7.25, 'red', ROW(1, 'x')::pair, '{2021-01-01}', '\x01');
EXECUTE change(2, NULL, NULL, NULL, NULL, NULL, NULL);
EXECUTE change(3, 'three', 8, 'blue', ROW(NULL, '')::pair, '{}', '');
EXECUTE change(4, 'four', 10000, 'blue', NULL, NULL, NULL);
EXECUTE change(4, 'four', 9, 'blue', NULL, NULL, NULL);
SELECT * FROM item WHERE id <= 4 ORDER BY id;
PREPARE by_name(text) AS SELECT n FROM named WHERE name = $1;
EXECUTE by_name('n1');
EXECUTE by_name('n2');
EXECUTE by_name('n3');
EXECUTE by_name('none');
-- the key is computed, and literals in its place
PREPARE computed(int) AS SELECT id FROM item WHERE id = $1 + 1;
EXECUTE computed(1);
EXECUTE computed(2);
EXECUTE computed(2147483647);
EXECUTE computed(3);
SELECT name FROM item WHERE id = 7;
SELECT name FROM item WHERE id = 8;
SELECT name FROM item WHERE id = 9;
SELECT name FROM item WHERE id = 10;

-- RETURNING in autocommit, and an error of it
PREPARE raise(int) AS UPDATE item SET price = price + 1 WHERE id = $1 RETURNING id, price;
EXECUTE raise(5);
EXECUTE raise(6);
EXECUTE raise(7);
PREPARE fail(int, int) AS UPDATE item SET price = price + 1 WHERE id = $1 RETURNING 1 / $2;
EXECUTE fail(5, 1);
EXECUTE fail(5, 0);
EXECUTE fail(5, 1);
SELECT id, price FROM item WHERE id IN (5, 6, 7) ORDER BY id;
DELETE FROM item WHERE id = 20 RETURNING *;
DELETE FROM item WHERE id = 20 RETURNING *;

-- the same plan twice at a time
CREATE FUNCTION nested(int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	IF $1 = 0 THEN
		RETURN '';
	END IF;
	FOR found IN SELECT name FROM item WHERE id = $1 + 6 LOOP
		RETURN found || nested($1 - 1);
	END LOOP;
	RETURN 'none';
END $$;
SELECT nested(1), nested(3), nested(2);
BEGIN;
DECLARE one CURSOR FOR SELECT id, name FROM item WHERE id = 8;
DECLARE two CURSOR FOR SELECT id, name FROM item WHERE id = 9;
DECLARE three CURSOR FOR SELECT id, name FROM item WHERE id = 10;
FETCH FROM two;
FETCH FROM one;
FETCH FROM three;
FETCH FROM one;
SAVEPOINT s;
EXECUTE computed(2147483647);
ROLLBACK TO s;
EXECUTE computed(4);
FETCH FROM one;
COMMIT;

-- names, columns and types change
ALTER TABLE item RENAME TO thing;
EXECUTE find_big(3);
EXECUTE find_big(4);
ALTER TABLE thing RENAME TO item;
ALTER SCHEMA shop RENAME TO store;
SET search_path = store;
EXECUTE find_big(3);
EXECUTE find_big(4);
ALTER SCHEMA store RENAME TO shop;
SET search_path = shop;
EXECUTE find_big(3);
EXECUTE find_big(4);
EXECUTE raise(5);
ALTER TABLE item ALTER COLUMN price TYPE numeric(8, 3);
EXECUTE raise(5);
PREPARE prices(int) AS SELECT price FROM item WHERE id = $1;
EXECUTE prices(5);
EXECUTE prices(5);
ALTER TABLE item ALTER COLUMN price TYPE text;
EXECUTE prices(5);
ALTER TABLE item DROP COLUMN raw;
EXECUTE find(5);
ALTER TABLE item RENAME COLUMN name TO title;
EXECUTE find_big(5);
SELECT title FROM item WHERE id = 10;
ALTER TYPE colour ADD VALUE 'green';
PREPARE hues(int, colour) AS UPDATE item SET hue = $2 WHERE id = $1 RETURNING hue;
EXECUTE hues(5, 'red');
EXECUTE hues(6, 'green');
EXECUTE hues(7, 'green');

-- tablets go elsewhere
PREPARE ids(int) AS SELECT id FROM item WHERE id = $1;
EXECUTE ids(1);
EXECUTE ids(1);
SET client_min_messages = warning;
SELECT shuttle.local_table('item');
EXECUTE ids(1);
SELECT shuttle.distribute_table('item', 'id', tablets => 3, nodes => '{n2}');
RESET client_min_messages;
EXECUTE ids(1);
EXECUTE ids(2);
EXECUTE ids(3);
EXECUTE ids(4);
EXECUTE ids(5);
EXECUTE hues(5, 'green');

-- rights and roles
CREATE ROLE regress_shuttle_kept;
GRANT USAGE ON SCHEMA shop TO regress_shuttle_kept;
GRANT SELECT ON item TO regress_shuttle_kept;
EXECUTE ids(6);
SET ROLE regress_shuttle_kept;
EXECUTE ids(6);
EXECUTE ids(7);
EXECUTE hues(7, 'red');
RESET ROLE;
REVOKE SELECT ON item FROM regress_shuttle_kept;
SET ROLE regress_shuttle_kept;
EXECUTE ids(6);
RESET ROLE;
GRANT SELECT ON item TO regress_shuttle_kept;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON item USING (id % 2 = 1);
EXECUTE ids(6);
SET ROLE regress_shuttle_kept;
EXECUTE ids(6);
EXECUTE ids(7);
RESET ROLE;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
EXECUTE ids(6);
-- the mapping goes
BEGIN;
DROP USER MAPPING FOR PUBLIC SERVER n2;
EXECUTE ids(6);
ROLLBACK;
EXECUTE ids(6);
DROP SCHEMA shop CASCADE;
DROP OWNED BY regress_shuttle_kept;
DROP ROLE regress_shuttle_kept;
