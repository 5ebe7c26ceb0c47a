-- trap 25: INSERTs in functions that are not waited for: counts, errors where they belong, and what must be waited for.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
DROP SCHEMA IF EXISTS node CASCADE;
CREATE SCHEMA node;
CALL test.loopback('far');
CALL test.loopback('near');
CREATE TABLE node.parent (id int PRIMARY KEY);
INSERT INTO node.parent VALUES (1), (2);
CREATE TABLE node.item (id int PRIMARY KEY, n int CONSTRAINT small CHECK (n < 1000), parent int REFERENCES node.parent, note text NOT NULL DEFAULT 'x');
CREATE FOREIGN TABLE item (id int, n int, parent int, note text DEFAULT 'here') SERVER far OPTIONS (schema_name 'node');
CREATE TABLE node.other (id int PRIMARY KEY);
CREATE FOREIGN TABLE other (id int) SERVER near OPTIONS (schema_name 'node');
CREATE TABLE here (what text);

-- counts are known at once
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	said text := '';
BEGIN
	FOR i IN 1..5 LOOP
		INSERT INTO item VALUES (i, i, 1);
		GET DIAGNOSTICS n = ROW_COUNT;
		said := said || n || found;
	END LOOP;
	INSERT INTO item SELECT i, i, 2 FROM generate_series(11, 13) i;
	GET DIAGNOSTICS n = ROW_COUNT;
	said := said || n || found;
	INSERT INTO item SELECT i, i, 2 FROM generate_series(1, 0) i;
	GET DIAGNOSTICS n = ROW_COUNT;
	said := said || n || found;
	INSERT INTO other SELECT id FROM item WHERE id < 3;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN said || n || found || (SELECT count(*) FROM item) || (SELECT sum(id) FROM other);
END $$;

