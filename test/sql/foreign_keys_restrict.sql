-- RESTRICT beside CASCADE and SET NULL of another key of the same table: what comes first decides, row by row,
-- as with ordinary tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SET client_min_messages = warning;
SET shuttle.tablets = 3;
CREATE SCHEMA plain;

-- fills the tables, runs a statement in both schemas, and compares errors and rows
CREATE FUNCTION shop.twin(statement text, children text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	place text; state text; name text; rows text; answers text[] := '{}';
BEGIN
	FOREACH place IN ARRAY '{plain,shop}'::text[] LOOP
		PERFORM set_config('search_path', place || ', public', true);
		state := 'ok'; name := NULL;
		BEGIN
			INSERT INTO p SELECT i FROM generate_series(1, 6) AS i;
			EXECUTE format('INSERT INTO child_later %s', children);
			EXECUTE format('INSERT INTO child_first %s', children);
			EXECUTE statement;
			SELECT concat((SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM p AS r), ' later ',
				(SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM child_later AS r), ' first ',
				(SELECT string_agg(r::text, ' ' ORDER BY r::text) FROM child_first AS r)) INTO rows;
			RAISE EXCEPTION USING ERRCODE = 'UUUUU';
		EXCEPTION WHEN SQLSTATE 'UUUUU' THEN
			NULL;
		WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, name = CONSTRAINT_NAME;
			rows := NULL;
		END;
		answers := answers || concat_ws(' ', replace(state, '23001', '23503'), name, rows);	-- RESTRICT has an error of its own from 18 on
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	RETURN CASE WHEN answers[1] = answers[2] THEN answers[1] ELSE concat('DIFFERENT: ', answers[1], E'\n', answers[2]) END;
END $$;
-- child_later: RESTRICT was declared behind the action; child_first: before it
CREATE FUNCTION shop.make(place text, action text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', place, true);
	DROP TABLE IF EXISTS p, child_later, child_first CASCADE;
	CREATE TABLE p (id int PRIMARY KEY);
	CREATE TABLE child_later (id int PRIMARY KEY, q int, b int);
	EXECUTE format('ALTER TABLE child_later ADD CONSTRAINT later_1 FOREIGN KEY (q) REFERENCES p ON DELETE %1$s ON UPDATE %1$s', action);
	ALTER TABLE child_later ADD CONSTRAINT later_2 FOREIGN KEY (b) REFERENCES p ON DELETE RESTRICT ON UPDATE RESTRICT;
	CREATE TABLE child_first (id int PRIMARY KEY, q int, b int);
	ALTER TABLE child_first ADD CONSTRAINT first_1 FOREIGN KEY (b) REFERENCES p ON DELETE RESTRICT ON UPDATE RESTRICT;
	EXECUTE format('ALTER TABLE child_first ADD CONSTRAINT first_2 FOREIGN KEY (q) REFERENCES p ON DELETE %1$s ON UPDATE %1$s', action);
	PERFORM set_config('search_path', 'shop', true);
END $$;
CREATE TABLE cases (number int GENERATED ALWAYS AS IDENTITY, statement text, children text);
INSERT INTO cases (statement, children) VALUES
	('DELETE FROM p WHERE id = 1', 'SELECT 1, 1, 2'),
	('DELETE FROM p WHERE id = 1', 'SELECT 1, 2, 1'),
	('DELETE FROM p WHERE id IN (2, 3)', 'VALUES (1, 2, 3), (2, 3, 2)'),
	('DELETE FROM p WHERE id IN (2, 3)', 'VALUES (1, 2, 4), (2, 3, NULL)'),
	('DELETE FROM p', 'VALUES (1, 2, 3), (2, 3, 2)'),
	('DELETE FROM p WHERE id > 4', 'VALUES (1, 2, 3), (2, 3, 2), (3, 5, 1), (4, 6, 1)'),
	('UPDATE p SET id = id + 10 WHERE id IN (2, 3)', 'VALUES (1, 2, 3), (2, 3, 2)'),
	('UPDATE p SET id = id + 10 WHERE id IN (2, 3)', 'VALUES (1, 2, 4), (2, 3, NULL)'),
	('DELETE FROM p WHERE id IN (1, 6)', 'SELECT 1, 5, 6');
-- a row that refers to one row twice goes with it, where the action comes first
CREATE FUNCTION shop.twice(children text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	left_over text;
BEGIN
	INSERT INTO p SELECT i FROM generate_series(1, 6) AS i;
	EXECUTE format('INSERT INTO %s VALUES (1, 1, 1), (2, 5, 5)', children);
	DELETE FROM p WHERE id IN (1, 5);
	SELECT count(*) INTO left_over FROM p;
	RAISE EXCEPTION '% are left', left_over;
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLERRM, 'RESTRICT setting of ', '');
END $$;
SELECT shop.make('plain', 'CASCADE'), shop.make('shop', 'CASCADE');
SELECT shuttle.distribute_table(t, 'id') FROM unnest('{p,child_later,child_first}'::text[]) AS t;
SELECT number, shop.twin(statement, children) FROM cases ORDER BY number;
SELECT children, shop.twice(children) FROM unnest('{plain.child_later,plain.child_first}'::text[]) AS children, set_config('search_path', 'plain', false);
SELECT children, shop.twice(children) FROM unnest('{shop.child_later,shop.child_first}'::text[]) AS children, set_config('search_path', 'shop', false);
SELECT shop.make('plain', 'SET NULL'), shop.make('shop', 'SET NULL');
SELECT shuttle.distribute_table(t, 'id') FROM unnest('{p,child_later,child_first}'::text[]) AS t;
SELECT number, shop.twin(statement, children) FROM cases ORDER BY number;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
