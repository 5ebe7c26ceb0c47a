-- Foreign keys that the query node checks, as on one server: types of both sides, savepoints,
-- rows that refer to themselves, inheritance, many keys.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SET shuttle.tablets = 4;

-- SET CONSTRAINTS in a savepoint checks the keys from before it, and they stay noted
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, p int);
SELECT FROM shuttle.distribute_table('parent', 'id');
SELECT FROM shuttle.distribute_table('child', 'id');
ALTER TABLE child ADD CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent DEFERRABLE INITIALLY DEFERRED;
BEGIN;
INSERT INTO child VALUES (1, 1);
SAVEPOINT a;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO a;
SAVEPOINT b;
INSERT INTO parent VALUES (1);
SET CONSTRAINTS to_parent IMMEDIATE;
ROLLBACK TO b;
COMMIT;
BEGIN;
INSERT INTO parent VALUES (2);
INSERT INTO child VALUES (2, 2);
COMMIT;
BEGIN;
DELETE FROM parent WHERE id = 2;
SAVEPOINT a;
SET CONSTRAINTS to_parent IMMEDIATE;
ROLLBACK TO a;
DELETE FROM child WHERE id = 2;
SAVEPOINT b;
SET CONSTRAINTS to_parent IMMEDIATE;
RELEASE b;
COMMIT;
SELECT (SELECT count(*) FROM parent) AS parents, (SELECT count(*) FROM child) AS children;

-- keys whose parents come later, more than are held before they are looked up
SET statement_timeout = '60s';
BEGIN;
INSERT INTO child SELECT i, i FROM generate_series(1, 51000) AS i;
INSERT INTO parent SELECT i FROM generate_series(1, 51000) AS i;
COMMIT;
RESET statement_timeout;
SELECT count(*) FROM child;

-- types that are compared as one of the two, or as a third one
CREATE TABLE of_char (id char(5) PRIMARY KEY);
CREATE TABLE of_text (id text PRIMARY KEY);
CREATE TABLE of_numeric (id numeric PRIMARY KEY);
CREATE TABLE typed (id int PRIMARY KEY, c1 text, c2 char(5), c3 int, c4 varchar(5));
SELECT FROM shuttle.distribute_table('of_char', 'id');
SELECT FROM shuttle.distribute_table('of_text', 'id');
SELECT FROM shuttle.distribute_table('of_numeric', 'id');
INSERT INTO of_char VALUES ('a'), ('b');
INSERT INTO of_text VALUES ('a'), ('b ');
INSERT INTO of_numeric VALUES (1), (2.0);
SELECT FROM shuttle.distribute_table('typed', 'id');
INSERT INTO typed (id, c1) VALUES (1, 'a  ');
ALTER TABLE typed ADD CONSTRAINT f1 FOREIGN KEY (c1) REFERENCES of_char ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE typed ADD CONSTRAINT f2 FOREIGN KEY (c2) REFERENCES of_text ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE typed ADD CONSTRAINT f3 FOREIGN KEY (c3) REFERENCES of_numeric ON UPDATE CASCADE ON DELETE SET NULL;
ALTER TABLE typed ADD CONSTRAINT f4 FOREIGN KEY (c4) REFERENCES of_text ON DELETE SET NULL;
INSERT INTO typed (id, c1) VALUES (2, 'b'), (3, 'b      ');
INSERT INTO typed (id, c1) VALUES (4, 'B');
INSERT INTO typed (id, c2) VALUES (5, 'a');
INSERT INTO typed (id, c2) VALUES (6, 'b');
INSERT INTO typed (id, c3) VALUES (7, 1), (8, 2);
INSERT INTO typed (id, c4) VALUES (9, 'b ');
INSERT INTO typed (id, c4) VALUES (10, 'b');
UPDATE of_char SET id = 'd' WHERE id = 'b';
UPDATE of_numeric SET id = 3 WHERE id = 1;
DELETE FROM of_char WHERE id = 'a';
DELETE FROM of_text;
DELETE FROM of_numeric WHERE id = 2;
SELECT id, c1 || '|' AS c1, c2, c3, c4 FROM typed ORDER BY id;

-- a row that refers to itself
CREATE TABLE tree (id int PRIMARY KEY, up int);
SELECT FROM shuttle.distribute_table('tree', 'id');
ALTER TABLE tree ADD FOREIGN KEY (up) REFERENCES tree ON UPDATE CASCADE ON DELETE CASCADE;
INSERT INTO tree VALUES (1, 1), (2, 1), (3, 2);
UPDATE tree SET id = 100 WHERE id = 1;
SELECT * FROM tree ORDER BY id;
UPDATE tree SET id = 200, up = 200 WHERE id = 100;
SELECT * FROM tree ORDER BY id;

-- rows of tables that inherit have no part in a key
CREATE TABLE here (id int PRIMARY KEY);
CREATE TABLE heir () INHERITS (here);
INSERT INTO here VALUES (1);
INSERT INTO heir VALUES (2);
CREATE TABLE to_here (id int PRIMARY KEY, h int);
SELECT FROM shuttle.distribute_table('to_here', 'id');
ALTER TABLE to_here ADD FOREIGN KEY (h) REFERENCES here;
INSERT INTO to_here VALUES (1, 1);
INSERT INTO to_here VALUES (2, 2);
CREATE TABLE from_here (id int PRIMARY KEY, t int REFERENCES to_here);
CREATE TABLE from_heir () INHERITS (from_here);
INSERT INTO from_heir VALUES (1, 1);
DELETE FROM to_here WHERE id = 1;

