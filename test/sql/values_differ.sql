-- What does not agree on both sides travels as texts, and stays right where it
-- changes while a session goes on.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\i :test/include/transfer.sql
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS citext CASCADE;
CREATE EXTENSION citext;
RESET client_min_messages;

-- types that are not the same object, or not known, on two servers
CREATE TYPE node.color AS ENUM ('red', 'green', 'blue');
CREATE TYPE node.pair AS (a int, b timestamptz);
CREATE DOMAIN node.shade AS node.color;
CREATE TYPE node.spans AS RANGE (subtype = timestamptz);
CALL pair.travels('enums', 'node.color', 'red', 'blue');
CALL pair.travels('enum_arrays', 'node.color[]', '{red,NULL}');
CALL pair.travels('shades', 'node.shade', 'red');
CALL pair.travels('composites', 'node.pair', '(1,"2024-01-01 00:00+00")', '(,)');
CALL pair.travels('own_ranges', 'node.spans', '[2024-01-01 00:00+00,)');
CALL pair.travels('citexts', 'citext', 'a', 'A');
CALL pair.travels('classes', 'regclass', 'node.enums', 'pg_class', '-');
CALL pair.travels('moneys', 'money', '1.25', '-1000');
CALL pair.travels('points', 'point', '(1,2)', '(NaN,-0)');
CALL pair.travels('vectors', 'tsvector', 'a:1 b:2A');
CALL pair.travels('chars', '"char"', 'a', '', '\200');
-- one of them is enough, and nothing of it is asked for without it
CREATE TABLE node.mixed AS SELECT i AS id, i * interval '1 day' AS span, now() AS at, 'red'::node.color AS c FROM generate_series(1, 9) i;
SELECT pair.tables('mixed') \g /dev/null
SELECT pair.transfer('mixed');
SELECT pair.bytes('SELECT id, at, span FROM ours.mixed') > pair.bytes('SELECT id, at, span FROM ours.mixed') AS second_in_binary;
-- where it saves nothing
CREATE TABLE node.words AS SELECT i AS id, 'word ' || i AS w, 'other word' AS x FROM generate_series(1, 9) i;
SELECT pair.tables('words') \g /dev/null
SELECT pair.transfer('words');

-- types that are others here
CREATE TABLE node.odd (id int, a int, b text, c numeric(8, 3), d timestamptz, e varchar(9), f float8);
INSERT INTO node.odd SELECT i, i, i::text, i / 7.0, timestamptz '2024-01-01 00:00:00.123456+00' + i * interval '1 day', 'v' || i, i / 3.0 FROM generate_series(1, 9) i;
SELECT pair.both('CREATE FOREIGN TABLE %1$s.odd (id int, a int8, f float8) SERVER %2$s OPTIONS (schema_name ''node'')') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('DROP FOREIGN TABLE %1$s.odd') \g /dev/null
SELECT pair.both('CREATE FOREIGN TABLE %1$s.odd (id int, b float8, a text) SERVER %2$s OPTIONS (schema_name ''node'')') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('DROP FOREIGN TABLE %1$s.odd') \g /dev/null
-- modifiers: rounded here, cut off here, checked here
SELECT pair.both('CREATE FOREIGN TABLE %1$s.odd (id int, c numeric(8, 1), f float8) SERVER %2$s OPTIONS (schema_name ''node'')') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER c TYPE numeric') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER c TYPE numeric(8, 3), ADD d timestamptz(3)') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER d TYPE timestamptz, ADD e varchar(1)') \g /dev/null
SELECT pair.same('SELECT * FROM odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER e TYPE char(4)') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER e TYPE text') \g /dev/null
SELECT pair.transfer('odd');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.odd ALTER e TYPE varchar') \g /dev/null
SELECT pair.transfer('odd');

-- a type that is changed on the node when its answers came in binary already:
-- seen in the first answer, whatever kind of request it belongs to
CREATE FUNCTION pair.kinds() RETURNS TABLE (query text, verdict text)
LANGUAGE sql AS $$
	SELECT q, pair.same(q) FROM unnest(ARRAY[
		'SELECT id, f, d FROM odd ORDER BY id',				-- held back
		'SELECT id, f, d FROM odd WHERE pair.here(id) > 0'	-- by a cursor
	]) q
$$;
SET shuttle.fetch_limit = 3;
SELECT * FROM pair.kinds();
SELECT * FROM pair.kinds();
ALTER TABLE node.odd ALTER f TYPE numeric;
SELECT * FROM pair.kinds();
ALTER TABLE node.odd ALTER f TYPE float8, ALTER d TYPE text USING d::text;
SELECT * FROM pair.kinds();
ALTER TABLE node.odd ALTER d TYPE timestamptz USING d::timestamptz;
SELECT * FROM pair.kinds();
SELECT pair.bytes('SELECT f, d FROM ours.odd') > pair.bytes('SELECT f, d FROM ours.odd') AS second_in_binary;
RESET shuttle.fetch_limit;
SELECT f, d FROM ours.odd ORDER BY id LIMIT 2;	-- of certain size
ALTER TABLE node.odd ALTER f TYPE numeric USING f + 1;
SELECT f, d FROM ours.odd ORDER BY id LIMIT 2;
ALTER TABLE node.odd ALTER f TYPE float8;
-- to one that has no binary format: that is an error once
CREATE TABLE node.rights AS SELECT 1 AS id, now() AS at, 'x'::text AS v;
SELECT pair.tables('rights') \g /dev/null
SELECT pair.transfer('rights');
ALTER TABLE node.rights ALTER v TYPE aclitem USING '=r/postgres'::aclitem;
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			PERFORM * FROM ours.rights;
			RAISE NOTICE 'read';
		EXCEPTION WHEN undefined_function THEN
			RAISE NOTICE '%', sqlerrm;
		END;
	END LOOP;
END $$;
SELECT pair.transfer('rights');

-- values that a domain refuses, in both formats: postgres_fdw has the reader run the checks, we read what is stored
CREATE DOMAIN pair.small AS int CHECK (value < 5);
CREATE DOMAIN pair.some AS float8 NOT NULL;
SELECT pair.both('CREATE FOREIGN TABLE %1$s.checked (a pair.small, d timestamptz) SERVER %2$s OPTIONS (schema_name ''node'', table_name ''odd'')') \g /dev/null
SELECT pair.same('SELECT * FROM checked WHERE d < ''2024-01-04 12:00+00''') FROM generate_series(1, 2);
SELECT * FROM ours.checked;
SELECT * FROM ours.checked;
SELECT * FROM stock.checked;
UPDATE node.odd SET f = NULL WHERE id = 2;
SELECT pair.both('CREATE FOREIGN TABLE %1$s.checked_too (f pair.some, d timestamptz) SERVER %2$s OPTIONS (schema_name ''node'', table_name ''odd'')') \g /dev/null
SELECT f FROM ours.checked_too;
SELECT f FROM ours.checked_too;
SELECT f FROM stock.checked_too;

-- statements that write or lock answer in texts
SELECT pair.same_write('SELECT * FROM odd ORDER BY id', 'UPDATE odd SET f = f + 1 RETURNING *', 'DELETE FROM odd WHERE id = 3 RETURNING d, f', 'SELECT * FROM odd ORDER BY id FOR UPDATE', 'SELECT * FROM odd ORDER BY id FOR UPDATE');
DROP EXTENSION citext CASCADE;
