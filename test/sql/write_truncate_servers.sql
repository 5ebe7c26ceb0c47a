-- TRUNCATE of tables of several servers: all are sent their part before any is waited for,
-- unless triggers fire behind them.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS node CASCADE;
RESET client_min_messages;
CREATE SCHEMA node;
CALL test.loopback('one');
CALL test.loopback('two');
CREATE TABLE node.here_1 (id int);
CREATE TABLE node.here_2 (id int);
-- each says if the other has begun
CREATE FUNCTION node.meet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(TG_ARGV[0]::int);
	FOR i IN 1 .. TG_ARGV[1]::int LOOP
		IF EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 3 - TG_ARGV[0]::int) THEN
			RETURN NULL;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RAISE 'table % is truncated alone', TG_ARGV[0];
END $$;
CREATE TRIGGER meet BEFORE TRUNCATE ON node.here_1 EXECUTE FUNCTION node.meet(1, 2000);
CREATE TRIGGER meet BEFORE TRUNCATE ON node.here_2 EXECUTE FUNCTION node.meet(2, 2000);
CREATE TABLE parted (id int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) SERVER one OPTIONS (schema_name 'node', table_name 'here_1');
CREATE FOREIGN TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) SERVER two OPTIONS (schema_name 'node', table_name 'here_2');
INSERT INTO parted VALUES (1), (2);
BEGIN;
TRUNCATE parted;
SELECT count(*) FROM parted;
ROLLBACK;
BEGIN;
TRUNCATE parted_2, parted_1 RESTART IDENTITY;
ROLLBACK;
SELECT count(*) FROM parted;

-- the error of one undoes all
DROP TRIGGER meet ON node.here_1;
DROP TRIGGER meet ON node.here_2;
CREATE FUNCTION node.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
CREATE TRIGGER refuse AFTER TRUNCATE ON node.here_1 EXECUTE FUNCTION node.refuse();
TRUNCATE parted;
\set VERBOSITY terse
TRUNCATE parted_2, parted_1;
\set VERBOSITY default
SELECT count(*) FROM parted;
BEGIN;
SAVEPOINT s;
TRUNCATE parted;
ROLLBACK TO s;
INSERT INTO parted VALUES (2);
COMMIT;
SELECT count(*) FROM parted;
DROP TRIGGER refuse ON node.here_1;

-- a trigger here sees the tables empty, and fires once all are
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '%: % rows', TG_NAME, (SELECT count(*) FROM parted);
	RETURN NULL;
END $$;
CREATE TRIGGER behind AFTER TRUNCATE ON parted EXECUTE FUNCTION tell();
CREATE TRIGGER ahead BEFORE TRUNCATE ON parted EXECUTE FUNCTION tell();
TRUNCATE parted;
CREATE TRIGGER refuse AFTER TRUNCATE ON node.here_2 EXECUTE FUNCTION node.refuse();
\set VERBOSITY terse
TRUNCATE parted;
\set VERBOSITY default
DROP TABLE parted;
DROP FUNCTION tell();
