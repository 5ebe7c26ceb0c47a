-- A write that is sent, or answered, while another role's function runs is still that of its own role: an error's
-- detail shows what that role may read. Each statement runs on ordinary tables, then on distributed ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
CREATE ROLE rights_porter;
CREATE SCHEMA plain;
GRANT USAGE ON SCHEMA shop, plain TO rights_porter;
CREATE TABLE item (id int PRIMARY KEY, n int CHECK (n > 0), hidden text DEFAULT 'secret');
CREATE TABLE marked (id int PRIMARY KEY, n int, hidden text DEFAULT 'secret', UNIQUE (n, hidden));
CREATE TABLE parent (id int PRIMARY KEY, code int UNIQUE);
CREATE TABLE child (id int PRIMARY KEY, code int DEFAULT 77 REFERENCES parent (code));
CREATE TABLE other (id int PRIMARY KEY, n int);
CREATE TABLE boss (id int PRIMARY KEY, n int);
CREATE TABLE clerk (id int PRIMARY KEY, boss int REFERENCES boss (id));
CREATE TABLE plain.item (LIKE item INCLUDING ALL);
CREATE TABLE plain.marked (LIKE marked INCLUDING ALL);
CREATE TABLE plain.parent (LIKE parent INCLUDING ALL);
CREATE TABLE plain.child (LIKE child INCLUDING ALL);
CREATE TABLE plain.other (LIKE other INCLUDING ALL);
CREATE TABLE plain.boss (LIKE boss INCLUDING ALL);
CREATE TABLE plain.clerk (LIKE clerk INCLUDING ALL);
ALTER TABLE plain.child ADD CONSTRAINT child_code_fkey FOREIGN KEY (code) REFERENCES plain.parent (code);
ALTER TABLE plain.clerk ADD CONSTRAINT clerk_boss_fkey FOREIGN KEY (boss) REFERENCES plain.boss (id);
SELECT shuttle.distribute_table(name, 'id', 2) FROM unnest('{item,marked,parent,child,other,boss,clerk}'::text[]) AS name;
INSERT INTO item SELECT i, i FROM generate_series(1, 4) AS i;
INSERT INTO marked SELECT i, i FROM generate_series(1, 4) AS i;
INSERT INTO plain.item TABLE item;
INSERT INTO plain.marked TABLE marked;
INSERT INTO boss SELECT i, i FROM generate_series(1, 4) AS i;
INSERT INTO clerk SELECT i, i FROM generate_series(1, 3) AS i;
INSERT INTO plain.boss TABLE boss;
INSERT INTO plain.clerk TABLE clerk;
GRANT SELECT (id, n), INSERT (id, n), UPDATE (n) ON item, marked, plain.item, plain.marked TO rights_porter;
GRANT SELECT (id), INSERT (id) ON child, plain.child TO rights_porter;
GRANT SELECT (n), DELETE ON boss, plain.boss TO rights_porter;
GRANT SELECT ON other, plain.other TO rights_porter;
-- they read and write the tables of the search path
CREATE FUNCTION reads(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM count(*) FROM other; RETURN i; END $$;
CREATE FUNCTION writes(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	INSERT INTO other VALUES (i, i) ON CONFLICT DO NOTHING;
	UPDATE other SET n = n + 1 WHERE n > 0;
	RETURN i;
END $$;
CREATE FUNCTION marks(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO marked VALUES (100 + i, 100 + i); RETURN i; END $$;
CREATE FUNCTION adds(i int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO child VALUES (100 + i, NULL); RETURN i; END $$;
CREATE FUNCTION deletes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN IF pg_trigger_depth() = 1 THEN DELETE FROM boss WHERE id = 4; END IF; RETURN NULL; END $$;
CREATE TRIGGER "A" AFTER DELETE ON boss EXECUTE FUNCTION deletes();
CREATE TRIGGER "A" AFTER DELETE ON plain.boss EXECUTE FUNCTION deletes();
CREATE TABLE statements (n serial, statement text);
INSERT INTO statements (statement) VALUES
	('DO $do$BEGIN UPDATE marked SET n = 2 WHERE id = 1; PERFORM reads(1); END$do$'),
	('DO $do$BEGIN UPDATE marked SET n = 2 WHERE id = 1; PERFORM writes(1); END$do$'),
	('DO $do$BEGIN INSERT INTO marked (id, n) VALUES (9, 2); PERFORM reads(1); END$do$'),
	('DO $do$BEGIN INSERT INTO item (id, n) VALUES (9, -1); PERFORM reads(1); END$do$'),
	('DO $do$BEGIN UPDATE item SET n = -1 WHERE id = 1; PERFORM reads(1); END$do$'),
	('DO $do$BEGIN INSERT INTO child (id) VALUES (1); PERFORM reads(1); END$do$'),
	('INSERT INTO item (id, n) SELECT i + 10, CASE reads(i) WHEN 2 THEN -1 ELSE i END FROM generate_series(1, 4) AS i'),
	('INSERT INTO item (id, n) SELECT i + 10, CASE writes(i) WHEN 2 THEN -1 ELSE i END FROM generate_series(1, 4) AS i'),
	('UPDATE item SET n = CASE writes(id) WHEN 2 THEN -1 ELSE n END'),
	('UPDATE marked SET n = CASE writes(id) WHEN 1 THEN 2 ELSE n END'),
	('INSERT INTO marked (id, n) SELECT i + 10, CASE writes(i) WHEN 2 THEN 3 ELSE i + 10 END FROM generate_series(1, 4) AS i'),
	('INSERT INTO marked (id, n) SELECT i + 10, CASE marks(i) WHEN 2 THEN 3 ELSE i + 10 END FROM generate_series(1, 4) AS i'),
	('INSERT INTO child (id) SELECT writes(i) FROM generate_series(1, 4) AS i'),
	('INSERT INTO child (id) SELECT adds(i) FROM generate_series(1, 4) AS i'),
	('DELETE FROM boss WHERE n < 4');
GRANT SELECT ON statements TO rights_porter;
-- functions of who may read all, called by who may not
SET ROLE rights_porter;
SET search_path = plain, shop;
SELECT statement FROM statements ORDER BY n \gexec
SET search_path = shop;
SELECT statement FROM statements ORDER BY n \gexec
SET shuttle.enable_write_behind = off;
SELECT statement FROM statements ORDER BY n \gexec
RESET shuttle.enable_write_behind;
RESET ROLE;
-- and the other way round
GRANT INSERT, UPDATE, SELECT ON other, plain.other TO rights_porter;
GRANT INSERT ON marked, plain.marked TO rights_porter;
ALTER FUNCTION reads OWNER TO rights_porter;
ALTER FUNCTION writes OWNER TO rights_porter;
ALTER FUNCTION marks OWNER TO rights_porter;
SET search_path = plain, shop;
SELECT statement FROM statements ORDER BY n \gexec
SET search_path = shop;
SELECT statement FROM statements ORDER BY n \gexec
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA plain, shop CASCADE;
DROP ROLE rights_porter;
