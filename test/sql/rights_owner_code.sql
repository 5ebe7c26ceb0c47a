-- Whatever we do for a table, functions of its owner run with the owner's rights.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS code_owner, code_remote;
CREATE ROLE code_owner;
CREATE ROLE code_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO code_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'code_remote', ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user 'code_remote', ADD password_required 'false');
GRANT USAGE ON FOREIGN SERVER n1, n2 TO code_owner;
CREATE SCHEMA code AUTHORIZATION code_owner;
RESET client_min_messages;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');

-- it takes what it gets, here, and tries to get back what the session has
SET ROLE code_owner;
SET search_path = code;
CREATE FUNCTION take(v int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('code.take', true) IS DISTINCT FROM 'on' THEN
		RETURN v;
	END IF;
	BEGIN
		PERFORM set_config('role', 'none', false);
	EXCEPTION WHEN insufficient_privilege OR invalid_parameter_value OR feature_not_supported OR active_sql_transaction THEN
		NULL;
	END;
	IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		ALTER ROLE code_owner SUPERUSER;
	END IF;
	RETURN v;
END $$;
CREATE FUNCTION taken(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN code.take(v); END';
SELECT shuttle.distribute_function('take(int)');
CREATE DOMAIN small AS int CHECK (code.taken(VALUE) < 100);
CREATE TABLE t (id int PRIMARY KEY, v int CHECK (code.taken(v) < 100), d small, smalls small[],
	g int GENERATED ALWAYS AS (code.taken(id)) STORED,
	CHECK (code.taken(7) = 7), CHECK (smalls <> '{7}'::small[]), CHECK (code.taken(v) NOT IN (77, 78)));
CREATE INDEX ON t (code.taken(v));
CREATE INDEX ON t (v) WHERE code.taken(v) + code.taken(1) > 0;
CREATE TABLE r (id int PRIMARY KEY, v int CHECK (code.taken(v) < 100), g int GENERATED ALWAYS AS (code.taken(id)) STORED);
INSERT INTO t SELECT i, i, i, ARRAY[i] FROM generate_series(1, 4) AS i;
INSERT INTO r VALUES (1, 1);
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v = code.take(NEW.v); RETURN NEW; END';
CREATE TRIGGER disabled BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION code.fired();
ALTER TABLE t DISABLE TRIGGER disabled;
CREATE TRIGGER always BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION code.fired();
ALTER TABLE t ENABLE ALWAYS TRIGGER always;
RESET ROLE;
SET search_path = shop;
CREATE FUNCTION is_taken() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	taken bool;
BEGIN
	SELECT rolsuper FROM pg_roles WHERE rolname = 'code_owner' INTO taken;
	ALTER ROLE code_owner NOSUPERUSER;
	RETURN taken;
END $$;

-- it works for who calls it
SET code.take = on;
INSERT INTO code.r VALUES (2, 2);
SELECT is_taken();

-- but not for who only has rows moved, filled, compared and analyzed
SELECT shuttle.distribute_table('code.t', 'id', 2);
SELECT is_taken();
SELECT shuttle.reference_table('code.r');
SELECT is_taken();
ALTER TABLE code.t ADD COLUMN r float NOT NULL DEFAULT random();
SELECT is_taken();
ALTER TABLE code.t ADD COLUMN c int DEFAULT 3;
SELECT is_taken();
CREATE INDEX ON code.t (id, code.taken(3));
SELECT is_taken();
ANALYZE code.t;
SELECT count(*) FROM shuttle.analyze('code');
SELECT is_taken();
SELECT id, v, d, smalls, g, r IS NULL, c FROM code.t WHERE id < 3 ORDER BY id;
-- planning a query of partitions computes what is constant in their checks, in core, too
SELECT is_taken();

-- texts that nodes write in another way are read here
SELECT server, error FROM shuttle.run_on_nodes('ALTER TABLE code.t DROP CONSTRAINT t_v_check1, ADD CONSTRAINT t_v_check1 CHECK (code.taken(v) <> 77 AND code.taken(v + 0 * code.taken(5)) <> 78);
ALTER TABLE code.t DROP CONSTRAINT t_smalls_check, ADD CONSTRAINT t_smalls_check CHECK (smalls <> ''{8}''::code.small[]);
DROP INDEX code.t_v_idx;
CREATE INDEX t_v_idx ON code.t (v) WHERE code.taken(v) + code.taken(2) > 0;
ALTER TABLE code.t DROP COLUMN g, ADD COLUMN g int GENERATED ALWAYS AS (code.taken(id + code.taken(0))) STORED;', '{n1}');
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT problem FROM shuttle.check() ORDER BY 1;
SELECT format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database()) \gexec
SELECT is_taken();
SELECT shuttle.local_table('code.t');
SELECT shuttle.local_table('code.r');
SELECT is_taken();
SELECT count(*), sum(g), count(r) FROM code.t;
SELECT is_taken() IS NOT NULL;

-- a default is computed as who adds the column, as in core
GRANT USAGE ON SCHEMA shop TO code_owner;
CREATE FUNCTION shop.who() RETURNS text LANGUAGE sql VOLATILE AS 'SELECT current_user::text';
REVOKE EXECUTE ON FUNCTION shop.who() FROM PUBLIC;
CREATE TABLE shop.twin (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id + 1) STORED);
CREATE TABLE shop.spread (LIKE shop.twin INCLUDING ALL);
ALTER TABLE shop.twin OWNER TO code_owner;
ALTER TABLE shop.spread OWNER TO code_owner;
INSERT INTO shop.twin VALUES (1);
INSERT INTO shop.spread VALUES (1);
SELECT shuttle.distribute_table('shop.spread', 'id', 2);
ALTER TABLE shop.twin ADD COLUMN who text DEFAULT shop.who();
ALTER TABLE shop.spread ADD COLUMN who text DEFAULT shop.who();
SELECT t.who = s.who AS same, t.who = current_user AS callers FROM shop.twin t JOIN shop.spread s USING (id);
SELECT count(*) FROM shuttle.tables WHERE relation = 'shop.spread'::regclass;
-- so is what is constant in the expression of a new generated column
CREATE FUNCTION shop.seen(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$BEGIN PERFORM set_config('code.seen', current_user::text, false); RETURN i; END$$;
ALTER TABLE shop.twin ADD COLUMN k int GENERATED ALWAYS AS (shop.seen(1)) STORED;
SELECT current_setting('code.seen') = current_user AS callers;
SET code.seen = '';
ALTER TABLE shop.spread ADD COLUMN k int GENERATED ALWAYS AS (shop.seen(1)) STORED;
SELECT current_setting('code.seen') = current_user AS callers;

-- our own statements take no temporary object for one of the server
SET ROLE code_owner;
CREATE DOMAIN pg_temp.regclass AS pg_catalog.text CHECK (code.take(1) = 1);
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (code.take(1) = 1);
CREATE TEMP VIEW pg_class AS SELECT code.take(1), c.* FROM pg_catalog.pg_class AS c;
CREATE TEMP VIEW pg_trigger AS SELECT code.take(1), c.* FROM pg_catalog.pg_trigger AS c;
CREATE TABLE code.own (id int PRIMARY KEY);
SELECT shuttle.distribute_table('code.own', 'id', 2);
CREATE FUNCTION code.f(id int) RETURNS int LANGUAGE sql AS 'SELECT id';
SELECT shuttle.distribute_function('code.f(int)', 'id', 'code.own');
SELECT shuttle.local_function('code.f(int)');
SELECT shuttle.local_table('code.own');
RESET ROLE;
SELECT is_taken();
SET client_min_messages = warning;
DROP SCHEMA code, shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP OWNED BY code_owner;
DROP ROLE code_owner, code_remote;
