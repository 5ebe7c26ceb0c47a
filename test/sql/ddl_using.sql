-- ALTER COLUMN ... TYPE ... USING, statements that nodes have prepared before, and
-- defaults of new columns that depend on search_path: each step on a distributed table,
-- a reference table and an ordinary one, which must have the same rows.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE spread (id int, part int NOT NULL, digits text DEFAULT '5', word text, at timestamp, size int DEFAULT 3,
	sum numeric(8, 2), PRIMARY KEY (id, part), CONSTRAINT positive CHECK (size > 0), UNIQUE (id, digits));
CREATE INDEX ON spread (word);
INSERT INTO spread SELECT i, i % 3, i, CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'ok' END, '2026-02-03 01:00', i, i + 0.55
FROM generate_series(1, 20) AS i;
CREATE TABLE here (LIKE spread INCLUDING ALL);
CREATE TABLE copied (LIKE spread INCLUDING ALL);
INSERT INTO here TABLE spread;
INSERT INTO copied TABLE spread;
SELECT shuttle.distribute_table('spread', 'id', tablets => 4);
SELECT shuttle.reference_table('copied');
CREATE PROCEDURE public.all_three(statement text) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	other int;
BEGIN
	FOREACH name IN ARRAY '{spread, here, copied}'::text[] LOOP
		EXECUTE format(statement, name);
	END LOOP;
	EXECUTE 'SELECT count(*) FROM
		((TABLE spread EXCEPT ALL TABLE here) UNION ALL (TABLE here EXCEPT ALL TABLE spread)) AS d' INTO other;
	RAISE NOTICE '% rows differ', other;
END $$;

-- explicit casts, and expressions
CALL public.all_three('ALTER TABLE %s ALTER part TYPE bigint USING part::text::bigint');
ALTER TABLE spread ALTER digits TYPE int USING digits::int;
CALL public.all_three('ALTER TABLE %s ALTER digits DROP DEFAULT, ALTER digits TYPE int USING digits::int, ALTER digits SET DEFAULT 9');
CALL public.all_three('INSERT INTO %s (id, part) VALUES (30, 1)');
CALL public.all_three('ALTER TABLE %s ALTER word TYPE mood USING word::mood, ADD new int DEFAULT 4 CHECK (new > 0)');
-- USING without another type
CALL public.all_three('ALTER TABLE %s ALTER size TYPE int USING size * 2 + 1');
CALL public.all_three('ALTER TABLE %s DROP CONSTRAINT positive, ALTER size DROP DEFAULT, ALTER size TYPE bool USING size > 5');
CALL public.all_three('ALTER TABLE %s ALTER part TYPE int USING id + part::int');
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text COLLATE "C" USING upper(word::text)');
SET timezone = 'Asia/Tokyo';
SET datestyle = 'German, DMY';
CALL public.all_three('ALTER TABLE %s ALTER at TYPE timestamptz USING at AT TIME ZONE ''UTC''');
CALL public.all_three('ALTER TABLE %s ALTER at TYPE text USING at::text');
CALL public.all_three('ALTER TABLE %s ALTER at TYPE date USING to_date(at, ''DD.MM.YYYY'')');
RESET timezone;
RESET datestyle;
BEGIN;
CALL public.all_three('ALTER TABLE %s ALTER sum TYPE text USING sum::int');
SAVEPOINT a;
CALL public.all_three('ALTER TABLE %s ALTER sum TYPE int USING sum::int, ALTER part TYPE bool USING part > 4');
ROLLBACK TO a;
COMMIT;
SELECT * FROM spread WHERE id IN (1, 30) ORDER BY id;
\d spread
SELECT * FROM shuttle.check();

