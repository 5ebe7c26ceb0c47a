-- Drops what earlier tests left in this database: which ones ran before depends on
-- their times.
\set was_quiet :QUIET
\set QUIET on
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public', 'shuttle', 'shuttle_indexes', 'shuttle_tablets')
\gexec
SELECT format('DROP FOREIGN TABLE %s CASCADE', ftrelid::regclass) FROM pg_foreign_table
\gexec
SELECT format('DROP TYPE %s CASCADE', t.oid::regtype) FROM pg_type AS t
WHERE typnamespace = 'public'::regnamespace AND typtype IN ('d', 'e', 'r') AND NOT EXISTS
	(SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass AND objid = t.oid AND deptype = 'e')
\gexec
-- names of tablets tell how often there was a table of that name
SELECT 'DELETE FROM shuttle.tablet_names' WHERE to_regclass('shuttle.tablet_names') IS NOT NULL
\gexec
\set QUIET :was_quiet
