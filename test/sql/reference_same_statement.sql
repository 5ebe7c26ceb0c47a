-- One statement inserts into a reference table and writes rows that refer to it: copies have the new rows first.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE country (id int PRIMARY KEY, name text);
CREATE TABLE region (id int PRIMARY KEY);
CREATE TABLE city (id int PRIMARY KEY, country int REFERENCES country, pop int DEFAULT 1, double int GENERATED ALWAYS AS (pop * 2) STORED);
CREATE TABLE town (id int PRIMARY KEY, country int REFERENCES country, pop int);
CREATE TABLE farm (id int PRIMARY KEY, country int REFERENCES country, pop int);
CREATE TABLE port (id int PRIMARY KEY, country int REFERENCES country, pop int UNIQUE, region int REFERENCES region);
SET search_path = plain;
CREATE TABLE country (id int PRIMARY KEY, name text);
CREATE TABLE region (id int PRIMARY KEY);
CREATE TABLE city (id int PRIMARY KEY, country int REFERENCES country, pop int DEFAULT 1, double int GENERATED ALWAYS AS (pop * 2) STORED);
CREATE TABLE town (id int PRIMARY KEY, country int REFERENCES country, pop int);
CREATE TABLE farm (id int PRIMARY KEY, country int REFERENCES country, pop int);
CREATE TABLE port (id int PRIMARY KEY, country int REFERENCES country, pop int UNIQUE, region int REFERENCES region);
SET search_path = shop, public;
SELECT shuttle.reference_table('country');
SELECT shuttle.distribute_table(t, 'id', 4) FROM unnest('{region,city,town,farm,port}'::regclass[]) AS t;
-- rows and statements of town are told to triggers
CREATE TABLE seen (n serial, what text);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shop.seen (what) VALUES (concat_ws(' ', tg_op, tg_level, new.id, new.country, new.pop));
	RETURN new;
