-- WHERE CURRENT OF is refused, also where there is no row to look at.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET search_path = ours, pair;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM account WHERE id = 1 FOR UPDATE;
FETCH FROM c;
SAVEPOINT s;
UPDATE account SET balance = 0 WHERE CURRENT OF c;
\echo :SQLSTATE
ROLLBACK TO s;
DELETE FROM account WHERE CURRENT OF c;
ROLLBACK TO s;
DELETE FROM branch;
DELETE FROM branch WHERE CURRENT OF c;
ROLLBACK;

-- a table here with a foreign child
CREATE TABLE pair.parent (id int, v int);
CREATE FOREIGN TABLE pair.child () INHERITS (pair.parent) SERVER our_node OPTIONS (schema_name 'node', table_name 'nowhere');
INSERT INTO pair.parent VALUES (1, 1);
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM ONLY pair.parent FOR UPDATE;
FETCH FROM c;
SAVEPOINT s;
UPDATE pair.parent SET v = 2 WHERE CURRENT OF c;
ROLLBACK TO s;
UPDATE ONLY pair.parent SET v = 2 WHERE CURRENT OF c;
COMMIT;
SELECT * FROM ONLY pair.parent;
