-- Rows that INSERT ... RETURNING gives before the node has answered: they are those that the node
-- stores, and an error comes as it does without them.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE DOMAIN price AS numeric(8,2) CHECK (VALUE < 1000);
CREATE TABLE kept (id int PRIMARY KEY, short char(5), word varchar(6), amount numeric(6,2), cost price, at timestamptz(2),
	span interval, part float8, data jsonb, many text[], bits bit varying(4), raw bytea, gone int,
	twice int GENERATED ALWAYS AS (id * 2) STORED, note text DEFAULT 'from here', seq int GENERATED ALWAYS AS IDENTITY);
ALTER TABLE kept DROP COLUMN gone;
CREATE SCHEMA plain;
CREATE TABLE plain.kept (LIKE kept INCLUDING ALL);
SET client_min_messages = warning;
SELECT shuttle.distribute_table('kept', 'id', tablets => 4);
RESET client_min_messages;

-- each returns what the table has, and what a plain table gives
CREATE FUNCTION puts(first int, last int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	RETURN QUERY WITH put AS (
		INSERT INTO kept (id, short, word, amount, cost, at, span, part, data, many, bits, raw)
		SELECT i, 'c' || i, 'w' || i || '      ', i / 7.0, i / 3.0, timestamptz '2020-01-01 00:00:00.123456+0' + i * interval '0.333 s',
			i * interval '1 month 2 days 3.5 s', i / 3::float8, jsonb_build_object('k', i, 'a', null), ARRAY['x', null, 'y z' || i],
			(i % 16)::bit(4), decode(lpad(to_hex(i), 4, '0'), 'hex')
		FROM generate_series(first, last) AS i
		RETURNING id, short, word, amount, cost, at, span, part, data, many, bits, raw, note, seq, kept.tableoid::regclass::text LIKE '%kept%', amount + cost AS sum)
	SELECT put::text FROM put ORDER BY id;
	INSERT INTO kept (id, short) VALUES (-first, NULL) RETURNING kept::text INTO line;
	RETURN NEXT line;
	INSERT INTO kept (id, cost) VALUES (-1000 - first, 1.005) RETURNING id || ' ' || cost || note INTO line;
	RETURN NEXT line;
	INSERT INTO kept (id) VALUES (-2000 - first) RETURNING twice INTO line;
	RETURN NEXT line;
END $$;
CREATE TABLE got (way text, line text);
SET shuttle.enable_write_behind = on;
INSERT INTO got SELECT 'left', * FROM puts(1, 20);
CREATE TABLE stored AS SELECT k::text AS line FROM kept AS k;
DELETE FROM kept;
ALTER TABLE kept ALTER seq RESTART;
SET shuttle.enable_write_behind = off;
INSERT INTO got SELECT 'waited', * FROM puts(1, 20);
RESET shuttle.enable_write_behind;
SET search_path = plain, shop;
INSERT INTO got SELECT 'plain', * FROM puts(1, 20);
SET search_path = shop;
SELECT way, count(*), md5(string_agg(line, '|' ORDER BY line)) = (SELECT md5(string_agg(line, '|' ORDER BY line)) FROM got WHERE way = 'plain') AS equal FROM got GROUP BY way ORDER BY way;
SELECT line FROM got WHERE way = 'left' ORDER BY line COLLATE "C" LIMIT 4;
(TABLE stored EXCEPT ALL SELECT k::text FROM plain.kept AS k) UNION ALL (SELECT k::text FROM plain.kept AS k EXCEPT ALL TABLE stored);

-- these are not waited for; nothing of it stays
CREATE FUNCTION goes_on(id int, price numeric) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	INSERT INTO kept (id, cost) VALUES ($1, $2) RETURNING kept.id || ' ' || cost INTO STRICT line;
	RAISE WARNING 'went on with %', line;
	RETURN line;
END $$;
SELECT goes_on(500, 5);
SELECT goes_on(500, 5);
SELECT goes_on(501, 5000);
CREATE FUNCTION waits(id int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	INSERT INTO kept (id) VALUES ($1) RETURNING twice INTO STRICT line;
	RAISE WARNING 'went on with %', line;
	RETURN line;
END $$;
SELECT waits(502);
SELECT waits(502);
SELECT id FROM kept WHERE id >= 500 ORDER BY id;
-- a client's own, with its COMMIT; and one within a transaction
INSERT INTO kept (id) VALUES (600), (601) RETURNING id, note;
INSERT INTO kept (id) VALUES (602), (601) RETURNING id, note;
BEGIN;
INSERT INTO kept (id) VALUES (602), (601) RETURNING id, note;
ROLLBACK;
-- triggers and check options see rows that the node has written
CREATE VIEW low AS SELECT id, cost FROM kept WHERE cost < 10 WITH CHECK OPTION;
CREATE FUNCTION tells() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'wrote %', new.id; RETURN NULL; END $$;
CREATE FUNCTION puts_low(id int, cost numeric) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	INSERT INTO low VALUES ($1, $2) RETURNING low::text INTO line;
	RAISE WARNING 'went on';
	RETURN line;
END $$;
SELECT puts_low(700, 5);
SELECT puts_low(700, 5);
SELECT puts_low(701, 50);
CREATE TRIGGER tells AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION tells();
SELECT goes_on(700, 5);
SELECT goes_on(702, 5);
SELECT count(*) FROM kept WHERE id >= 500;
