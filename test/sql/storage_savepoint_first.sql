-- A transaction that begins on a node within savepoints has none of these there: it is rolled
-- back as a whole with them. Each savepoint in which a node has written has a transaction id.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CREATE TABLE remote_written (id int PRIMARY KEY);
CREATE VIEW remote_xids AS
SELECT count(*)::int AS n FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'transactionid';
CREATE FOREIGN TABLE written (id int) SERVER near OPTIONS (table_name 'remote_written');
CREATE FOREIGN TABLE xids (n int) SERVER near OPTIONS (table_name 'remote_xids');

-- An error, then work in the savepoints around it.
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO written VALUES (1);
SELECT n AS one FROM xids;
INSERT INTO written VALUES (1);
ROLLBACK TO b;
INSERT INTO written VALUES (2);
RELEASE b;
SAVEPOINT c;
INSERT INTO written VALUES (3);
SELECT n AS two FROM xids;
INSERT INTO written VALUES (2);
ROLLBACK TO c;
INSERT INTO written VALUES (4);
RELEASE c;
SELECT array_agg(id ORDER BY id) FROM written;
ROLLBACK TO a;
SELECT count(*) FROM written;
INSERT INTO written VALUES (5);
SELECT n AS one FROM xids;
RELEASE a;
SAVEPOINT d;
INSERT INTO written VALUES (6);
ROLLBACK TO d;
SAVEPOINT e;
INSERT INTO written VALUES (7);
COMMIT;
SELECT array_agg(id ORDER BY id) FROM written;

-- A block with EXCEPTION, behind a read that began the node's transaction.
CREATE FUNCTION put(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO written VALUES (i);
	RETURN (SELECT n FROM xids);
EXCEPTION WHEN unique_violation THEN
	RETURN -i;
END $$;
SELECT put(7), put(8), put(7), put(9);
BEGIN;
SELECT put(8);
SELECT put(10);
SELECT put(11);
COMMIT;
SELECT array_agg(id ORDER BY id) FROM written;

-- In REPEATABLE READ the node's transaction keeps its snapshot, so it has all savepoints.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT a;
INSERT INTO written VALUES (12);
SELECT n AS two FROM xids;
ROLLBACK TO a;
INSERT INTO written VALUES (13);
COMMIT;
SELECT array_agg(id ORDER BY id) FROM written WHERE id > 11;
DROP FUNCTION put;
DROP SERVER near CASCADE;
DROP VIEW remote_xids;
DROP TABLE remote_written;
