-- Only roles with USAGE on the servers make and change objects on storage nodes.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
DROP ROLE IF EXISTS tablets_stranger, tablets_maker, tablets_remote;
RESET client_min_messages;
CREATE ROLE tablets_remote LOGIN;
GRANT CREATE ON DATABASE tablets_n1, tablets_n2 TO tablets_remote;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (SET user 'tablets_remote', ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (SET user 'tablets_remote', ADD password_required 'false');
SELECT count(*) FROM shuttle.use_node('n1');
SELECT count(*) FROM shuttle.use_node('n2');
CREATE ROLE tablets_stranger;
CREATE ROLE tablets_maker;
GRANT USAGE, CREATE ON SCHEMA shop TO tablets_stranger, tablets_maker;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO tablets_maker;

-- nothing of a role without it gets there, in any way
SET ROLE tablets_stranger;
CREATE TABLE mine (id int PRIMARY KEY, v int);
CREATE FUNCTION mine(id int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
\set VERBOSITY default
SELECT shuttle.distribute_table('mine', 'id');
\set VERBOSITY terse
SELECT shuttle.distribute_tables('{mine.id}');
SELECT shuttle.distribute_table('mine', 'id', nodes => '{n2}');
SELECT shuttle.reference_table('mine');
SELECT shuttle.distribute_function('mine(int)');
\set VERBOSITY default
SET shuttle.auto_distribute = 'id';
CREATE TABLE auto_mine (id int PRIMARY KEY, v int);
RESET shuttle.auto_distribute;
\set VERBOSITY terse
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER n1 TO tablets_stranger;
SET ROLE tablets_stranger;
SELECT shuttle.distribute_table('mine', 'id');
SELECT shuttle.reference_table('mine');
RESET ROLE;
SELECT * FROM shuttle.tables;

-- the right is looked at when it is used
GRANT USAGE ON FOREIGN SERVER n2 TO tablets_stranger;
SET ROLE tablets_stranger;
SELECT shuttle.distribute_table('mine', 'id', 2);
SELECT shuttle.reference_table('auto_mine');
SELECT shuttle.distribute_function('mine(int)');
CREATE FUNCTION early(v bigint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
ALTER TABLE mine ADD CHECK (early(v));
INSERT INTO mine SELECT i, i FROM generate_series(1, 10) AS i;
RESET ROLE;
REVOKE USAGE ON FOREIGN SERVER n2 FROM tablets_stranger;
SET ROLE tablets_stranger;
SELECT count(*), sum(v) FROM mine;
UPDATE mine SET v = v + 1;
INSERT INTO auto_mine VALUES (1, 1);
CREATE FUNCTION own(v int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
ALTER TABLE mine ADD CHECK (own(v));
ALTER TABLE mine ADD COLUMN w int;
ALTER TABLE mine ADD COLUMN w int GENERATED ALWAYS AS (v + 1) STORED;
ALTER TABLE mine ALTER COLUMN v TYPE bigint;
ALTER TABLE mine RENAME COLUMN v TO w;
ALTER TABLE auto_mine ADD CHECK (own(v));
CREATE INDEX ON mine (v);
CREATE INDEX ON auto_mine (own(v));
CREATE INDEX CONCURRENTLY ON mine (v);
CREATE INDEX CONCURRENTLY ON auto_mine (v);
CREATE OR REPLACE FUNCTION mine(id int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
ALTER FUNCTION mine(int) STRICT;
-- what is of others is no business of the role
RESET ROLE;
SET ROLE tablets_maker;
CREATE FUNCTION mine(text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION mine(text) RETURNS int LANGUAGE sql AS 'SELECT 2';
CREATE TABLE made (id int PRIMARY KEY, v int CHECK (own(v)));
SELECT shuttle.distribute_table('made', 'id', 2);
ALTER TABLE made DROP CONSTRAINT made_v_check;
SELECT shuttle.distribute_table('made', 'id', 2);
ALTER TABLE made ADD COLUMN w int;
RESET ROLE;
SET ROLE tablets_stranger;
CREATE OR REPLACE FUNCTION early(v bigint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true';
-- an owner can always take what is his, empty it and drop it
TRUNCATE mine;
SELECT shuttle.local_function('mine(int)');
SELECT shuttle.local_table('auto_mine');
DROP TABLE mine, auto_mine;
RESET ROLE;
DROP TABLE made;
SELECT * FROM shuttle.check();
DROP OWNED BY tablets_stranger, tablets_maker;
DROP ROLE tablets_stranger, tablets_maker;

-- tablets, and what stands for copies, are their owner's alone, whatever default privileges say
CREATE ROLE tablets_reader;
GRANT USAGE ON SCHEMA shop TO tablets_reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT SELECT, UPDATE ON TABLES TO tablets_reader WITH GRANT OPTION;
CREATE TABLE hidden (id int PRIMARY KEY, owner name);
CREATE TABLE small (id int PRIMARY KEY, owner name);
INSERT INTO hidden SELECT i, CASE i % 2 WHEN 0 THEN 'tablets_reader' ELSE 'nobody' END FROM generate_series(1, 8) AS i;
INSERT INTO small SELECT * FROM hidden;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON hidden USING (owner = current_user);
SELECT shuttle.distribute_table('hidden', 'id', 2);
SELECT shuttle.reference_table('small');
SELECT rtrim(relname, '0123456789') AS name, (SELECT count(*) FROM aclexplode(relacl) WHERE grantee <> relowner) AS of_others FROM pg_class
WHERE relname ~ '^hidden_t' OR relnamespace = to_regnamespace('pg_shuttle_copies') ORDER BY 1;
SET ROLE tablets_reader;
SELECT count(*) FROM hidden;
SELECT count(*) FROM shuttle_tablets.hidden_t0;
UPDATE shuttle_tablets.hidden_t1 SET owner = 'tablets_reader';
RESET ROLE;
ALTER TABLE hidden ADD COLUMN v int;
SELECT * FROM shuttle.check();
-- nor are they given with those of a schema, or by name
GRANT ALL ON ALL TABLES IN SCHEMA shop, shuttle_tablets TO tablets_reader;
GRANT SELECT ON hidden, shuttle_tablets.hidden_t0 TO tablets_reader;
GRANT SELECT (id) ON shuttle_tablets.hidden_t1 TO tablets_reader;
SET ROLE tablets_reader;
SELECT count(*) FROM hidden;
SELECT count(*) FROM shuttle_tablets.hidden_t0;
RESET ROLE;
SELECT * FROM shuttle.check();
-- what was given without our eyes is found
SET shuttle.enable_ddl = off;
GRANT SELECT ON shuttle_tablets.hidden_t0 TO PUBLIC;
GRANT UPDATE (id) ON shuttle_tablets.hidden_t1 TO tablets_reader;
RESET shuttle.enable_ddl;
SELECT problem, repaired FROM shuttle.check();
SELECT problem, repaired FROM shuttle.check(repair => true);
SELECT * FROM shuttle.check();
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, tablets_reader;
DROP TABLE hidden, small;
DROP OWNED BY tablets_reader;
DROP ROLE tablets_reader;
-- a new table is bound to those that a foreign key of it could refer to
CREATE ROLE tablets_maker;
CREATE ROLE tablets_owner;
GRANT USAGE, CREATE ON SCHEMA shop TO tablets_owner, tablets_maker;
GRANT USAGE ON FOREIGN SERVER n1, n2 TO tablets_owner, tablets_maker;
CREATE FUNCTION groups() RETURNS SETOF text LANGUAGE sql AS
	'SELECT string_agg(relation::text, '' '' ORDER BY relation::text) FROM shuttle.tables GROUP BY group_id ORDER BY 1';
SET ROLE tablets_owner;
CREATE TABLE theirs (id int PRIMARY KEY);
CREATE TABLE theirs_too (id int PRIMARY KEY);
SELECT shuttle.distribute_tables('{theirs.id, theirs_too.id}');
GRANT SELECT, INSERT, UPDATE, DELETE ON theirs TO tablets_maker;
SET ROLE tablets_maker;
CREATE TABLE mine (id int PRIMARY KEY);
\set VERBOSITY default
SELECT shuttle.distribute_table('mine', 'id', colocate_with => 'theirs');
\set VERBOSITY terse
SELECT shuttle.distribute_table('mine', 'id');
SET shuttle.auto_distribute = 'id';
CREATE TABLE mine_too (id int PRIMARY KEY);
RESET shuttle.auto_distribute;
SELECT * FROM groups();
SELECT shuttle.local_table('mine');
DROP TABLE mine_too;
RESET ROLE;
GRANT REFERENCES ON theirs TO tablets_maker;
SET ROLE tablets_maker;
SELECT shuttle.distribute_table('mine', 'id', colocate_with => 'theirs_too');
SELECT shuttle.distribute_table('mine', 'id', colocate_with => 'theirs');
CREATE TABLE mine_too (id int PRIMARY KEY);
SELECT shuttle.distribute_table('mine_too', 'id');
SELECT * FROM groups();
RESET ROLE;
SELECT * FROM shuttle.check();
DROP OWNED BY tablets_maker, tablets_owner;
DROP ROLE tablets_maker, tablets_owner;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP SERVER n1, n2, n3 CASCADE;
DROP DATABASE tablets_n1 WITH (FORCE);
DROP DATABASE tablets_n2 WITH (FORCE);
DROP ROLE tablets_remote;
