-- What foreign keys over several nodes do and refuse, compared with ordinary tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SET client_min_messages = warning;
SET shuttle.tablets = 3;
CREATE SCHEMA plain;

-- runs a statement in both schemas and compares errors and rows
CREATE FUNCTION shop.twin(statement text, tables text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	place text; state text; message text; detail text; name text; rows text; answers text[] := '{}'; t text;
BEGIN
	FOREACH place IN ARRAY '{plain,shop}'::text[] LOOP
		PERFORM set_config('search_path', place || ', public', true);
		message := 'ok'; state := NULL; detail := NULL; name := NULL;
		BEGIN
			EXECUTE statement;
			SET CONSTRAINTS ALL IMMEDIATE;
			SET CONSTRAINTS ALL DEFERRED;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, name = CONSTRAINT_NAME;
		END;
		FOREACH t IN ARRAY tables LOOP
			EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM %I AS r', t) INTO rows;
			detail := concat(detail, E'\n', t, ': ', rows);
		END LOOP;
		answers := answers || concat_ws(' ', state, message, name, detail);
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	IF answers[1] = answers[2] THEN
		RETURN coalesce(replace(state, '23001', '23503'), 'ok');	-- RESTRICT has an error of its own from 18 on
	END IF;
	RETURN concat('DIFFERENT: ', answers[1], E'\n', answers[2]);
END $$;

CREATE FUNCTION shop.make(place text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', place, true);
	CREATE TABLE p (id int PRIMARY KEY, note text);
	CREATE TABLE pair (a int, b text, note text, PRIMARY KEY (a, b));
	CREATE TABLE restricted (id int PRIMARY KEY, p_id int REFERENCES p ON DELETE RESTRICT ON UPDATE RESTRICT);
	CREATE TABLE plain_child (id int PRIMARY KEY, p_id bigint DEFAULT 1 REFERENCES p);
	CREATE TABLE cascaded (id int PRIMARY KEY, p_id int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
	CREATE TABLE grandchild (id int PRIMARY KEY, c_id int REFERENCES cascaded ON DELETE CASCADE ON UPDATE CASCADE, p_id int REFERENCES p);
	CREATE TABLE nulled (id int PRIMARY KEY, p_id int REFERENCES p ON DELETE SET NULL ON UPDATE SET NULL);
	CREATE TABLE defaulted (id int PRIMARY KEY, p_id int DEFAULT 1 REFERENCES p ON DELETE SET DEFAULT ON UPDATE SET DEFAULT);
	CREATE TABLE pairs (id int PRIMARY KEY, a int, b text, FOREIGN KEY (a, b) REFERENCES pair ON DELETE SET NULL (b) ON UPDATE CASCADE);
	CREATE TABLE full_pairs (id int PRIMARY KEY, a int, b text, FOREIGN KEY (b, a) REFERENCES pair (b, a) MATCH FULL ON DELETE CASCADE);
	CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE ON UPDATE CASCADE);
	CREATE TABLE late (id int PRIMARY KEY, p_id int REFERENCES p DEFERRABLE INITIALLY DEFERRED);
	INSERT INTO p SELECT i, 'p' FROM generate_series(1, 30) AS i;
	INSERT INTO pair SELECT i, 'b' || i, 'x' FROM generate_series(1, 10) AS i;
	PERFORM set_config('search_path', 'shop', true);
END $$;
SELECT shop.make('plain'), shop.make('shop');
SELECT shuttle.distribute_table(t, CASE WHEN t = 'pair' THEN 'a' ELSE 'id' END)
FROM unnest('{restricted,plain_child,cascaded,grandchild,nulled,defaulted,pairs,full_pairs,tree,late,p,pair}'::text[]) AS t;
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'shop'::regnamespace
EXCEPT SELECT conname, convalidated, replace(pg_get_constraintdef(oid), 'plain.', '') FROM pg_constraint WHERE contype = 'f' AND connamespace = 'plain'::regnamespace;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT shop.twin(s, '{plain_child}') FROM unnest(ARRAY[
	'INSERT INTO plain_child SELECT i, i FROM generate_series(1, 10) AS i',
	'INSERT INTO plain_child VALUES (11, 99)', 'INSERT INTO plain_child VALUES (11, NULL), (12, DEFAULT)',
	'UPDATE plain_child SET p_id = p_id + 100 WHERE id = 3', 'UPDATE plain_child SET p_id = p_id + 1 WHERE id < 5',
	'UPDATE plain_child SET id = id + 50 WHERE id < 4',
	'INSERT INTO plain_child VALUES (5, 1000) ON CONFLICT DO NOTHING',
	'INSERT INTO plain_child VALUES (5, 6) ON CONFLICT (id) DO UPDATE SET p_id = 1000',
	'INSERT INTO plain_child VALUES (5, 6) ON CONFLICT (id) DO UPDATE SET p_id = excluded.p_id + 1',
	'MERGE INTO plain_child AS c USING (VALUES (5, 8), (70, 9)) AS v (id, p) ON c.id = v.id WHEN MATCHED THEN UPDATE SET p_id = v.p WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.p)',
	'MERGE INTO plain_child AS c USING (VALUES (5, 800), (71, 9)) AS v (id, p) ON c.id = v.id WHEN MATCHED THEN UPDATE SET p_id = v.p WHEN NOT MATCHED THEN INSERT VALUES (v.id, v.p)',
	'WITH new AS (INSERT INTO p VALUES (40, ''new'') RETURNING id) INSERT INTO plain_child SELECT 80, id FROM new',
	'DELETE FROM p WHERE id = 40', 'DELETE FROM p WHERE id BETWEEN 28 AND 30', 'UPDATE p SET id = 41 WHERE id = 40', 'UPDATE p SET id = 42 WHERE id = 27',
	'UPDATE p SET note = ''other'' WHERE id = 40', 'WITH gone AS (DELETE FROM plain_child WHERE id = 80) DELETE FROM p WHERE id = 40',
	'DELETE FROM plain_child']) WITH ORDINALITY AS u (s, n) ORDER BY n;
SELECT shop.twin(s, '{p,restricted,cascaded,grandchild,nulled,defaulted}') FROM unnest(ARRAY[
	'INSERT INTO restricted VALUES (1, 2)', 'DELETE FROM p WHERE id = 2', 'UPDATE p SET id = 102 WHERE id = 2',
	'INSERT INTO cascaded SELECT i, 3 + i % 3 FROM generate_series(1, 12) AS i',
	'INSERT INTO grandchild SELECT i, i % 12 + 1, 10 + i FROM generate_series(1, 14) AS i',
	'DELETE FROM p WHERE id = 3', 'UPDATE p SET id = 104 WHERE id = 4', 'UPDATE cascaded SET id = id + 100 WHERE id > 6', 'DELETE FROM p WHERE id IN (5, 104)',
	'INSERT INTO nulled SELECT i, 6 + i % 2 FROM generate_series(1, 4) AS i', 'DELETE FROM p WHERE id = 6', 'UPDATE p SET id = 107 WHERE id = 7',
	'INSERT INTO defaulted SELECT i, 8 + i % 2 FROM generate_series(1, 4) AS i', 'DELETE FROM p WHERE id = 8', 'UPDATE p SET id = 109 WHERE id = 9',
	'DELETE FROM p WHERE id = 1', 'DELETE FROM p']) WITH ORDINALITY AS u (s, n) ORDER BY n;
SELECT shop.twin(s, '{pair,pairs,full_pairs}') FROM unnest(ARRAY[
	'INSERT INTO pairs VALUES (1, 1, ''b1''), (2, 2, NULL), (3, NULL, ''zz''), (4, 4, ''b4'')', 'INSERT INTO pairs VALUES (5, 1, ''b2'')',
	'INSERT INTO full_pairs VALUES (1, 1, ''b1''), (2, NULL, NULL)', 'INSERT INTO full_pairs VALUES (3, 1, NULL)', 'UPDATE full_pairs SET a = NULL WHERE id = 1',
	'DELETE FROM pair WHERE a = 1', 'UPDATE pair SET a = 14, b = ''c4'' WHERE a = 4', 'UPDATE pair SET b = ''c5'' WHERE a = 14',
	'INSERT INTO full_pairs VALUES (4, 5, ''b5'')', 'UPDATE pair SET a = 15 WHERE a = 5', 'DELETE FROM pair']) WITH ORDINALITY AS u (s, n) ORDER BY n;
SELECT shop.twin(s, '{tree}') FROM unnest(ARRAY[
	'INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(1, 20) AS i', 'INSERT INTO tree VALUES (21, 22), (22, 21)', 'INSERT INTO tree VALUES (30, 31)',
	'UPDATE tree SET id = 103 WHERE id = 3', 'UPDATE tree SET up = 21 WHERE id = 2', 'DELETE FROM tree WHERE id = 21', 'DELETE FROM tree WHERE id = 1']) WITH ORDINALITY AS u (s, n) ORDER BY n;
SELECT shop.twin(s, '{late,p}') FROM unnest(ARRAY[
	'INSERT INTO late VALUES (1, 500); INSERT INTO p VALUES (500)', 'INSERT INTO late VALUES (2, 501)', 'INSERT INTO late VALUES (2, 501); DELETE FROM late WHERE id = 2',
	'DELETE FROM p WHERE id = 500; INSERT INTO p VALUES (500, ''again'')', 'DELETE FROM p WHERE id = 500', 'UPDATE p SET id = 502 WHERE id = 500; UPDATE late SET p_id = 502',
	'TRUNCATE p', 'TRUNCATE late']) WITH ORDINALITY AS u (s, n) ORDER BY n;
COMMIT;
SELECT * FROM shuttle.check();

-- an action that changes rows of one node only leaves nothing on the others that a savepoint waits for
RESET client_min_messages;
CREATE TABLE shop.upper (id int PRIMARY KEY, k int);
CREATE TABLE shop.lower (id int, upper int CONSTRAINT lower_upper REFERENCES shop.upper ON DELETE SET NULL);
SELECT shuttle.distribute_table('shop.upper', 'k', 3), shuttle.distribute_table('shop.lower', 'upper', 3);
INSERT INTO shop.upper SELECT i, i FROM generate_series(1, 6) AS i;
INSERT INTO shop.lower SELECT i, i FROM generate_series(3, 6) AS i;
SET statement_timeout = '60s';
BEGIN;
SAVEPOINT s;
DELETE FROM shop.upper WHERE id = 1;
RELEASE s;
SAVEPOINT s;
UPDATE shop.upper SET k = k + 10 WHERE id > 4;
RELEASE s;
SAVEPOINT s;
DELETE FROM shop.upper WHERE id = 2;
RELEASE s;
SAVEPOINT s;
UPDATE shop.upper SET k = k + 10 WHERE id > 4;
RELEASE s;
SAVEPOINT s;
DELETE FROM shop.upper WHERE id = 3;
RELEASE s;
SAVEPOINT s;
UPDATE shop.upper SET k = k + 10 WHERE id > 4;
RELEASE s;
SAVEPOINT s;
DELETE FROM shop.upper WHERE id = 4;
RELEASE s;
SAVEPOINT s;
UPDATE shop.upper SET k = k + 10 WHERE id > 4;
RELEASE s;
COMMIT;
RESET statement_timeout;
SELECT * FROM shop.lower ORDER BY id;
DROP TABLE shop.lower, shop.upper;
DROP SCHEMA shop, plain CASCADE;
