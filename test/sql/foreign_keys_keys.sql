-- Foreign keys whose rows can be on several nodes: DDL, kinds of tables, deferred keys.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n3');
SET shuttle.tablets = 4;
CREATE TABLE parent (id int PRIMARY KEY, note text);
CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent, up int);
ALTER TABLE child ADD CONSTRAINT up_fk FOREIGN KEY (up) REFERENCES child ON DELETE CASCADE ON UPDATE CASCADE;
COMMENT ON CONSTRAINT up_fk ON child IS 'itself';
INSERT INTO parent SELECT i, 'p' || i FROM generate_series(1, 20) AS i;
INSERT INTO child SELECT i, i, nullif(i / 2, 0) FROM generate_series(1, 20) AS i;
SELECT shuttle.distribute_table('child', 'id');
SELECT shuttle.distribute_table('parent', 'id');
SELECT conname, conrelid::regclass, confrelid::regclass, convalidated, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint')
FROM pg_constraint WHERE contype = 'f' ORDER BY 1;
SELECT constraint_name, table_name, column_name FROM information_schema.key_column_usage WHERE constraint_name LIKE '%fk%' ORDER BY 1;
SELECT unique_constraint_name, delete_rule FROM information_schema.referential_constraints ORDER BY constraint_name;
\d child

-- each statement that writes a key
INSERT INTO child VALUES (100, 99);
INSERT INTO child VALUES (100, 1, 100), (101, NULL, 100);
UPDATE child SET parent_id = 77 WHERE id = 100;
UPDATE child SET parent_id = 7 WHERE id = 100;
DELETE FROM parent WHERE id = 7;
COPY child FROM stdin;
200	1	201
201	2	\N
\.
COPY child FROM stdin;
300	1	\N
301	1000	\N
\.
DELETE FROM child WHERE id = 1;
SELECT count(*), count(up) FROM child;
DELETE FROM parent WHERE id BETWEEN 3 AND 6;
SELECT * FROM shuttle.check();

-- only inside of a function, in a savepoint, and after an error that was caught
DO $$
BEGIN
	INSERT INTO child VALUES (400, 1);
	BEGIN
		INSERT INTO child VALUES (401, 500);
	EXCEPTION WHEN foreign_key_violation THEN
		RAISE NOTICE 'caught: %', SQLERRM;
	END;
	INSERT INTO parent VALUES (500, 'now');
	INSERT INTO child VALUES (401, 500);
END $$;
SELECT count(*) FROM child WHERE id >= 400;

-- deferred
ALTER TABLE child DROP CONSTRAINT child_parent_id_fkey;
ALTER TABLE child ADD FOREIGN KEY (parent_id) REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED NOT VALID;
BEGIN;
INSERT INTO child VALUES (500, 600), (501, 601);
SAVEPOINT a;
INSERT INTO child VALUES (502, 602);
ROLLBACK TO a;
INSERT INTO parent VALUES (600), (601);
COMMIT;
BEGIN;
INSERT INTO child VALUES (503, 603);
COMMIT;
BEGIN;
INSERT INTO child VALUES (503, 603);
SET CONSTRAINTS child_parent_id_fkey IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO child VALUES (503, 603);
ROLLBACK;
BEGIN;
DELETE FROM parent WHERE id = 600;
DELETE FROM child WHERE id = 500;
COMMIT;
SELECT convalidated FROM pg_constraint WHERE conname = 'child_parent_id_fkey';
SET session_replication_role = replica;
INSERT INTO child VALUES (600, 700);
RESET session_replication_role;
ALTER TABLE child VALIDATE CONSTRAINT child_parent_id_fkey;
SELECT relation, node, problem FROM shuttle.check();
DELETE FROM child WHERE id = 600;
ALTER TABLE child VALIDATE CONSTRAINT child_parent_id_fkey;
SELECT convalidated FROM pg_constraint WHERE conname = 'child_parent_id_fkey';

