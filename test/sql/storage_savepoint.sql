-- trap 18: answers of an outer level survive savepoints, in memory and spilled.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CALL test.loopback('near');
CREATE TABLE remote_numbers AS SELECT i AS id, repeat('x', 20) || i AS name FROM generate_series(1, 5000) i;
CREATE TABLE remote_written (id int PRIMARY KEY);
CREATE FOREIGN TABLE numbers (id int, name text) SERVER near OPTIONS (table_name 'remote_numbers');
CREATE FOREIGN TABLE written (id int) SERVER near OPTIONS (table_name 'remote_written');

-- An answer that is half read gets out of the way, and what follows is right.
SET shuttle.fetch_limit = 50;
SET work_mem = '64kB';
BEGIN;
DECLARE c CURSOR FOR SELECT id, name FROM numbers;
MOVE 70 FROM c;
SAVEPOINT a;
INSERT INTO written VALUES (1);
INSERT INTO written VALUES (1);
ROLLBACK TO a;
FETCH 2 FROM c;
SAVEPOINT b;
INSERT INTO written VALUES (2);
FETCH 2 FROM c;
ROLLBACK TO b;
FETCH 2 FROM c;
MOVE 4900 FROM c;
FETCH ALL FROM c;
SELECT count(*) FROM written;
COMMIT;

-- A cursor declared outside is read first inside a savepoint that rolls back.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM numbers;
SAVEPOINT a;
FETCH 2 FROM c;
ROLLBACK TO a;
FETCH 2 FROM c;
SAVEPOINT a;
INSERT INTO written VALUES (3);
FETCH 2 FROM c;
RELEASE a;
FETCH 2 FROM c;
COMMIT;
SELECT * FROM written;

-- A cursor that was not read fails in a savepoint, and a write follows on its node.
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM numbers;
SAVEPOINT a;
FETCH BACKWARD 1 FROM c;
ROLLBACK TO a;
SAVEPOINT b;
UPDATE written SET id = id WHERE id = 3;
FETCH 1 FROM c;
ROLLBACK;

-- A loop over an answer, each of whose rows opens a savepoint on the node.
CREATE FUNCTION keep(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO written VALUES (i / 2);
	RETURN 'kept';
EXCEPTION WHEN unique_violation THEN
	RETURN 'refused';
END $$;
SELECT keep, count(*) FROM (SELECT keep(id) FROM numbers WHERE id BETWEEN 10 AND 309 OFFSET 0) x GROUP BY keep ORDER BY keep;
SELECT count(*), sum(id) FROM written;

-- The error of the node is the one that is seen inside and outside.
DO $$
BEGIN
	BEGIN
		INSERT INTO written VALUES (5);
	EXCEPTION WHEN unique_violation THEN
		RAISE NOTICE '%', SQLERRM;
	END;
	PERFORM count(*) FROM numbers;
	INSERT INTO written VALUES (5000);
END $$;
SELECT id FROM written WHERE id = 5000;

-- Nested ones, of which some are released and some rolled back.
BEGIN;
SAVEPOINT a;
INSERT INTO written VALUES (6001);
SAVEPOINT b;
INSERT INTO written VALUES (6002);
SAVEPOINT c;
INSERT INTO written VALUES (6003);
RELEASE b;
SAVEPOINT d;
INSERT INTO written VALUES (6004);
ROLLBACK TO d;
INSERT INTO written VALUES (6005);
COMMIT;
SELECT id FROM written WHERE id > 6000 ORDER BY id;
DROP SERVER near CASCADE;
DROP TABLE remote_numbers, remote_written;
DROP FUNCTION keep;
