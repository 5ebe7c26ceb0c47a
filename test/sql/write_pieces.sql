-- A statement that is several requests to a node: its constraints are checked behind each,
-- and what the first ones trigger meets the rows of the later ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS node CASCADE;
RESET client_min_messages;
CREATE SCHEMA node;
CALL test.loopback('one');
CREATE TABLE node.tree (id int PRIMARY KEY, up int REFERENCES node.tree ON DELETE CASCADE);
CREATE TABLE node.plain (id int PRIMARY KEY, up int REFERENCES node.plain, k int UNIQUE DEFERRABLE);
CREATE FOREIGN TABLE tree (id int, up int) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE plain (id int, up int, k int) SERVER one OPTIONS (schema_name 'node');

-- in one request they are as in one statement
INSERT INTO tree SELECT i, nullif(i - 1, 0) FROM generate_series(1, 400) i;
INSERT INTO plain SELECT i, nullif(i - 1, 0), i FROM generate_series(1, 400) i;
BEGIN;
INSERT INTO plain SELECT i, i + 1 FROM generate_series(1001, 1200) i UNION ALL SELECT 1201, NULL;
UPDATE plain SET k = k + 1 WHERE random() < 2;
DELETE FROM tree WHERE random() < 2;
DELETE FROM plain WHERE random() < 2;
ROLLBACK;
SET shuttle.write_buffer_size = '1kB';
SELECT state, message FROM test.raised('INSERT INTO plain SELECT i, i + 1 FROM generate_series(1001, 1200) i UNION ALL SELECT 1201, NULL');
SELECT state, message FROM test.raised('UPDATE plain SET k = k + 1 WHERE random() < 2');
SELECT state, message FROM test.raised('DELETE FROM plain WHERE random() < 2');
SELECT state, message, hint FROM test.raised('DELETE FROM tree WHERE random() < 2');
SELECT state, message FROM test.raised('DELETE FROM tree WHERE random() < 2 RETURNING id');
RESET shuttle.write_buffer_size;
SELECT count(*), sum(id), count(up) FROM tree;
SELECT count(*), sum(id), count(up), sum(k) FROM plain;
-- nodes can do it by themselves
DELETE FROM tree WHERE id > 0;
DELETE FROM plain;

-- parts of WITH are requests of their own, too
CREATE TABLE node.parent (id int PRIMARY KEY);
CREATE TABLE node.child (id int, parent int REFERENCES node.parent, later int REFERENCES node.parent DEFERRABLE INITIALLY DEFERRED);
CREATE FOREIGN TABLE parent (id int) SERVER one OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE child (id int, parent int, later int) SERVER one OPTIONS (schema_name 'node');
WITH p AS (INSERT INTO parent VALUES (1) RETURNING id) INSERT INTO child SELECT 1, id FROM p;
WITH c AS (INSERT INTO child VALUES (2, 2) RETURNING parent) INSERT INTO parent SELECT parent FROM c;
WITH c AS (INSERT INTO child (id, later) VALUES (3, 3) RETURNING later) INSERT INTO parent SELECT later FROM c;
SELECT * FROM child ORDER BY id;
SET client_min_messages = warning;
DROP SERVER one CASCADE;
DROP SCHEMA node CASCADE;