-- DDL
ALTER TABLE child RENAME CONSTRAINT child_parent_id_fkey TO to_parent;
ALTER TABLE child RENAME COLUMN parent_id TO p;
ALTER TABLE child ALTER COLUMN p TYPE bigint;
INSERT INTO child VALUES (600, 700);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'to_parent';
ALTER TABLE parent DROP CONSTRAINT parent_pkey;
ALTER TABLE child DISABLE TRIGGER ALL;
INSERT INTO child VALUES (600, 700);
ALTER TABLE child ENABLE TRIGGER ALL;
INSERT INTO child VALUES (601, 700);
DELETE FROM child WHERE id = 600;
ALTER TABLE child ADD COLUMN other int DEFAULT 1 REFERENCES parent ON DELETE SET DEFAULT;
ALTER TABLE child DROP COLUMN other;
ALTER TABLE child ADD FOREIGN KEY (p) REFERENCES parent (note);
ALTER TABLE child ADD FOREIGN KEY (p, up) REFERENCES parent (id);
ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES parent;
TRUNCATE parent;
BEGIN;
TRUNCATE parent CASCADE;
SELECT count(*) FROM child;
ROLLBACK;
SELECT count(*) > 0 FROM child;

-- other kinds of tables on either side
CREATE TABLE here (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE);
CREATE TABLE everywhere (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL);
SELECT shuttle.reference_table('everywhere');
CREATE TABLE to_here (id int PRIMARY KEY, h int, e int DEFAULT 1 REFERENCES everywhere ON DELETE SET DEFAULT);
SELECT shuttle.distribute_table('to_here', 'id');
ALTER TABLE to_here ADD FOREIGN KEY (h) REFERENCES here ON DELETE CASCADE;
INSERT INTO here VALUES (1, 10), (2, 11);
INSERT INTO here VALUES (3, 1000);
INSERT INTO everywhere VALUES (1, 10), (2, 11);
INSERT INTO everywhere VALUES (3, 1000);
INSERT INTO to_here VALUES (1, 1, 1), (2, 2, 2), (3, NULL, 2);
INSERT INTO to_here VALUES (4, 4, 1);
INSERT INTO to_here VALUES (4, 1, 4);
DELETE FROM everywhere WHERE id = 2;
DELETE FROM child WHERE p = 10;
DELETE FROM parent WHERE id = 10;
SELECT (SELECT array_agg(h ORDER BY id) FROM here AS h) AS here, (SELECT array_agg(e ORDER BY id) FROM everywhere AS e) AS everywhere,
	(SELECT array_agg(t ORDER BY id) FROM to_here AS t) AS to_here;
TRUNCATE here CASCADE;
SELECT count(*) FROM to_here;
CREATE TEMP TABLE temporary (p int REFERENCES parent);
CREATE TABLE parts (p int REFERENCES parent) PARTITION BY LIST (p);
SELECT * FROM shuttle.check();

-- while keys wait for their check, their table is not changed, as in core
CREATE TABLE waits (id int PRIMARY KEY, p int CONSTRAINT waits_p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
SELECT shuttle.distribute_table('waits', 'id', tablets => 2);
BEGIN;
INSERT INTO waits VALUES (1, 999);
SAVEPOINT a;
ALTER TABLE waits ALTER p TYPE bigint;
ROLLBACK TO a;
ALTER TABLE waits DROP CONSTRAINT waits_p;
ROLLBACK TO a;
ALTER TABLE parent ADD COLUMN later int;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
INSERT INTO waits SELECT 1, min(id) FROM parent;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE waits DROP CONSTRAINT waits_p, ALTER p TYPE bigint;
COMMIT;
DROP TABLE waits;

-- tables change their kind and keep their keys
SELECT shuttle.local_table('parent');
SELECT shuttle.local_table('child');
SELECT conname, conrelid::regclass, confrelid::regclass, pg_get_constraintdef(c.oid), count(t.oid) FILTER (WHERE tgname LIKE 'RI_Constraint%') AS of_core
FROM pg_constraint AS c LEFT JOIN pg_trigger AS t ON tgconstraint = c.oid WHERE contype = 'f' GROUP BY c.oid ORDER BY 1;
SELECT shuttle.distribute_tables('{child.id, parent.id}');
SELECT conname, conrelid::regclass FROM pg_constraint WHERE contype = 'f' ORDER BY 1;
INSERT INTO child VALUES (700, 700);

DROP TABLE parent;
DROP TABLE parent CASCADE;
SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND confrelid = 'child'::regclass;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'child'::regclass;
DROP SCHEMA shop CASCADE;