END $$;
SELECT format('CREATE TRIGGER rows AFTER INSERT OR UPDATE ON %I.town FOR EACH ROW EXECUTE FUNCTION see()', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
SELECT format('CREATE TRIGGER statements AFTER INSERT OR UPDATE ON %I.town EXECUTE FUNCTION see()', s) FROM unnest('{plain,shop}'::text[]) AS s \gexec
DO $$
DECLARE
	s text;
BEGIN
	FOREACH s IN ARRAY '{plain,shop}'::text[] LOOP
		PERFORM set_config('search_path', s, true);
		INSERT INTO country VALUES (1, 'one'), (2, 'two');
		INSERT INTO region VALUES (1), (2);
		INSERT INTO city VALUES (1, 1), (2, 2);
		INSERT INTO town VALUES (1, 1, 1), (2, 2, 2);
		INSERT INTO farm VALUES (1, 1, 1), (2, 2, 2);
		INSERT INTO port VALUES (1, 1, 1, 1), (2, 2, 2, 2);
	END LOOP;
END $$;

-- What a statement returns and counts, what triggers have seen, and the rows behind it; it is rolled back.
CREATE FUNCTION outcome(side text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text := '';
	row record;
	n bigint;
BEGIN
	PERFORM set_config('search_path', side || ', shop', true);
	DELETE FROM seen;
	BEGIN
		IF statement LIKE '%-- rows' THEN
			FOR row IN EXECUTE statement LOOP
				told := told || row::text || ' ';
			END LOOP;
		ELSE
			EXECUTE statement;
			GET DIAGNOSTICS n = ROW_COUNT;
			told := n || ' rows ';
		END IF;
		SET CONSTRAINTS ALL IMMEDIATE;
		told := concat(told, (SELECT string_agg(format('<%s>', what), ' ' ORDER BY split_part(what, ' ', 2), what) FROM seen),
			(SELECT string_agg(c::text, ' ' ORDER BY id) FROM city AS c WHERE c::text <> ALL ('{"(1,1,1,2)","(2,2,1,2)"}')),
			(SELECT string_agg(c::text, ' ' ORDER BY id) FROM town AS c WHERE c::text <> ALL ('{"(1,1,1)","(2,2,2)"}')),
			(SELECT string_agg(c::text, ' ' ORDER BY id) FROM farm AS c WHERE c::text <> ALL ('{"(1,1,1)","(2,2,2)"}')),
			(SELECT string_agg(c::text, ' ' ORDER BY id) FROM port AS c WHERE c::text <> ALL ('{"(1,1,1,1)","(2,2,2,2)"}')));
		IF side = 'shop' AND EXISTS (SELECT FROM shuttle.check()) THEN
			told := told || ' check';
		END IF;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION
		WHEN SQLSTATE 'ZZ000' THEN
			RETURN told;
		WHEN OTHERS THEN
			RETURN SQLSTATE || ' ' || SQLERRM;
	END;
END $$;
CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement)
SELECT format('WITH i AS (INSERT INTO country VALUES (3, ''three''), (4, ''four'') %s) ', CASE WHEN kind LIKE '%% i%' OR kind LIKE '%RETURNS%' THEN 'RETURNING id' END) || kind
FROM unnest(ARRAY[
	'INSERT INTO city SELECT id + 10, id FROM i',
	'INSERT INTO city VALUES (11, 3), (12, 4), (13, 3)',
	'INSERT INTO city SELECT id + 10, id FROM i RETURNING id, country, pop -- rows',
	'INSERT INTO city SELECT id + 10, id FROM i RETURNING * -- rows',
	'INSERT INTO city SELECT id + 10, id FROM i LIMIT 1',
	'INSERT INTO city VALUES (11, 5)',
	'INSERT INTO city VALUES (1, 3)',
	'INSERT INTO city SELECT id + 10, id FROM i ON CONFLICT DO NOTHING',
	'INSERT INTO town SELECT id + 10, id, 7 FROM i',
	'INSERT INTO town VALUES (11, 3), (12, 4)',
	'INSERT INTO town SELECT id + 10, id, 7 FROM i RETURNING * -- rows',
	'INSERT INTO port SELECT id + 10, id, id, id - 2 FROM i',
	'INSERT INTO port VALUES (11, 3, 3, 1), (12, 4, 4, 2)',
	'INSERT INTO port SELECT id + 10, id, id, id - 2 FROM i RETURNING * -- rows',
	'INSERT INTO port SELECT id + 10, id, id - 2, id - 2 FROM i',
	'INSERT INTO port SELECT id + 10, id, id, id FROM i',
	'UPDATE city SET country = 3',
	'UPDATE city SET country = i.id FROM i WHERE i.id = city.id + 2',
	'UPDATE city SET country = i.id FROM i WHERE i.id = city.country + 2',
	'UPDATE city SET country = i.id FROM i WHERE i.id = city.id + 2 RETURNING city.id, country -- rows',
	'UPDATE city SET country = (SELECT max(id) FROM i)',
	'UPDATE city SET country = 3 WHERE id = 1',
	'UPDATE city SET country = 5 WHERE id = 1',
	'UPDATE city SET country = 3, id = id + 10',
	'UPDATE town SET country = 3',
	'UPDATE port SET country = 3',
	'UPDATE farm SET country = 3',
	'UPDATE farm SET country = 3 WHERE id = 1',
	'UPDATE farm SET country = (SELECT max(id) FROM i) WHERE id = 2',
	'UPDATE farm SET country = i.id FROM i WHERE farm.id = i.id - 2',
	'UPDATE farm SET country = 5 WHERE id = 1',
	'UPDATE farm SET pop = pop + 1 WHERE id = 1 RETURNING * -- rows',
	'INSERT INTO farm SELECT id + 10, id, id FROM i RETURNING *, tableoid = 0 -- rows',
	'DELETE FROM city USING i WHERE city.id = i.id - 2',
	'SELECT count(*) FROM i -- rows',
	', c AS (INSERT INTO city SELECT id + 10, id FROM i RETURNING id, country) INSERT INTO town SELECT id, country FROM c',
	', c AS (INSERT INTO city SELECT id + 10, id FROM i RETURNING id, country) SELECT * FROM c ORDER BY id -- rows',
	', c AS (INSERT INTO city VALUES (11, 3)), d AS (UPDATE city SET country = 4 WHERE id = 1) INSERT INTO town VALUES (11, 4, 1)',
	', c AS (INSERT INTO city VALUES (11, 3)) SELECT count(*) FROM city -- rows',
	', u AS (UPDATE city SET pop = 5) UPDATE city SET pop = 7',
	', u AS (UPDATE city SET pop = 5 WHERE id = 1) UPDATE city SET country = 3 WHERE id = 2',
	', c AS (DELETE FROM city WHERE id = 1) INSERT INTO city VALUES (11, 3)',
	', r AS (INSERT INTO region VALUES (3)) INSERT INTO port VALUES (11, 3, 3, 3)'
	]) AS kind;
INSERT INTO statements (statement) VALUES
	('WITH c AS (INSERT INTO city VALUES (11, 3)) INSERT INTO country VALUES (3)'),
	('WITH c AS (INSERT INTO city VALUES (11, 3) RETURNING country) INSERT INTO country SELECT country FROM c'),
	('WITH i AS (INSERT INTO country VALUES (2, ''2''), (3, ''3'') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id) INSERT INTO city SELECT id + 10, id FROM i'),
	('WITH u AS (UPDATE country SET name = ''x'' RETURNING id) INSERT INTO city SELECT id + 10, id FROM u'),
	('WITH d AS (DELETE FROM country WHERE id = 3) INSERT INTO city VALUES (11, 2)');
-- what differs: the number of rows is not known before (ON CONFLICT, two UPDATEs), the row is not (RETURNING of UPDATE), rows move
-- to other tablets, or keys are checked here before the CTE, which nobody reads, is executed
SELECT n, statement, outcome('plain', statement) = outcome('shop', statement) AS same, outcome('shop', statement) AS outcome FROM statements ORDER BY n;

-- sent by the client, without a transaction block, and prepared
WITH i AS (INSERT INTO country VALUES (3, 'three') RETURNING id) INSERT INTO city SELECT id + 10, id FROM i;
PREPARE put(int) AS WITH i AS (INSERT INTO country VALUES ($1) RETURNING id) INSERT INTO city SELECT id + 10, id FROM i RETURNING *;
EXECUTE put(4);
EXECUTE put(5);
EXECUTE put(5);
WITH i AS (INSERT INTO country VALUES (6)) INSERT INTO city VALUES (16, 6), (17, 7);
WITH i AS (INSERT INTO country VALUES (7) RETURNING id) INSERT INTO city SELECT id + 10, id FROM i;
SELECT * FROM city WHERE id > 2 ORDER BY id;
-- more rows than are kept are sent before, which only those must not that refer to new ones
SET shuttle.write_buffer_size = '64kB';
WITH i AS (INSERT INTO country VALUES (8)) INSERT INTO city SELECT g, 1 FROM generate_series(100, 40000) AS g;
SELECT count(*), min(id), max(id) FROM city WHERE id >= 100;
RESET shuttle.write_buffer_size;
WITH i AS (INSERT INTO country VALUES (9)) INSERT INTO city SELECT g, 9 FROM generate_series(50000, 80000) AS g;
SELECT count(*), min(id), max(id) FROM city WHERE id >= 50000;
SELECT * FROM shuttle.check();
-- fewer rows are wanted than there are
CREATE FUNCTION some_rows(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	one int;
BEGIN
	FOR one IN EXECUTE format('WITH i AS (INSERT INTO country VALUES (%s), (%s), (%s) RETURNING id) INSERT INTO farm SELECT id, id FROM i RETURNING id', n, n + 1, n + 2) LOOP
		RETURN NEXT one;
		EXIT;
	END LOOP;
	EXECUTE format('WITH i AS (INSERT INTO country VALUES (%s), (%s), (%s) RETURNING id) INSERT INTO farm SELECT id, id FROM i RETURNING id', n + 3, n + 4, n + 5) INTO one;
	RETURN NEXT one;
END $$;
SELECT * FROM some_rows(1000);
SELECT count(*) FROM farm WHERE id >= 1000;
SELECT count(*) FROM country WHERE id >= 1000;
-- check options and policies
CREATE VIEW small AS SELECT id, country, pop FROM city WHERE pop < 10 WITH CHECK OPTION;
WITH i AS (INSERT INTO country VALUES (10) RETURNING id) INSERT INTO small SELECT id + 10, id, 9 FROM i RETURNING *;
WITH i AS (INSERT INTO country VALUES (11) RETURNING id) INSERT INTO small SELECT id + 10, id, 10 FROM i;
ALTER TABLE city ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY few ON city USING (pop < 10);
CREATE ROLE regress_same_statement;
ALTER TABLE city OWNER TO regress_same_statement;
ALTER TABLE country OWNER TO regress_same_statement;
GRANT USAGE ON SCHEMA shop TO regress_same_statement;
SELECT format('CREATE USER MAPPING FOR regress_same_statement SERVER %I OPTIONS (user %L, password_required ''false'')', n, current_user) FROM unnest('{n1,n2}'::text[]) AS n \gexec
SET ROLE regress_same_statement;
WITH i AS (INSERT INTO country VALUES (11) RETURNING id) INSERT INTO city SELECT id + 10, id, 9 FROM i RETURNING *;
WITH i AS (INSERT INTO country VALUES (12) RETURNING id) INSERT INTO city SELECT id + 10, id, 10 FROM i;
SELECT * FROM city WHERE id IN (20, 21, 22) ORDER BY id;
RESET ROLE;
DROP TABLE city CASCADE;
DROP TABLE country CASCADE;
DROP OWNED BY regress_same_statement CASCADE;
DROP ROLE regress_same_statement;