-- what nodes may compute in another way
CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql RETURN $1 * 2;
CREATE FUNCTION of_path() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN twice(4) || current_schema(); END $$;
CREATE DOMAIN small AS int NOT NULL CHECK (VALUE < 100);
CALL public.all_three('ALTER TABLE %s ALTER part TYPE int USING twice(id)');
CALL public.all_three('ALTER TABLE %s ALTER part TYPE small USING twice(id) + 1, ALTER sum TYPE text USING random() * 0 || sum');
CALL public.all_three('ALTER TABLE %s ALTER part TYPE int USING random() * 0 + 7, ALTER new TYPE int USING twice(part)');
CALL public.all_three('ALTER TABLE %s ALTER at TYPE timestamptz USING at + (now() - now())');
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text USING current_user || of_path()');
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text USING 1259::oid::regclass || word');
ALTER TABLE spread ALTER part TYPE small USING twice(id) * 100;
ALTER TABLE copied ALTER part TYPE small USING twice(id) * 100;
ALTER TABLE spread ALTER part TYPE small USING nullif(twice(id), 2);
ALTER TABLE spread ALTER part TYPE int USING 1 / (twice(id) - 2);
ALTER TABLE spread ALTER word TYPE text USING spread;
ALTER TABLE spread ALTER word TYPE text USING tableoid;
ALTER TABLE spread ALTER word TYPE int USING now();
ALTER TABLE spread ALTER part TYPE bigint USING now();
ALTER TABLE spread ALTER word TYPE int USING nosuch;
BEGIN;
ALTER TABLE spread ADD CONSTRAINT later CHECK (id > 5) NOT VALID;
ALTER TABLE copied ADD CONSTRAINT later CHECK (id > 5) NOT VALID;
ALTER TABLE here ADD CONSTRAINT later CHECK (id > 5) NOT VALID;
CALL public.all_three('ALTER TABLE %s ALTER part TYPE int USING twice(part), DROP COLUMN word, ALTER sum TYPE text USING word');
SELECT * FROM shuttle.check();
ROLLBACK;
SELECT * FROM spread WHERE id IN (1, 30) ORDER BY id;
\d spread
SELECT * FROM shuttle.check();

