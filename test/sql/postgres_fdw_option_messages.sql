-- postgres_fdw's options, and unknown ones, are refused in its words.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SERVER theirs FOREIGN DATA WRAPPER postgres_fdw;
CREATE SERVER ours FOREIGN DATA WRAPPER shuttle;
CREATE USER MAPPING FOR CURRENT_USER SERVER theirs;
CREATE USER MAPPING FOR CURRENT_USER SERVER ours;
-- one message of both
SELECT object, option, count(DISTINCT (raised.state, raised.message, raised.detail, raised.hint)), min(raised.message) AS message
FROM (VALUES ('SERVER', 'password'), ('SERVER', 'nosuch'), ('SERVER', 'fetch_sise'),
	('USER MAPPING FOR CURRENT_USER SERVER', 'sslmode'), ('USER MAPPING FOR CURRENT_USER SERVER', 'nosuch'))
	AS o (object, option),
	unnest('{theirs,ours}'::text[]) server,
	test.raised(format('ALTER %s %s OPTIONS (ADD %I ''x'')', object, server, option)) AS raised
GROUP BY object, option
ORDER BY object, option;
SELECT count(DISTINCT (raised.state, raised.message, raised.detail, raised.hint))
FROM unnest('{postgres_fdw,shuttle}'::text[]) wrapper,
	test.raised(format('ALTER FOREIGN DATA WRAPPER %I OPTIONS (nosuch ''x'')', wrapper)) AS raised;
DROP SERVER theirs, ours CASCADE;
