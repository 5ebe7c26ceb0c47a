-- Constraints that only nodes have: SET CONSTRAINTS, comments; triggers that keep copies.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE parent (id int PRIMARY KEY, note text);
CREATE TABLE child (parent int, id int, mark int, PRIMARY KEY (parent, id),
	CONSTRAINT child_fk FOREIGN KEY (parent) REFERENCES parent DEFERRABLE,
	CONSTRAINT child_unique UNIQUE (parent, mark) DEFERRABLE,
	CONSTRAINT child_check CHECK (id > 0));
COMMENT ON CONSTRAINT child_fk ON child IS 'made here';
SET client_min_messages = warning;
SELECT shuttle.distribute_tables('{parent.id, child.parent}');
RESET client_min_messages;

-- immediate by default, then as it is set; SET CONSTRAINTS ALL reaches nodes that join later
INSERT INTO child SELECT i, 1 FROM generate_series(1, 20) AS i;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO child SELECT i, 1 FROM generate_series(1, 20) AS i;
INSERT INTO parent SELECT i, 'deferred' FROM generate_series(1, 20) AS i;
COMMIT;
SELECT count(*) FROM child JOIN parent ON parent.id = child.parent;
BEGIN;
SET CONSTRAINTS child_fk DEFERRED;
INSERT INTO child SELECT i, 1 FROM generate_series(21, 40) AS i;
SET CONSTRAINTS child_fk IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS shop.child_fk DEFERRED;
INSERT INTO child SELECT i, 1 FROM generate_series(21, 40) AS i;
COMMIT;
SELECT count(*) FROM child;
-- keys
UPDATE child SET mark = 1;
INSERT INTO child VALUES (1, 2, 1);
BEGIN;
SET CONSTRAINTS child_unique DEFERRED;
INSERT INTO child VALUES (1, 2, 1);
UPDATE child SET mark = 2 WHERE parent = 1 AND id = 2;
SET CONSTRAINTS child_unique, child_fk IMMEDIATE;
COMMIT;
-- a savepoint takes it back
BEGIN;
SAVEPOINT a;
SET CONSTRAINTS ALL DEFERRED;
ROLLBACK TO a;
INSERT INTO child SELECT i, 1 FROM generate_series(21, 40) AS i;
ROLLBACK;
BEGIN;
SET CONSTRAINTS no_such DEFERRED;
ROLLBACK;
BEGIN;
SET CONSTRAINTS child_check DEFERRED;
ROLLBACK;
SET CONSTRAINTS ALL DEFERRED;

-- comments are kept on the nodes, and come back
COMMENT ON CONSTRAINT child_fk ON child IS 'it''s a key';
COMMENT ON CONSTRAINT child_check ON child IS 'positive';
COMMENT ON CONSTRAINT no_such ON child IS 'none';
SELECT shuttle.local_tables('{parent, child}');
SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint
	WHERE conrelid = 'child'::regclass AND conname ~ 'child_(fk|check)' ORDER BY conname;

-- the triggers of a reference table
CREATE TABLE kind (id int PRIMARY KEY, name text);
SELECT shuttle.reference_table('kind');
DROP TRIGGER zz_shuttle_copy ON kind;
DROP TRIGGER zz_shuttle_send ON shop.kind;
ALTER TRIGGER zz_shuttle_copy ON kind RENAME TO aa;
ALTER TABLE kind DISABLE TRIGGER zz_shuttle_copy;
INSERT INTO kind VALUES (1, 'one');
SELECT * FROM shuttle.check() WHERE problem <> 'ok';
CREATE FUNCTION ignore() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER other BEFORE INSERT ON kind FOR EACH ROW EXECUTE FUNCTION ignore();
ALTER TRIGGER other ON kind RENAME TO another;
DROP TRIGGER another ON kind;
DROP TABLE kind;
DROP SCHEMA shop CASCADE;
