-- Types that users make: enums, domains, composites, ranges over them.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS citext CASCADE;
DROP SCHEMA IF EXISTS made CASCADE;
CREATE EXTENSION citext SCHEMA public;
RESET client_min_messages;
CREATE SCHEMA made;
CREATE TYPE made."mo od" AS ENUM ('low', 'mid', 'high', '"q", ''');
CREATE DOMAIN made.small AS int CHECK (VALUE < 100);
CREATE DOMAIN made.word AS text COLLATE "C";
CREATE DOMAIN made.smalls AS int[] CHECK (cardinality(VALUE) < 5);
CREATE TYPE made.pair AS (x int, t text);
CREATE TYPE made.span AS RANGE (subtype = int);
SET search_path = local, made, public;
CREATE TABLE a AS SELECT i AS id, i % 3 AS k, (enum_range(NULL::"mo od"))[1 + i % 4] AS m, (i % 5)::small AS s, ('w' || i % 5)::word AS w,
	ARRAY[i % 3, i % 2]::smalls AS ss, ROW(i % 4, CASE WHEN i % 5 > 0 THEN '"a, ' || i % 2 END)::pair AS p, int4range(i % 4, i % 4 + 3) AS r,
	int4multirange(int4range(i % 3, 5)) AS mr, span(i % 3, 4) AS sp, ARRAY[(enum_range(NULL::"mo od"))[1 + i % 4]] AS ms FROM generate_series(1, 40) i;
CREATE TABLE b AS SELECT id + 100 AS id, k, m, s, w, ss, p, r, mr, sp, ms FROM a WHERE id > 10 AND id % 7 > 0;
CALL test.mirror('b');
CREATE TABLE columns AS SELECT unnest('{m,s,w,ss,p,r,mr,sp}'::text[]) AS c;
-- a user's type is not shipped, so the key beside it is what is asked for
SELECT c, test.same_rows(format('SELECT a.id, b.id, b.%1$s FROM a LEFT JOIN b ON b.%1$s = a.%1$s AND b.k = a.k', c)) FROM columns;
-- an extension's is
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{"mo od",word,small,smalls,pair,span}'::text[] LOOP
		EXECUTE format('ALTER EXTENSION citext ADD TYPE %I', t);
	END LOOP;
END $$;
ALTER SERVER guest OPTIONS (ADD extensions 'citext');
ALTER SERVER engine OPTIONS (ADD extensions 'citext');
SELECT c, test.same_rows(format('SELECT a.id, b.id, b.%1$s FROM a LEFT JOIN b ON b.%1$s = a.%1$s', c)) FROM columns;
SELECT c, test.same_rows(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.s = a.s AND b.%1$s = a.%1$s', c)) FROM columns;
SELECT test.same_rows('SELECT a.id, b.p, b.m, b.ms FROM a JOIN b ON b.s = a.s AND b.m > a.m');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.r && a.r AND b.sp @> a.s::int');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON (b.p).x = (a.p).x AND (b.p).t = (a.p).t');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.p = ROW(a.k, ''"a, '' || a.k)::made.pair');
SET client_min_messages = warning;
DROP EXTENSION citext CASCADE;
DROP SCHEMA made CASCADE;
