-- Time zones, abbreviations of zones, and casts of users mean on nodes what they mean here, or the statement
-- is left here: results are those of a plain table, in routed statements, scans, joins, groups, writes and calls.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\pset format unaligned
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE m (id int PRIMARY KEY, name text, at timestamptz, ts timestamp, x text, k bytea, f float8, i interval);
CREATE SCHEMA plain;
CREATE TABLE plain.m (LIKE m INCLUDING ALL);
INSERT INTO m SELECT i, 'a\b' || i, timestamptz '2026-03-31 16:30:00+00' + i * interval '1 day 7 hours',
	timestamp '2026-03-31 16:30' + i * interval '1 day', 'IST', '\x0102', 0.1 * i + 0.2, i * interval '1 mon 2 days'
FROM generate_series(1, 12) AS i;
INSERT INTO plain.m TABLE m;
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
CREATE CAST (text AS bytea) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (double precision AS timestamptz) WITH FUNCTION pg_catalog.to_timestamp(float8);
SELECT shuttle.distribute_table('m', 'id', 4);
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('SELECT age(at, ''2026-01-31 20:00+00''::timestamptz) FROM m WHERE id = 3'),
('SELECT id, age(at, at - at + ''2026-01-31 20:00+00''::timestamptz) FROM m ORDER BY id'),
('SELECT count(*) FROM m WHERE age(at, ''2026-01-31 20:00+00''::timestamptz) > interval ''2 mon 5 days'''),
('SELECT id FROM m WHERE id = 3 AND age(at, ''2026-01-31 20:00+00''::timestamptz) > interval ''2 mon 5 days'''),
('SELECT at AT TIME ZONE x FROM m WHERE id = 3'),
('SELECT ts AT TIME ZONE ''IST'' = at FROM m WHERE id = 3'),
('SELECT count(*) FROM m WHERE at AT TIME ZONE ''IST'' > timestamp ''2026-04-04 16:30'''),
('SELECT at AT TIME ZONE x, count(*) FROM m GROUP BY 1 ORDER BY 1'),
('UPDATE m SET ts = at AT TIME ZONE x, i = age(at, ''2026-01-31 20:00+00'') WHERE id = 5'),
('UPDATE m SET ts = at AT TIME ZONE x'),
('DELETE FROM m WHERE at AT TIME ZONE x > timestamp ''2026-04-04 16:30'''),
('INSERT INTO m (id, ts) VALUES (2, now()) ON CONFLICT (id) DO UPDATE SET ts = m.at AT TIME ZONE m.x'),
('SELECT max(age(at, ''2026-01-31 20:00+00''::timestamptz)), min(at AT TIME ZONE x) FROM m'),
('SELECT a.id FROM m a JOIN m b ON b.ts = a.at AT TIME ZONE a.x WHERE a.id < 4'),
('SELECT ts::text, at::text FROM m WHERE id = 3'),
('SELECT i::text FROM m WHERE id = 3'),
('SELECT id FROM m WHERE id = 3 AND name = E''a\\b3'''),
('SELECT id, name || E''\\x'' FROM m WHERE id = 3 AND name LIKE ''a%'''),
('SELECT count(*) FROM m WHERE name = E''a\\b3'''),
('UPDATE m SET name = E''q\\'' || name WHERE id = 3'),
('SELECT quote_literal(name) FROM m WHERE id = 3'),
('SELECT id FROM m ORDER BY at AT TIME ZONE x, age(at, ''2026-01-31 20:00+00''::timestamptz) LIMIT 3'),
('SELECT id, row_number() OVER (ORDER BY at AT TIME ZONE x) FROM m WHERE id = 3'),
('SELECT name FROM m WHERE id = 3 AND f::text = ''0.5'''),
('SELECT f::text::float8 FROM m WHERE id = 3'),
('SELECT date_trunc(''day'', at, ''IST'') FROM m WHERE id = 3'),
('SELECT a.id, b.id FROM m a, m b WHERE a.at AT TIME ZONE a.x = b.at AT TIME ZONE b.x AND a.id < 4 AND b.at AT TIME ZONE b.x > ''2026-04-04 16:30'' ORDER BY 1, 2'),
('SELECT a.id, b.id FROM m a JOIN m b ON a.id = b.id AND a.at AT TIME ZONE b.x > ''2026-04-04 16:30'' ORDER BY 1, 2'),
('SELECT a.id, b.id FROM m a LEFT JOIN m b ON a.id = b.id AND a.at AT TIME ZONE b.x > ''2026-04-04 16:30'' ORDER BY 1, 2'),
('SELECT a.id, (SELECT count(*) FROM m b WHERE b.id = a.id AND b.at AT TIME ZONE b.x > timestamp ''2026-04-04 16:30'') FROM m a ORDER BY 1'),
('SELECT sum(CASE WHEN at AT TIME ZONE x > ''2026-04-04 16:30'' THEN 1 ELSE 0 END) FROM m HAVING min(at AT TIME ZONE x) < ''2026-04-02 04:00'''),
('SELECT count(*) FROM m WHERE f::timestamptz > ''1970-01-01 00:00:00.55+00'''),
('SELECT a.id FROM m a JOIN m b ON a.id = b.id AND quote_ident(a.x) = b.x ORDER BY 1'),
('SELECT id FROM m ORDER BY quote_ident(x), id LIMIT 3'),
('UPDATE m SET ts = b.at AT TIME ZONE b.x FROM m b WHERE b.id = m.id AND b.at AT TIME ZONE m.x > ''2026-04-04 16:30'''),
('MERGE INTO m USING m b ON b.id = m.id AND b.id = 5 AND m.id = 5 WHEN MATCHED THEN UPDATE SET ts = b.at AT TIME ZONE b.x'),
('SELECT id, x::bytea FROM m WHERE id = 3'),
('SELECT id, f::timestamptz FROM m WHERE id = 3'),
('UPDATE m SET k = name WHERE id = 3'),
('UPDATE m SET k = name'),
('SELECT count(*) FROM m WHERE name::bytea = decode(''615c6233'', ''hex'')'),
('UPDATE m SET at = f::timestamptz WHERE id = 4'),
('SELECT id::bool, f::int FROM m WHERE id = 3'),
('INSERT INTO m (id, name) VALUES (2, ''x'') ON CONFLICT (id) DO UPDATE SET k = m.name'),
('SELECT id FROM m WHERE f::timestamptz > ''1970-01-01 00:00:00.55+00'' ORDER BY 1'),
('SELECT id, at AT TIME ZONE ''Europe/Berlin'' FROM m WHERE id = 3');
-- A statement's rows and what it leaves in the table, or its error; nothing stays changed.
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; line text; result text := ''; before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	IF statement ~ '^SELECT' THEN
		EXECUTE statement INTO r;
		FOR line IN EXECUTE 'SELECT q::text FROM (' || statement || ') AS q' LOOP
			result := result || line || ';';
		END LOOP;
		result := r::text || '|' || result;
	ELSE
		EXECUTE statement;
	END IF;
	SELECT result || string_agg(m::text, ';' ORDER BY id) INTO result FROM m;
	PERFORM set_config('search_path', before, true);
	RAISE division_by_zero USING MESSAGE = result;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- what differs: 12 and 44 are refused
