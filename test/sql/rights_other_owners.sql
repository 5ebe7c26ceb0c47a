-- Code of a role does not run on nodes where it could reach the tables of owners whose privileges the role has not.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS reach_writer, reach_other, reach_remote;
CREATE ROLE reach_writer;
CREATE ROLE reach_other;
CREATE ROLE reach_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO reach_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'reach_remote', ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user 'reach_remote', ADD password_required 'false');
GRANT USAGE ON FOREIGN SERVER n1, n2 TO reach_writer, reach_other;
CREATE SCHEMA reach;
GRANT ALL ON SCHEMA reach TO reach_writer, reach_other;
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
RESET client_min_messages;
SET search_path = reach;
SET ROLE reach_writer;
CREATE FUNCTION spies(v int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE EXCEPTION '%', (SELECT string_agg(secret, ',') FROM reach.theirs_t0);
EXCEPTION WHEN undefined_table THEN
	RETURN true;
END $$;
CREATE DOMAIN watched AS int CHECK (spies(VALUE));
CREATE TABLE mine (id int PRIMARY KEY, v int CHECK (spies(v)));
CREATE TABLE mine_too (id int PRIMARY KEY, v watched);
CREATE TABLE harmless (id int PRIMARY KEY, v int CHECK (v > 0));
RESET ROLE;
SET ROLE reach_other;
CREATE TABLE theirs (id int PRIMARY KEY, secret text);
CREATE TABLE small (id int PRIMARY KEY, secret text);
INSERT INTO theirs VALUES (1, 'secret'), (2, 'secret');

-- others' tables come first
SELECT shuttle.distribute_table('theirs', 'id', 2);
RESET ROLE;
SET ROLE reach_writer;
\set VERBOSITY default
SELECT shuttle.distribute_table('mine', 'id', 2);
\set VERBOSITY terse
SELECT shuttle.distribute_tables('{mine.id, mine_too.id}');
SELECT shuttle.reference_table('mine');
SELECT shuttle.distribute_function('spies(int)');
SELECT shuttle.distribute_table('harmless', 'id', 2);
ALTER TABLE harmless ADD CHECK (spies(v));
ALTER TABLE harmless ADD COLUMN w watched;
CREATE INDEX ON harmless ((spies(v)));
CREATE INDEX CONCURRENTLY ON harmless ((spies(v)));
-- also if a superuser sends it, and beside reference tables
RESET ROLE;
SELECT shuttle.distribute_table('mine', 'id', 2);
SET ROLE reach_other;
SELECT shuttle.local_table('theirs');
SELECT shuttle.reference_table('small');
RESET ROLE;
SET ROLE reach_writer;
SELECT shuttle.distribute_table('mine', 'id', 2);
RESET ROLE;
SELECT shuttle.local_table('small');

-- the code comes first
SET ROLE reach_writer;
SELECT shuttle.distribute_table('mine', 'id', 2);
-- entries of global indexes are their table's owner's
CREATE TABLE keyed (id int PRIMARY KEY, v int UNIQUE CHECK (spies(v)));
SELECT shuttle.distribute_table('keyed', 'id', 2);
INSERT INTO keyed VALUES (1, 1), (2, 2);
RESET ROLE;
SELECT count(*) FROM shuttle.check();
DROP TABLE keyed;
SET ROLE reach_other;
\set VERBOSITY default
SELECT shuttle.distribute_table('theirs', 'id', 2);
SET shuttle.auto_distribute = 'id';
CREATE TABLE stays (id int PRIMARY KEY);
RESET shuttle.auto_distribute;
\set VERBOSITY terse
SELECT shuttle.reference_table('small');
-- code that its owner adds to an extension is his still
RESET ROLE;
GRANT CREATE ON DATABASE :DBNAME TO reach_writer;
SET ROLE reach_writer;
CREATE EXTENSION tcn SCHEMA reach;
ALTER EXTENSION tcn ADD FUNCTION spies(int);
RESET ROLE;
SET ROLE reach_other;
SELECT shuttle.distribute_table('theirs', 'id', 2);
RESET ROLE;
SELECT count(*) FROM shuttle.check();
SET ROLE reach_writer;
ALTER EXTENSION tcn DROP FUNCTION spies(int);
DROP EXTENSION tcn;
RESET ROLE;
REVOKE CREATE ON DATABASE :DBNAME FROM reach_writer;
SELECT shuttle.distribute_table('theirs', 'id', 2);
ALTER TABLE mine DROP CONSTRAINT mine_v_check;
ALTER TABLE harmless ADD CONSTRAINT spied CHECK (spies(v));
ALTER TABLE mine OWNER TO reach_other;
SELECT relation, kind FROM shuttle.tables ORDER BY 1;
-- a function on all nodes
ALTER TABLE harmless DROP CONSTRAINT spied;
SET ROLE reach_writer;
SELECT shuttle.distribute_function('spies(int)');
RESET ROLE;
SET ROLE reach_other;
SELECT shuttle.distribute_table('theirs', 'id', 2);
RESET ROLE;
SET ROLE reach_writer;
SELECT shuttle.local_function('spies(int)');
RESET ROLE;
-- two owners in one call
SELECT shuttle.distribute_tables('{theirs.id, mine_too.id}');
SELECT shuttle.distribute_tables('{mine_too.id, theirs.id}');

-- who has the privileges of the other may
GRANT reach_other TO reach_writer;
SELECT shuttle.distribute_tables('{theirs.id, mine_too.id}');
SELECT count(*) FROM shuttle.check();
-- and check() says so if they are taken
REVOKE reach_other FROM reach_writer;
SELECT DISTINCT relation, problem FROM shuttle.check() ORDER BY 1, 2;
-- who uses another's code trusts it
SELECT shuttle.local_tables('{theirs,mine_too}');
SET ROLE reach_other;
ALTER TABLE theirs ADD CHECK (reach.spies(id));
SELECT shuttle.distribute_table('theirs', 'id', 2);
SELECT shuttle.reference_table('small');
RESET ROLE;
SET client_min_messages = warning;
RESET search_path;
DROP SCHEMA reach CASCADE;
DROP SCHEMA shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP ROLE reach_writer, reach_other, reach_remote;
