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
SET client_min_messages = warning;
SELECT shuttle.local_tables('{day}');
DROP SCHEMA shop CASCADE;
