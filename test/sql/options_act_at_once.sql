-- Options that are kept act as soon as they are changed, or changed back.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id FROM generate_series(1, 100) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS x FROM generate_series(1, 100) i;
CALL test.mirror('b');
SET shuttle.debug_force_batched_join = on;
CREATE FUNCTION test.batches() RETURNS TABLE (transport text, largest int) LANGUAGE sql AS $$
	SELECT transport, (look ->> 'Largest Batch')::int FROM test.looks('SELECT a.id, b.x FROM a JOIN b ON b.id = a.id')
$$;
SELECT * FROM test.batches();
SELECT srvname AS ours FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
WHERE fdwname = 'shuttle' ORDER BY srvname LIMIT 1 \gset
ALTER SERVER :ours OPTIONS (ADD shuttle_batch_size '10');
SELECT * FROM test.batches();
BEGIN;
ALTER SERVER :ours OPTIONS (SET shuttle_batch_size '20');
SELECT * FROM test.batches();
ROLLBACK;
SELECT * FROM test.batches();
ALTER SERVER :ours OPTIONS (DROP shuttle_batch_size);
SELECT * FROM test.batches();
