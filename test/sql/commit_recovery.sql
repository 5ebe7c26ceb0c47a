-- What nodes hold prepared and nobody works on is finished by its record alone.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
CREATE SCHEMA there;
CREATE TABLE there.a (id int);
CALL test.loopback('one');
CREATE FOREIGN TABLE a (id int) SERVER one OPTIONS (schema_name 'there');
SELECT oid AS server FROM pg_foreign_server WHERE srvname = 'one' \gset
SELECT umid AS mapping FROM pg_user_mappings WHERE srvname = 'one' \gset
SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '_' AS ours
FROM shuttle.identity \gset
DELETE FROM shuttle.commit_records;

-- Prepares a transaction as a session of ours would.
CREATE FUNCTION gid(fxid text, number int, server oid) RETURNS text LANGUAGE sql AS $$
	SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = current_database())
		|| '_' || fxid || '_' || lpad(to_hex(number), 16, '0') || '_' || server || '_1' FROM shuttle.identity;
$$;
CREATE FUNCTION name(fxid text, number int) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(gid(fxid, number, 1), '_1_1$', '');
$$;
CREATE PROCEDURE prepare(gid text, id int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM shuttle.run_on_nodes(format('BEGIN; INSERT INTO there.a VALUES (%s); PREPARE TRANSACTION %L', id, gid));
END $$;
CREATE VIEW held AS
SELECT server, regexp_replace(regexp_replace(regexp_replace(transaction, '_[0-9a-f]{32}_\d+_', '_C_D_'), '_\d+_([0-9a-f]{16}_)', '_X_\1'), '\d+_1$', 'S_M') AS transaction,
	since BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() AS is_recent, state
-- this cluster's number is a random one
FROM shuttle.transactions ORDER BY transaction NOT LIKE 'shuttle\_0123%', transactions.transaction;
-- a transaction that is over, here
SELECT pg_current_xact_id() AS past \gset

-- 1 has a record, 2 has none; 3 has no number yet
CALL prepare(gid(:'past', 1, :server), 1);
CALL prepare(gid(:'past', 2, :server), 2);
CALL prepare(gid('9999999999', 3, :server), 3);
-- of a server that is gone; of another cluster, another database; no name of ours
CALL prepare(gid(:'past', 4, 1), 4);
CALL prepare('shuttle_0123_5_' || :'past' || '_0000000000000001_1_1', 5);
SELECT regexp_replace(gid(:'past', 6, :server), '^(shuttle_[0-9a-f]+_)\d+', '\11') AS elsewhere \gset
CALL prepare(:'elsewhere', 6);
CALL prepare('shuttle_of_somebody', 7);
CALL prepare('another', 8);
INSERT INTO shuttle.commit_records VALUES (name(:'past', 1), ARRAY[:server], now()), (name(:'past', 4), ARRAY[1], now()),
	(name(:'past', 9), ARRAY[:server], now()), (name(:'past', 10), ARRAY[:server, 1], now());
TABLE held;
SELECT * FROM shuttle.recover();
SELECT * FROM a ORDER BY 1;
TABLE held;
-- forgotten: those whose servers all were asked
SELECT right(name, 2) AS name FROM shuttle.commit_records ORDER BY 1;
SELECT recoveries FROM shuttle.node_stats;
SELECT * FROM shuttle.recover();
SELECT right(name, 2) AS name FROM shuttle.commit_records ORDER BY 1;

-- whose role is gone
CREATE ROLE regress_commit_gone;
SELECT ok, status FROM shuttle.run_on_nodes(format('BEGIN; SET LOCAL ROLE regress_commit_gone; SELECT pg_current_xact_id(); PREPARE TRANSACTION %L', gid(:'past', 15, :server)));
DROP ROLE regress_commit_gone;
SELECT owner, state FROM shuttle.transactions WHERE transaction = gid(:'past', 15, :server);
SELECT * FROM shuttle.recover();

-- one whose session is still at work
BEGIN;
SELECT pg_current_xact_id() AS live \gset
CALL prepare(gid(:'live', 11, :server), 11);
TABLE held;
SELECT * FROM shuttle.recover();
ROLLBACK;
SELECT * FROM shuttle.recover();

-- a copy of the server, or one that was promoted, rolls nothing back
CALL prepare(gid(:'past', 12, :server), 12);
CALL prepare(gid(:'past', 13, :server), 13);
INSERT INTO shuttle.commit_records VALUES (name(:'past', 12), ARRAY[:server], now());
UPDATE shuttle.identity SET timeline = timeline + 1;
TABLE held;
SELECT * FROM shuttle.recover();
SELECT * FROM a ORDER BY 1;
SELECT shuttle.confirm_identity();
SELECT * FROM shuttle.recover();
CALL prepare(gid(:'past', 14, :server), 14);
SELECT shuttle.new_identity();
SELECT state, count(*) FROM held GROUP BY 1;
SELECT * FROM shuttle.recover();

-- what is replicated from another server leaves alone what is of this one
SET session_replication_role = replica;
INSERT INTO shuttle.identity VALUES ('another', 1, 1);
INSERT INTO shuttle.commit_records VALUES (name(:'past', 16), ARRAY[:server], now());
UPDATE shuttle.identity SET cluster = 'another';
DELETE FROM shuttle.identity;
RESET session_replication_role;
SELECT cluster = 'another' AS is_another FROM shuttle.identity;
TABLE shuttle.commit_records;

-- a node that can't be asked
ALTER SERVER one OPTIONS (SET port '1');
SELECT server, transaction, state LIKE 'not known: %' AS is_not_known FROM shuttle.transactions;
SELECT server, committed, rolled_back, unfinished, error IS NOT NULL AS failed FROM shuttle.recover();
DO $$ BEGIN EXECUTE format('ALTER SERVER one OPTIONS (SET port %L)', current_setting('port')); END $$;

-- who may
CREATE ROLE regress_commit_user;
SET ROLE regress_commit_user;
SELECT * FROM shuttle.recover();
SELECT * FROM shuttle.transactions;
TABLE shuttle.commit_records;
RESET ROLE;
DROP ROLE regress_commit_user;

SELECT ok, status, count(*) FROM pg_prepared_xacts, shuttle.run_on_nodes(format('ROLLBACK PREPARED %L', gid)) GROUP BY 1, 2;
DELETE FROM shuttle.commit_records;
DROP SERVER one CASCADE;
DROP SCHEMA there CASCADE;
DROP VIEW held;
DROP PROCEDURE prepare(text, int);
DROP FUNCTION gid(text, int, oid), name(text, int);
