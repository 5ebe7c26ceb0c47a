-- Options are refused with the same SQLSTATE, and told where they belong.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SERVER theirs FOREIGN DATA WRAPPER postgres_fdw;
CREATE SERVER ours FOREIGN DATA WRAPPER shuttle;
CREATE USER MAPPING FOR CURRENT_USER SERVER theirs;
CREATE USER MAPPING FOR CURRENT_USER SERVER ours;
SELECT object, server, raised.state, raised.message, raised.hint IS NOT NULL AS has_hint
FROM (VALUES ('SERVER', 'password'), ('SERVER', 'nosuch'), ('USER MAPPING FOR CURRENT_USER SERVER', 'sslmode'))
	AS o (object, option),
	unnest('{theirs,ours}'::text[]) server,
	test.raised(format('ALTER %s %s OPTIONS (ADD %I ''x'')', object, server, option)) AS raised
ORDER BY object, option, server DESC;
DROP SERVER theirs, ours CASCADE;
