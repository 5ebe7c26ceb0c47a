-- postgres_fdw's functions know its own connections, and leave ours alone.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('theirs', 'postgres_fdw');
CALL test.loopback('ours');
CREATE TABLE here (id int);
CREATE FOREIGN TABLE their_table (id int) SERVER theirs OPTIONS (table_name 'here');
CREATE FOREIGN TABLE our_table (id int) SERVER ours OPTIONS (table_name 'here');
BEGIN;
INSERT INTO their_table VALUES (1);
INSERT INTO our_table VALUES (2);
SELECT c.server_name FROM postgres_fdw_get_connections() c;
SELECT postgres_fdw_disconnect('theirs');
SELECT postgres_fdw_disconnect('ours');
SELECT id FROM our_table ORDER BY id;
COMMIT;
SELECT postgres_fdw_disconnect_all();
SELECT id FROM our_table ORDER BY id;
DROP SERVER theirs, ours CASCADE;
DROP TABLE here;
