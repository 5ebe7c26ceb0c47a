-- trap 41: a server moves to our wrapper and back, with all that hangs on it.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE TABLE remote (id int PRIMARY KEY, v text);
INSERT INTO remote SELECT i, 'v' || i FROM generate_series(1, 20) i;
CALL test.loopback('far', 'postgres_fdw', $$, use_remote_estimate 'false', fetch_size '7'$$);
CREATE FOREIGN TABLE ft (id int, w text OPTIONS (column_name 'v')) SERVER far
	OPTIONS (table_name 'remote', use_remote_estimate 'true');
CREATE FOREIGN TABLE plain (id int) SERVER far OPTIONS (table_name 'remote');
CREATE VIEW over AS SELECT id, w FROM ft WHERE id <= 2;
PREPARE kept AS SELECT w FROM ft WHERE id = $1;
EXECUTE kept(3);

SELECT * FROM shuttle.adopt_server('far') ORDER BY object, changed DESC;
SELECT w.fdwname, s.srvoptions::text ~ 'shuttle_remote_estimate=false,fetch_size=7' AS renamed
FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE srvname = 'far';
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid IN ('ft'::regclass, 'plain'::regclass) ORDER BY 1;
SELECT pg_describe_object(refclassid, refobjid, refobjsubid) AS depends_on FROM pg_depend
WHERE classid = 'pg_foreign_server'::regclass AND objid = (SELECT oid FROM pg_foreign_server WHERE srvname = 'far');
-- all that was there works on
EXECUTE kept(3);
SELECT * FROM over ORDER BY id;
BEGIN;
UPDATE ft SET w = 'new' WHERE id = 1;
SELECT * FROM over ORDER BY id;
ROLLBACK;
SELECT count(*) FROM plain;
-- our options, which a release drops and lists
ALTER SERVER far OPTIONS (shuttle_batch_size '7', shuttle_pooler 'off');
ALTER FOREIGN TABLE ft OPTIONS (shuttle_fetch_limit '5', shuttle_volatile 'off');
ALTER FOREIGN TABLE ft ALTER w OPTIONS (shuttle_remote_default 'off');
ALTER FOREIGN TABLE plain OPTIONS (shuttle_fetch_limit '6');
SELECT * FROM shuttle.release_server('far') ORDER BY object, changed DESC, old_value;
SELECT w.fdwname, s.srvoptions::text ~ '[{,]shuttle_' AS ours, s.srvoptions::text ~ 'use_remote_estimate=false' AS renamed
FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw WHERE srvname = 'far';
SELECT ftrelid::regclass, ftoptions FROM pg_foreign_table WHERE ftrelid IN ('ft'::regclass, 'plain'::regclass) ORDER BY 1;
SELECT attname, attfdwoptions FROM pg_attribute WHERE attrelid = 'ft'::regclass AND attnum > 0 ORDER BY attnum;
SELECT pg_describe_object(refclassid, refobjid, refobjsubid) AS depends_on FROM pg_depend
WHERE classid = 'pg_foreign_server'::regclass AND objid = (SELECT oid FROM pg_foreign_server WHERE srvname = 'far');
EXECUTE kept(3);
BEGIN;
UPDATE ft SET w = 'new' WHERE id = 1;
SELECT * FROM over ORDER BY id;
ROLLBACK;
-- a server without tables, and back and forth
CALL test.loopback('empty', 'postgres_fdw');
SELECT * FROM shuttle.adopt_server('empty');
SELECT * FROM shuttle.release_server('empty');
SELECT count(*) FROM shuttle.adopt_server('far');
SELECT count(*) FROM over;
SELECT count(*) FROM shuttle.release_server('far');
SELECT count(*) FROM over;
DEALLOCATE kept;
DROP SERVER far, empty CASCADE;
DROP TABLE remote;
