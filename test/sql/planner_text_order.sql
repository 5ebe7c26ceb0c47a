-- trap 14: text is sorted and compared for an order by a node only where it sorts
-- as this server does, which it is asked when a query could use that.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
\set ECHO none
SELECT current_setting('port') AS port, split_part(current_setting('unix_socket_directories'), ',', 1) AS host, current_database() AS here \gset
DROP DATABASE IF EXISTS text_other;
\set ECHO all
-- this database sorts by bytes, the other one by ICU's rules
CREATE DATABASE text_other TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'und';
\set tables 'CREATE TABLE words (id int, t text, c text COLLATE "C"); INSERT INTO words SELECT i, CASE WHEN i % 2 = 0 THEN upper(w) ELSE w END, w FROM (SELECT i, chr(96 + i % 26 + 1) || i AS w FROM generate_series(1, 60) i) x'
\set ECHO none
SET search_path = public;
SELECT format('CREATE SERVER alike FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost ''0.2'')', :'host', :'port', :'here') \gexec
SELECT format('CREATE SERVER other FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L, fdw_tuple_cost ''0.2'')', :'host', :'port', 'text_other') \gexec
SELECT format('CREATE SERVER nobody FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname %L)', :'host', :'port', 'no_such_database') \gexec
CREATE USER MAPPING FOR CURRENT_USER SERVER alike;
CREATE USER MAPPING FOR CURRENT_USER SERVER other;
CREATE USER MAPPING FOR CURRENT_USER SERVER nobody;
SET search_path = local, public;
\c text_other
\set ECHO all
:tables;
ANALYZE words;
\set ECHO none
\c :here
SET shuttle.enable_row_counts = off;
SET search_path = local, public;
SET client_min_messages = warning;
\set ECHO all
:tables;
CREATE FOREIGN TABLE alike (id int, t text, c text COLLATE "C") SERVER alike OPTIONS (schema_name 'local', table_name 'words');
CREATE FOREIGN TABLE other (id int, t text, c text COLLATE "C") SERVER other OPTIONS (schema_name 'public', table_name 'words');
CREATE FOREIGN TABLE nobody (id int, t text, c text COLLATE "C") SERVER nobody OPTIONS (schema_name 'public', table_name 'words');
CREATE TABLE parts (id int, t text, c text COLLATE "C") PARTITION BY LIST (id);
CREATE FOREIGN TABLE part_alike PARTITION OF parts FOR VALUES IN (1) SERVER alike OPTIONS (schema_name 'local', table_name 'ones');
CREATE FOREIGN TABLE part_other PARTITION OF parts FOR VALUES IN (2) SERVER other OPTIONS (schema_name 'public', table_name 'twos');
CREATE VIEW ones AS SELECT 1 AS id, t, c FROM words WHERE id % 2 = 1 OR id > 30;
ANALYZE words;
-- what a plan leaves to the node: its SELECT, and whether anything is sorted here
CREATE FUNCTION test.shipped(query text) RETURNS TABLE (sorts_here bool, shipped text) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT plan::text LIKE '%"Sort"%' OR plan::text LIKE '%"Aggregate"%', sql #>> '{}' FROM jsonb_path_query(plan, 'strict $.**."Remote SQL"') AS sql;
END $$;
SELECT name, s.* FROM unnest('{alike,other,nobody}'::text[]) AS name, test.shipped(format('SELECT id FROM %s ORDER BY t', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other,nobody}'::text[]) AS name, test.shipped(format('SELECT id FROM %s ORDER BY c', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT id FROM %s ORDER BY t LIMIT 3', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT id FROM %s ORDER BY id, t', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT a.id FROM %1$s a JOIN %1$s b USING (id) ORDER BY a.t', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT min(t) FROM %s', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT id, max(t) FROM %s GROUP BY id', name)) AS s;
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT string_agg(t, '','' ORDER BY t) FROM %s', name)) AS s;
-- equal texts are equal everywhere
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT t, count(*) FROM %s WHERE t <> ''x'' GROUP BY t', name)) AS s;
-- the rows, in their order
SELECT array_agg(t) AS first FROM (SELECT t FROM words ORDER BY t LIMIT 5) x;
SELECT array_agg(t) AS first FROM (SELECT t FROM other ORDER BY t LIMIT 5) x;
SELECT min(t), max(t) FROM words;
SELECT min(t), max(t) FROM other;
SELECT (SELECT array_agg(t) FROM (SELECT t FROM words ORDER BY t) x) = (SELECT array_agg(t) FROM (SELECT t FROM other ORDER BY t) x) AS same_order;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM words JOIN other USING (t);
SELECT count(*) FROM alike JOIN other USING (t);
RESET enable_hashjoin;
RESET enable_nestloop;
-- partitions on several nodes are merged
\c text_other
CREATE VIEW twos AS SELECT 2 AS id, t, c FROM words WHERE id % 2 = 0 AND id <= 30;
\set ECHO none
\c :here
SET shuttle.enable_row_counts = off;
SET search_path = local, public;
\set ECHO all
SELECT (SELECT array_agg(t) FROM (SELECT t FROM words ORDER BY t) x) = (SELECT array_agg(t) FROM (SELECT t FROM parts ORDER BY t) x) AS same_order;
SELECT array_agg(t) AS first FROM (SELECT t FROM parts ORDER BY t LIMIT 4) x;
SELECT * FROM test.shipped('SELECT t FROM parts ORDER BY t');
SELECT min(t), max(t), count(*) FROM parts;
-- so are their first groups; the node that sorts otherwise has its own sorted here
SELECT * FROM test.shipped('SELECT id, t FROM parts GROUP BY t, id ORDER BY t DESC, id LIMIT 1');
SELECT * FROM test.shipped('SELECT id, c, t, max(c) FROM parts GROUP BY id, c, t ORDER BY max(c), id LIMIT 4');
SELECT array_agg(t) AS first FROM (SELECT id, t FROM parts GROUP BY t, id ORDER BY t, id LIMIT 4) x;
-- estimates by the node make no difference
ALTER FOREIGN TABLE other OPTIONS (ADD shuttle_remote_estimate 'true');
SELECT name, s.* FROM unnest('{alike,other}'::text[]) AS name, test.shipped(format('SELECT id FROM %s ORDER BY t', name)) AS s;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM words JOIN other USING (t);
-- a server that leads elsewhere now is asked again
ALTER FOREIGN TABLE other OPTIONS (SET schema_name 'local', DROP shuttle_remote_estimate);
\set ECHO none
SELECT format('ALTER SERVER other OPTIONS (SET dbname %L)', current_database()) \gexec
\set ECHO all
SELECT * FROM test.shipped('SELECT id FROM other ORDER BY t');
SET client_min_messages = warning;
-- a collation by name
CREATE FOREIGN TABLE named (id int, t text COLLATE "und-x-icu") SERVER alike OPTIONS (schema_name 'local', table_name 'words');
SELECT * FROM test.shipped('SELECT id FROM named ORDER BY t');
-- who has no user mapping may plan: only what is executed needs one
CREATE ROLE text_nobody;
GRANT SELECT ON alike TO text_nobody;
GRANT USAGE ON SCHEMA test, local TO text_nobody;
SET ROLE text_nobody;
SELECT * FROM test.shipped('SELECT id FROM alike ORDER BY t');
SELECT t FROM alike WHERE false ORDER BY t;
RESET ROLE;
-- and that says nothing about others
SELECT * FROM test.shipped('SELECT id FROM alike ORDER BY t');
-- texts within other types are sorted by some collation, too
\set columns 'id int, j jsonb, d jsonb[], l text[], c text[] COLLATE "C", i int[]'
CREATE FOREIGN TABLE within_alike (:columns) SERVER alike;
\set ECHO none
SELECT format('ALTER SERVER other OPTIONS (SET dbname %L)', 'text_other') \gexec
\set ECHO all
CREATE FOREIGN TABLE within_other (:columns) SERVER other;
SELECT c AS column, alike.sorts_here AS alike, other.sorts_here AS other FROM unnest('{j,d,l,c,i}'::text[]) c,
	test.shipped(format('SELECT id FROM within_alike ORDER BY %s', c)) alike,
	test.shipped(format('SELECT id FROM within_other ORDER BY %s', c)) other;
