-- Drops what earlier tests left in this database: which ones ran before depends on
-- their times.
\set was_quiet :QUIET
\set QUIET on
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public', 'shuttle')
\gexec
SELECT format('DROP FOREIGN TABLE %s CASCADE', ftrelid::regclass) FROM pg_foreign_table
\gexec
\set QUIET :was_quiet
