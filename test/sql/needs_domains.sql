-- Domains over arrays, and what consists of them: nodes get them in the order in which they need each other.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN few AS int[] CHECK (cardinality(VALUE) <= 3);
CREATE DOMAIN fewer AS few CHECK (cardinality(VALUE) <= 2);
CREATE DOMAIN moods AS mood[] NOT NULL DEFAULT '{ok}';
CREATE DOMAIN names AS varchar(4)[] COLLATE "C";
CREATE TYPE bag AS (few few, moods mood[], n numeric(4, 1)[]);
CREATE DOMAIN full_bag AS bag CHECK ((VALUE).few IS NOT NULL);
CREATE DOMAIN bags AS full_bag[];
CREATE TYPE few_range AS RANGE (SUBTYPE = int4);
CREATE DOMAIN ranges AS few_range[];
CREATE DOMAIN multi AS few_multirange CHECK (NOT isempty(VALUE));
CREATE TYPE deep AS (b bags, r ranges, d few[]);
CREATE TABLE d (id int PRIMARY KEY, a few, b fewer, c bag, e bags, f ranges, g deep, h deep[], i few[], m moods, n names, u multi);
INSERT INTO d SELECT i, ARRAY[i, 2, 3], ARRAY[i], ROW(ARRAY[i], ARRAY['sad'::mood], ARRAY[1.5])::bag, ARRAY[ROW(ARRAY[i], ARRAY['ok'::mood], NULL)::bag::full_bag], ARRAY[few_range(i, i + 2)],
	format('(,,"{""{%s}""}")', i)::deep, '{"(,,)"}'::deep[], format('{"{%s}"}', i)::few[], '{happy}', '{a,b}', few_multirange(few_range(i, 9))
FROM generate_series(1, 8) AS i;
CREATE TABLE plain AS TABLE d;
CREATE TABLE small (id int PRIMARY KEY, a few, g deep);
INSERT INTO small SELECT id, a, g FROM plain;
SELECT shuttle.distribute_table('d', 'id', 4);
SELECT shuttle.reference_table('small');
(TABLE d EXCEPT ALL TABLE plain) UNION ALL (TABLE plain EXCEPT ALL TABLE d);
SELECT id, a, b, (c).few, e, f, g, n FROM d WHERE id = 3;
SELECT id FROM d WHERE a = ARRAY[3, 2, 3] AND b[1] = 3;
SELECT d.id FROM d JOIN small USING (id) WHERE small.a[1] = d.b[1] ORDER BY 1;
UPDATE d SET a = a || 4 WHERE id = 1;
UPDATE d SET a = ARRAY[9] WHERE id = 1 RETURNING a;
INSERT INTO d (id, b) VALUES (9, '{1, 2, 3}');
INSERT INTO d (id, b, m) VALUES (9, '{1, 2}', '{ok}');
-- columns and types that come later
CREATE DOMAIN later AS text[] CHECK (VALUE[1] <> 'no');
ALTER TABLE d ADD COLUMN l later;
ALTER DOMAIN later ADD CONSTRAINT short CHECK (cardinality(VALUE) < 3);
UPDATE d SET l = '{a, b, c}' WHERE id = 1;
CREATE TYPE of_later AS (l later, k int);
ALTER TABLE d ADD COLUMN o of_later;
ALTER TABLE small ADD COLUMN l later DEFAULT '{yes}';
UPDATE d SET l = ARRAY['yes'], o = '({x},3)' WHERE id <= 2;
UPDATE d SET l = '{no}' WHERE id = 1;
SELECT id, l, o FROM d WHERE l IS NOT NULL ORDER BY 1;
ALTER TABLE d ALTER COLUMN b TYPE few, ALTER COLUMN a TYPE int[];
UPDATE d SET a = '{1, 2, 3, 4}', b = '{1, 2, 3}' WHERE id = 2 RETURNING a, b;
ALTER TYPE of_later ADD ATTRIBUTE m few;
CREATE FUNCTION is_short(text[]) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT cardinality($1) < 3';
CREATE DOMAIN latest AS text[] CHECK (is_short(VALUE));
ALTER TYPE of_later ADD ATTRIBUTE n latest;
CREATE FUNCTION is_long(text[]) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT cardinality($1) > 0';
ALTER DOMAIN later ADD CONSTRAINT long CHECK (is_long(VALUE)) NOT VALID;
UPDATE d SET l = '{}' WHERE id = 1;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SELECT shuttle.distribute_table('plain', 'id', 4);
ALTER TABLE plain ADD COLUMN l later;
SELECT shuttle.local_table('plain');
ALTER DOMAIN few RENAME TO few_numbers;
SELECT * FROM shuttle.check();
SELECT shuttle.local_tables('{d, small}');
SELECT count(*) FROM d JOIN small USING (id);
-- The row type of a table is on nodes as long as the table is.
CREATE TABLE whole (id int PRIMARY KEY, t text);
CREATE TABLE holder (id int PRIMARY KEY, w whole, ws whole[]);
SELECT shuttle.distribute_table('whole', 'id', 3), shuttle.distribute_table('holder', 'id', 3);
INSERT INTO holder VALUES (1, (7, 'seven'), ARRAY[(8, 'eight')::whole]);
SELECT shuttle.local_table('whole');
TABLE holder;
SELECT shuttle.local_tables('{whole, holder}');
TABLE holder;
