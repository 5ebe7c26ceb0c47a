-- Arrays of inserted values travel in binary if the node's columns have the same types.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS node CASCADE;
CREATE SCHEMA node;
CALL test.loopback('one');
CREATE TABLE source AS SELECT i AS id, i % 2 = 0 AS b, (i - 500)::int2 AS i2, i * 1000003 AS i4, -i::int8 << 32 AS i8,
	CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN -0.0 ELSE i / 7.0 END::float4 AS f4,
	CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN -0.0 ELSE i / 7.0 END::float8 AS f8,
	CASE i % 3 WHEN 0 THEN '-infinity' WHEN 1 THEN '4713-01-01 BC' ELSE '2000-02-29' END::date AS d,
	'1999-12-31 23:59:59.999999'::timestamp + i * interval '1 day 1 us' AS ts, 'infinity'::timestamptz AS tz,
	md5(i::text)::uuid AS u, decode(md5(i::text), 'hex') AS by, repeat(E'a"\\{},ä' || i, i % 5) AS t,
	('v' || i)::varchar(9) AS v, ('c' || i)::char(7) AS c, i / 8.0 AS n, ARRAY[i, NULL] AS ar
	FROM generate_series(1, 1000) i;
UPDATE source SET b = NULL, i2 = NULL, i4 = NULL, i8 = NULL, f4 = NULL, f8 = NULL, d = NULL, ts = NULL, tz = NULL, u = NULL,
	by = NULL, t = NULL, v = NULL, c = NULL, n = NULL, ar = NULL WHERE id % 10 = 0;
UPDATE source SET t = repeat('long ', 100000), by = decode(repeat('00ff', 5000), 'hex') WHERE id IN (3, 10);
CREATE TABLE node.t (LIKE source);
CREATE TABLE node.other (LIKE source);
ALTER TABLE node.other ALTER i2 TYPE int8, ALTER i4 TYPE numeric, ALTER d TYPE timestamp, ALTER c TYPE text, ALTER v TYPE char(12);
CREATE FOREIGN TABLE t () INHERITS (source) SERVER one OPTIONS (schema_name 'node');
ALTER FOREIGN TABLE t NO INHERIT source;
CREATE FOREIGN TABLE other () INHERITS (source) SERVER one OPTIONS (schema_name 'node');
ALTER FOREIGN TABLE other NO INHERIT source;
RESET client_min_messages;
\set VERBOSITY terse
CREATE FUNCTION sent(statement text) RETURNS bigint LANGUAGE sql AS $$
	SELECT (test.dist_json(statement) -> 'Storage Bytes Sent')::text::bigint $$;
CREATE FUNCTION differing(of regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM ((SELECT r.*::text FROM source r EXCEPT ALL SELECT r.*::text FROM %1$s r)'
		' UNION ALL (SELECT r.*::text FROM %1$s r EXCEPT ALL SELECT r.*::text FROM source r)) d', of) INTO n;
	RETURN n;
END $$;

SELECT sent('INSERT INTO t SELECT * FROM source') AS in_binary, differing('t') AS differing \gset
SELECT :differing AS differing, count(*) FROM node.t;
TRUNCATE node.t;
SET shuttle.enable_binary_transfer = off;
SELECT sent('INSERT INTO t SELECT * FROM source') AS as_text, differing('t') AS differing \gset
SELECT :differing AS differing, :in_binary <> :as_text AS in_another_format;
RESET shuttle.enable_binary_transfer;

-- columns of other types on the node: those travel as text
INSERT INTO other SELECT * FROM source;
SELECT count(*), count(DISTINCT i4) FROM node.other;
SELECT count(*) FROM source s JOIN node.other o USING (id)
	WHERE (s.i2, s.i4, s.i8, s.d, rtrim(s.c), s.v, s.t) IS DISTINCT FROM (o.i2, o.i4, o.i8, o.d, rtrim(o.c), rtrim(o.v), o.t);

-- the type on the node changes when it is known already
TRUNCATE node.t;
INSERT INTO t SELECT * FROM source;
ALTER TABLE node.t ALTER i4 TYPE int8, ALTER t TYPE varchar;
INSERT INTO t SELECT * FROM source;
INSERT INTO t SELECT * FROM source;
SELECT count(*), count(DISTINCT i4) FROM node.t;

-- a value that the node refuses
ALTER TABLE node.t ADD CHECK (i8 <> -4294967296 * 77) NOT VALID;
INSERT INTO t SELECT * FROM source;
SET client_min_messages = warning;
DROP SERVER one CASCADE;
DROP SCHEMA node CASCADE;
DROP TABLE source;
DROP FUNCTION sent(text), differing(regclass);
