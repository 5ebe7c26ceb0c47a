-- Arguments that cannot be meant: each is a clear error, and nothing is left, here or on a node.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
CREATE FUNCTION bad(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE statement;
	RETURN format('%s: no error', statement);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN format(E'%s\n%s %s\n%s', statement, SQLSTATE,
		-- as 15 says it
		regexp_replace(SQLERRM, '^cannot open relation (".*")$', '\1 is an index'), left(hint, 100));
END$$;
\set left 'SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(''shop'')$$, ''{n1,n2}'')'
SET shuttle.tablets = 4;
\t on
\pset format unaligned
\set ECHO none

-- nodes
SELECT format('host %L, port %L', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')) AS here,
	split_part(current_setting('unix_socket_directories'), ',', 1) AS host, current_setting('port') AS port \gset
CREATE SERVER foreign_one FOREIGN DATA WRAPPER postgres_fdw;
CREATE SERVER unmapped FOREIGN DATA WRAPPER shuttle OPTIONS (dbname 'tablets_n3');
CREATE SERVER own FOREIGN DATA WRAPPER shuttle OPTIONS (dbname 'tablets_n3');
CREATE USER MAPPING FOR CURRENT_USER SERVER own;
CREATE SERVER twin FOREIGN DATA WRAPPER shuttle OPTIONS (:here, dbname 'tablets_n1');
CREATE USER MAPPING FOR PUBLIC SERVER twin OPTIONS (user :'USER');
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2', '{fast,NULL,"a,b"}');
SELECT replace(bad(s), :'host', 'HOST') FROM unnest(ARRAY[
	'SELECT shuttle.add_node(NULL, ''localhost'')',
	'SELECT shuttle.add_node(''x'', NULL)',
	'SELECT shuttle.add_node(''x'', ''localhost'', NULL)',
	'SELECT shuttle.add_node(''x'', ''localhost'', 0)',
	'SELECT shuttle.add_node(''x'', ''localhost'', 70000)',
	'SELECT shuttle.add_node(''x'', ''localhost'', 1)',
	'SELECT shuttle.add_node(''n1'', ''localhost'')',
	'SELECT shuttle.use_node(NULL)',
	'SELECT shuttle.use_node(''nowhere'')',
	'SELECT shuttle.use_node(''foreign_one'')',
	'SELECT shuttle.use_node(''unmapped'')',
	'SELECT shuttle.use_node(''own'')',
	'SELECT shuttle.use_node(''twin'')',
	'SELECT shuttle.remove_node(''nowhere'')',
	'SELECT shuttle.remove_node(''foreign_one'')',
	'SELECT shuttle.remove_node(''twin'')']) AS s;
SELECT regexp_replace(bad(format('SELECT shuttle.add_node(''x'', %L, %s, %L)', :'host', :'port', current_user)), '^[^\n]*\n', '');
SELECT srvname FROM pg_foreign_server WHERE srvname IN ('foreign_one', 'n1', 'n2', 'n3', 'own', 'twin', 'unmapped', 'x', 'nowhere') ORDER BY 1;

-- tables and columns
CREATE TABLE t (a int PRIMARY KEY, b text);
CREATE TABLE text_key (a text PRIMARY KEY);
CREATE TABLE big_key (a bigint PRIMARY KEY);
CREATE TABLE no_columns ();
CREATE TABLE dropped (a int, b int);
ALTER TABLE dropped DROP COLUMN a;
CREATE TABLE nullable (a int UNIQUE, b int);
CREATE TABLE partitioned (a int PRIMARY KEY) PARTITION BY HASH (a);
CREATE TABLE part PARTITION OF partitioned FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE FOREIGN TABLE far (a int) SERVER n1;
CREATE MATERIALIZED VIEW kept AS SELECT 1 AS a;
CREATE TYPE composite AS (a int);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN moods AS mood[];
CREATE TABLE keys (m money, p point, j json, x xml, e mood, es moods, c regclass, r composite, g int GENERATED ALWAYS AS (1) STORED,
	i int, u text UNIQUE);
CREATE TABLE object_names (a int, b regtype);
CREATE TABLE late_key (a int PRIMARY KEY DEFERRABLE);
SELECT shuttle.distribute_table('text_key', 'a');
SELECT bad(s) FROM unnest(ARRAY[
	'SELECT shuttle.distribute_table(NULL, ''a'')',
	'SELECT shuttle.distribute_table(''t'', NULL)',
	'SELECT shuttle.distribute_table(0, ''a'')',
	'SELECT shuttle.distribute_table(''nothing'', ''a'')',
	'SELECT shuttle.distribute_table(''t'', ''A'')',
	'SELECT shuttle.distribute_table(''t'', ''t.a'')',
	'SELECT shuttle.distribute_table(''t'', ''ctid'')',
	'SELECT shuttle.distribute_table(''t_pkey'', ''a'')',
	'SELECT shuttle.distribute_table(''text_key'', ''a'')',
	'SELECT shuttle.distribute_table(''shuttle_tablets.text_key_t0'', ''a'')',
	'SELECT shuttle.distribute_table(''pg_class'', ''oid'')',
	'SELECT shuttle.distribute_table(''shuttle.tables'', ''relation'')',
	'SELECT shuttle.distribute_table(''no_columns'', ''a'')',
	'SELECT shuttle.distribute_table(''dropped'', ''a'')',
	'SELECT shuttle.distribute_table(''dropped'', ''........pg.dropped.1........'')',
	'SELECT shuttle.distribute_table(''part'', ''a'')',
	'SELECT shuttle.distribute_table(''far'', ''a'')',
	'SELECT shuttle.distribute_table(''kept'', ''a'')',
	'SELECT shuttle.distribute_table(''keys'', ''m'')',
	'SELECT shuttle.distribute_table(''keys'', ''p'')',
	'SELECT shuttle.distribute_table(''keys'', ''j'')',
	'SELECT shuttle.distribute_table(''keys'', ''x'')',
	'SELECT shuttle.distribute_table(''keys'', ''e'')',
	'SELECT shuttle.distribute_table(''keys'', ''es'')',
	'SELECT shuttle.distribute_table(''keys'', ''c'')',
	'SELECT shuttle.distribute_table(''keys'', ''g'')',
	'SELECT shuttle.distribute_table(''object_names'', ''a'')',
	'SELECT shuttle.distribute_table(''keys'', ''i'')']) AS s;

-- numbers of tablets, nodes, groups
SELECT bad(s) FROM unnest(ARRAY[
	'SELECT shuttle.distribute_table(''t'', ''a'', tablets => 0)',
	'SELECT shuttle.distribute_table(''t'', ''a'', tablets => -1)',
	'SELECT shuttle.distribute_table(''t'', ''a'', tablets => 2147483647)',
	'SELECT shuttle.distribute_table(''t'', ''a'', nodes => ''{}'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', nodes => ''{NULL}'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', nodes => ''{n1,nowhere}'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', nodes => ''{foreign_one}'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', nodes => ''{n3}'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', colocate_with => ''t'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', colocate_with => ''pg_class'')',
	'SELECT shuttle.distribute_table(''t'', ''a'', colocate_with => ''text_key'')',
	'SELECT shuttle.distribute_tables(NULL)',
	'SELECT shuttle.distribute_tables(''{NULL}'')',
	'SELECT shuttle.distribute_tables(''{""}'')',
	'SELECT shuttle.distribute_tables(''{t}'')',
	'SELECT shuttle.distribute_tables(''{t..a}'')',
	'SELECT shuttle.distribute_tables(''{elsewhere.shop.t.a}'')',
	'SELECT shuttle.distribute_tables(''{t.a, nothing.a}'')',
	'SELECT shuttle.distribute_tables(''{t.a, t.a}'')',
	'SELECT shuttle.distribute_tables(''{t.a, big_key.a}'')',
	'SELECT shuttle.distribute_tables(''{t.a, text_key.a}'')',
	'SELECT shuttle.distribute_tables(''{t_pkey.a}'')',
	'SET shuttle.tablets = 0',
	'SET shuttle.tablets = 4097']) AS s;

-- reference tables, and back
SELECT bad(s) FROM unnest(ARRAY[
	'SELECT shuttle.reference_table(0)',
	'SELECT shuttle.reference_table(''no_columns'')',
	'SELECT shuttle.reference_table(''late_key'')',
	'SELECT shuttle.reference_table(''nullable'')',
	'SELECT shuttle.reference_table(''text_key'')',
	'SELECT shuttle.reference_table(''partitioned'')',
	'SELECT shuttle.reference_table(''part'')',
	'SELECT shuttle.reference_table(''far'')',
	'SELECT shuttle.reference_table(''kept'')',
	'SELECT shuttle.reference_table(''t_pkey'')',
	'SELECT shuttle.reference_table(''pg_am'')',
	'SELECT shuttle.reference_table(''shuttle.groups'')',
	'SELECT shuttle.local_table(0)',
	'SELECT shuttle.local_table(''t'')',
	'SELECT shuttle.local_table(''shuttle_tablets.text_key_t0'')',
	'SELECT shuttle.local_tables(''{NULL}'')',
	'SELECT shuttle.local_tables(''{text_key,t}'')']) AS s;
SELECT count(*) FROM shuttle.tables;
SELECT shuttle.local_table('text_key');

-- names in use on a node
SELECT server, ok FROM shuttle.run_on_nodes('CREATE TABLE shop.t_t1 (x int)', '{n2}');
SELECT bad('SELECT shuttle.distribute_table(''t'', ''a'')');
SELECT server, ok FROM shuttle.run_on_nodes('DROP TABLE shop.t_t1', '{n2}');
SELECT server, ok FROM shuttle.run_on_nodes('CREATE VIEW shop.t AS SELECT 1', '{n2}');
SELECT bad(s) FROM unnest(ARRAY['SELECT shuttle.distribute_table(''t'', ''a'')', 'SELECT shuttle.reference_table(''t'')']) AS s;
SELECT server, ok FROM shuttle.run_on_nodes('DROP VIEW shop.t', '{n2}');

-- transactions that only read
BEGIN READ ONLY;
SELECT bad(s) FROM unnest(ARRAY[
	'SELECT shuttle.distribute_table(''t'', ''a'')',
	'SELECT shuttle.reference_table(''t'')',
	'SELECT shuttle.use_node(''n3'')']) AS s;
ROLLBACK;

-- names of Citus
SELECT shuttle.install_citus_names('shop');
SELECT bad(s) FROM unnest(ARRAY[
	'SELECT create_distributed_table(''t'', ''a'', ''append'')',
	'SELECT create_distributed_table(''t'', NULL)',
	'SELECT create_distributed_table(''t'', ''nothing'')',
	'SELECT create_distributed_table(''t'', ''a'', colocate_with => ''nothing'')',
	'SELECT create_distributed_table(''t'', ''a'', shard_count => 0)',
	'SELECT create_reference_table(''nullable'')',
	'SELECT undistribute_table(''t'')',
	'SELECT citus_add_node(NULL, 5432)',
	'SELECT shuttle.install_citus_names(''shop'')',
	'SELECT shuttle.install_citus_names(''nowhere'')']) AS s;

-- nothing is left; odd names and a failed function do no harm
:left;
SELECT count(*) FROM shuttle.tables;
SELECT relname FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relname ~ '_(load|t\d)$';
CREATE FUNCTION distribute_and_fail() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM shuttle.distribute_table('t', 'a');
	INSERT INTO t VALUES (1, 'x');
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN
END$$;
SELECT distribute_and_fail();
:left;

-- nodes that refuse connections
ALTER SERVER n1 OPTIONS (SET host '127.0.0.1', SET port '1');
ALTER SERVER n2 OPTIONS (SET host '127.0.0.1', SET port '1');
SELECT shuttle.distribute_table('t', 'a', tablets => 4);
SELECT shuttle.distribute_table('t', 'a', tablets => 5);
ALTER SERVER n1 OPTIONS (SET host :'host', SET port :'port');
ALTER SERVER n2 OPTIONS (SET host :'host', SET port :'port');
CREATE TABLE "Ünï ""q"" .x" ("Kéy.1" int PRIMARY KEY, "sel""ect" text);
SELECT shuttle.distribute_tables(ARRAY['"Ünï ""q"" .x"."Kéy.1"']);
INSERT INTO "Ünï ""q"" .x" VALUES (1, 'a'), (2, 'b');
SELECT bad('INSERT INTO "Ünï ""q"" .x" VALUES (1, ''a'')');
SELECT * FROM "Ünï ""q"" .x" ORDER BY 1;
CREATE TABLE a12345678901234567890123456789012345678901234567890123456789012 (k12345678901234567890123456789012345678901234567890123456789012 int PRIMARY KEY);
CREATE TABLE a1234567890123456789012345678901234567890123456789012345678901 (k int PRIMARY KEY);
CREATE TABLE b1234567890123456789012345678901234567890123456789012345678901 (k int PRIMARY KEY);
CREATE TABLE b1234567890123456789012345678901234567890123456789012345678_load ();
SELECT shuttle.distribute_table('a12345678901234567890123456789012345678901234567890123456789012', 'k12345678901234567890123456789012345678901234567890123456789012', 12);
SELECT bad('SELECT shuttle.distribute_table(''a1234567890123456789012345678901234567890123456789012345678901'', ''k'', 12)');
SELECT shuttle.distribute_table('b1234567890123456789012345678901234567890123456789012345678901', 'k', 12);
INSERT INTO a12345678901234567890123456789012345678901234567890123456789012 SELECT generate_series(1, 20);
SELECT count(*) FROM a12345678901234567890123456789012345678901234567890123456789012;
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP SERVER foreign_one, unmapped, own, twin CASCADE;
RESET client_min_messages;
:left;
