-- A check with a function of the user that is not immutable may depend on the session: it is computed here. Domains with such a check are
-- refused, and a function does not become immutable, or cease to be, while tables use it.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
SET own.tenant = 'a';
CREATE FUNCTION stable_one(v text) RETURNS bool LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN v = current_setting('own.tenant'); END $$;
CREATE FUNCTION volatile_one(v text) RETURNS bool LANGUAGE sql AS $$ SELECT v = current_setting('own.tenant') $$;
CREATE FUNCTION immutable_one(v int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT v > 0';
CREATE FUNCTION is_of(v name, other name) RETURNS bool LANGUAGE plpgsql STABLE AS 'BEGIN RETURN v = current_user OR v = other; END';
-- rows that exist when the table is distributed, and when checks are added
CREATE TABLE t (id int PRIMARY KEY, s text CHECK (stable_one(s)), v int CONSTRAINT v_check CHECK (immutable_one(v)));
INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2);
SELECT shuttle.distribute_table('t', 'id', tablets => 2);
ALTER TABLE t ADD CONSTRAINT by_volatile CHECK (volatile_one(s)), ADD COLUMN owner name DEFAULT current_user CHECK (is_of(owner, 'x'));
ALTER TABLE t ADD CONSTRAINT not_b CHECK (NOT volatile_one(s));
SELECT tgname FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal;
-- with and without the key, prepared, and by others
PREPARE new_row AS INSERT INTO t VALUES ($1, $2, $3);
EXECUTE new_row(3, 'a', 3);
EXECUTE new_row(4, 'b', 3);
EXECUTE new_row(4, 'a', 0);
INSERT INTO t VALUES (5, 'a', 1, 'somebody');
SET own.tenant = 'b';
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET s = 'b' WHERE id = 1;
UPDATE t SET s = 'a';
INSERT INTO t VALUES (1, 'b', 1) ON CONFLICT (id) DO UPDATE SET s = 'a';
INSERT INTO t VALUES (1, 'b', 1) ON CONFLICT (id) DO UPDATE SET v = 7;
ALTER TABLE t ADD CONSTRAINT later CHECK (stable_one(s)) NOT VALID;
ALTER TABLE t VALIDATE CONSTRAINT later;
SELECT id, s, v FROM t ORDER BY id;
-- the checks that nodes have
SELECT server, r.value AS checks FROM shuttle.run_on_nodes(
	'SELECT string_agg(conrelid::regclass || '' '' || conname, '', '' ORDER BY conname) AS checks FROM pg_constraint WHERE contype = ''c'' AND conrelid IN'
	' (SELECT oid FROM pg_class WHERE relnamespace = ''shop''::regnamespace AND NOT relispartition)', '{n1, n2}'), json_each_text(result->0) AS r ORDER BY 1;
\set VERBOSITY default
-- a function that tables use stays what it is
ALTER FUNCTION immutable_one(int) STABLE;
CREATE OR REPLACE FUNCTION immutable_one(v int) RETURNS bool LANGUAGE sql AS 'SELECT v > 0';
ALTER FUNCTION stable_one(text) IMMUTABLE;
ALTER FUNCTION stable_one(text) VOLATILE;
ALTER FUNCTION immutable_one(int) STRICT;
ALTER TABLE t DROP CONSTRAINT v_check;
ALTER FUNCTION immutable_one(int) STABLE;
ALTER TABLE t ADD CONSTRAINT v_check CHECK (immutable_one(v));
ALTER FUNCTION immutable_one(int) IMMUTABLE;
-- MERGE, which would see such a table's rows as a whole
MERGE INTO t USING (VALUES (1)) AS n (id) ON t.id = n.id WHEN MATCHED THEN UPDATE SET s = 'a';
-- reference tables have the check here
CREATE TABLE r (id int PRIMARY KEY, s text CHECK (stable_one(s)));
SELECT shuttle.reference_table('r');
INSERT INTO r VALUES (1, 'a');
INSERT INTO r VALUES (1, 'b');
-- domains
CREATE DOMAIN owned AS text CHECK (stable_one(VALUE));
CREATE TABLE d (id int PRIMARY KEY, s owned);
SELECT shuttle.distribute_table('d', 'id', tablets => 2);
SELECT * FROM shuttle.check();
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
