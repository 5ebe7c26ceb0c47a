-- Foreign tables are used as the user that the statement checks: the owner of
-- a view or of a function, else the current one.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS pair_guest;
RESET client_min_messages;
CREATE ROLE pair_guest;
GRANT USAGE ON SCHEMA ours, stock, pair TO pair_guest;
SELECT pair.both('CREATE VIEW %1$s.seen AS SELECT * FROM %1$s.account WHERE id < 10') \g /dev/null
SELECT pair.both('CREATE VIEW %1$s.joined AS SELECT a.id, b.city FROM %1$s.account a JOIN %1$s.branch b ON b.id = a.branch WHERE a.id < 10') \g /dev/null
GRANT ALL ON ALL TABLES IN SCHEMA ours, stock TO pair_guest;
CREATE FUNCTION pair.count_accounts() RETURNS bigint SECURITY DEFINER LANGUAGE sql AS 'SELECT count(*) FROM ours.account';
CREATE TABLE pair.parent (id int, owner text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE pair.child PARTITION OF pair.parent FOR VALUES FROM (0) TO (10) SERVER our_node OPTIONS (schema_name 'node', table_name 'account');
CREATE VIEW pair.through AS SELECT * FROM pair.parent;
GRANT ALL ON pair.through TO pair_guest;

SET ROLE pair_guest;
SELECT pair.same('SELECT * FROM seen ORDER BY id');
SELECT pair.same('SELECT * FROM joined ORDER BY id');
SELECT pair.same_write('SELECT * FROM seen ORDER BY id', 'UPDATE seen SET owner = ''x'' WHERE id = 3', 'UPDATE seen SET owner = ''y'' WHERE pair.here(id) = 4',
	'DELETE FROM seen WHERE id = 5', 'INSERT INTO seen (id) VALUES (-1)');
SELECT pair.count_accounts();
SELECT id FROM pair.through ORDER BY id LIMIT 2;
BEGIN;
DELETE FROM pair.through WHERE id = 3;
INSERT INTO pair.through VALUES (3, 'routed') RETURNING *;
ROLLBACK;

-- The guest has no user mapping: 42704, and nothing is left behind.
\set VERBOSITY sqlstate
SELECT count(*) FROM ours.account;
INSERT INTO ours.account (id) VALUES (1001);
COPY ours.account (id) FROM stdin;
1001
\.
TRUNCATE ours.account;
SELECT count(*) FROM ours.account a JOIN ours.seen s ON s.id = a.id;
\set VERBOSITY default
SELECT count(*) FROM ours.seen;
RESET ROLE;
DROP OWNED BY pair_guest;
DROP ROLE pair_guest;