-- the error is that of its own statement, wherever it is met
CREATE FUNCTION breaks(what text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (1, 1, 1);
	IF what = 'unique' THEN
		INSERT INTO item VALUES (1, 2, 1);
	ELSIF what = 'check' THEN
		INSERT INTO item VALUES (2, 5000, 1);
	ELSIF what = 'foreign key' THEN
		INSERT INTO item VALUES (2, 2, 77);
	ELSIF what = 'not null' THEN
		INSERT INTO item VALUES (2, 2, 1, NULL);
	END IF;
	INSERT INTO item VALUES (3, 3, 1);
	INSERT INTO other VALUES (3);
	INSERT INTO here VALUES ('behind ' || what);
	INSERT INTO item VALUES (3, 3, 1);
	RETURN what;
END $$;

-- an EXCEPTION block has the errors of its own INSERTs, and of no others
CREATE FUNCTION blocks(fails int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text := '';
BEGIN
	INSERT INTO item VALUES (CASE fails WHEN 1 THEN 1 ELSE 10 END, 1);
	BEGIN
		INSERT INTO item VALUES (CASE fails WHEN 2 THEN 1 ELSE 20 END, 1);
		BEGIN
			INSERT INTO here VALUES ('inner');
			INSERT INTO item VALUES (CASE fails WHEN 3 THEN 1 ELSE 30 END, 1);
		EXCEPTION WHEN unique_violation THEN
			said := said || 'inner ';
			INSERT INTO item VALUES (31, 1);
		END;
		INSERT INTO item VALUES (CASE fails WHEN 4 THEN 1 ELSE 40 END, 1);
	EXCEPTION WHEN unique_violation THEN
		said := said || 'outer ';
		INSERT INTO item VALUES (CASE fails WHEN 4 THEN 1 ELSE 41 END, 1);
	END;
	INSERT INTO item VALUES (CASE fails WHEN 5 THEN 1 ELSE 50 END, 1);
	RETURN said;
EXCEPTION WHEN unique_violation THEN
	RETURN said || 'function ' || SQLERRM;
END $$;
CREATE FUNCTION blocks_of_one(fails int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (1, 1);
	RETURN blocks(fails);
END $$;
-- also one that comes from a variable's value
CREATE FUNCTION puts(id int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO item VALUES (id, 1); RETURN id; END';
CREATE FUNCTION declares() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(1);
	DECLARE
		twice int := puts(1);
	BEGIN
		INSERT INTO other VALUES (1);
		RETURN 'inside';
	EXCEPTION WHEN unique_violation THEN
		RETURN 'the wrong block';
	END;
EXCEPTION WHEN unique_violation THEN
	RETURN 'the right block';
END $$;
-- what a handler finds in variables is what came before the error
CREATE FUNCTION tallies() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ngood int := 0;
	ntwice int := 0;
BEGIN
	FOR i IN 1..6 LOOP
		BEGIN
			PERFORM puts(i % 4);
			ngood := ngood + 1;
		EXCEPTION WHEN unique_violation THEN
			ntwice := ntwice + 1;
		END;
	END LOOP;
	RETURN ngood || ' ' || ntwice;
END $$;
-- an error that the function raises comes behind that of its INSERT
CREATE FUNCTION raises() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(1);
	PERFORM puts(1);
	RAISE 'another';
END $$;
-- nobody catches an error of the level around again and again
CREATE FUNCTION retries() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM puts(1);
	PERFORM puts(1);
	LOOP
		BEGIN
			PERFORM puts(2);
			RETURN 'done';
		EXCEPTION WHEN unique_violation THEN
			INSERT INTO here VALUES ('again');
		END;
	END LOOP;
END $$;

-- what is not certain is waited for
CREATE FUNCTION node.drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN new.id % 2 = 0 THEN new END; END $$;
CREATE TABLE node.picky (id int PRIMARY KEY);
CREATE TRIGGER drops BEFORE INSERT ON node.picky FOR EACH ROW EXECUTE FUNCTION node.drops();
CREATE FOREIGN TABLE picky (id int) SERVER far OPTIONS (schema_name 'node');
CREATE VIEW node.seen AS SELECT id FROM node.picky WHERE id > 0 WITH CHECK OPTION;
CREATE FOREIGN TABLE seen (id int) SERVER far OPTIONS (schema_name 'node');
CREATE FUNCTION picks() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	said text := '';
BEGIN
	FOR i IN 1..4 LOOP
		INSERT INTO picky VALUES (i);
		GET DIAGNOSTICS n = ROW_COUNT;
		said := said || n || found;
	END LOOP;
	FOR i IN 5..6 LOOP
		INSERT INTO seen VALUES (i);
		GET DIAGNOSTICS n = ROW_COUNT;
		said := said || n || found;
	END LOOP;
	INSERT INTO item VALUES (1, 1) ON CONFLICT DO NOTHING;
	INSERT INTO item VALUES (1, 1) ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	said := said || n || found;
	INSERT INTO item VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = 7 RETURNING item.n INTO n;
	RETURN said || n;
END $$;
-- triggers, SQL functions, DO, loops over cursors, prepared statements
CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item (id, n) VALUES (new.what::int, 1);
	RETURN new;
END $$;
CREATE TABLE watched (what text);
CREATE FUNCTION sql_puts() RETURNS bigint BEGIN ATOMIC
	INSERT INTO item (id, n) VALUES (101, 1);
	INSERT INTO item (id, n) SELECT i, 1 FROM generate_series(102, 104) i;
	SELECT count(*) FROM item;
END;
CREATE FUNCTION loops() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT i FROM generate_series(201, 204) i;
BEGIN
	FOR r IN c LOOP
		EXECUTE 'INSERT INTO item (id, n) VALUES ($1, 1)' USING r.i;
		EXECUTE format('INSERT INTO other VALUES (%s)', r.i);
	END LOOP;
END $$;
CREATE TRIGGER before BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION audits();
CREATE TABLE watched_after (what text);
CREATE TRIGGER after AFTER INSERT ON watched_after FOR EACH ROW EXECUTE FUNCTION audits();

-- partitions on two nodes
CREATE TABLE node.part_0 (id int, n int, PRIMARY KEY (id));
CREATE TABLE node.part_1 (id int, n int, PRIMARY KEY (id));
CREATE TABLE parted (id int, n int) PARTITION BY HASH (id);
CREATE FOREIGN TABLE part_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0) SERVER far OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE part_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) SERVER near OPTIONS (schema_name 'node');
CREATE FUNCTION spreads(twice int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1..6 LOOP
		INSERT INTO parted VALUES (i, i);
	END LOOP;
	INSERT INTO parted SELECT i, i FROM generate_series(11, 20) i;
	GET DIAGNOSTICS n = ROW_COUNT;
	INSERT INTO parted VALUES (twice, 0), (100, 0);
	RETURN n || ' ' || (SELECT count(*) FROM parted);
END $$;


-- What each of these tells, and leaves in the tables, is the same where it is waited
-- for and where not.  They are the client's statements: so nothing stands around them.
CREATE TABLE cases (n serial, statement text);
INSERT INTO cases (statement) VALUES
	('SELECT counts()'),
	('SELECT breaks(''unique'')'),
	('SELECT breaks(''check'')'),
	('SELECT breaks(''foreign key'')'),
	('SELECT breaks(''not null'')'),
	('SELECT breaks(''last'')'),
	('SELECT blocks_of_one(0)'),
	('SELECT blocks_of_one(1)'),
	('SELECT blocks_of_one(2)'),
	('SELECT blocks_of_one(3)'),
	('SELECT blocks_of_one(4)'),
	('SELECT blocks_of_one(5)'),
	('SELECT declares()'),
	('SELECT retries()'),
	('SELECT tallies()'),
	('SELECT raises()'),
	('SELECT picks()'),
	('INSERT INTO watched SELECT i FROM generate_series(1, 3) i'),
	('INSERT INTO watched SELECT i % 2 FROM generate_series(1, 3) i'),
	('INSERT INTO watched_after SELECT i FROM generate_series(1, 3) i'),
	('INSERT INTO watched_after SELECT i % 2 FROM generate_series(1, 3) i'),
	('SELECT sql_puts()'),
	('SELECT loops()'),
	('DO $do$ BEGIN PERFORM loops(); PERFORM loops(); END $do$'),
	('SELECT spreads(99)'),
	('SELECT spreads(2)'),
	('SELECT spreads(3)');
CREATE VIEW all_rows AS
SELECT concat_ws(':', id, n, parent, note) AS row FROM item
UNION ALL SELECT 'other ' || id FROM other
UNION ALL SELECT 'parted ' || id FROM parted
UNION ALL SELECT what FROM here;
CREATE VIEW steps AS
SELECT step FROM cases, LATERAL (VALUES (1, 'BEGIN'), (2, statement), (3, 'SELECT string_agg(row, chr(32) ORDER BY row) FROM all_rows'), (4, 'ROLLBACK')) v(k, step)
ORDER BY n, k;
SET shuttle.enable_write_behind = off;
SELECT step FROM steps \gexec
SET shuttle.enable_write_behind = on;
SELECT step FROM steps \gexec

-- a trigger that came behind the node's word is found
CREATE TABLE node.late (id int PRIMARY KEY);
CREATE FOREIGN TABLE late (id int) SERVER far OPTIONS (schema_name 'node');
CREATE FUNCTION fills() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO late VALUES (2);
	INSERT INTO late VALUES (3);
	INSERT INTO here VALUES ('went on');
	RETURN 2;
END $$;
SELECT fills();
TRUNCATE node.late, here;
CREATE TRIGGER drops BEFORE INSERT ON node.late FOR EACH ROW EXECUTE FUNCTION node.drops();
SELECT fills();
SELECT fills(), (SELECT count(*) FROM late);

TRUNCATE here;

-- rows that a node's partition sends on may be kept out there
CREATE TABLE node.apart (id int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE node.apart_1 PARTITION OF node.apart FOR VALUES FROM (1) TO (100) SERVER near OPTIONS (schema_name 'node', table_name 'picky');
CREATE FOREIGN TABLE apart (id int) SERVER far OPTIONS (schema_name 'node');
CREATE FUNCTION sends_on(first int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
	said text := '';
BEGIN
	FOR i IN first .. first + 3 LOOP
		INSERT INTO apart VALUES (i);
		GET DIAGNOSTICS n = ROW_COUNT;
		said := said || n || found;
	END LOOP;
	RETURN said;
END $$;
SELECT sends_on(1);
SELECT sends_on(5);
SELECT string_agg(id::text, ' ' ORDER BY id) FROM apart;

-- the client's statement: what was met behind it is its error, and others go on
CREATE FUNCTION twice(id int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (id, 1);
	INSERT INTO item VALUES (id, 1);
	RAISE WARNING 'went on';
	RETURN id;
END $$;
SELECT puts(0), puts(-1);
SELECT twice(5);
DO $$ BEGIN PERFORM twice(5); END $$;
BEGIN;
SELECT puts(6);
SAVEPOINT a;
SELECT twice(7);
ROLLBACK TO a;
SELECT puts(7);
RELEASE a;
COMMIT;
SELECT id FROM item ORDER BY id;
-- a procedure that commits, and whose last error comes behind that
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (21, 1);
	INSERT INTO item VALUES (22, 1);
	COMMIT;
	INSERT INTO item VALUES (23, 1);
	ROLLBACK;
	INSERT INTO item VALUES (24, 1);
	INSERT INTO item VALUES (24, 1);
	RAISE WARNING 'went on';
	COMMIT;
END $$;
CALL commits();
SELECT id FROM item WHERE id > 20;
-- and one that rolls back: its error is not forgotten
CREATE PROCEDURE gives_up() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (41, 1);
	INSERT INTO item VALUES (41, 1);
	RAISE WARNING 'went on';
	ROLLBACK;
	RAISE WARNING 'not reached';
END $$;
CALL gives_up();
-- all of a statement's work is undone with it
SELECT count(*) FROM here;
-- errors of deferred constraints are COMMIT's
ALTER TABLE node.item ALTER CONSTRAINT item_parent_fkey DEFERRABLE INITIALLY DEFERRED;
CREATE FUNCTION orphans() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO item VALUES (31, 1, 77);
	INSERT INTO item VALUES (32, 1, 77);
	RETURN 'until COMMIT';
END $$;
BEGIN;
SELECT orphans();
COMMIT;

-- more than write_buffer_size is not under way
SET shuttle.write_buffer_size = '64kB';
DO $$ BEGIN FOR i IN 1000..1500 LOOP INSERT INTO item VALUES (i, 1, 1, repeat('x', 100)); END LOOP; END $$;
SELECT count(*), sum(length(note)) FROM item WHERE id >= 1000;
RESET shuttle.write_buffer_size;

-- without strict savepoints those that are rolled back take their own INSERTs away
SET shuttle.strict_savepoints = off;
CREATE FUNCTION keeps() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 2010..2019 LOOP
		BEGIN
			INSERT INTO item VALUES (i, 1);
			IF i % 3 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
	RETURN 'done';
END $$;
SELECT keeps();
SELECT string_agg(id::text, ' ' ORDER BY id) FROM item WHERE id >= 2000;
RESET shuttle.strict_savepoints;
-- a block that is being entered when the session first inserts
\connect -
SET client_min_messages = warning;
DO $$
DECLARE
	id int := twice(51);
BEGIN
	INSERT INTO item VALUES (52, 1);
EXCEPTION WHEN unique_violation THEN
	RAISE WARNING 'the wrong block';
END $$;

DROP VIEW steps, all_rows;
DROP SCHEMA node CASCADE;
DROP SERVER far CASCADE;
DROP SERVER near CASCADE;
DROP TABLE watched, watched_after, cases;
DROP TABLE parted, here;
DROP FUNCTION sql_puts;
DROP FUNCTION counts, breaks, blocks, blocks_of_one, puts, declares, retries, picks, fills, audits, loops, spreads, twice, orphans, keeps, tallies, raises, sends_on;
DROP PROCEDURE commits, gives_up;