CREATE VIEW differing AS SELECT n, left(outcome(statement, 'shop'), 60) AS here
	FROM statements WHERE outcome(statement, 'shop') IS DISTINCT FROM outcome(statement, 'plain, shop') ORDER BY n;
SELECT n, outcome(statement, 'plain, shop') FROM statements WHERE outcome(statement, 'plain, shop') ~ '^[0-9A-Z]{5} ' ORDER BY 1;
SET TimeZone = 'GMT';
SELECT * FROM differing;
SET TimeZone = 'Asia/Kolkata';
SELECT * FROM differing;
SET TimeZone = 'America/New_York';
SELECT * FROM differing;
SET TimeZone = 'GMT';
SET timezone_abbreviations = 'India';
SELECT * FROM differing;
RESET timezone_abbreviations;
-- 19 has no other strings
DO $$ BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		PERFORM set_config('standard_conforming_strings', 'off', false), set_config('escape_string_warning', 'off', false);
	END IF;
END $$;
SELECT * FROM differing;
RESET ALL;
SET search_path = shop;
-- names that are no abbreviations are still sent
EXPLAIN (COSTS OFF, VERBOSE) SELECT at AT TIME ZONE 'Europe/Berlin', ts AT TIME ZONE 'utc' FROM m WHERE id = 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT x::varchar, id::text FROM m WHERE id = 3;

-- ---- calls
SET DateStyle = 'ISO, MDY'; SET IntervalStyle = postgres;
SET TimeZone = 'GMT';
CREATE FUNCTION c_of(a int) RETURNS bytea LANGUAGE sql AS 'SELECT name::bytea FROM m WHERE id = a';
CREATE FUNCTION q_of(a int) RETURNS text LANGUAGE sql AS 'SELECT quote_ident(name) || quote_ident(x) || quote_ident(''abc'') FROM m WHERE id = a';
CREATE FUNCTION z_of(a int) RETURNS timestamp LANGUAGE sql AS 'SELECT at AT TIME ZONE x FROM m WHERE id = a';
CREATE FUNCTION o_of(a int) RETURNS int LANGUAGE sql AS 'SELECT id FROM m WHERE id = a AND id === 3';
CREATE FUNCTION ident_of(a int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT format('%I', 'abc') || name FROM m WHERE id = a); END $$;
SELECT shuttle.distribute_function(f::regprocedure, 'a') FROM unnest('{c_of(int),q_of(int),z_of(int),o_of(int),ident_of(int)}'::text[]) AS f;
EXPLAIN (COSTS OFF) SELECT q_of(3);
SELECT q_of(3);
SET quote_all_identifiers = on;
SELECT q_of(3);
SELECT ident_of(3);
RESET quote_all_identifiers;
SELECT z_of(3);
SET timezone_abbreviations = 'India';
SELECT z_of(3);
EXPLAIN (COSTS OFF) SELECT z_of(3);
RESET timezone_abbreviations;
SELECT o_of(3);
SELECT c_of(3);
EXPLAIN (COSTS OFF) SELECT c_of(3);
EXPLAIN (COSTS OFF) SELECT o_of(3);
DROP SCHEMA shop, plain CASCADE;
DROP CAST (text AS bytea);
DROP CAST (double precision AS timestamptz);
