-- An error of a node has its message, detail and SQLSTATE, and names the node.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
ALTER TABLE node.account ADD CHECK (balance > 0);
SELECT * FROM stock.account WHERE 1 / (id - 1) > 0;
SELECT * FROM ours.account WHERE 1 / (id - 1) > 0;
INSERT INTO stock.account (id, branch) VALUES (1, 2);
INSERT INTO ours.account (id, branch) VALUES (1, 2);
UPDATE stock.account SET balance = -1 WHERE id = 1;
UPDATE ours.account SET balance = -1 WHERE id = 1;
