-- Rows that travel together, of all kinds of types; the node's may be others.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TYPE node.mood AS ENUM ('glad', 'so so', 'sad, "very"');
CREATE TYPE node.pair AS (a int, b text);
CREATE DOMAIN node.positive AS int CHECK (value > 0);
CREATE DOMAIN node.couple AS node.pair;
CREATE TABLE node.wide (
	id int PRIMARY KEY, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, b bool, ch "char",
	t text, v varchar(5), c char(4), nm name, by bytea, u uuid, bi bit(3), vb bit varying(5),
	d date, tm time, tz timetz, ts timestamp, tstz timestamptz, iv interval,
	j json, jb jsonb, x text, ne inet, ci cidr, ma macaddr, pt point, bo box, r int4range, mr int4multirange,
	oi oid, re regclass, ti tid, ls pg_lsn, ar int[], at text[], abo box[], tsv tsvector, mo money,
	e node.mood, p node.pair, po node.positive, co node.couple, ap node.pair[], ae node.mood[]);
SELECT pair.tables('wide');
CREATE TABLE pair.source AS SELECT * FROM node.wide;
INSERT INTO pair.source VALUES
	(1, -32768, 9223372036854775807, '-0', 'NaN', 'NaN', true, 'x', E'a''b"c\\d{},\n', 'abcde', 'ab', 'name', '\x00ff5c22', '00000000-0000-0000-0000-00000000000f', '101', '10',
	 '4713-01-01 BC', '24:00:00', '12:00:00.123456+05:30', '-infinity', 'infinity', '-1 year 2 months -3 days 04:05:06.7',
	 '{"a": "b\"c"}', '[1, "x,y", null]', '<a>b</a>', '::1/64', '10/8', '08:00:2b:01:02:03', '(1e300,-2)', '(3,4),(1,2)', '[1,5)', '{[1,2),[4,6)}',
	 4294967295, 'pg_class', '(7,9)', 'FF/AB', '{{1,2},{3,NULL}}', '{"a,b","NULL",NULL,"",\\}', '{(3,4),(1,2);(0,0),(-1,-1)}', '''a,b'':1A c', '$-1.50',
	 'sad, "very"', '(5,"x, ""y""")', 7, '(,)', '{"(1,\"a,b\")","(,)"}', '{"sad, \"very\"",glad}'),
	(2, NULL, 0, 'Infinity', 5e-324, 1.000, false, '"', '', '', '', '', '', NULL, '000', '',
	 'infinity', '00:00:00', '00:00:00-15:59:59', '2000-02-29 12:34:56.789012', '1883-11-18 12:00:00+00', '178000000 years',
	 'null', 'null', NULL, NULL, NULL, NULL, NULL, NULL, 'empty', '{}',
	 0, NULL, NULL, NULL, '{}', '[0:1]={a,b}', '{}', '', NULL,
	 NULL, NULL, NULL, NULL, '{}', '{}');
INSERT INTO pair.source (id) SELECT generate_series(3, 6);

-- one row after the other, and together, under settings that change texts
CREATE FUNCTION pair.compare(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	columns text := (SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'pair.source'::regclass AND attnum > 0);
	missing bigint;
	state text[];
BEGIN
	DELETE FROM ours.wide;
	EXECUTE format('INSERT INTO ours.wide (%1$s) SELECT %1$s FROM pair.source', columns);
	SELECT array_agg(w::text ORDER BY id) INTO state FROM ours.wide w;
	IF how = 'update' THEN
		UPDATE ours.wide SET (i2, i8, f4, f8, n, b, ch, t, v, c, nm, by, u, bi, vb) = ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(d, tm, tz, ts, tstz, iv, j, jb, x, ne, ci, ma, pt, bo, r, mr) = ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(oi, re, ti, ls, ar, at, abo, tsv, mo, e, p, po, co, ap, ae) = ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		EXECUTE format('UPDATE ours.wide w SET (%1$s) = ROW(s.%2$s) FROM pair.source s WHERE s.id = w.id AND pair.here(w.id) = w.id',
			columns, replace(columns, ', ', ', s.'));
	END IF;
	EXECUTE format('SELECT count(*) FROM (SELECT (SELECT x FROM (SELECT %1$s) x)::text FROM pair.source EXCEPT ALL SELECT (SELECT x FROM (SELECT %1$s) x)::text FROM ours.wide) m', columns) INTO missing;
	RETURN format('%s rows of %s missing', missing, cardinality(state));
END $$;
SELECT pair.compare('insert');
SELECT pair.compare('insert again, as arrays');
SELECT pair.compare('update');
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET extra_float_digits = -10;
SET timezone = 'Asia/Kathmandu';
SET bytea_output = 'escape';
SELECT pair.compare('insert');
SELECT pair.compare('update');
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
RESET timezone;
RESET bytea_output;

-- the node's columns are of other types than they are said to be
CREATE TABLE node.other (id bigint, e node.mood, u uuid, j jsonb, n int2, v varchar(3), c char(3), d date, "p3" text, ord text, b bit(3));
CREATE FOREIGN TABLE stock.other (id int, e text, u text, j text, n text, v text, c text, d text, p3 text, ord text, b text) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.other (id int, e text, u text, j text, n text, v text, c text, d text, p3 text, ord text, b text) SERVER our_node OPTIONS (schema_name 'node');
\set state '''SELECT * FROM other ORDER BY id'''
\set rows 'VALUES (1, ''glad'', ''00000000-0000-0000-0000-00000000000a'', ''{"b": 1, "a": [2]}'', ''7'', ''abc'', ''a'', ''2024-02-29'', ''p'', ''o'', ''101''), (2, ''so so'', NULL, ''null'', ''-8'', '''', NULL, ''infinity'', NULL, NULL, ''000'')'
SELECT pair.same_write(:state, 'INSERT INTO other ' || :'rows');
SELECT pair.same_write(:state, 'INSERT INTO other ' || :'rows' || ' RETURNING *');
INSERT INTO ours.other :rows;
SELECT pair.same_write(:state, 'UPDATE other SET e = ''sad, "very"'', j = ''[1]'', n = ''9'', p3 = p3 || ''x'', ord = ''y'' WHERE pair.here(id) > 0 RETURNING *');
SELECT pair.same_write(:state, 'UPDATE other SET e = ''none'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET n = ''1.5'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET v = ''abcd'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET c = ''abcd'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET b = ''10'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'INSERT INTO other (id, v) VALUES (3, ''abcd''), (4, '''')');
SELECT pair.same_write(:state, 'DELETE FROM other WHERE pair.here(id) > 0 RETURNING ord, p3');

-- the node's table changes under a session that knows it: fails once, and is
-- never told a value by way of the type that was
ALTER TABLE node.other ALTER n TYPE text;
SELECT pair.same_write(:state, 'UPDATE other SET n = ''007'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET n = ''007'' WHERE pair.here(id) > 0');
ALTER TABLE node.other ALTER n TYPE int USING n::int;
SELECT pair.same_write(:state, 'INSERT INTO other (id, n) VALUES (3, ''007''), (4, ''008'')');
SELECT pair.same_write(:state, 'INSERT INTO other (id, n) VALUES (3, ''007''), (4, ''008'')');
ALTER TABLE node.other ALTER e TYPE text, ALTER n TYPE text, ALTER d TYPE timestamp;
SELECT pair.same_write(:state, 'UPDATE other SET e = ''none'', n = ''1.5'', d = ''2024-02-29 11:12:13'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE other SET e = ''none'', n = ''1.5'', d = ''2024-02-29 11:12:13'' WHERE pair.here(id) > 0');
ALTER TABLE node.other DROP COLUMN ord;
SELECT pair.same_write('SELECT 1', 'UPDATE other SET ord = ''y'' WHERE pair.here(id) > 0');
DROP TABLE node.other;
SELECT pair.same_write('SELECT 1', 'INSERT INTO other (id) VALUES (1), (2)');
SELECT pair.same_write('SELECT 1', 'DELETE FROM other WHERE pair.here(id) > 0');

-- tables without columns, and columns that only the node fills
CREATE TABLE node.bare ();
CREATE TABLE node.filled (a int DEFAULT 5, g int GENERATED ALWAYS AS (7) STORED);
CREATE FOREIGN TABLE stock.bare () SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.bare () SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE stock.filled (a int, g int GENERATED ALWAYS AS (7) STORED) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.filled (a int, g int GENERATED ALWAYS AS (7) STORED) SERVER our_node OPTIONS (schema_name 'node');
SELECT pair.same_write('SELECT count(*) FROM bare', 'INSERT INTO bare SELECT FROM generate_series(1, 3)', 'DELETE FROM bare WHERE random() >= 0');
SELECT pair.same_write('SELECT * FROM filled', 'INSERT INTO filled SELECT FROM generate_series(1, 3) RETURNING *', 'UPDATE filled SET a = pair.here(5) + random() * 0', 'INSERT INTO filled SELECT FROM generate_series(1, 3) RETURNING *');

-- the node is asked once for the types of a table: beside the first rows, and
-- again when the foreign table was changed, or a write failed
CREATE TABLE node.asked (id int, t text);
CREATE FOREIGN TABLE ours.asked (id int, t text) SERVER our_node OPTIONS (schema_name 'node');
CREATE FUNCTION pair.requests() RETURNS bigint LANGUAGE sql AS $$SELECT sum(requests)::bigint FROM shuttle.node_stats WHERE server = 'our_node'$$;
SELECT pair.requests() AS before \gset
INSERT INTO ours.asked VALUES (1, 'a'), (2, 'b');
SELECT pair.requests() - :before AS first, pair.requests() AS before \gset
INSERT INTO ours.asked VALUES (3, 'c'), (4, 'd');
INSERT INTO ours.asked VALUES (5, 'e'), (6, 'f');
SELECT pair.requests() - :before AS two_more, pair.requests() AS before \gset
ALTER FOREIGN TABLE ours.asked ALTER t TYPE varchar;
INSERT INTO ours.asked VALUES (7, 'g'), (8, 'h');
INSERT INTO ours.asked VALUES (9, 'i'), (10, 'j');
SELECT pair.requests() - :before AS altered, pair.requests() AS before \gset
-- asked in what is rolled back, of a savepoint and of a transaction
ALTER FOREIGN TABLE ours.asked ALTER t TYPE text;
BEGIN;
SAVEPOINT a;
INSERT INTO ours.asked VALUES (11, 'k'), (12, 'l');
ROLLBACK TO a;
INSERT INTO ours.asked VALUES (11, 'k'), (12, 'l');
ROLLBACK;
INSERT INTO ours.asked VALUES (11, 'k'), (12, 'l');
SELECT :first AS first, :two_more AS two_more, :altered AS altered, count(*), count(DISTINCT (id, t)) FROM ours.asked;
-- the node's table is another one
ALTER TABLE node.asked ALTER id TYPE text;
\set VERBOSITY terse
INSERT INTO ours.asked VALUES (13, 'm'), (14, 'n');
\set VERBOSITY default
ALTER TABLE node.asked ALTER t TYPE int USING length(t);
INSERT INTO ours.asked VALUES (15, '15'), (16, '016');
INSERT INTO ours.asked VALUES (15, '15'), (16, '016');
SELECT * FROM node.asked WHERE id::int > 12 ORDER BY id;
-- nor is a value rounded that the node would refuse
CREATE TABLE node.rounded (id int, f float8, t timestamptz);
CREATE FOREIGN TABLE ours.rounded (id int, f float8, t timestamptz) SERVER our_node OPTIONS (schema_name 'node');
INSERT INTO ours.rounded VALUES (1, 1.5, '2024-01-01 00:00+00'), (2, 2.5, '2024-01-01 00:00+00');
INSERT INTO ours.rounded VALUES (3, 3.5, NULL), (4, 4.5, NULL);
ALTER TABLE node.rounded ALTER f TYPE int;
\set VERBOSITY sqlstate
INSERT INTO ours.rounded VALUES (5, 5.5, NULL), (6, 6.5, NULL);
INSERT INTO ours.rounded VALUES (5, 5.5, NULL), (6, 6.5, NULL);
ALTER TABLE node.rounded ALTER t TYPE timestamp;
INSERT INTO ours.rounded VALUES (7, 7, '2024-01-01 12:00+05'), (8, 8, '2024-01-01 00:00+00');
INSERT INTO ours.rounded VALUES (7, 7, '2024-01-01 12:00+05'), (8, 8, '2024-01-01 00:00+00');
\set VERBOSITY default
SELECT id, f, t IS NULL AS empty FROM node.rounded ORDER BY id;

-- a value that is too long for the domain of the node's column is not cut off
CREATE DOMAIN node.short AS varchar(3);
CREATE DOMAIN node.code AS char(2) CHECK (value <> 'no');
CREATE TABLE node.coded (id int, s node.short, c node.code);
CREATE FOREIGN TABLE stock.coded (id int, s text, c text) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.coded (id int, s text, c text) SERVER our_node OPTIONS (schema_name 'node');
\set state '''SELECT * FROM coded ORDER BY id'''
INSERT INTO ours.coded VALUES (1, 'a', 'b'), (2, NULL, NULL);
SELECT pair.same_write(:state, 'INSERT INTO coded VALUES (3, ''abc'', ''de''), (4, NULL, NULL) RETURNING *');
SELECT pair.same_write(:state, 'INSERT INTO coded VALUES (3, ''abcd'', ''de''), (4, NULL, NULL)');
SELECT pair.same_write(:state, 'UPDATE coded SET c = ''def'' WHERE pair.here(id) > 0');
SELECT pair.same_write(:state, 'UPDATE coded SET c = ''no'' WHERE pair.here(id) > 0');

-- a type that was made anew: a statement that was prepared before is prepared again
CREATE TYPE node.size AS ENUM ('small', 'large');
CREATE TABLE node.sized (id int, s node.size);
CREATE FOREIGN TABLE ours.sized (id int, s text) SERVER our_node OPTIONS (schema_name 'node');
INSERT INTO ours.sized VALUES (1, 'small');
INSERT INTO ours.sized VALUES (2, 'large');
INSERT INTO ours.sized VALUES (3, 'small');
SET client_min_messages = warning;
DROP TYPE node.size CASCADE;
RESET client_min_messages;
CREATE TYPE node.size AS ENUM ('large', 'small');
ALTER TABLE node.sized ADD COLUMN s node.size;
INSERT INTO ours.sized VALUES (4, 'small');
INSERT INTO ours.sized VALUES (5, 'large');
SELECT * FROM ours.sized ORDER BY id;
