-- Nodes change types, and read definitions, with the settings of the session that says so.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
SELECT count(*) FROM shuttle.use_node('n3');
CREATE TABLE visit (id int PRIMARY KEY, at timestamp, until timestamptz, born date, lasts interval, part float8, raw bytea);
INSERT INTO visit SELECT i, '2026-02-03 01:00', '2026-02-03 01:00+00', '2026-02-03', '-1 day 2 hours', 0.1::float8 + 0.2, '\x00ff'
FROM generate_series(1, 9) AS i;
CREATE TABLE visit_here AS TABLE visit;
CREATE TABLE visit_copied (LIKE visit INCLUDING ALL);
INSERT INTO visit_copied TABLE visit;
SELECT shuttle.distribute_table('visit', 'id', tablets => 4);
SELECT shuttle.reference_table('visit_copied');
SET timezone = 'Asia/Tokyo';
SET datestyle = 'German, DMY';
SET intervalstyle = 'iso_8601';
SET bytea_output = 'escape';
SET extra_float_digits = 0;
CREATE PROCEDURE public.all_three(action text) LANGUAGE plpgsql AS $$
DECLARE
	other int;
BEGIN
	EXECUTE 'ALTER TABLE visit ' || action;
	EXECUTE 'ALTER TABLE visit_here ' || action;
	EXECUTE 'ALTER TABLE visit_copied ' || action;
	COMMIT;
	EXECUTE 'SELECT count(*) FROM
		((TABLE visit EXCEPT ALL TABLE visit_here) UNION ALL (TABLE visit_here EXCEPT ALL TABLE visit)) AS d' INTO other;
	RAISE NOTICE '% rows differ', other;
END $$;
CALL public.all_three('ALTER at TYPE timestamptz, ALTER until TYPE timestamp');
SELECT * FROM shuttle.check();
CALL public.all_three('ALTER born TYPE text, ALTER lasts TYPE text, ALTER part TYPE text, ALTER raw TYPE text');
SELECT * FROM shuttle.check();
SELECT DISTINCT at, until, born, lasts, part, raw FROM visit;

-- behind it, values travel as before
INSERT INTO visit VALUES (10, '03.02.2026 05:00', '04.02.2026 05:00', 'x', 'x', 'x', 'x') RETURNING at, until;
BEGIN;
ALTER TABLE visit ADD COLUMN day date DEFAULT '04.02.2026';
ALTER TABLE visit ALTER day TYPE text;
INSERT INTO visit (id, at, day) VALUES (11, '03.02.2026 06:00', '05.02.2026');
SELECT at, day FROM visit WHERE id > 9 ORDER BY id;
COMMIT;

-- constants of checks and indexes
ALTER TABLE visit ADD COLUMN since date CHECK (since >= '03.02.2026');
CREATE UNIQUE INDEX one_early ON visit (id, part) WHERE since < '05.02.2026';
INSERT INTO visit (id, since) VALUES (20, '02.02.2026');
INSERT INTO visit (id, since) VALUES (20, '03.02.2026');
CREATE TABLE late (id int PRIMARY KEY, since timestamptz CHECK (since >= '03.02.2026 08:00'), CHECK (since < '03.04.2026'));
SELECT shuttle.distribute_table('late', 'id', tablets => 4);
INSERT INTO late VALUES (1, '03.02.2026 07:00');
INSERT INTO late VALUES (1, '03.02.2026 08:00');
SELECT * FROM shuttle.check();
DELETE FROM visit WHERE id > 9;
ALTER TABLE visit DROP COLUMN day, DROP COLUMN since;

-- USING, as migrations write it: an explicit cast
CALL public.all_three('ALTER born TYPE varchar(5) USING born::varchar(5)');
CALL public.all_three('ALTER until TYPE date USING until::date');
SELECT DISTINCT born, until FROM visit WHERE id < 10;
SELECT * FROM shuttle.check();
ALTER TABLE visit_copied ALTER part TYPE float8 USING part::float8;
SELECT * FROM shuttle.check();
ALTER TABLE visit ALTER part TYPE float8 USING part::float8;
ALTER TABLE visit ALTER part TYPE text USING lasts::text;
DROP PROCEDURE public.all_three;

-- types that nodes have already
CREATE TYPE part AS (a int, b text);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN small AS int CHECK (VALUE < 10);
CREATE TABLE parts (id int PRIMARY KEY, p part, m mood, s small DEFAULT 1);
SELECT shuttle.distribute_table('parts', 'id', tablets => 4);
SET quote_all_identifiers = on;
CREATE INDEX ON parts (id, s) WHERE s > 1;
ALTER TABLE parts ADD COLUMN q part, ADD CHECK (s > 0);
CREATE TABLE other_parts (id int PRIMARY KEY, p part, m mood, s small DEFAULT 1);
SELECT shuttle.distribute_table('other_parts', 'id', tablets => 4);
RESET quote_all_identifiers;
INSERT INTO parts VALUES (1, '(1,x)', 'good', 2, '(2,y)');
SELECT p, q FROM parts;
SELECT * FROM shuttle.check();

-- constants of a domain's check, as they are meant here
CREATE DOMAIN day AS date;
CREATE TABLE days (id int PRIMARY KEY, d day);
SELECT shuttle.distribute_table('days', 'id', tablets => 4);
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
ALTER DOMAIN day ADD CONSTRAINT early CHECK (VALUE < '02/01/2020' AND VALUE + interval '-1 2:00' < '02/01/2020'::timestamp);
RESET datestyle;
RESET intervalstyle;
INSERT INTO days VALUES (1, '2020-01-03');
SELECT server, result FROM shuttle.run_on_nodes('SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = ''early''', '{n1}');
DROP SCHEMA shop CASCADE;
