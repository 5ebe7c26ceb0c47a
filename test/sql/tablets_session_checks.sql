-- A check constraint that depends on the session's user or settings would be decided otherwise
-- by a node: it is refused. One that nodes decide alike is theirs.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
\set VERBOSITY default
SET timezone = 'Asia/Tokyo';
CREATE TABLE day (id int PRIMARY KEY, d date, at timestamptz, CONSTRAINT is_day CHECK (d = at::date));
SELECT shuttle.distribute_table('day', 'id', tablets => 2);
ALTER TABLE day DROP CONSTRAINT is_day;
SELECT shuttle.distribute_table('day', 'id', tablets => 2);
ALTER TABLE day ADD CONSTRAINT is_day CHECK (d = at::date);
ALTER TABLE day ADD CONSTRAINT "Is day" CHECK (d = at::date) NOT VALID;
ALTER TABLE day ADD COLUMN owner name CHECK (owner = current_user);
ALTER TABLE day ADD CONSTRAINT is_day CHECK (d = (at AT TIME ZONE 'Asia/Tokyo')::date);
INSERT INTO day VALUES (1, '2024-05-02', '2024-05-02 03:00');
\set VERBOSITY terse
INSERT INTO day VALUES (2, '2024-05-01', '2024-05-02 03:00');
SELECT id, d FROM day;
CREATE TABLE owned (id int PRIMARY KEY, by name CHECK (by = current_user));
SELECT shuttle.distribute_table('owned', 'id', tablets => 2);
SELECT shuttle.reference_table('owned');
CREATE TABLE written (id int PRIMARY KEY, b bytea CHECK (b::text <> ''));
SELECT shuttle.distribute_table('written', 'id', tablets => 2);
CREATE TABLE kind (id int PRIMARY KEY);
SELECT shuttle.reference_table('kind');
ALTER TABLE kind ADD COLUMN at timestamptz, ADD CHECK (at::date > '2020-01-01');
-- what is the same in all sessions
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE alike (id int PRIMARY KEY, m mood CHECK (m::text <> 'x'), at timestamptz CHECK (at <= now() AND at <= CURRENT_TIMESTAMP), ends timestamptz,
	tags text[] CHECK (array_to_string(tags, ',') ~ '^[a-z,]*$'), a text, n numeric CHECK (pg_column_size(a) < 100 AND concat(a, n, m) <> '' AND a || n <> 'x'),
	CHECK (ends <= at + interval '2 hours'));
SELECT shuttle.distribute_table('alike', 'id', tablets => 2);
INSERT INTO alike VALUES (1, 'ok', '2024-05-02 03:00', '2024-05-02 05:00', '{a,b}', 'a', 1);
INSERT INTO alike VALUES (2, 'ok', '2024-05-02 03:00', '2024-05-02 05:01', '{a,b}', 'a', 1);
INSERT INTO alike VALUES (3, 'ok', '2024-05-02 03:00', NULL, '{A}', 'a', 1);
ALTER TABLE alike ADD CHECK (ends <= at + interval '1 day');
SET client_min_messages = warning;
SELECT shuttle.local_tables('{day}');
DROP SCHEMA shop CASCADE;
