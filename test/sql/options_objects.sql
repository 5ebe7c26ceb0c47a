-- trap 40: which option belongs to which object, and what is refused.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SERVER s FOREIGN DATA WRAPPER shuttle OPTIONS (host 'h', port '1', fetch_size '7', batch_size '8', shuttle_batch_size '9');
CREATE USER MAPPING FOR PUBLIC SERVER s OPTIONS (user 'u', password 'p');
CREATE FOREIGN TABLE t (a int OPTIONS (column_name 'b', shuttle_remote_default 'on')) SERVER s
	OPTIONS (schema_name 'x', table_name 'y', fetch_size '7', shuttle_fetch_limit '9', shuttle_remote_default 'on');
\x on
-- on the wrong object; options of postgres_fdw: postgres_fdw_option_messages
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (shuttle_volatile 'on')$$);
SELECT * FROM test.raised($$ALTER USER MAPPING FOR PUBLIC SERVER s OPTIONS (shuttle_fetch_limit '1')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (shuttle_pooler 'on')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t ALTER a OPTIONS (shuttle_volatile 'on')$$);
-- unknown
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (shuttle_nosuch '1')$$);
SELECT * FROM test.raised($$ALTER USER MAPPING FOR PUBLIC SERVER s OPTIONS (shuttle_nosuch '1')$$);
-- of another name here, and contradictions
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (use_remote_estimate 'off')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (use_remote_estimate 'off')$$);
SELECT (test.raised($$ALTER SERVER s OPTIONS (use_remote_estimat 'off')$$)).hint NOT LIKE '%use_remote%' AS other_name;
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (async_capable 'on')$$);
SELECT * FROM test.raised($$ALTER SERVER s OPTIONS (SET async_capable 'off')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (shuttle_volatile 'on', shuttle_replicated_on 'z')$$);
SELECT * FROM test.raised($$ALTER FOREIGN TABLE t OPTIONS (shuttle_volatile 'off', shuttle_replicated_on 'z')$$);
\x off
-- a server of postgres_fdw does not take ours
CREATE SERVER p FOREIGN DATA WRAPPER postgres_fdw;
SELECT (test.raised($$ALTER SERVER p OPTIONS (shuttle_batch_size '1')$$)).state;
DROP SERVER s, p CASCADE;
