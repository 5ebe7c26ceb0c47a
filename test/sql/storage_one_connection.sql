-- trap 16: all that a transaction does on a node, it does on one connection.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
-- Connections that this session has made, by wrapper.
CREATE FUNCTION pair.connections() RETURNS TABLE (session bigint, postgres_fdw bigint) LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM pg_stat_activity other, pg_stat_activity mine
			WHERE mine.pid = pg_backend_pid() AND other.pid <> mine.pid AND other.backend_type = 'client backend'
			AND other.datname = current_database() AND other.backend_start >= mine.backend_start),
		(SELECT count(*) FROM public.postgres_fdw_get_connections() AS c)
$$;
SET search_path = ours;
SET lock_timeout = '10s';
SET max_parallel_workers_per_gather = 0;
CREATE SCHEMA pair_import;
BEGIN;
SELECT count(*) FROM account;
SELECT id FROM account WHERE id = 1 FOR UPDATE;
UPDATE account SET balance = 0 WHERE id = 1;
UPDATE account SET balance = 1 WHERE pair.here(id) = 1;
INSERT INTO account (id) VALUES (1001);
COPY account (id) FROM stdin;
1002
\.
DELETE FROM account WHERE id = 1001;
SELECT * FROM pair.connections();
ANALYZE account;
IMPORT FOREIGN SCHEMA node LIMIT TO (branch) FROM SERVER our_node INTO pair_import;
SELECT count(*) FROM pair_import.branch b JOIN account a ON a.id = b.id;
TRUNCATE account;
SELECT count(*) FROM account;
SAVEPOINT s;
INSERT INTO account (id) VALUES (1);
ROLLBACK TO s;
SELECT count(*) FROM account;
SELECT * FROM pair.connections();
ROLLBACK;
SELECT count(*) FROM account;
ALTER SERVER our_node OPTIONS (ADD async_capable 'true');
EXPLAIN (COSTS OFF) SELECT id FROM account UNION ALL SELECT id FROM branch;
SELECT count(*) FROM (SELECT id FROM account UNION ALL SELECT id FROM branch) u;
ALTER SERVER our_node OPTIONS (ADD use_remote_estimate 'true');
RESET search_path;
DROP SCHEMA pair_import CASCADE;
