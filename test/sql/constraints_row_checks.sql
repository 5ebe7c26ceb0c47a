-- Check constraints that a node's session would decide otherwise are computed here, before a row leaves: each way
-- to write a row has the outcome that it has for a plain table, in each time zone.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE CAST (text AS bytea) WITHOUT FUNCTION;
CREATE TABLE day (gone int, id int PRIMARY KEY, d date, at timestamptz, by name DEFAULT current_user, n int, k text, g int GENERATED ALWAYS AS (n * 2) STORED,
	CONSTRAINT is_day CHECK (d = at::date), CONSTRAINT is_own CHECK (by = current_user), CONSTRAINT is_few CHECK (g < 100), CONSTRAINT is_ist CHECK (at AT TIME ZONE 'IST' > d - 1),
	CONSTRAINT is_long CHECK (length(k::bytea) < 8), CONSTRAINT has_quotes CHECK (g > -100 AND quote_ident(k) <> 'x'));
ALTER TABLE day DROP COLUMN gone;
CREATE TABLE plain.day (LIKE day INCLUDING ALL);
SET timezone = 'Asia/Tokyo';
INSERT INTO day (id, d, at, n) SELECT i, date '2026-05-01' + i, timestamp '2026-05-01 03:00' + i * interval '1 day', i FROM generate_series(1, 8) AS i;
INSERT INTO plain.day (id, d, at, by, n, k) SELECT id, d, at, by, n, k FROM day;
SELECT shuttle.distribute_table('day', 'id', 3);
CREATE TABLE statements (n serial PRIMARY KEY, statement text);
INSERT INTO statements (statement) VALUES
('INSERT INTO day (id, d, at) VALUES (20, ''2026-06-01'', ''2026-06-01 03:00+09'')'),
('INSERT INTO day (id, d, at) VALUES (20, ''2026-05-31'', ''2026-06-01 03:00+09'')'),
('INSERT INTO day (id, d, at) VALUES (20, ''2026-06-01'', ''2026-06-01 03:00+09''), (21, ''2026-05-31'', ''2026-06-01 03:00+09'')'),
('INSERT INTO day (id, by) VALUES (20, ''somebody'')'),
('INSERT INTO day (id, n) VALUES (20, 50)'),
('INSERT INTO day (id, n) VALUES (20, -50)'),
('INSERT INTO day (id, n) VALUES (20, 49) RETURNING *'),
('INSERT INTO day (id, k) VALUES (20, ''longer than seven'')'),
('INSERT INTO day (id, k) VALUES (20, ''\x0102'')'),
('INSERT INTO day (id, k) VALUES (20, ''x'')'),
('INSERT INTO day (id, d, at) SELECT 30 + id, d, at FROM day'),
('INSERT INTO day (id, d, at) SELECT 30 + id, d + 1, at FROM day'),
('INSERT INTO day (id, d) VALUES (1, ''2026-06-01'') ON CONFLICT (id) DO UPDATE SET d = excluded.d'),
('INSERT INTO day (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = 49'),
('INSERT INTO day (id, n) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET n = 51'),
('UPDATE day SET d = d + 1 WHERE id = 3'),
('UPDATE day SET d = d + 1, at = at + interval ''24 hours'' WHERE id = 3'),
('UPDATE day SET at = at + interval ''21 hours'' WHERE id = 3'),
('UPDATE day SET at = at + interval ''21 hours'''),
('UPDATE day SET at = at + interval ''20 hours'''),
('UPDATE day SET n = n * 10'),
('UPDATE day SET n = n * 6 WHERE id IN (1, 7)'),
('UPDATE day SET by = ''somebody'' WHERE id = 2'),
('UPDATE day AS t SET d = o.d FROM day AS o WHERE o.id = t.id + 1'),
('UPDATE day AS t SET k = ''fits'' FROM day AS o WHERE o.id = t.id + 1'),
('DELETE FROM day WHERE d = at::date'),
('WITH w AS (INSERT INTO day (id, n) VALUES (60, 60) RETURNING id) SELECT * FROM w'),
('SET LOCAL session_replication_role = replica; INSERT INTO day (id, n) VALUES (20, 50)');
CREATE FUNCTION outcome(statement text, path text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; before text := current_setting('search_path');
BEGIN
	PERFORM set_config('search_path', path, true);
	EXECUTE statement;
	SELECT string_agg(day::text, ';' ORDER BY id) INTO result FROM day;
	PERFORM set_config('search_path', before, true);
	RAISE division_by_zero USING MESSAGE = result;
EXCEPTION WHEN division_by_zero THEN
	RETURN SQLERRM;
WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE VIEW differing AS SELECT n, statement, outcome(statement, 'shop') AS here, outcome(statement, 'plain, shop') AS plain
	FROM statements WHERE outcome(statement, 'shop') IS DISTINCT FROM outcome(statement, 'plain, shop') ORDER BY n;
\x on
SELECT count(*) FILTER (WHERE outcome(statement, 'plain, shop') ~ '^23') AS violations, count(*) FROM statements;
SELECT * FROM differing;
SET timezone = 'America/New_York';
SELECT * FROM differing;
SET timezone = 'GMT';
SELECT * FROM differing;
SET quote_all_identifiers = on;
SELECT * FROM differing;
RESET quote_all_identifiers;
SET timezone = 'Asia/Tokyo';
\x off
\set VERBOSITY default
INSERT INTO day (id, d, at) VALUES (20, '2026-05-31', '2026-06-01 03:00+09');
\set VERBOSITY terse
PREPARE p AS INSERT INTO day (id, d, at) VALUES ($1, $2, $3);
EXECUTE p (50, '2026-06-01', '2026-06-01 03:00+09');
EXECUTE p (51, '2026-05-31', '2026-06-01 03:00+09');
COPY day (id, d, at) FROM STDIN;
52	2026-06-01	2026-06-01 03:00+09
\.
COPY day (id, d, at) FROM STDIN;
53	2026-06-01	2026-06-01 03:00+09
54	2026-05-31	2026-06-01 03:00+09
\.
CREATE ROLE shop_other LOGIN;
GRANT ALL ON SCHEMA shop TO shop_other;
GRANT ALL ON day TO shop_other;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
SET ROLE shop_other;
INSERT INTO day (id) VALUES (55);
INSERT INTO day (id, by) VALUES (56, 'postgres');
UPDATE day SET n = 1 WHERE id = 1;
RESET ROLE;
SELECT id, by = 'shop_other' AS others FROM day WHERE id > 49 ORDER BY 1;
DELETE FROM day WHERE id > 49;
-- nodes have those that they decide alike
SELECT server, result FROM shuttle.run_on_nodes('SELECT string_agg(conname, '', '' ORDER BY conname) FROM pg_constraint WHERE conrelid = ''shop.day''::regclass AND contype = ''c''', '{n1, n2}') ORDER BY 1;
SELECT * FROM shuttle.check();
-- the trigger is no user's
ALTER TABLE day DISABLE TRIGGER ALL;
INSERT INTO day (id, d, at) VALUES (20, '2026-05-31', '2026-06-01 03:00+09');
ALTER TABLE day DISABLE TRIGGER zz_shuttle_check;
INSERT INTO day (id, d, at) VALUES (20, '2026-05-31', '2026-06-01 03:00+09');
DROP TRIGGER zz_shuttle_check ON day;
ALTER TRIGGER zz_shuttle_check ON day RENAME TO mine;
-- DDL: rows that exist are looked at here
ALTER TABLE day ADD CONSTRAINT after_noon CHECK (at::time >= '03:00');
ALTER TABLE day ADD CONSTRAINT after_noon_too CHECK (at::time > '03:00');
ALTER TABLE day ADD CONSTRAINT after_noon_too CHECK (at::time > '03:00') NOT VALID;
INSERT INTO day (id, d, at) VALUES (20, '2026-06-01', '2026-06-01 03:00+09');
ALTER TABLE day VALIDATE CONSTRAINT after_noon_too;
UPDATE day SET at = at + interval '1 hour';
ALTER TABLE day VALIDATE CONSTRAINT after_noon_too;
ALTER TABLE day RENAME CONSTRAINT after_noon_too TO renamed;
ALTER TABLE day ALTER n TYPE bigint;
ALTER TABLE day ALTER at TYPE timestamp USING at::timestamp(0);
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 'day'::regclass AND contype = 'c' ORDER BY 1;
ALTER TABLE day DROP CONSTRAINT renamed, DROP CONSTRAINT after_noon, DROP CONSTRAINT is_day, DROP CONSTRAINT is_ist, DROP CONSTRAINT is_long, DROP CONSTRAINT has_quotes;
INSERT INTO day (id, d, at, k) VALUES (20, '2026-05-31', '2026-06-01 03:00+09', 'longer than seven');
INSERT INTO day (id, by) VALUES (21, 'somebody');
ALTER TABLE day DROP CONSTRAINT is_own;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'day'::regclass;
INSERT INTO day (id, by) VALUES (21, 'somebody');
INSERT INTO day (id, n) VALUES (22, 50);
ALTER TABLE day ADD COLUMN o name DEFAULT current_user CHECK (o = current_user);
ALTER TABLE day ADD COLUMN q text DEFAULT 'a' CHECK (q = current_user);
INSERT INTO day (id, o) VALUES (22, 'somebody');
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('day');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'day'::regclass;
INSERT INTO day (id, o) VALUES (22, 'somebody');
-- what would change a row behind the check, or hide one from it
CREATE TABLE beside (id int PRIMARY KEY, r int, at timestamptz, CONSTRAINT late CHECK (r IS NOT NULL OR at::date < '2020-01-01'));
CREATE TABLE ref (id int PRIMARY KEY);
SELECT shuttle.reference_table('ref');
ALTER TABLE beside ADD CONSTRAINT key FOREIGN KEY (r) REFERENCES ref ON DELETE SET NULL;
SELECT shuttle.distribute_table('beside', 'id', 3);
ALTER TABLE beside DROP CONSTRAINT key, ADD CONSTRAINT key FOREIGN KEY (r) REFERENCES ref;
SELECT shuttle.distribute_table('beside', 'id', 3);
ALTER TABLE beside ADD CONSTRAINT key2 FOREIGN KEY (r) REFERENCES ref ON UPDATE CASCADE;
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := ''2024-01-01''; RETURN NEW; END';
CREATE TRIGGER zzz BEFORE INSERT ON beside FOR EACH ROW EXECUTE FUNCTION change();
CREATE TRIGGER early BEFORE INSERT ON beside FOR EACH ROW EXECUTE FUNCTION change();
ALTER TRIGGER early ON beside RENAME TO "über";
CREATE OR REPLACE TRIGGER zz_shuttle_check BEFORE INSERT ON beside FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO beside VALUES (1, NULL, '2010-01-01');
DROP TRIGGER early ON beside;
INSERT INTO beside SELECT i, NULL, '2010-01-01' FROM generate_series(1, 9) AS i;
CREATE POLICY part ON beside USING (id < 3);
ALTER TABLE beside ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE beside OWNER TO shop_other;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO shop_other;
GRANT CREATE ON SCHEMA shop TO shop_other;
SET ROLE shop_other;
ALTER TABLE beside ADD CONSTRAINT hidden CHECK (id < 3 OR at::date > '2020-01-01');
RESET ROLE;
ALTER TABLE beside NO FORCE ROW LEVEL SECURITY;
SET ROLE shop_other;
ALTER TABLE beside ADD CONSTRAINT hidden CHECK (id < 3 OR at::date > '2020-01-01');
RESET ROLE;
CREATE DOMAIN some_day AS date;
ALTER TABLE beside ADD COLUMN s some_day;
ALTER DOMAIN some_day ADD CONSTRAINT is_past CHECK (VALUE <= current_date);
-- a reference table has its rows here
SELECT shuttle.reference_table('plain.day');
INSERT INTO plain.day (id, d, at) VALUES (20, '2026-06-01', '2026-06-01 03:00+09');
INSERT INTO plain.day (id, d, at) VALUES (21, '2026-05-31', '2026-06-01 03:00+09');
ALTER TABLE plain.day ADD CHECK (at::time > '23:00');
SELECT * FROM shuttle.check();
-- what nodes compute
CREATE DOMAIN today AS date CHECK (VALUE <= current_date);
CREATE TABLE dated (id int PRIMARY KEY, d today[]);
SELECT shuttle.distribute_table('dated', 'id', 3);
CREATE TABLE told (id int PRIMARY KEY, at timestamp, g timestamptz GENERATED ALWAYS AS (at AT TIME ZONE 'IST') STORED);
SELECT shuttle.distribute_table('told', 'id', 3);
ALTER TABLE told DROP COLUMN g;
SELECT shuttle.distribute_table('told', 'id', 3);
ALTER TABLE told ADD COLUMN d today;
ALTER TABLE told ADD COLUMN g timestamptz GENERATED ALWAYS AS (at AT TIME ZONE 'IST') STORED;
SET client_min_messages = warning;
DROP SCHEMA shop, plain CASCADE;
DROP CAST IF EXISTS (text AS bytea);
DROP SERVER n1, n2 CASCADE;
DROP OWNED BY shop_other;
DROP ROLE shop_other;
