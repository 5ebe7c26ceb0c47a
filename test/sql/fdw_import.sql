-- IMPORT FOREIGN SCHEMA makes the tables that postgres_fdw makes.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE SCHEMA "node's \schema";
CREATE TYPE "node's \schema".mood AS ENUM ('good', 'bad');
CREATE TABLE "node's \schema".plain (id int NOT NULL, "odd ""name""" varchar(7) COLLATE "C" DEFAULT 'x''y' NOT NULL, m numeric(5, 2)[], e "node's \schema".mood);
CREATE TABLE "node's \schema".made (a int DEFAULT 1 + 2, b int GENERATED ALWAYS AS (a * 2) STORED, i int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE "node's \schema"."no columns" ();
CREATE TABLE "node's \schema".parent (id int) PARTITION BY LIST (id);
CREATE TABLE "node's \schema".part PARTITION OF "node's \schema".parent DEFAULT;
CREATE VIEW "node's \schema".seen AS SELECT id, 'v' || id AS v FROM "node's \schema".parent;
CREATE MATERIALIZED VIEW "node's \schema".kept AS SELECT 1 AS one;
CREATE SEQUENCE "node's \schema".not_a_table;

-- What an import made, of both sides.
CREATE FUNCTION pair.made(side text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s %s %s %s %s %s %s %s', c.relname, array(SELECT o FROM unnest(ft.ftoptions) o ORDER BY o), a.attname,
		format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), a.attfdwoptions,
		(SELECT collname FROM pg_collation WHERE oid = a.attcollation))
	FROM pg_class c JOIN pg_foreign_table ft ON ft.ftrelid = c.oid
	LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
	LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relnamespace = side::regnamespace ORDER BY c.relname, a.attnum
$$;
CREATE FUNCTION pair.same_import(what text, options text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	made text[];
BEGIN
	DROP SCHEMA IF EXISTS import_stock, import_ours CASCADE;
	CREATE SCHEMA import_stock;
	CREATE SCHEMA import_ours;
	EXECUTE format('IMPORT FOREIGN SCHEMA %s FROM SERVER stock_node INTO import_stock %s', what, options);
	EXECUTE format('IMPORT FOREIGN SCHEMA %s FROM SERVER our_node INTO import_ours %s', what, options);
	made := array(SELECT pair.made('import_ours'));
	RETURN CASE WHEN made = array(SELECT pair.made('import_stock')) THEN 'same: columns ' || cardinality(made)
		ELSE 'DIFFERENT: ' || made::text || ' and ' || array(SELECT pair.made('import_stock'))::text END;
END $$;
SET client_min_messages = warning;
SELECT pair.same_import('"node''s \schema"');
SELECT line FROM pair.made('import_ours') line;
SELECT pair.same_import('"node''s \schema"', 'OPTIONS (import_default ''true'', import_collate ''false'', import_not_null ''false'')');
SELECT line FROM pair.made('import_ours') line;
SELECT pair.same_import('"node''s \schema"', 'OPTIONS (import_generated ''false'')');
SELECT pair.same_import('"node''s \schema" LIMIT TO (part, seen, "none such")');
SELECT pair.same_import('"node''s \schema" EXCEPT (part, seen, plain)');
SELECT * FROM import_ours."no columns";
IMPORT FOREIGN SCHEMA "none" FROM SERVER our_node INTO import_ours;
IMPORT FOREIGN SCHEMA node FROM SERVER our_node INTO import_ours OPTIONS (import_everything 'true');
DROP SCHEMA import_stock, import_ours, "node's \schema" CASCADE;
RESET client_min_messages;
