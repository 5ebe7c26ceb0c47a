-- A check constraint that depends on the session's user or settings would be decided otherwise
-- by a node: it stays here. One that nodes decide alike is theirs.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
-- the checks that nodes have
CREATE VIEW there AS SELECT server, r.value AS checks FROM shuttle.run_on_nodes(
	'SELECT string_agg(conrelid::regclass || '' '' || conname, '', '' ORDER BY conname) AS checks FROM pg_constraint WHERE contype = ''c'' AND conrelid IN'
	' (SELECT oid FROM pg_class WHERE relnamespace = ''shop''::regnamespace AND NOT relispartition)', '{n1, n2}'), json_each_text(result->0) AS r ORDER BY 1;
CREATE TABLE day (id int PRIMARY KEY, d date, at timestamptz, CONSTRAINT is_day CHECK (d = at::date), CONSTRAINT is_after CHECK (d > '2020-01-01'));
SELECT shuttle.distribute_table('day', 'id', tablets => 2);
ALTER TABLE day ADD CONSTRAINT "Is day" CHECK (d = at::date) NOT VALID;
ALTER TABLE day ADD COLUMN owner name CHECK (owner = current_user);
ALTER TABLE day ADD CONSTRAINT is_day_there CHECK (d = (at AT TIME ZONE 'Asia/Tokyo')::date);
CREATE TABLE owned (id int PRIMARY KEY, by name CHECK (by = current_user));
SELECT shuttle.reference_table('owned');
CREATE TABLE written (id int PRIMARY KEY, b bytea CHECK (b::text <> ''));
SELECT shuttle.distribute_table('written', 'id', tablets => 2);
SELECT * FROM there;
-- what is the same in all sessions
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE alike (id int PRIMARY KEY, m mood CHECK (m::text <> 'x'), at timestamptz, ends timestamptz,
	tags text[] CHECK (array_to_string(tags, ',') ~ '^[a-z,]*$'), a text, n numeric CHECK (pg_column_size(a) < 100 AND concat(a, n, m) <> '' AND a || n <> 'x'),
	CHECK (ends <= at + interval '2 hours'));
SELECT shuttle.distribute_table('alike', 'id', tablets => 2);
INSERT INTO alike VALUES (1, 'ok', '2024-05-02 03:00', '2024-05-02 05:00', '{a,b}', 'a', 1);
INSERT INTO alike VALUES (2, 'ok', '2024-05-02 03:00', '2024-05-02 05:01', '{a,b}', 'a', 1);
INSERT INTO alike VALUES (3, 'ok', '2024-05-02 03:00', NULL, '{A}', 'a', 1);
-- a node's transaction begins later
ALTER TABLE alike ADD COLUMN made timestamptz DEFAULT now() CONSTRAINT is_now CHECK (made = now()), ADD COLUMN said timestamptz DEFAULT CURRENT_TIMESTAMP
	CONSTRAINT is_current CHECK (said >= CURRENT_TIMESTAMP AND said >= statement_timestamp() - interval '1 day' AND said >= transaction_timestamp());
INSERT INTO alike (id, a, n) VALUES (4, 'a', 1);
INSERT INTO alike (id, a, n, made) VALUES (5, 'a', 1, now() + interval '1 millisecond');
SELECT made = said AS same, count(*) FROM alike GROUP BY 1;
ALTER TABLE alike ADD CONSTRAINT is_here CHECK (ends <= at + interval '1 day');
SELECT * FROM there;
-- The table of the rows has another OID on a node.
CREATE TABLE named (id int PRIMARY KEY, CONSTRAINT is_named CHECK (tableoid = 'named'::regclass));
SELECT shuttle.distribute_table('named', 'id', tablets => 2);
SELECT shuttle.reference_table('named');
ALTER TABLE named DROP CONSTRAINT is_named, ADD COLUMN b bool GENERATED ALWAYS AS (tableoid = 'named'::regclass) STORED;
SELECT shuttle.distribute_table('named', 'id', tablets => 2);
SELECT shuttle.reference_table('named');
ALTER TABLE named DROP COLUMN b;
SELECT shuttle.distribute_table('named', 'id', tablets => 2);
ALTER TABLE named ADD COLUMN b bool GENERATED ALWAYS AS (tableoid = 'named'::regclass) STORED;
ALTER TABLE named ADD CONSTRAINT is_named CHECK (tableoid = 'named'::regclass);
-- Domains may be within other types. A column that is there already is not looked at again.
CREATE DOMAIN mine AS name CHECK (VALUE = current_user);
CREATE DOMAIN mines AS mine[];
CREATE TYPE owned_by AS (a int, o mine);
CREATE TYPE stretch AS RANGE (SUBTYPE = mine);
CREATE TABLE within (id int PRIMARY KEY, o owned_by);
SELECT shuttle.distribute_table('within', 'id', tablets => 2);
ALTER TABLE within DROP COLUMN o, ADD COLUMN o mines;
SELECT shuttle.reference_table('within');
ALTER TABLE within DROP COLUMN o;
SELECT shuttle.distribute_table('within', 'id', tablets => 2);
ALTER TABLE within ADD COLUMN o owned_by[];
ALTER TABLE within ADD COLUMN o stretch;
ALTER TABLE within ADD COLUMN o stretch_multirange;
CREATE DOMAIN later AS name;
ALTER TABLE within ADD COLUMN o later;
ALTER DOMAIN later ADD CONSTRAINT is_mine CHECK (VALUE = current_user);
SET shuttle.enable_ddl = off;
ALTER DOMAIN later ADD CONSTRAINT is_mine CHECK (VALUE = current_user);
RESET shuttle.enable_ddl;
SELECT ok FROM shuttle.run_on_nodes('ALTER DOMAIN shop.later ADD CONSTRAINT is_mine CHECK (VALUE = current_user)', '{n1,n2}');
ALTER TABLE within ADD COLUMN n int;
ALTER TABLE within ADD COLUMN p later;
SET client_min_messages = warning;
SELECT shuttle.local_tables('{day}');
DROP SCHEMA shop CASCADE;