-- refused
CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
CREATE TABLE to_pairs (id int PRIMARY KEY, x int, y int);
SELECT FROM shuttle.distribute_table('pairs', 'a');
SELECT FROM shuttle.distribute_table('to_pairs', 'id');
ALTER TABLE to_pairs ADD FOREIGN KEY (x, y) REFERENCES pairs (a, a);

-- columns with different collations, on one server and on several
CREATE TABLE words (id text COLLATE "C" PRIMARY KEY);
CREATE TABLE words_here (id text COLLATE "POSIX");
CREATE TABLE there (id int PRIMARY KEY, w text COLLATE "POSIX");
SELECT FROM shuttle.distribute_table('words', 'id');
SELECT FROM shuttle.distribute_table('there', 'id');
INSERT INTO words VALUES ('a'), ('b');
INSERT INTO words_here VALUES ('a'), ('z');
INSERT INTO there VALUES (1, 'a'), (2, 'z');
ALTER TABLE words_here ADD CONSTRAINT to_word FOREIGN KEY (id) REFERENCES words ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE there ADD CONSTRAINT to_word FOREIGN KEY (w) REFERENCES words ON UPDATE CASCADE ON DELETE CASCADE;
DELETE FROM words_here WHERE id = 'z';
DELETE FROM there WHERE w = 'z';
ALTER TABLE words_here ADD CONSTRAINT to_word FOREIGN KEY (id) REFERENCES words ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE there ADD CONSTRAINT to_word FOREIGN KEY (w) REFERENCES words ON UPDATE CASCADE ON DELETE CASCADE;
UPDATE words SET id = 'c' WHERE id = 'a';
INSERT INTO there VALUES (3, 'a');
INSERT INTO words_here VALUES ('a');
SELECT (SELECT string_agg(id, ',') FROM words_here) AS here, (SELECT string_agg(w, ',') FROM there) AS there;
DELETE FROM words;
SELECT (SELECT count(*) FROM words_here) AS here, (SELECT count(*) FROM there) AS there;

-- types of columns that keys between this server and nodes use
CREATE TABLE local_parent (id int PRIMARY KEY);
CREATE TABLE spread (id int PRIMARY KEY, p int);
CREATE TABLE local_child (s int, id int);
SELECT FROM shuttle.distribute_table('spread', 'id');
ALTER TABLE spread ADD CONSTRAINT to_local FOREIGN KEY (p) REFERENCES local_parent ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE local_child ADD CONSTRAINT to_spread FOREIGN KEY (s) REFERENCES spread ON DELETE SET NULL;
COMMENT ON CONSTRAINT to_local ON spread IS 'kept';
INSERT INTO local_parent VALUES (1), (2);
INSERT INTO spread VALUES (1, 1), (2, 2);
INSERT INTO local_child VALUES (1, 1), (2, 2);
ALTER TABLE local_parent ALTER COLUMN id TYPE bigint;
ALTER TABLE local_parent ALTER COLUMN id TYPE bigint USING id + 1;
ALTER TABLE local_child ALTER COLUMN s TYPE bigint, ADD COLUMN n int;
ALTER TABLE local_child ALTER COLUMN s TYPE int USING 7;
INSERT INTO spread VALUES (3, 3);
INSERT INTO local_child VALUES (3, 3);
UPDATE local_parent SET id = 20 WHERE id = 2;
DELETE FROM local_parent WHERE id = 1;
SELECT * FROM spread;
SELECT * FROM local_child ORDER BY id;
SELECT conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname IN ('to_local', 'to_spread') AND conparentid = 0 ORDER BY 1;

-- actions are the owner's, who has to see the user's rows
CREATE TABLE owned (id int PRIMARY KEY, p int);
SELECT FROM shuttle.distribute_table('owned', 'id');
ALTER TABLE owned ADD CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent ON DELETE CASCADE;
CREATE ROLE fk_owner SUPERUSER;
GRANT USAGE, CREATE ON SCHEMA shop TO fk_owner;
ALTER TABLE owned OWNER TO fk_owner;
INSERT INTO parent VALUES (-1);
INSERT INTO owned VALUES (1, -1);
DELETE FROM parent WHERE id = -1;
SELECT count(*) FROM owned;
INSERT INTO parent VALUES (-1);
INSERT INTO owned VALUES (1, -1);
CREATE USER MAPPING FOR fk_owner SERVER n1;
DELETE FROM parent WHERE id = -1;
DROP USER MAPPING FOR fk_owner SERVER n1;
DROP TABLE owned;
REVOKE ALL ON SCHEMA shop FROM fk_owner;
DROP ROLE fk_owner;

-- equality that depends on the time zone
CREATE TABLE moments (id timestamptz PRIMARY KEY);
CREATE TABLE days (id int PRIMARY KEY, d date);
SELECT FROM shuttle.distribute_table('moments', 'id');
SELECT FROM shuttle.distribute_table('days', 'id');
ALTER TABLE days ADD FOREIGN KEY (d) REFERENCES moments;