SELECT * FROM test.shipped('SELECT max(l) FROM within_other');
SELECT * FROM test.shipped('SELECT jsonb_agg(id ORDER BY j) FROM within_other');
-- branches of other collations are sorted by that of all, which may be none
CREATE FOREIGN TABLE collated (id int, c text COLLATE "POSIX", d text) SERVER other OPTIONS (schema_name 'public', table_name 'collated');
\c text_other
CREATE TABLE collated (id int, c text COLLATE "POSIX", d text);
INSERT INTO collated VALUES (1, 'a', 'a'), (2, 'B', 'B'), (3, 'b', 'b');
ANALYZE collated;
\set ECHO none
\c :here
SET search_path = local, public;
\set ECHO all
SET enable_sort = off;
SELECT * FROM test.shipped('SELECT c FROM alike UNION ALL SELECT d FROM collated ORDER BY 1');
SELECT array_agg(c) FROM (SELECT c FROM alike WHERE id < 3 UNION ALL SELECT d FROM collated ORDER BY 1) q;
SELECT array_agg(c ORDER BY r) FROM (SELECT c, row_number() OVER (ORDER BY c) r FROM (SELECT c FROM alike WHERE id < 3 UNION ALL SELECT d FROM collated) u) q WHERE r < 4;
SELECT c FROM alike UNION ALL SELECT c FROM collated ORDER BY 1;
RESET enable_sort;
DROP DATABASE text_other WITH (FORCE);
DROP OWNED BY text_nobody;
DROP ROLE text_nobody;
DROP SERVER alike CASCADE;
DROP SERVER other CASCADE;
DROP SERVER nobody CASCADE;
