-- trap 30: what goes to a server of postgres_fdw beside ours is told once, however it goes there.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SCHEMA there;
CREATE TABLE there.a (id int, v int);
CREATE TABLE there.b (id int, v int);
CALL test.loopback('ours');
CALL test.loopback('theirs', 'postgres_fdw');
CREATE FOREIGN TABLE a (id int, v int) SERVER ours OPTIONS (schema_name 'there');
CREATE FOREIGN TABLE b (id int, v int) SERVER theirs OPTIONS (schema_name 'there');
CREATE TABLE both_of (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF both_of FOR VALUES FROM (0) TO (100) SERVER ours OPTIONS (schema_name 'there', table_name 'a');
CREATE FOREIGN TABLE high PARTITION OF both_of FOR VALUES FROM (100) TO (200) SERVER theirs OPTIONS (schema_name 'there', table_name 'b');
-- nothing to tell
BEGIN;
INSERT INTO both_of VALUES (1, 1), (2, 2);
COMMIT;
BEGIN;
COPY b FROM STDIN;
1	1
\.
COMMIT;
-- by a COPY
\c -
SET client_min_messages = warning;
BEGIN;
INSERT INTO a VALUES (1, 1);
COPY b FROM STDIN;
1	1
\.
COMMIT;
BEGIN;
INSERT INTO a VALUES (1, 1);
COPY b FROM STDIN;
1	1
\.
COMMIT;
-- into a partition
\c -
BEGIN;
COPY both_of FROM STDIN;
1	1
101	1
\.
COMMIT;
\c -
SET client_min_messages = warning;
BEGIN;
INSERT INTO both_of VALUES (1, 1), (101, 2);
COMMIT;
SELECT (SELECT count(*) FROM there.a), (SELECT count(*) FROM there.b);
DROP SERVER ours, theirs CASCADE;
DROP TABLE both_of;
DROP SCHEMA there CASCADE;
