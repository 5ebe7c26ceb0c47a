-- Drops what earlier tests left in this database: which ones ran before depends on
-- their times.
\set was_quiet :QUIET
\set QUIET on
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public', 'shuttle', 'shuttle_indexes', 'shuttle_tablets')
\gexec
SELECT format('DROP FOREIGN TABLE %s CASCADE', ftrelid::regclass) FROM pg_foreign_table
\gexec
-- what is in public, but for what an extension has there
SELECT format('DROP %s IF EXISTS %s CASCADE',
	CASE type WHEN 'composite type' THEN 'type' WHEN 'statistics object' THEN 'statistics' ELSE type END, identity)
FROM pg_depend AS in_public, pg_identify_object(classid, objid, 0)
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'public'::regnamespace AND deptype = 'n' AND classid <> 'pg_extension'::regclass AND NOT EXISTS
	(SELECT FROM pg_depend AS of WHERE of.classid = in_public.classid AND of.objid = in_public.objid AND of.deptype = 'e')
\gexec
-- names of tablets tell how often there was a table of that name
SELECT 'DELETE FROM shuttle.tablet_names' WHERE to_regclass('shuttle.tablet_names') IS NOT NULL
\gexec
\set QUIET :was_quiet
