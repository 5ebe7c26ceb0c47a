-- TRUNCATE of foreign tables, on the transaction's one connection (trap 16).
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
CREATE TABLE node.counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int);
CREATE TABLE node.child (id int REFERENCES node.counted);
INSERT INTO node.counted (v) VALUES (1), (2);
SELECT pair.tables('counted'), pair.tables('child') \g /dev/null
SELECT pair.same_write('SELECT count(*) FROM counted', 'TRUNCATE counted');
SELECT pair.same_write('SELECT count(*) FROM counted', 'TRUNCATE counted, child');
SELECT pair.same_write('SELECT count(*) FROM account', 'TRUNCATE account, branch');
SELECT pair.same_write('SELECT count(*) FROM counted', 'TRUNCATE counted CASCADE');

-- read, write and truncate in one transaction do not wait for each other
SET search_path = ours;
SET lock_timeout = '5s';
BEGIN;
SELECT count(*) FROM account;
UPDATE account SET balance = 0 WHERE id = 1;

SELECT id FROM account WHERE id < 3 ORDER BY id FOR UPDATE;
DECLARE c CURSOR FOR SELECT id FROM account ORDER BY id;
FETCH 1 FROM c;
CLOSE c;
TRUNCATE account;
SELECT count(*) FROM account;
ROLLBACK;
SELECT count(*) FROM account;
BEGIN;
TRUNCATE account;
INSERT INTO account (id) VALUES (5);
COMMIT;
SELECT id FROM account;

-- sequences
TRUNCATE child, counted RESTART IDENTITY;
INSERT INTO node.counted (v) VALUES (3) RETURNING id;

-- options
ALTER SERVER our_node OPTIONS (ADD truncatable 'false');
TRUNCATE account;
ALTER FOREIGN TABLE account OPTIONS (ADD truncatable 'true');
TRUNCATE account;
SELECT count(*) FROM account;
RESET search_path;
RESET lock_timeout;
