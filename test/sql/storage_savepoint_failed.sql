-- traps 18 and 24: what is asked for in front of a write within a savepoint, for a cursor
-- from outside, outlives that savepoint, and what it finds is older than later writes.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CALL test.loopback('far');
CREATE TABLE remote_low (id int PRIMARY KEY, v int);
CREATE TABLE remote_high (id int PRIMARY KEY, v int CONSTRAINT small CHECK (v < 1000));
INSERT INTO remote_low SELECT i, i FROM generate_series(1, 3) i;
INSERT INTO remote_high SELECT i, i FROM generate_series(101, 103) i;
CREATE TABLE whole (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (100) SERVER near OPTIONS (table_name 'remote_low');
CREATE FOREIGN TABLE high PARTITION OF whole FOR VALUES FROM (100) TO (200) SERVER far OPTIONS (table_name 'remote_high');

-- a block catches an error, and another savepoint is opened
BEGIN;
UPDATE high SET v = 500 WHERE id = 103;
DECLARE c CURSOR FOR SELECT id, v FROM whole ORDER BY id;
FETCH 1 FROM c;
DO $$
BEGIN
	UPDATE high SET v = 1000;
EXCEPTION WHEN check_violation THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
SAVEPOINT a;
SELECT sum(v) FROM high;
UPDATE high SET v = 0;
FETCH ALL FROM c;
ROLLBACK;

-- a write follows at once
BEGIN;
UPDATE high SET v = 500 WHERE id = 103;
DECLARE c CURSOR FOR SELECT id, v FROM whole ORDER BY id;
FETCH 1 FROM c;
SAVEPOINT a;
UPDATE high SET v = 1;
ROLLBACK TO a;
RELEASE a;
UPDATE high SET v = 0;
FETCH ALL FROM c;
ROLLBACK;

-- the node is in the savepoint already, and its part of the cursor is asked for there
BEGIN;
UPDATE high SET v = 500 WHERE id = 103;
DECLARE c CURSOR FOR SELECT id, v FROM whole ORDER BY id;
FETCH 1 FROM c;
SAVEPOINT a;
SELECT sum(v) FROM high;
UPDATE high SET v = 1;
ROLLBACK TO a;
UPDATE high SET v = 0;
FETCH ALL FROM c;
ROLLBACK;

-- the cursor's savepoint is released, and the next one of its level rolled back
BEGIN;
SAVEPOINT a;
UPDATE high SET v = 500 WHERE id = 103;
DECLARE c CURSOR FOR SELECT id, v FROM whole ORDER BY id;
FETCH 1 FROM c;
RELEASE a;
SAVEPOINT b;
UPDATE high SET v = 1;
ROLLBACK TO b;
UPDATE high SET v = 0;
FETCH ALL FROM c;
ROLLBACK;
DROP TABLE whole, remote_low, remote_high CASCADE;
DROP SERVER near, far CASCADE;
