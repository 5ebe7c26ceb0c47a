-- trap 5: a type whose equality ignores case: its keys are told apart.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext SCHEMA public;
RESET client_min_messages;
CREATE TABLE a AS SELECT i AS id, ((ARRAY['Name', 'nAME', 'other', 'x', 'NAME'])[1 + i % 5])::citext AS t FROM generate_series(1, 20) i;
CREATE TABLE b AS SELECT i AS id, ((ARRAY['name', 'NAME', 'Other'])[1 + i % 3])::citext AS t FROM generate_series(1, 12) i;
CALL test.mirror('b');
-- an extension that the servers do not know: no condition is shipped
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.t = a.t');
ALTER SERVER guest OPTIONS (ADD extensions 'citext');
ALTER SERVER engine OPTIONS (ADD extensions 'citext');
SELECT test.same_rows('SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON b.t = a.t');
SELECT test.same_rows('SELECT a.id, a.t, s.* FROM a, LATERAL (SELECT a.t AS k, b.id FROM b WHERE b.t = a.t ORDER BY b.id LIMIT 1) s');
SELECT test.same_rows('SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.t = a.t)');
-- IS NOT DISTINCT FROM names no operator for the node: it is no key
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.t IS NOT DISTINCT FROM a.t');
DROP TABLE a;
DROP TABLE b;
