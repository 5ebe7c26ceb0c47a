-- Values of our options: ranges are those of the settings, units, booleans.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SERVER s FOREIGN DATA WRAPPER shuttle;
CREATE FOREIGN TABLE t (a int) SERVER s;
-- both ends of each range, from the setting of the same name, and one beyond
SELECT o.name, o.value, (test.raised(format('ALTER SERVER s OPTIONS (ADD %s %L)', o.option, o.value))).state
FROM pg_settings g,
	LATERAL (SELECT replace(g.name, 'shuttle.', 'shuttle_') AS option) n,
	LATERAL (VALUES (1, 'below', g.min_val::bigint - 1), (2, 'lowest', g.min_val::bigint)) v(nr, name, value),
	LATERAL (SELECT n.option, n.option || ' ' || v.name AS name, v.value) o
WHERE g.name IN ('shuttle.batch_size', 'shuttle.request_limit', 'shuttle.fetch_limit',
	'shuttle.fetch_size_limit', 'shuttle.fetch_ahead', 'shuttle.batches_in_flight')
ORDER BY g.name, v.nr;
SELECT option, (test.raised(format('ALTER SERVER s OPTIONS (SET %s %L)', option, max_val))).state AS highest,
	(test.raised(format('ALTER SERVER s OPTIONS (SET %s %L)', option, max_val::bigint + 1))).state AS above
FROM pg_settings g, LATERAL (SELECT replace(g.name, 'shuttle.', 'shuttle_') AS option) n
WHERE g.name IN ('shuttle.batch_size', 'shuttle.request_limit', 'shuttle.fetch_limit',
	'shuttle.fetch_size_limit', 'shuttle.fetch_ahead', 'shuttle.batches_in_flight')
ORDER BY g.name;
\x on
-- units
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_fetch_ahead '2MB')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_fetch_ahead '2 parsec')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_batch_size '2kB')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_batch_size '0')$$);
-- costs
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (shuttle_round_trip_cost '12.5')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_round_trip_cost '-1')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_round_trip_cost 'NaN')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_round_trip_cost 'cheap')$$);
-- booleans
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (shuttle_pooler 'transaction', shuttle_two_phase 'off', shuttle_remote_estimate 'true')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET shuttle_pooler 'perhaps')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (shuttle_volatile '2')$$);
-- names
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (shuttle_replicated_on 'a, "B c"')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (SET shuttle_replicated_on 'a,,b')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (SET shuttle_replicated_on '')$$);
-- values of postgres_fdw's options are checked by postgres_fdw
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (fetch_size '0')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (fdw_startup_cost 'x')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (updatable 'x')$$);
\x off
SELECT srvoptions FROM pg_foreign_server WHERE srvname = 's';
SELECT ftoptions FROM pg_foreign_table WHERE ftrelid = 't'::regclass;
DROP SERVER s CASCADE;
