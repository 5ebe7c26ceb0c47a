-- Random writes over foreign keys of all kinds: the same rows and errors as in ordinary tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SET client_min_messages = warning;
SET shuttle.tablets = 3;
CREATE SCHEMA plain;
CREATE FUNCTION shop.run(place text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE state text := 'ok'; rows text; t text;
BEGIN
	PERFORM set_config('search_path', place, true);
	BEGIN
		EXECUTE statement;
		SET CONSTRAINTS ALL IMMEDIATE;
	EXCEPTION WHEN OTHERS THEN
		state := replace(SQLSTATE, '23001', '23503');
	END;
	FOREACH t IN ARRAY '{p,q,c,d,e}'::text[] LOOP
		EXECUTE format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM %I AS r', t) INTO rows;
		state := concat(state, E'\n', t, ': ', rows);
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	RETURN state;
END $$;
-- the tables, with actions drawn at random
CREATE FUNCTION shop.make(place text, actions text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', place, true);
	DROP TABLE IF EXISTS e, d, c, q, p CASCADE;
	CREATE TABLE p (id int PRIMARY KEY, n int DEFAULT 0);
	CREATE TABLE q (a int, b int, n int DEFAULT 0, PRIMARY KEY (a, b));
	EXECUTE format('CREATE TABLE c (id int PRIMARY KEY, p_id int DEFAULT 1 REFERENCES p %s, up int REFERENCES c %s)', actions[1], actions[2]);
	EXECUTE format('CREATE TABLE d (id int PRIMARY KEY, c_id bigint REFERENCES c %s, a int, b int, FOREIGN KEY (a, b) REFERENCES q %s)', actions[3], actions[4]);
	EXECUTE format('CREATE TABLE e (id int PRIMARY KEY, c_id int REFERENCES c %s, p_id int REFERENCES p %s)', actions[5], actions[6]);
	INSERT INTO p SELECT i FROM generate_series(1, 12) AS i;
	INSERT INTO q SELECT i, i % 3 FROM generate_series(1, 12) AS i;
	INSERT INTO c SELECT i, i, nullif(i / 2, 0) FROM generate_series(1, 12) AS i;
	INSERT INTO d SELECT i, i, i, i % 3 FROM generate_series(1, 12) AS i;
	INSERT INTO e SELECT i, i, 13 - i FROM generate_series(1, 12) AS i;
	PERFORM set_config('search_path', 'shop', true);
END $$;
CREATE FUNCTION shop.pick(texts text[]) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT texts[1 + floor(random() * array_length(texts, 1))::int]';
CREATE FUNCTION shop.actions() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT shop.pick('{"",ON DELETE CASCADE,ON DELETE SET NULL,ON DELETE RESTRICT,ON DELETE SET DEFAULT}') || ' ' ||
		shop.pick('{"",ON UPDATE CASCADE,ON UPDATE SET NULL}') || ' ' || shop.pick('{"",DEFERRABLE,DEFERRABLE INITIALLY DEFERRED}') $$;
-- # is a number that exists most often
CREATE FUNCTION shop.draw() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE statement text := shop.pick(ARRAY[
	'INSERT INTO p (id) VALUES (# + 8) ON CONFLICT DO NOTHING', 'INSERT INTO q (a, b) VALUES (#, #)', 'INSERT INTO c VALUES (# + 10, #, #)',
	'INSERT INTO c (id) SELECT i + 30 FROM generate_series(1, #) AS i', 'INSERT INTO d VALUES (# + 10, #, #, # % 3)', 'INSERT INTO e VALUES (# + 10, #, #)',
	'INSERT INTO e VALUES (#, #, #) ON CONFLICT (id) DO UPDATE SET c_id = excluded.c_id, p_id = #',
	'UPDATE p SET n = n + 1 WHERE id < #', 'UPDATE p SET id = # + 20 WHERE id = #', 'UPDATE q SET a = # + 20 WHERE a = #', 'UPDATE q SET b = b + 3 WHERE a = #',
	'UPDATE c SET id = # + 40 WHERE id = #', 'UPDATE c SET p_id = # WHERE id < #', 'UPDATE c SET up = # WHERE id = #', 'UPDATE d SET c_id = # WHERE id > #',
	'UPDATE d SET a = #, b = 1 WHERE id = #', 'UPDATE e SET id = # + 50 WHERE id = #',
	'DELETE FROM p WHERE id = #', 'DELETE FROM q WHERE a > #', 'DELETE FROM c WHERE id = #', 'DELETE FROM c WHERE id > #', 'DELETE FROM d WHERE id < #', 'DELETE FROM e WHERE id = #',
	'DELETE FROM c WHERE p_id = #; DELETE FROM p WHERE id = #', 'DELETE FROM e WHERE p_id = #; INSERT INTO p (id) VALUES (#) ON CONFLICT (id) DO UPDATE SET n = 5',
	'MERGE INTO e USING (VALUES (#, #)) AS v (id, p) ON e.id = v.id WHEN MATCHED THEN UPDATE SET p_id = v.p WHEN NOT MATCHED THEN INSERT VALUES (v.id, NULL, v.p)',
	'WITH gone AS (DELETE FROM d WHERE id = # RETURNING c_id) DELETE FROM c USING gone WHERE c.id = gone.c_id',
	'WITH new AS (INSERT INTO p (id) VALUES (# + 60) RETURNING id) INSERT INTO c SELECT id + 100, id FROM new']);
BEGIN
	WHILE strpos(statement, '#') > 0 LOOP
		statement := overlay(statement PLACING (1 + floor(random() * 13))::int::text FROM strpos(statement, '#') FOR 1);
	END LOOP;
	RETURN statement;
END $$;
CREATE PROCEDURE shop.compare(seed float8, nschemas int, nstatements int) LANGUAGE plpgsql AS $$
DECLARE actions text[]; statement text; here text; there text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. nschemas LOOP
		actions := ARRAY(SELECT shop.actions() FROM generate_series(1, 6));
		PERFORM shop.make('plain', actions), shop.make('shop', actions);
		COMMIT;
		-- by their primary keys, or by others: the primary keys are global then
		PERFORM shuttle.distribute_table(t, CASE WHEN i % 2 = 1 THEN k ELSE other END)
		FROM unnest('{e,d,c,q,p}'::text[], '{id,id,id,a,id}'::text[], '{id,c_id,p_id,b,id}'::text[]) AS u (t, k, other);
		COMMIT;
		FOR j IN 1 .. nstatements LOOP
			statement := shop.draw();
			here := shop.run('plain', statement);
			there := shop.run('shop', statement);
			IF here <> there THEN
				RAISE WARNING E'% %\n%\n%\n%', seed, actions, statement, here, there;
				EXIT;
			END IF;
			COMMIT;
		END LOOP;
		PERFORM 1 FROM shuttle.check();
		IF FOUND THEN
			RAISE WARNING 'shuttle.check() has found something';
		END IF;
		COMMIT;
	END LOOP;
END $$;
CALL shop.compare(0.1, 4, 40);
CALL shop.compare(0.2, 4, 40);
DROP SCHEMA shop, plain CASCADE;
