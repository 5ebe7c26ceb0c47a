-- MATCH FULL and keys that are NULL in part: checked at once or later, by nodes and here, as with ordinary tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SET client_min_messages = warning;
SET shuttle.tablets = 3;
CREATE SCHEMA plain;

-- runs statements and then what they left to be checked, in both schemas, and compares errors and rows
CREATE FUNCTION shop.twin(statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	place text; statement text; step int; detail text; name text; rows text; answers text[] := '{}'; t text;
BEGIN
	FOREACH place IN ARRAY '{plain,shop}'::text[] LOOP
		PERFORM set_config('search_path', place || ', public', true);
		step := 0; detail := 'ok'; name := NULL;
		BEGIN
			FOREACH statement IN ARRAY statements || '{SET CONSTRAINTS ALL IMMEDIATE}'::text[] LOOP
				step := step + 1;
				EXECUTE statement;
			END LOOP;
		EXCEPTION WHEN foreign_key_violation THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, name = CONSTRAINT_NAME;
			detail := concat('statement ', step, ': ', SQLERRM, ' ', detail);
		END;
		SET CONSTRAINTS ALL DEFERRED;
		rows := '';
		FOREACH t IN ARRAY '{pair,here,node,fallback}'::text[] LOOP
			EXECUTE format('SELECT concat($1, string_agg(r::text, '' '' ORDER BY r::text)) FROM %I AS r', t) INTO rows USING rows;
		END LOOP;
		answers := answers || concat_ws(' ', detail, name, rows);
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	RETURN CASE WHEN answers[1] = answers[2] THEN detail ELSE concat('DIFFERENT: ', answers[1], E'\n', answers[2]) END;
END $$;

CREATE FUNCTION shop.make(place text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', place, true);
	CREATE TABLE pair (a int, b text, PRIMARY KEY (a, b));
	CREATE TABLE here (id int PRIMARY KEY, a int, b text, CONSTRAINT late FOREIGN KEY (a, b) REFERENCES pair MATCH FULL DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE node (id int, a int, b text, CONSTRAINT late_node FOREIGN KEY (a, b) REFERENCES pair MATCH FULL DEFERRABLE INITIALLY DEFERRED);
	CREATE TABLE fallback (id int PRIMARY KEY, a int, b text, CONSTRAINT late_fallback FOREIGN KEY (a, b) REFERENCES pair MATCH FULL DEFERRABLE);
	INSERT INTO pair SELECT i, 'b' || i FROM generate_series(1, 4) AS i;
	PERFORM set_config('search_path', 'shop', true);
END $$;
SELECT shop.make('plain'), shop.make('shop');
SELECT shuttle.distribute_table(t, CASE WHEN t = 'here' THEN 'id' ELSE 'a' END) FROM unnest('{pair,here,node}'::text[]) AS t;
SELECT contype, conname FROM pg_constraint WHERE contype = 'f' AND conrelid IN ('here'::regclass, 'node'::regclass, 'fallback'::regclass) ORDER BY 2;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT t, shop.twin(ARRAY(SELECT replace(s, 'TABLE', t) FROM jsonb_array_elements_text(c) AS s))
FROM unnest('{here,node,fallback}'::text[]) WITH ORDINALITY AS u (t, i), unnest(ARRAY[
	'["INSERT INTO TABLE VALUES (1, 1, NULL)", "SELECT 1"]', '["INSERT INTO TABLE VALUES (1, NULL, ''b1'')", "SELECT 1"]',
	'["INSERT INTO TABLE VALUES (1, 1, NULL)", "UPDATE TABLE SET b = ''b1''"]', '["UPDATE TABLE SET b = NULL", "UPDATE TABLE SET a = NULL"]',
	'["INSERT INTO TABLE VALUES (2, NULL, ''b1'')", "DELETE FROM TABLE WHERE id = 2"]', '["INSERT INTO TABLE VALUES (2, NULL, NULL)", "UPDATE TABLE SET a = 2 WHERE id = 2"]',
	'["INSERT INTO TABLE VALUES (3, 3, NULL), (4, NULL, ''b9''), (5, 4, ''b4'')", "UPDATE TABLE SET a = NULL WHERE id = 3", "UPDATE TABLE SET b = ''b3'' WHERE id = 4"]',
	'["INSERT INTO TABLE VALUES (3, 3, NULL), (4, NULL, ''b9''), (5, 4, ''b4'')", "UPDATE TABLE SET a = NULL WHERE id = 3", "UPDATE TABLE SET a = 3, b = ''b3'' WHERE id = 4"]',
	'["SET CONSTRAINTS ALL IMMEDIATE", "INSERT INTO TABLE VALUES (6, 1, NULL)"]', '["SET CONSTRAINTS ALL IMMEDIATE", "UPDATE TABLE SET a = NULL WHERE id = 5"]',
	'["SET CONSTRAINTS ALL IMMEDIATE", "UPDATE TABLE SET a = NULL, b = NULL WHERE id = 5"]', '["DELETE FROM TABLE"]'
]::jsonb[]) WITH ORDINALITY AS v (c, j) ORDER BY i, j;
COMMIT;

-- before the commit, and in savepoints
BEGIN;
INSERT INTO here VALUES (1, 1, NULL);
INSERT INTO here VALUES (2, 1, 'b1');
COMMIT;
BEGIN;
INSERT INTO node VALUES (1, 1, NULL);
COMMIT;
BEGIN;
INSERT INTO here VALUES (1, 1, NULL);
INSERT INTO node VALUES (1, NULL, 'b1');
UPDATE here SET b = 'b1' WHERE id = 1;
UPDATE node SET b = NULL WHERE id = 1;
COMMIT;
BEGIN;
INSERT INTO here VALUES (2, NULL, 'b2');
SAVEPOINT s;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
INSERT INTO here VALUES (3, 1, NULL);
ROLLBACK TO s;
UPDATE here SET a = 2 WHERE id = 2;
COMMIT;
BEGIN;
COPY here FROM STDIN;
3	3	\N
4	\N	b3
\.
COMMIT;
BEGIN;
COPY here FROM STDIN;
3	3	\N
4	\N	b3
\.
DELETE FROM here WHERE b = 'b3';
UPDATE here SET b = 'b3' WHERE id = 3;
COMMIT;
SELECT * FROM here ORDER BY id;
SELECT * FROM node ORDER BY id;
SELECT * FROM shuttle.check();
DROP SCHEMA shop, plain CASCADE;
