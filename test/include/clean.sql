\set ECHO none
-- Drops what earlier tests in this database left, for tests that look at all tables.
\set QUIET on
SET client_min_messages = warning;
SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public', 'shuttle')
\gexec
SELECT format('DROP FOREIGN TABLE %s CASCADE', ftrelid::regclass) FROM pg_foreign_table
\gexec
RESET client_min_messages;
\set QUIET off
\set ECHO all
