-- Rows that keys on nodes refuse, NULL keys, and distribution behind other writes of a block.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
\set left 'SELECT server, result FROM shuttle.run_on_nodes($$SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = ''shop'' AND relkind = ''p''$$, ''{n1,n2}'')'
\set VERBOSITY default

-- a check that rows of before do not meet, and a unique index that is not valid
CREATE TABLE checked (id int);
INSERT INTO checked VALUES (1), (-1);
ALTER TABLE checked ADD CONSTRAINT positive CHECK (id > 0) NOT VALID;
SELECT shuttle.distribute_table('checked', 'id');
CREATE TABLE twice (id int, note text);
INSERT INTO twice VALUES (1, 'a'), (1, 'b');
CREATE UNIQUE INDEX CONCURRENTLY twice_id ON twice (id);
SELECT shuttle.distribute_table('twice', 'id');
:left;
SELECT count(*) FROM shuttle.tables;
SELECT (SELECT count(*) FROM checked), (SELECT count(*) FROM twice);
\set VERBOSITY terse

-- NULL is a key like others
CREATE TABLE nullable (id int UNIQUE, note text);
INSERT INTO nullable VALUES (NULL, 'a'), (NULL, 'b'), (1, 'c');
SELECT shuttle.distribute_table('nullable', 'id', tablets => 2);
INSERT INTO nullable VALUES (NULL, 'd');
SELECT * FROM nullable WHERE id IS NULL ORDER BY note;
INSERT INTO nullable VALUES (1, 'e');
UPDATE nullable SET id = 2 WHERE note = 'a';
SELECT shuttle.local_table('nullable');
SELECT * FROM nullable ORDER BY note;
SELECT * FROM shuttle.check();

-- behind writes: to the table, to others, to nodes; below a savepoint; with triggers that wait
CREATE TABLE t (id int PRIMARY KEY, note text);
INSERT INTO t VALUES (1, 'before');
BEGIN;
INSERT INTO t VALUES (2, 'in the block');
DELETE FROM t WHERE id = 1;
SELECT shuttle.distribute_table('t', 'id', tablets => 2);
UPDATE t SET note = 'later' RETURNING *;
COMMIT;
SELECT * FROM t;
SELECT shuttle.local_table('t');
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int REFERENCES parent, note text);
SELECT shuttle.distribute_tables('{parent.id, child.id}');
BEGIN;
INSERT INTO child SELECT 9, 'z' FROM parent;
INSERT INTO parent VALUES (9);
SAVEPOINT s;
SELECT shuttle.distribute_table('t', 'id', tablets => 2);
INSERT INTO t VALUES (3, 'x');
ROLLBACK TO s;
SELECT shuttle.distribute_table('t', 'none');
ROLLBACK TO s;
INSERT INTO t VALUES (4, 'y');
SELECT shuttle.distribute_table('t', 'id', tablets => 2);
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT * FROM parent;
CREATE TABLE late (id int PRIMARY KEY, other int REFERENCES late DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO late VALUES (1, 1);
SELECT shuttle.distribute_table('late', 'id');
ROLLBACK;
ALTER TABLE late DROP CONSTRAINT late_other_fkey;
ALTER TABLE late ADD FOREIGN KEY (id) REFERENCES late DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO late VALUES (1, 1);
SELECT shuttle.distribute_table('late', 'id');
ROLLBACK;
BEGIN READ ONLY;
SELECT shuttle.distribute_table('late', 'id');
ROLLBACK;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
:left;