-- a function that changes another table; settings that nodes are not sent; a column's names of objects
CREATE TABLE other (id int PRIMARY KEY);
SELECT shuttle.distribute_table('other', 'id', tablets => 2);
CREATE FUNCTION changes(i int, name text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 3 THEN
		EXECUTE 'ALTER TABLE other ADD ' || name || ' int DEFAULT 4';
	END IF;
	RETURN i;
END $$;
ALTER TABLE spread ALTER part TYPE int USING changes(id, 'a');
ALTER TABLE copied ALTER part TYPE int USING changes(id, 'b');
SELECT * FROM shuttle.check();
CALL public.all_three('ALTER TABLE %s ALTER part TYPE int USING id');
-- since 19 strings mean only one thing
DO $$BEGIN IF current_setting('server_version_num')::int < 190000 THEN SET standard_conforming_strings = off; SET escape_string_warning = off; END IF; END$$;
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text USING E''a\\\\b'' || word');
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text USING E''a\\\\b'' || twice(id)');
DO $$BEGIN IF current_setting('server_version_num')::int < 190000 THEN RESET standard_conforming_strings; RESET escape_string_warning; END IF; END$$;
SET array_nulls = off;
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text[] USING (''{NULL,'' || id || ''}'')::text[]');
RESET array_nulls;
CALL public.all_three('ALTER TABLE %s ALTER word TYPE text USING ''small''::regtype::text || 1');
SELECT word, count(*) FROM spread GROUP BY 1;
ALTER TABLE copied ADD name regtype DEFAULT 'small', ADD names regtype[] DEFAULT '{small, mood}';
ALTER TABLE copied ALTER name TYPE text, ALTER names TYPE text[];
SELECT name, names, count(*) FROM copied GROUP BY 1, 2;
SELECT * FROM shuttle.check();
ALTER TABLE copied DROP name, DROP names;

-- the casts of users, also without USING
CREATE TYPE color AS ENUM ('red', 'blue');
CREATE FUNCTION number_of(color) RETURNS int IMMUTABLE LANGUAGE sql RETURN CASE WHEN $1 = 'red' THEN 1 ELSE 2 END;
CREATE CAST (color AS int) WITH FUNCTION number_of(color) AS ASSIGNMENT;
CREATE CAST (text AS int) WITH INOUT AS ASSIGNMENT;
CALL public.all_three('ALTER TABLE %s ADD color color DEFAULT ''red'', ADD colors color[] DEFAULT ''{blue,red}'', ADD number text');
CALL public.all_three('UPDATE %s SET number = id, color = CASE WHEN id > 5 THEN ''blue'' ELSE ''red'' END::color');
CALL public.all_three('ALTER TABLE %s ALTER color DROP DEFAULT, ALTER color TYPE int, ALTER colors DROP DEFAULT, ALTER colors TYPE int[], ALTER number TYPE int');
SELECT color, colors, max(number) FROM spread GROUP BY 1, 2 ORDER BY 1;
CALL public.all_three('ALTER TABLE %s ALTER number TYPE text');
CALL public.all_three('ALTER TABLE %s ALTER number TYPE small USING (number || '''')::text');
CALL public.all_three('ALTER TABLE %s DROP color, DROP colors, DROP number');
SELECT * FROM shuttle.check();
DROP CAST (text AS int);

-- names of objects are no column of a distributed table
CREATE DOMAIN kind AS regtype;
CREATE TYPE pair AS (a int, b text);
\set VERBOSITY default
ALTER TABLE spread ADD name regtype;
\set VERBOSITY terse
ALTER TABLE spread ADD name regclass[];
ALTER TABLE spread ADD name kind;
ALTER TABLE spread ADD name pg_node_tree;
ALTER TABLE spread ALTER word TYPE regclass USING 'spread';
ALTER TABLE spread ALTER digits TYPE regclass;
ALTER TABLE spread ADD name "char", ADD pair pair;
ALTER TYPE pair ADD ATTRIBUTE c regclass;
ALTER TABLE spread DROP name, DROP pair;
SELECT * FROM shuttle.check();

-- keys that the statement drops, and those that go with them
CREATE FUNCTION keys_after(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE key (id int PRIMARY KEY, a int, b int, CONSTRAINT key_b UNIQUE (b));
	PERFORM shuttle.distribute_table('key', 'id', tablets => 2);
	ALTER TABLE key ADD CONSTRAINT key_a FOREIGN KEY (a) REFERENCES key (b);
	EXECUTE statement;
	RETURN QUERY SELECT conname::text FROM pg_constraint WHERE conrelid = 'key'::regclass AND contype <> 'n' ORDER BY 1;
	DROP TABLE key;
EXCEPTION WHEN OTHERS THEN
	RETURN NEXT SQLSTATE;
END $$;
SELECT array_agg(k) FROM keys_after('ALTER TABLE key DROP CONSTRAINT key_a, ALTER b TYPE bigint') AS k;
SELECT array_agg(k) FROM keys_after('ALTER TABLE key DROP a, ALTER b TYPE bigint') AS k;
SELECT array_agg(k) FROM keys_after('ALTER TABLE key DROP CONSTRAINT key_b CASCADE, ALTER b TYPE bigint, ADD UNIQUE (b)') AS k;
SELECT array_agg(k) FROM keys_after('ALTER TABLE key ALTER b TYPE bigint, DROP CONSTRAINT key_b') AS k;
SELECT array_agg(k) FROM keys_after('ALTER TABLE key ALTER a TYPE bigint, ALTER b TYPE bigint') AS k;

-- what an error says that core raises of tablets, too
ALTER TABLE spread ADD twofold int GENERATED ALWAYS AS (new * 2) STORED;
\set VERBOSITY default
ALTER TABLE spread DROP COLUMN sum, DROP COLUMN new;
\set VERBOSITY terse

-- a node takes the types of parameters when it prepares a statement
CREATE TABLE code (id int PRIMARY KEY, code int);
SELECT shuttle.distribute_table('code', 'id', tablets => 2);
DO $$ BEGIN FOR i IN 1..12 LOOP INSERT INTO code VALUES (i, 7); END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..12 LOOP UPDATE code SET code = 7 + random() * 0 WHERE id = i; END LOOP; END $$;
ALTER TABLE code ALTER code TYPE text;
DO $$ BEGIN FOR i IN 21..32 LOOP INSERT INTO code VALUES (i, '007'); END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..12 LOOP UPDATE code SET code = '00' || (7 + random() * 0)::text WHERE id = i; END LOOP; END $$;
SELECT code, count(*) FROM code GROUP BY 1;

-- and the types of a query's columns, which a transaction cannot ask for again
BEGIN;
SELECT id, code FROM code ORDER BY id LIMIT 1;
SELECT id, code FROM code ORDER BY id LIMIT 1;
SELECT id, code FROM code ORDER BY id LIMIT 1;
ALTER TABLE code ALTER code TYPE int USING code::int;
SELECT id, code FROM code ORDER BY id LIMIT 1;
SAVEPOINT a;
ALTER TABLE code ALTER code TYPE varchar(3);
SELECT id, code FROM code ORDER BY id LIMIT 1;
SELECT id, code FROM code ORDER BY id LIMIT 1;
SELECT id, code FROM code ORDER BY id LIMIT 1;
INSERT INTO code VALUES (41, '07') RETURNING *;
ROLLBACK TO a;
SELECT id, code FROM code ORDER BY id LIMIT 1;
INSERT INTO code VALUES (41, '07') RETURNING *;
ROLLBACK;
SELECT id, code FROM code ORDER BY id LIMIT 1;

-- a volatile default may need the session's schemas
CREATE FUNCTION five() RETURNS int VOLATILE LANGUAGE sql AS 'SELECT 5';
CREATE FUNCTION of_five() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN five() + random() * 0; END';
CALL public.all_three('ALTER TABLE %s ADD five int NOT NULL DEFAULT of_five()');
SELECT five, count(*) FROM spread GROUP BY 1;
SELECT * FROM shuttle.check();
DROP PROCEDURE public.all_three;
DROP SCHEMA shop CASCADE;
