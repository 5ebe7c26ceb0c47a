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
-- a partition on a server that does not know the extension is asked for no key
CREATE TABLE p (id int, t citext) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (7);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (7) TO (13);
INSERT INTO p SELECT * FROM b;
CALL test.mirror_partitions('p');
SELECT test.same_rows('SELECT a.id, p.id, p.t FROM a JOIN p ON p.t = a.t');
DO $$
BEGIN
	EXECUTE (SELECT format('CREATE SERVER unaware FOREIGN DATA WRAPPER shuttle OPTIONS (%s)',
			string_agg(format('%I %L', option_name, option_value), ', '))
		FROM pg_foreign_server, pg_options_to_table(srvoptions)
		WHERE srvname = 'engine' AND option_name <> 'extensions');
	CREATE USER MAPPING FOR CURRENT_USER SERVER unaware;
END $$;
DROP FOREIGN TABLE engine.p2;
CREATE FOREIGN TABLE engine.p2 PARTITION OF engine.p FOR VALUES FROM (7) TO (13) SERVER unaware OPTIONS (schema_name 'local');
SELECT test.same_rows('SELECT a.id, p.id, p.t FROM a JOIN p ON p.t = a.t');
ALTER SERVER unaware OPTIONS (ADD extensions 'citext');
SELECT test.same_rows('SELECT a.id, p.id, p.t FROM a JOIN p ON p.t = a.t');
DROP TABLE a;
DROP TABLE b;
DROP TABLE p;
