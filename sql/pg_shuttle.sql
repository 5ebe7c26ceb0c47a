\echo Use "CREATE EXTENSION pg_shuttle" to load this file. \quit

-- Each function checks what its caller may do.
GRANT USAGE ON SCHEMA shuttle TO PUBLIC;

-- ---------------------------------------------------------- the wrapper

CREATE FUNCTION shuttle.fdw_handler()
RETURNS pg_catalog.fdw_handler
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_fdw_handler';

COMMENT ON FUNCTION shuttle.fdw_handler() IS
'handler of the foreign-data wrapper shuttle';

CREATE FUNCTION shuttle.fdw_validator(pg_catalog.text[], pg_catalog.oid)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_fdw_validator';

COMMENT ON FUNCTION shuttle.fdw_validator(pg_catalog.text[], pg_catalog.oid) IS
'checks the options of servers, user mappings, tables and columns of the foreign-data wrapper shuttle';

CREATE FOREIGN DATA WRAPPER shuttle
	HANDLER shuttle.fdw_handler
	VALIDATOR shuttle.fdw_validator;

COMMENT ON FOREIGN DATA WRAPPER shuttle IS
'storage nodes: PostgreSQL servers that are asked in pipelines, one connection a session';

-- ------------------------------------------------ moving existing servers

CREATE FUNCTION shuttle.adopt_server(
	server pg_catalog.name,
	OUT object pg_catalog.text,
	OUT changed pg_catalog.text,
	OUT old_value pg_catalog.text,
	OUT new_value pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_adopt_server';

COMMENT ON FUNCTION shuttle.adopt_server(pg_catalog.name) IS
'moves a server of postgres_fdw, with its tables, to the wrapper shuttle; returns what was changed';

CREATE FUNCTION shuttle.release_server(
	server pg_catalog.name,
	OUT object pg_catalog.text,
	OUT changed pg_catalog.text,
	OUT old_value pg_catalog.text,
	OUT new_value pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_release_server';

COMMENT ON FUNCTION shuttle.release_server(pg_catalog.name) IS
'moves a server of the wrapper shuttle, with its tables, back to postgres_fdw; returns what was changed';

-- ------------------------------------------------------- what nodes are doing

CREATE FUNCTION shuttle.node_connections(
	OUT serverid pg_catalog.oid,
	OUT pid pg_catalog.int4,
	OUT userid pg_catalog.oid,
	OUT address pg_catalog.text,
	OUT node_pid pg_catalog.int4,
	OUT state pg_catalog.text,
	OUT version pg_catalog.text,
	OUT round_trip_min_ms pg_catalog.float8,
	OUT round_trip_avg_ms pg_catalog.float8,
	OUT since pg_catalog.timestamptz,
	OUT role pg_catalog.text,
	OUT timeline pg_catalog.int8)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_node_connections';

COMMENT ON FUNCTION shuttle.node_connections() IS
'connections to storage nodes that the caller may see; read the view shuttle.nodes';

CREATE FUNCTION shuttle.node_paused_until(serverid pg_catalog.oid)
RETURNS pg_catalog.timestamptz
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_node_pause_end';

COMMENT ON FUNCTION shuttle.node_paused_until(pg_catalog.oid) IS
'when new transactions go to a paused storage node again; read the view shuttle.nodes';

CREATE VIEW shuttle.nodes AS
SELECT server.srvname AS server,
	connection.pid,
	pg_catalog.pg_get_userbyid(connection.userid) AS user_name,
	connection.address,
	connection.node_pid,
	COALESCE(connection.state, 'not connected') AS state,
	connection.version,
	connection.round_trip_min_ms,
	connection.round_trip_avg_ms,
	connection.since,
	connection.role,
	connection.timeline,
	shuttle.node_paused_until(server.oid) AS paused_until
FROM pg_catalog.pg_foreign_server AS server
	JOIN pg_catalog.pg_foreign_data_wrapper AS wrapper
		ON wrapper.oid OPERATOR(pg_catalog.=) server.srvfdw
		AND wrapper.fdwhandler OPERATOR(pg_catalog.=) 'shuttle.fdw_handler()'::pg_catalog.regprocedure
	LEFT JOIN shuttle.node_connections() AS connection
		ON connection.serverid OPERATOR(pg_catalog.=) server.oid;

COMMENT ON VIEW shuttle.nodes IS
'storage nodes, and the connections of sessions to them';

CREATE FUNCTION shuttle.pause_node(
	server pg_catalog.name,
	timeout pg_catalog.interval DEFAULT '30 seconds',
	drain pg_catalog.interval DEFAULT '10 seconds')
RETURNS pg_catalog.int4
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_pause_node';

COMMENT ON FUNCTION shuttle.pause_node(pg_catalog.name, pg_catalog.interval, pg_catalog.interval) IS
'lets new transactions on a storage node wait until it is resumed, or until the timeout; waits for those that run, and returns how many of these are left';

CREATE FUNCTION shuttle.resume_node(server pg_catalog.name)
RETURNS pg_catalog.bool
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_resume_node';

COMMENT ON FUNCTION shuttle.resume_node(pg_catalog.name) IS
'lets transactions go on that wait for a paused storage node; false: it was not paused';

REVOKE ALL ON FUNCTION shuttle.pause_node(pg_catalog.name, pg_catalog.interval, pg_catalog.interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION shuttle.resume_node(pg_catalog.name) FROM PUBLIC;

CREATE FUNCTION shuttle.forget_epoch(server pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_forget_epoch';

COMMENT ON FUNCTION shuttle.forget_epoch(pg_catalog.name) IS
'lets sessions use a storage node that was restored to an earlier timeline than they have seen';

REVOKE ALL ON FUNCTION shuttle.forget_epoch(pg_catalog.name) FROM PUBLIC;

-- The columns between the first and the last are in the order of ShuttleNodeTotal.
CREATE FUNCTION shuttle.node_counts(
	OUT serverid pg_catalog.oid,
	OUT requests pg_catalog.int8,
	OUT rows_read pg_catalog.int8,
	OUT rows_written pg_catalog.int8,
	OUT bytes_sent pg_catalog.int8,
	OUT bytes_received pg_catalog.int8,
	OUT wait_time_ms pg_catalog.float8,
	OUT errors pg_catalog.int8,
	OUT connects pg_catalog.int8,
	OUT reconnects pg_catalog.int8,
	OUT prepares pg_catalog.int8,
	OUT commits pg_catalog.int8,
	OUT rollbacks pg_catalog.int8,
	OUT recoveries pg_catalog.int8,
	OUT calls pg_catalog.int8,
	OUT calls_returned pg_catalog.int8,
	OUT snapshots_retaken pg_catalog.int8,
	OUT commit_fences pg_catalog.int8,
	OUT window_wait_ms pg_catalog.float8,
	OUT since pg_catalog.timestamptz)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_node_counts';

COMMENT ON FUNCTION shuttle.node_counts() IS
'what was asked of storage nodes; read the view shuttle.node_stats';

CREATE FUNCTION shuttle.node_round_trip(serverid pg_catalog.oid)
RETURNS pg_catalog.float8
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_node_round_trip';

COMMENT ON FUNCTION shuttle.node_round_trip(pg_catalog.oid) IS
'the round trip in ms that plans are made for; read the view shuttle.node_stats';

CREATE VIEW shuttle.node_stats AS
SELECT server.srvname AS server,
	COALESCE(counts.requests, 0) AS requests,
	COALESCE(counts.rows_read, 0) AS rows_read,
	COALESCE(counts.rows_written, 0) AS rows_written,
	COALESCE(counts.bytes_sent, 0) AS bytes_sent,
	COALESCE(counts.bytes_received, 0) AS bytes_received,
	COALESCE(counts.wait_time_ms, 0) AS wait_time_ms,
	COALESCE(counts.errors, 0) AS errors,
	COALESCE(counts.connects, 0) AS connects,
	COALESCE(counts.reconnects, 0) AS reconnects,
	COALESCE(counts.prepares, 0) AS prepares,
	COALESCE(counts.commits, 0) AS commits,
	COALESCE(counts.rollbacks, 0) AS rollbacks,
	COALESCE(counts.recoveries, 0) AS recoveries,
	COALESCE(counts.calls, 0) AS calls,
	COALESCE(counts.calls_returned, 0) AS calls_returned,
	COALESCE(counts.snapshots_retaken, 0) AS snapshots_retaken,
	COALESCE(counts.commit_fences, 0) AS commit_fences,
	COALESCE(counts.window_wait_ms, 0) AS window_wait_ms,
	shuttle.node_round_trip(server.oid) AS round_trip_ms,
	counts.since
FROM pg_catalog.pg_foreign_server AS server
	JOIN pg_catalog.pg_foreign_data_wrapper AS wrapper
		ON wrapper.oid OPERATOR(pg_catalog.=) server.srvfdw
		AND wrapper.fdwhandler OPERATOR(pg_catalog.=) 'shuttle.fdw_handler()'::pg_catalog.regprocedure
	LEFT JOIN shuttle.node_counts() AS counts
		ON counts.serverid OPERATOR(pg_catalog.=) server.oid;

COMMENT ON VIEW shuttle.node_stats IS
'what was asked of each storage node since it was counted';

GRANT SELECT ON shuttle.nodes, shuttle.node_stats TO PUBLIC;

CREATE FUNCTION shuttle.reset_node_stats(server pg_catalog.name DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_reset_node_stats';

COMMENT ON FUNCTION shuttle.reset_node_stats(pg_catalog.name) IS
'begins to count anew in shuttle.node_stats, and to measure round trips, for one server or for all';

REVOKE ALL ON FUNCTION shuttle.reset_node_stats(pg_catalog.name) FROM PUBLIC;

-- ------------------------------------------------------------- connections

CREATE FUNCTION shuttle.disconnect(server pg_catalog.name DEFAULT NULL)
RETURNS pg_catalog.bool
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_disconnect';

COMMENT ON FUNCTION shuttle.disconnect(pg_catalog.name) IS
'closes the session''s connections to a storage node, or to all, unless they are in use; tells whether one was closed';

CREATE FUNCTION shuttle.run_on_nodes(
	sql pg_catalog.text,
	servers pg_catalog.name[] DEFAULT NULL,
	OUT server pg_catalog.name,
	OUT ok pg_catalog.bool,
	OUT status pg_catalog.text,
	OUT rows pg_catalog.int8,
	OUT result pg_catalog.json,
	OUT sqlstate pg_catalog.text,
	OUT error pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_run_on_nodes';

COMMENT ON FUNCTION shuttle.run_on_nodes(pg_catalog.text, pg_catalog.name[]) IS
'runs a statement on storage nodes, on all at once and outside of the transaction; returns what each answered';

REVOKE ALL ON FUNCTION shuttle.run_on_nodes(pg_catalog.text, pg_catalog.name[]) FROM PUBLIC;

-- Who sends the log to a subscription is no standby.
CREATE VIEW shuttle.standbys AS
SELECT node.server, standby.name AS standby, standby.address, standby.state, standby.sync_state,
	standby.behind_bytes, standby.behind, node.error
FROM shuttle.run_on_nodes($$
		SELECT application_name AS name, pg_catalog.host(client_addr) AS address, state, sync_state,
			pg_catalog.pg_wal_lsn_diff(CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_receive_lsn()
				ELSE pg_catalog.pg_current_wal_flush_lsn() END, replay_lsn)::pg_catalog.int8 AS behind_bytes,
			replay_lag AS behind
		FROM pg_catalog.pg_stat_replication AS sender
		WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS slot
			WHERE slot.active_pid OPERATOR(pg_catalog.=) sender.pid AND slot.slot_type OPERATOR(pg_catalog.=) 'logical')$$) AS node
	LEFT JOIN LATERAL pg_catalog.json_to_recordset(node.result) AS standby (name pg_catalog.text, address pg_catalog.text,
		state pg_catalog.text, sync_state pg_catalog.text, behind_bytes pg_catalog.int8, behind pg_catalog.interval) ON true
WHERE standby.name IS NOT NULL OR node.error IS NOT NULL;

COMMENT ON VIEW shuttle.standbys IS
'standbys of storage nodes, and how far they are behind; asks all nodes, for those who may call shuttle.run_on_nodes()';

GRANT SELECT ON shuttle.standbys TO PUBLIC;

-- -------------------------------------------------------------- statistics

CREATE FUNCTION shuttle.analyze(
	schema pg_catalog.name DEFAULT NULL,
	OUT relation pg_catalog.regclass,
	OUT server pg_catalog.name,
	OUT how pg_catalog.text,
	OUT rows pg_catalog.float8,
	OUT seconds pg_catalog.float8,
	OUT error pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_analyze';

COMMENT ON FUNCTION shuttle.analyze(pg_catalog.name) IS
'analyzes foreign tables of the wrapper shuttle, in one schema or in all, asking all nodes at once; returns what became of each';

-- -------------------------------------------- commits over several servers

-- Both are of this very cluster, and are never dumped.
CREATE TABLE shuttle.identity (
	cluster pg_catalog.text PRIMARY KEY,
	system_identifier pg_catalog.int8 NOT NULL,
	timeline pg_catalog.int8 NOT NULL);

COMMENT ON TABLE shuttle.identity IS
'the number by which storage nodes know this cluster, and the server that it was made for';

CREATE TABLE shuttle.commit_records (
	name pg_catalog.text COLLATE "C" PRIMARY KEY,
	servers pg_catalog.oid[] NOT NULL,
	since pg_catalog.timestamptz NOT NULL);

COMMENT ON TABLE shuttle.commit_records IS
'transactions that have committed, and that storage nodes may still hold prepared';

REVOKE ALL ON shuttle.identity, shuttle.commit_records FROM PUBLIC;

CREATE FUNCTION shuttle.server_identity(
	OUT system_identifier pg_catalog.int8,
	OUT timeline pg_catalog.int8)
RETURNS pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_server_identity';

COMMENT ON FUNCTION shuttle.server_identity() IS
'what tells this server from its standbys and copies';

REVOKE ALL ON FUNCTION shuttle.server_identity() FROM PUBLIC;

INSERT INTO shuttle.identity
SELECT pg_catalog.replace(pg_catalog.gen_random_uuid()::pg_catalog.text, '-', ''), own.system_identifier, own.timeline
FROM shuttle.server_identity() AS own;

-- A publication FOR ALL TABLES has these tables as well: a subscriber keeps its own.
CREATE FUNCTION shuttle.keep_own()
RETURNS pg_catalog.trigger
LANGUAGE C VOLATILE
AS 'MODULE_PATHNAME', 'shuttle_keep_own';

COMMENT ON FUNCTION shuttle.keep_own() IS
'keeps what is replicated from another server out of a table that is of this one';

REVOKE ALL ON FUNCTION shuttle.keep_own() FROM PUBLIC;

CREATE TRIGGER keep_own BEFORE INSERT OR UPDATE OR DELETE ON shuttle.identity
FOR EACH ROW EXECUTE FUNCTION shuttle.keep_own();
ALTER TABLE shuttle.identity ENABLE REPLICA TRIGGER keep_own;

CREATE TRIGGER keep_own BEFORE INSERT OR UPDATE OR DELETE ON shuttle.commit_records
FOR EACH ROW EXECUTE FUNCTION shuttle.keep_own();
ALTER TABLE shuttle.commit_records ENABLE REPLICA TRIGGER keep_own;

CREATE FUNCTION shuttle.confirm_identity()
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE shuttle.identity
	SET system_identifier = own.system_identifier, timeline = own.timeline
	FROM shuttle.server_identity() AS own;
$$;

COMMENT ON FUNCTION shuttle.confirm_identity() IS
'says that this server, a promoted standby or a restored backup, takes the place of the one that it is a copy of';

CREATE FUNCTION shuttle.new_identity()
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM shuttle.commit_records;
	UPDATE shuttle.identity
	SET cluster = replace(gen_random_uuid()::text, '-', ''),
		system_identifier = own.system_identifier, timeline = own.timeline
	FROM shuttle.server_identity() AS own;
$$;

COMMENT ON FUNCTION shuttle.new_identity() IS
'says that this server is a copy which goes on beside the one that it was copied from';

REVOKE ALL ON FUNCTION shuttle.confirm_identity(), shuttle.new_identity() FROM PUBLIC;

CREATE FUNCTION shuttle.recover(
	OUT server pg_catalog.name,
	OUT committed pg_catalog.int4,
	OUT rolled_back pg_catalog.int4,
	OUT unfinished pg_catalog.int4,
	OUT error pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_recover';

COMMENT ON FUNCTION shuttle.recover() IS
'finishes transactions that storage nodes hold prepared and nobody works on; returns what was done on each';

CREATE FUNCTION shuttle.prepared_transactions(
	OUT server pg_catalog.name,
	OUT transaction pg_catalog.text,
	OUT owner pg_catalog.text,
	OUT since pg_catalog.timestamptz,
	OUT state pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_prepared_transactions';

COMMENT ON FUNCTION shuttle.prepared_transactions() IS
'asks storage nodes what they hold prepared; read the view shuttle.transactions';

CREATE VIEW shuttle.transactions AS
SELECT * FROM shuttle.prepared_transactions();

COMMENT ON VIEW shuttle.transactions IS
'transactions that storage nodes hold prepared, since when, and what becomes of them';

REVOKE ALL ON FUNCTION shuttle.recover(), shuttle.prepared_transactions() FROM PUBLIC;

-- ------------------------------------------------ deadlocks over several servers

CREATE TABLE shuttle.query_node_servers (server pg_catalog.name PRIMARY KEY);

COMMENT ON TABLE shuttle.query_node_servers IS
'servers that lead to other query nodes over the same storage nodes';

SELECT pg_catalog.pg_extension_config_dump('shuttle.query_node_servers', '');

GRANT SELECT ON shuttle.query_node_servers TO PUBLIC;

CREATE FUNCTION shuttle.check_query_node(server pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'shuttle_check_query_node';

COMMENT ON FUNCTION shuttle.check_query_node(pg_catalog.name) IS
'raises an error unless a server is of the foreign-data wrapper shuttle';

CREATE FUNCTION shuttle.add_query_node(server pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT shuttle.check_query_node(server);
	INSERT INTO shuttle.query_node_servers VALUES (server) ON CONFLICT DO NOTHING;
$$;

COMMENT ON FUNCTION shuttle.add_query_node(pg_catalog.name) IS
'names a server that leads to another query node, to be asked when a deadlock is looked for';

CREATE FUNCTION shuttle.remove_query_node(server pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM shuttle.query_node_servers AS p WHERE p.server = remove_query_node.server;
$$;

COMMENT ON FUNCTION shuttle.remove_query_node(pg_catalog.name) IS
'takes back shuttle.add_query_node()';

REVOKE ALL ON FUNCTION shuttle.add_query_node(pg_catalog.name), shuttle.remove_query_node(pg_catalog.name) FROM PUBLIC;

-- ------------------------------------------------ standbys that are query nodes

CREATE TABLE shuttle.query_node_leases (
	name pg_catalog.name PRIMARY KEY,
	seconds pg_catalog.int4 NOT NULL
);

COMMENT ON TABLE shuttle.query_node_leases IS
'standbys that may write to storage nodes, and how long without news from this server';

GRANT SELECT ON shuttle.query_node_leases TO PUBLIC;

CREATE FUNCTION shuttle.await_query_nodes()
RETURNS pg_catalog.void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_await_query_nodes';

COMMENT ON FUNCTION shuttle.await_query_nodes() IS
'has standbys that are query nodes write nothing until the transaction has ended, and they know what it changed';

CREATE FUNCTION shuttle.begin_beat()
RETURNS pg_catalog.void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_begin_beat';

COMMENT ON FUNCTION shuttle.begin_beat() IS
'has a background worker tell standbys every two seconds that they follow';

CREATE FUNCTION shuttle.register_query_node(name pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT shuttle.begin_beat();
	SELECT pg_create_physical_replication_slot(name)
	WHERE NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.slot_name = register_query_node.name);
	INSERT INTO shuttle.query_node_leases
	SELECT register_query_node.name, s.setting::int4 FROM pg_settings AS s WHERE s.name = 'shuttle.query_node_lease'
	ON CONFLICT DO NOTHING;
$$;

COMMENT ON FUNCTION shuttle.register_query_node(pg_catalog.name) IS
'lets the standby with this shuttle.query_node_name, which uses the replication slot of that name, write to storage nodes';

CREATE FUNCTION shuttle.forget_query_node(name pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT shuttle.await_query_nodes();
	DELETE FROM shuttle.query_node_leases AS l WHERE l.name = forget_query_node.name;
	SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots AS s
	WHERE s.slot_name = forget_query_node.name AND s.slot_type = 'physical' AND NOT s.active;
$$;

COMMENT ON FUNCTION shuttle.forget_query_node(pg_catalog.name) IS
'takes back shuttle.register_query_node(), and drops the replication slot if nobody uses it';

REVOKE ALL ON FUNCTION shuttle.await_query_nodes(), shuttle.begin_beat(), shuttle.register_query_node(pg_catalog.name), shuttle.forget_query_node(pg_catalog.name) FROM PUBLIC;

-- A standby's session calls these here, in this order, for a commit over several storage nodes.
CREATE FUNCTION shuttle.commit_begin()
RETURNS pg_catalog.text
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_commit_begin';

COMMENT ON FUNCTION shuttle.commit_begin() IS
'begins the commit of a standby that is a query node: the name by which storage nodes are to prepare';

CREATE FUNCTION shuttle.commit_decide(name pg_catalog.text, servers pg_catalog.oid[], systems pg_catalog.int8[], xids pg_catalog.int8[])
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_commit_decide';

COMMENT ON FUNCTION shuttle.commit_decide(pg_catalog.text, pg_catalog.oid[], pg_catalog.int8[], pg_catalog.int8[]) IS
'storage nodes have prepared a commit of a standby: the COMMIT that follows decides it';

CREATE FUNCTION shuttle.commit_is_safe()
RETURNS pg_catalog.bool
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_commit_is_safe';

COMMENT ON FUNCTION shuttle.commit_is_safe() IS
'whether synchronous standbys have what the session has committed';

CREATE FUNCTION shuttle.commit_end(all_over pg_catalog.bool)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_commit_end';

COMMENT ON FUNCTION shuttle.commit_end(pg_catalog.bool) IS
'a commit of a standby has ended on all storage nodes, or is left to recovery';

REVOKE ALL ON FUNCTION shuttle.commit_begin(), shuttle.commit_decide(pg_catalog.text, pg_catalog.oid[], pg_catalog.int8[], pg_catalog.int8[]), shuttle.commit_is_safe(), shuttle.commit_end(pg_catalog.bool) FROM PUBLIC;

CREATE VIEW shuttle.query_nodes AS
SELECT COALESCE(NULLIF(pg_catalog.current_setting('shuttle.query_node_name', true), ''), 'primary') AS name,
	'primary' AS role, true AS connected, '0'::pg_catalog.interval AS replay_lag, NULL::pg_catalog.interval AS lease
WHERE NOT pg_catalog.pg_is_in_recovery()
UNION ALL
SELECT l.name, 'standby', COALESCE(s.active, false), r.replay_lag, pg_catalog.make_interval(secs => l.seconds)
FROM shuttle.query_node_leases AS l
LEFT JOIN pg_catalog.pg_replication_slots AS s ON s.slot_name = l.name
LEFT JOIN pg_catalog.pg_stat_replication AS r ON r.pid = s.active_pid;

COMMENT ON VIEW shuttle.query_nodes IS
'the servers that plan statements over the storage nodes, as the primary server knows them';

GRANT SELECT ON shuttle.query_nodes TO PUBLIC;

-- ------------------------------------------------------ restore points

CREATE FUNCTION shuttle.create_restore_point(
	name pg_catalog.text,
	servers pg_catalog.name[] DEFAULT NULL,
	OUT server pg_catalog.name,
	OUT lsn pg_catalog.pg_lsn)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_create_restore_point';

COMMENT ON FUNCTION shuttle.create_restore_point(pg_catalog.text, pg_catalog.name[]) IS
'makes a restore point of one name here, on storage nodes and on other query nodes, between two commits over several nodes';

REVOKE ALL ON FUNCTION shuttle.create_restore_point(pg_catalog.text, pg_catalog.name[]) FROM PUBLIC;

-- ------------------------------------------------------ distributed tables

CREATE TABLE shuttle.groups (
	id pg_catalog.int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name pg_catalog.text,
	origin pg_catalog.int4);			-- the group that its tables left for placement rules of their own

COMMENT ON TABLE shuttle.groups IS
'groups of distributed tables whose rows with equal keys are on one storage node';

CREATE TABLE shuttle.tables (
	relation pg_catalog.regclass PRIMARY KEY,
	kind pg_catalog.text NOT NULL CHECK (kind IN ('distributed', 'reference', 'partitioned')),
	group_id pg_catalog.int4,			-- no foreign key: pg_restore -j loads in any order
	traps pg_catalog.bool NOT NULL DEFAULT false,
	key pg_catalog.name,				-- of kind partitioned: the column that spreads new partitions
	tablets pg_catalog.int4);			-- and how many tablets the first one gets

COMMENT ON TABLE shuttle.tables IS
'distributed tables, reference tables, and partitioned tables whose partitions are distributed tables';

CREATE TABLE shuttle.placement_rules (
	relation pg_catalog.regclass PRIMARY KEY,
	rule pg_catalog.text NOT NULL,
	by_age pg_catalog.bool NOT NULL DEFAULT false);	-- given by shuttle.tend()

COMMENT ON TABLE shuttle.placement_rules IS
'tables and partitions whose tablets may lie on some storage nodes only';

-- How often tablets were named after a table of that name: names do not come back on nodes.
CREATE TABLE shuttle.tablet_names (
	name pg_catalog.name PRIMARY KEY,
	count pg_catalog.int4 NOT NULL);

COMMENT ON TABLE shuttle.tablet_names IS
'names of tables that have or had tablets, and how often tablets were named after them';

-- Tablets are partitions of the applications' tables, but no tables of the applications. Their owners
-- can name them; who reads a table needs no right here.
CREATE SCHEMA shuttle_tablets;
GRANT USAGE ON SCHEMA shuttle_tablets TO PUBLIC;

COMMENT ON SCHEMA shuttle_tablets IS
'tablets of distributed tables: foreign tables, each a partition of its table';

-- Rows of entries are values of a unique index that lacks the distribution column, and the
-- distribution column of the row that has them. Dumps have them as other tables: restored over the
-- same nodes, they are the same index. A restored index has another OID; then its name counts.
CREATE SCHEMA shuttle_indexes;

COMMENT ON SCHEMA shuttle_indexes IS
'entries of global unique indexes of distributed tables';

CREATE TABLE shuttle.global_indexes (
	entries pg_catalog.regclass PRIMARY KEY,
	relation pg_catalog.regclass NOT NULL,
	name pg_catalog.name NOT NULL,
	index_oid pg_catalog.oid NOT NULL);

COMMENT ON TABLE shuttle.global_indexes IS
'unique indexes of distributed tables that lack the distribution column, and the tables with their entries';

-- Routines by their texts: pg_upgrade does not keep their OIDs.
CREATE TABLE shuttle.routines (
	routine pg_catalog.text PRIMARY KEY,
	argument pg_catalog.int4);

COMMENT ON TABLE shuttle.routines IS
'functions and procedures that storage nodes have, and which of their arguments has the distribution key';

SELECT pg_catalog.pg_extension_config_dump('shuttle.routines', '');
SELECT pg_catalog.pg_extension_config_dump('shuttle.groups', '');
SELECT pg_catalog.pg_extension_config_dump('shuttle.groups_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('shuttle.tables', '');
SELECT pg_catalog.pg_extension_config_dump('shuttle.placement_rules',
	'WHERE EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid OPERATOR(pg_catalog.=) relation::pg_catalog.oid)');
SELECT pg_catalog.pg_extension_config_dump('shuttle.tablet_names', '');
SELECT pg_catalog.pg_extension_config_dump('shuttle.global_indexes', '');

GRANT SELECT ON shuttle.groups, shuttle.tables, shuttle.placement_rules, shuttle.tablet_names, shuttle.global_indexes, shuttle.routines TO PUBLIC;
-- pg_dump --role reads it
GRANT SELECT ON SEQUENCE shuttle.groups_id_seq TO PUBLIC;

-- Of this very server: never dumped.
CREATE TABLE shuttle.copied_statistics (
	relation pg_catalog.regclass PRIMARY KEY,
	copied_at pg_catalog.timestamptz NOT NULL,
	analyzed_at pg_catalog.timestamptz,
	changes pg_catalog.float8 NOT NULL,
	error pg_catalog.text);

COMMENT ON TABLE shuttle.copied_statistics IS
'when the background worker copied statistics of tables, and of which state on their storage node';

GRANT SELECT ON shuttle.copied_statistics TO PUBLIC;

CREATE FUNCTION shuttle.add_node(
	name pg_catalog.name,
	host pg_catalog.text,
	port pg_catalog.int4 DEFAULT 5432,
	user_name pg_catalog.text DEFAULT NULL,
	password pg_catalog.text DEFAULT NULL,
	create_database pg_catalog.bool DEFAULT false,
	tags pg_catalog.text[] DEFAULT '{}',
	labels pg_catalog.jsonb DEFAULT NULL,
	OUT subject pg_catalog.text,
	OUT verdict pg_catalog.text,
	OUT hint pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_add_node';

COMMENT ON FUNCTION shuttle.add_node(pg_catalog.name, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.text, pg_catalog.bool, pg_catalog.text[], pg_catalog.jsonb) IS
'makes a server that holds tablets, and checks it';

CREATE FUNCTION shuttle.use_node(
	server pg_catalog.name,
	tags pg_catalog.text[] DEFAULT '{}',
	OUT subject pg_catalog.text,
	OUT verdict pg_catalog.text,
	OUT hint pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_use_node';

COMMENT ON FUNCTION shuttle.use_node(pg_catalog.name, pg_catalog.text[]) IS
'lets a server that exists hold tablets, and checks it';

CREATE FUNCTION shuttle.remove_node(name pg_catalog.name)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_remove_node';

COMMENT ON FUNCTION shuttle.remove_node(pg_catalog.name) IS
'drops a server that holds no tablets any more';

REVOKE ALL ON FUNCTION shuttle.add_node(pg_catalog.name, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.text, pg_catalog.bool, pg_catalog.text[], pg_catalog.jsonb),
	shuttle.use_node(pg_catalog.name, pg_catalog.text[]),
	shuttle.remove_node(pg_catalog.name) FROM PUBLIC;

CREATE FUNCTION shuttle.distribute_table(
	relation pg_catalog.regclass,
	key pg_catalog.name,
	tablets pg_catalog.int4 DEFAULT NULL,
	colocate_with pg_catalog.regclass DEFAULT NULL,
	nodes pg_catalog.name[] DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_distribute_table';

COMMENT ON FUNCTION shuttle.distribute_table(pg_catalog.regclass, pg_catalog.name, pg_catalog.int4, pg_catalog.regclass, pg_catalog.name[]) IS
'spreads a table over storage nodes by a column';

CREATE FUNCTION shuttle.distribute_tables(
	keys pg_catalog.text[],
	tablets pg_catalog.int4 DEFAULT NULL,
	colocate_with pg_catalog.regclass DEFAULT NULL,
	nodes pg_catalog.name[] DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_distribute_tables';

COMMENT ON FUNCTION shuttle.distribute_tables(pg_catalog.text[], pg_catalog.int4, pg_catalog.regclass, pg_catalog.name[]) IS
'spreads tables with foreign keys among them over storage nodes, each by the column named behind its name';

CREATE FUNCTION shuttle.local_table(relation pg_catalog.regclass)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_local_table';

COMMENT ON FUNCTION shuttle.local_table(pg_catalog.regclass) IS
'makes an ordinary table of a distributed one';

CREATE FUNCTION shuttle.local_tables(relations pg_catalog.regclass[])
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_local_tables';

COMMENT ON FUNCTION shuttle.local_tables(pg_catalog.regclass[]) IS
'makes ordinary tables of distributed ones, with the foreign keys among them';

CREATE PROCEDURE shuttle.move_tablet(tablet pg_catalog.regclass, server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_move_tablet';

COMMENT ON PROCEDURE shuttle.move_tablet(pg_catalog.regclass, pg_catalog.name) IS
'moves a tablet, and those that are colocated with it, to another storage node while they are used';

CREATE PROCEDURE shuttle.move_tablet(tablet pg_catalog.text, server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_move_tablet';

COMMENT ON PROCEDURE shuttle.move_tablet(pg_catalog.text, pg_catalog.name) IS
'the same, of a tablet by the name that its node calls it, with the schema or without';

CREATE PROCEDURE shuttle.split_tablet(tablet pg_catalog.regclass, server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_split_tablet';

COMMENT ON PROCEDURE shuttle.split_tablet(pg_catalog.regclass, pg_catalog.name) IS
'makes two halves, on another storage node, of a tablet and of those that are colocated with it, while they are used';

CREATE PROCEDURE shuttle.split_tablet(tablet pg_catalog.text, server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_split_tablet';

COMMENT ON PROCEDURE shuttle.split_tablet(pg_catalog.text, pg_catalog.name) IS
'the same, of a tablet by the name that its node calls it, with the schema or without';

CREATE TABLE shuttle.table_moves (
	relation pg_catalog.oid PRIMARY KEY,
	source pg_catalog.oid NOT NULL,
	target pg_catalog.oid NOT NULL,
	remote_name pg_catalog.text NOT NULL);

COMMENT ON TABLE shuttle.table_moves IS
'moves of ordinary foreign tables that go on, or were interrupted';

REVOKE ALL ON shuttle.table_moves FROM PUBLIC;

CREATE PROCEDURE shuttle.move_table(relation pg_catalog.regclass, server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_move_table';

COMMENT ON PROCEDURE shuttle.move_table(pg_catalog.regclass, pg_catalog.name) IS
'moves an ordinary foreign table, with its rows, to another server while it is used';

CREATE FUNCTION shuttle.rebalance_plan(
	by pg_catalog.text DEFAULT 'bytes',
	weights pg_catalog.jsonb DEFAULT NULL,
	threshold pg_catalog.float8 DEFAULT 0.1,
	colocated_with pg_catalog.regclass DEFAULT NULL,
	OUT relation pg_catalog.regclass,
	OUT tablet pg_catalog.regclass,
	OUT tables pg_catalog.int4,
	OUT source pg_catalog.name,
	OUT target pg_catalog.name,
	OUT rows pg_catalog.int8,
	OUT bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_rebalance_plan';

COMMENT ON FUNCTION shuttle.rebalance_plan(pg_catalog.text, pg_catalog.jsonb, pg_catalog.float8, pg_catalog.regclass) IS
'says which tablets shuttle.rebalance() would move';

CREATE PROCEDURE shuttle.rebalance(
	by pg_catalog.text DEFAULT 'bytes',
	weights pg_catalog.jsonb DEFAULT NULL,
	threshold pg_catalog.float8 DEFAULT 0.1,
	colocated_with pg_catalog.regclass DEFAULT NULL)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_rebalance';

COMMENT ON PROCEDURE shuttle.rebalance(pg_catalog.text, pg_catalog.jsonb, pg_catalog.float8, pg_catalog.regclass) IS
'moves tablets, while they are used, so that storage nodes hold what is their share';

CREATE PROCEDURE shuttle.drain_node(server pg_catalog.name)
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_drain_node';

COMMENT ON PROCEDURE shuttle.drain_node(pg_catalog.name) IS
'moves all tablets of a storage node to the others, so that it can be removed';

CREATE FUNCTION shuttle.place(
	relation pg_catalog.regclass,
	rule pg_catalog.text,
	alone pg_catalog.bool DEFAULT false)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_place';

COMMENT ON FUNCTION shuttle.place(pg_catalog.regclass, pg_catalog.text, pg_catalog.bool) IS
'says on which storage nodes the tablets of a table or partition may lie';

CREATE FUNCTION shuttle.set_labels(server pg_catalog.name, labels pg_catalog.jsonb)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_set_labels';

COMMENT ON FUNCTION shuttle.set_labels(pg_catalog.name, pg_catalog.jsonb) IS
'says what placement rules find a storage node by';

CREATE PROCEDURE shuttle.tend()
LANGUAGE C
AS 'MODULE_PATHNAME', 'shuttle_tend';

COMMENT ON PROCEDURE shuttle.tend() IS
'gives partitions the placement rules of their age, and moves tablets to where rules allow them';

REVOKE ALL ON FUNCTION shuttle.place(pg_catalog.regclass, pg_catalog.text, pg_catalog.bool),
	shuttle.set_labels(pg_catalog.name, pg_catalog.jsonb) FROM PUBLIC;
REVOKE ALL ON PROCEDURE shuttle.tend() FROM PUBLIC;
REVOKE ALL ON PROCEDURE shuttle.move_tablet(pg_catalog.regclass, pg_catalog.name),
	shuttle.move_tablet(pg_catalog.text, pg_catalog.name),
	shuttle.split_tablet(pg_catalog.regclass, pg_catalog.name),
	shuttle.split_tablet(pg_catalog.text, pg_catalog.name),
	shuttle.move_table(pg_catalog.regclass, pg_catalog.name),
	shuttle.rebalance(pg_catalog.text, pg_catalog.jsonb, pg_catalog.float8, pg_catalog.regclass),
	shuttle.drain_node(pg_catalog.name) FROM PUBLIC;
REVOKE ALL ON FUNCTION shuttle.rebalance_plan(pg_catalog.text, pg_catalog.jsonb, pg_catalog.float8, pg_catalog.regclass) FROM PUBLIC;

CREATE FUNCTION shuttle.advise(
	OUT relation pg_catalog.regclass,
	OUT kind pg_catalog.text,
	OUT key pg_catalog.name,
	OUT because pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_advise';

COMMENT ON FUNCTION shuttle.advise() IS
'says how each table could be spread over storage nodes, and why';

CREATE VIEW shuttle.storage_nodes AS
SELECT server.srvname AS node,
	options.host, options.port, options.database,
	COALESCE(pg_catalog.string_to_array(options.tags, ','), '{}') AS tags,
	COALESCE(options.labels, '{}')::pg_catalog.jsonb AS labels,
	(SELECT pg_catalog.count(*) FROM pg_catalog.pg_foreign_table AS tablet
		JOIN pg_catalog.pg_inherits AS part ON part.inhrelid OPERATOR(pg_catalog.=) tablet.ftrelid
		JOIN shuttle.tables ON tables.relation OPERATOR(pg_catalog.=) part.inhparent
		WHERE tablet.ftserver OPERATOR(pg_catalog.=) server.oid) AS tablets
FROM pg_catalog.pg_foreign_server AS server,
	LATERAL (SELECT
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'host') AS host,
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'port') AS port,
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'dbname') AS database,
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'shuttle_tags') AS tags,
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'shuttle_labels') AS labels,
			pg_catalog.max(option_value) FILTER (WHERE option_name OPERATOR(pg_catalog.=) 'shuttle_holds_tablets') AS holds
		FROM pg_catalog.pg_options_to_table(server.srvoptions)) AS options
WHERE options.holds::pg_catalog.bool;

COMMENT ON VIEW shuttle.storage_nodes IS
'servers that hold tablets';

CREATE VIEW shuttle.tablets AS
SELECT tables.relation, part.inhrelid::pg_catalog.regclass AS tablet, server.srvname AS node,
	pg_catalog.pg_get_expr(class.relpartbound, class.oid) AS bounds,
	NULLIF(class.reltuples, -1) AS estimated_rows,
	CASE WHEN class.reltuples OPERATOR(pg_catalog.>=) 0 THEN
		class.relpages::pg_catalog.int8 OPERATOR(pg_catalog.*) pg_catalog.current_setting('block_size')::pg_catalog.int8
	END AS estimated_bytes
FROM shuttle.tables
	JOIN pg_catalog.pg_inherits AS part ON part.inhparent OPERATOR(pg_catalog.=) tables.relation
	JOIN pg_catalog.pg_class AS class ON class.oid OPERATOR(pg_catalog.=) part.inhrelid
	JOIN pg_catalog.pg_foreign_table AS tablet ON tablet.ftrelid OPERATOR(pg_catalog.=) part.inhrelid
	JOIN pg_catalog.pg_foreign_server AS server ON server.oid OPERATOR(pg_catalog.=) tablet.ftserver;

COMMENT ON VIEW shuttle.tablets IS
'tablets of distributed tables, and the nodes that hold them';

-- The nearest rule above each table; entries of an index have that of its table.
CREATE VIEW shuttle.placements AS
WITH RECURSIVE above (relation, group_id, at, level) AS (
	SELECT tables.relation, tables.group_id, tables.relation::pg_catalog.oid, 0
	FROM shuttle.tables WHERE tables.kind OPERATOR(pg_catalog.=) 'distributed'
	UNION ALL
	SELECT above.relation, above.group_id,
		COALESCE(part.inhparent, indexes.relation::pg_catalog.oid), above.level OPERATOR(pg_catalog.+) 1
	FROM above
		LEFT JOIN pg_catalog.pg_inherits AS part ON part.inhrelid OPERATOR(pg_catalog.=) above.at
		LEFT JOIN shuttle.global_indexes AS indexes ON indexes.entries::pg_catalog.oid OPERATOR(pg_catalog.=) above.at
	WHERE COALESCE(part.inhparent, indexes.relation::pg_catalog.oid) IS NOT NULL)
SELECT DISTINCT ON (above.relation) above.relation, above.group_id, rules.relation AS declared_for, rules.rule, rules.by_age
FROM above JOIN shuttle.placement_rules AS rules ON rules.relation::pg_catalog.oid OPERATOR(pg_catalog.=) above.at
ORDER BY above.relation, above.level;

COMMENT ON VIEW shuttle.placements IS
'the placement rules of distributed tables';

CREATE FUNCTION shuttle.table_size(relation pg_catalog.regclass)
RETURNS pg_catalog.int8
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_table_size';

COMMENT ON FUNCTION shuttle.table_size(pg_catalog.regclass) IS
'bytes of a table with its indexes and TOAST: on the storage nodes, if it is distributed';

-- Core's progress machinery has fixed commands: ours is COPY with a twentieth parameter.
CREATE VIEW shuttle.progress AS
SELECT own.pid, own.relid::pg_catalog.regclass AS relation,
	(ARRAY['distribute', 'reference', 'local', 'move'])[own.param20] AS command,
	(ARRAY['making tables on nodes', 'copying rows', 'making keys and indexes', 'analyzing',
		'catching up', 'changing places', 'cleaning up'])[own.param19] AS phase,
	CASE WHEN own.param20 OPERATOR(pg_catalog.<>) 4 THEN own.param3 END AS rows,
	NULLIF(own.param18, 0) AS estimated_rows, own.param1 AS bytes,
	CASE WHEN own.param19 OPERATOR(pg_catalog.>) 2 THEN 100.0
		WHEN own.param20 OPERATOR(pg_catalog.=) 4 AND own.param17 OPERATOR(pg_catalog.>) 0 THEN
			LEAST(99.9, pg_catalog.round(100.0 OPERATOR(pg_catalog.*) own.param1 OPERATOR(pg_catalog./) own.param17, 1))
		WHEN own.param18 OPERATOR(pg_catalog.>) 0 THEN
			LEAST(99.9, pg_catalog.round(100.0 OPERATOR(pg_catalog.*) own.param3 OPERATOR(pg_catalog./) own.param18, 1))
	END AS percent,
	CASE WHEN own.param20 OPERATOR(pg_catalog.=) 4 THEN NULLIF(own.param17, 0) END AS estimated_bytes,
	CASE WHEN own.param20 OPERATOR(pg_catalog.=) 4 THEN own.param15::pg_catalog.int4 END AS move,
	CASE WHEN own.param20 OPERATOR(pg_catalog.=) 4 THEN own.param16::pg_catalog.int4 END AS moves
FROM pg_catalog.pg_stat_get_progress_info('COPY') AS own
WHERE own.param20 OPERATOR(pg_catalog.>) 0
	AND own.datid OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database());

COMMENT ON VIEW shuttle.progress IS
'tables that sessions are distributing, copying to nodes or bringing back, and tablets that they move; rows and bytes so far';

GRANT SELECT ON shuttle.storage_nodes, shuttle.tablets, shuttle.placements, shuttle.progress TO PUBLIC;

-- ------------------------------------------ names that other programs call

CREATE FUNCTION shuttle.install_citus_names(schema pg_catalog.name DEFAULT 'public')
RETURNS pg_catalog.void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $install$
BEGIN
	EXECUTE format($create$
		CREATE FUNCTION %1$I.create_distributed_table(
			table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
			colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
		RETURNS void LANGUAGE plpgsql VOLATILE AS $$
		BEGIN
			IF distribution_type <> 'hash' THEN
				RAISE EXCEPTION 'tables are distributed by hash only' USING ERRCODE = 'feature_not_supported';
			END IF;
			PERFORM shuttle.distribute_table(table_name, distribution_column::name, tablets => shard_count,
				colocate_with => CASE WHEN colocate_with NOT IN ('default', 'none') THEN colocate_with::regclass END);
		END $$;
		COMMENT ON FUNCTION %1$I.create_distributed_table(regclass, text, text, text, int) IS
			'shuttle.distribute_table() by the name that it has in Citus';
		CREATE FUNCTION %1$I.create_reference_table(table_name regclass)
		RETURNS void LANGUAGE sql VOLATILE AS $$SELECT shuttle.reference_table(table_name)$$;
		COMMENT ON FUNCTION %1$I.create_reference_table(regclass) IS
			'shuttle.reference_table() by the name that it has in Citus';
		CREATE FUNCTION %1$I.create_distributed_function(
			function_name regprocedure, distribution_arg_name text DEFAULT NULL,
			colocate_with text DEFAULT 'default', force_delegation bool DEFAULT NULL)
		RETURNS void LANGUAGE plpgsql VOLATILE AS $$
		BEGIN
			PERFORM shuttle.distribute_function(function_name, distribution_arg_name,
				colocate_with => CASE WHEN colocate_with NOT IN ('default', 'none') THEN colocate_with::regclass END);
		END $$;
		COMMENT ON FUNCTION %1$I.create_distributed_function(regprocedure, text, text, bool) IS
			'shuttle.distribute_function() by the name that it has in Citus';
		CREATE FUNCTION %1$I.undistribute_table(table_name regclass)
		RETURNS void LANGUAGE sql VOLATILE AS $$SELECT shuttle.local_table(table_name)$$;
		COMMENT ON FUNCTION %1$I.undistribute_table(regclass) IS
			'shuttle.local_table() by the name that it has in Citus';
		CREATE FUNCTION %1$I.citus_add_node(nodename text, nodeport int)
		RETURNS void LANGUAGE sql VOLATILE AS $$
			SELECT shuttle.add_node(format('%%s_%%s', nodename, nodeport)::name, nodename, nodeport)
		$$;
		COMMENT ON FUNCTION %1$I.citus_add_node(text, int) IS
			'shuttle.add_node() by the name that it has in Citus';
		CREATE FUNCTION %1$I.master_get_active_worker_nodes(OUT node_name text, OUT node_port bigint)
		RETURNS SETOF record LANGUAGE sql STABLE AS $$
			SELECT COALESCE(host, ''), COALESCE(port, '5432')::bigint FROM shuttle.storage_nodes
		$$;
		COMMENT ON FUNCTION %1$I.master_get_active_worker_nodes() IS
			'shuttle.storage_nodes by the name that it has in Citus'$create$, schema);
END $install$;

COMMENT ON FUNCTION shuttle.install_citus_names(pg_catalog.name) IS
'makes functions with the names that programs for Citus call';

CREATE FUNCTION shuttle.distribute_function(
	routine pg_catalog.regprocedure,
	argument pg_catalog.text DEFAULT NULL,
	colocate_with pg_catalog.regclass DEFAULT NULL)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_distribute_function';

COMMENT ON FUNCTION shuttle.distribute_function(pg_catalog.regprocedure, pg_catalog.text, pg_catalog.regclass) IS
'copies a function or procedure to the storage nodes, which then execute calls of it, by an argument that has the distribution key';

CREATE FUNCTION shuttle.local_function(routine pg_catalog.regprocedure)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_local_function';

COMMENT ON FUNCTION shuttle.local_function(pg_catalog.regprocedure) IS
'drops a function or procedure on the storage nodes';

CREATE FUNCTION shuttle.reference_table(relation pg_catalog.regclass)
RETURNS pg_catalog.void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_reference_table';

COMMENT ON FUNCTION shuttle.reference_table(pg_catalog.regclass) IS
'gives each storage node a copy of a table that stays here, and keeps the copies equal';

CREATE FUNCTION shuttle.copy_change()
RETURNS pg_catalog.trigger
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_copy_change';

COMMENT ON FUNCTION shuttle.copy_change() IS
'trigger of reference tables: repeats changes on their copies';

CREATE FUNCTION shuttle.foreign_key_change()
RETURNS pg_catalog.trigger
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_foreign_key_change';

COMMENT ON FUNCTION shuttle.foreign_key_change() IS
'trigger of foreign keys whose rows can be on several nodes: checks them';

CREATE FUNCTION shuttle.check_row()
RETURNS pg_catalog.trigger
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_check_row';

COMMENT ON FUNCTION shuttle.check_row() IS
'trigger of distributed tables: checks rows against constraints that nodes would decide otherwise';

CREATE FUNCTION shuttle.index_row()
RETURNS pg_catalog.trigger
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_index_row';

COMMENT ON FUNCTION shuttle.index_row() IS
'trigger of distributed tables: keeps entries of global unique indexes';

CREATE FUNCTION shuttle.check(
	repair pg_catalog.bool DEFAULT false,
	OUT relation pg_catalog.regclass,
	OUT node pg_catalog.name,
	OUT problem pg_catalog.text,
	OUT repaired pg_catalog.bool,
	OUT hint pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'shuttle_check';

COMMENT ON FUNCTION shuttle.check(pg_catalog.bool) IS
'compares tables on storage nodes with what they should be, and copies of reference tables with their rows here; repairs copies if told to';

REVOKE ALL ON FUNCTION shuttle.check(pg_catalog.bool) FROM PUBLIC;

-- --------------------------------------- what nodes collect, combined here

CREATE FUNCTION shuttle.collect_value(pg_catalog.internal, pg_catalog.anyelement)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_value';

CREATE FUNCTION shuttle.collect_combine(pg_catalog.internal, pg_catalog.internal)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_combine';

CREATE FUNCTION shuttle.collect_write(pg_catalog.internal)
RETURNS pg_catalog.bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_write';

CREATE FUNCTION shuttle.collect_read(pg_catalog.bytea, pg_catalog.internal)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_read';

CREATE FUNCTION shuttle.collect_array(pg_catalog.internal, pg_catalog.anyelement)
RETURNS pg_catalog.anyarray
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_array';

CREATE FUNCTION shuttle.collect_json(pg_catalog.internal)
RETURNS pg_catalog.json
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_json';

CREATE FUNCTION shuttle.collect_jsonb(pg_catalog.internal)
RETURNS pg_catalog.jsonb
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_jsonb';

CREATE FUNCTION shuttle.collect_text_value(pg_catalog.internal, pg_catalog.text, pg_catalog.text)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_value';

CREATE FUNCTION shuttle.collect_text_value(pg_catalog.internal, pg_catalog.bytea, pg_catalog.bytea)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_value';

CREATE FUNCTION shuttle.collect_text_combine(pg_catalog.internal, pg_catalog.internal)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_combine';

CREATE FUNCTION shuttle.collect_text_write(pg_catalog.internal)
RETURNS pg_catalog.bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_write';

CREATE FUNCTION shuttle.collect_text_read(pg_catalog.bytea, pg_catalog.internal)
RETURNS pg_catalog.internal
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_read';

CREATE FUNCTION shuttle.collect_text_finish(pg_catalog.internal)
RETURNS pg_catalog.text
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_finish';

CREATE FUNCTION shuttle.collect_bytea_finish(pg_catalog.internal)
RETURNS pg_catalog.bytea
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'shuttle_collect_text_finish';

CREATE AGGREGATE shuttle.collected_array(pg_catalog.anyelement) (
	SFUNC = shuttle.collect_value, STYPE = pg_catalog.internal,
	FINALFUNC = shuttle.collect_array, FINALFUNC_EXTRA,
	COMBINEFUNC = shuttle.collect_combine,
	SERIALFUNC = shuttle.collect_write, DESERIALFUNC = shuttle.collect_read,
	PARALLEL = SAFE);

CREATE AGGREGATE shuttle.collected_json(pg_catalog.anyelement) (
	SFUNC = shuttle.collect_value, STYPE = pg_catalog.internal,
	FINALFUNC = shuttle.collect_json,
	COMBINEFUNC = shuttle.collect_combine,
	SERIALFUNC = shuttle.collect_write, DESERIALFUNC = shuttle.collect_read,
	PARALLEL = SAFE);

CREATE AGGREGATE shuttle.collected_jsonb(pg_catalog.anyelement) (
	SFUNC = shuttle.collect_value, STYPE = pg_catalog.internal,
	FINALFUNC = shuttle.collect_jsonb,
	COMBINEFUNC = shuttle.collect_combine,
	SERIALFUNC = shuttle.collect_write, DESERIALFUNC = shuttle.collect_read,
	PARALLEL = SAFE);

CREATE AGGREGATE shuttle.collected_text(pg_catalog.text, pg_catalog.text) (
	SFUNC = shuttle.collect_text_value, STYPE = pg_catalog.internal,
	FINALFUNC = shuttle.collect_text_finish,
	COMBINEFUNC = shuttle.collect_text_combine,
	SERIALFUNC = shuttle.collect_text_write, DESERIALFUNC = shuttle.collect_text_read,
	PARALLEL = SAFE);

CREATE AGGREGATE shuttle.collected_text(pg_catalog.bytea, pg_catalog.bytea) (
	SFUNC = shuttle.collect_text_value, STYPE = pg_catalog.internal,
	FINALFUNC = shuttle.collect_bytea_finish,
	COMBINEFUNC = shuttle.collect_text_combine,
	SERIALFUNC = shuttle.collect_text_write, DESERIALFUNC = shuttle.collect_text_read,
	PARALLEL = SAFE);

COMMENT ON AGGREGATE shuttle.collected_array(pg_catalog.anyelement) IS
'array_agg() of parts that storage nodes have collected; plans take it by themselves';
COMMENT ON AGGREGATE shuttle.collected_json(pg_catalog.anyelement) IS
'json_agg() of parts that storage nodes have collected; plans take it by themselves';
COMMENT ON AGGREGATE shuttle.collected_jsonb(pg_catalog.anyelement) IS
'jsonb_agg() of parts that storage nodes have collected; plans take it by themselves';
COMMENT ON AGGREGATE shuttle.collected_text(pg_catalog.text, pg_catalog.text) IS
'string_agg() of parts that storage nodes have collected; plans take it by themselves';
COMMENT ON AGGREGATE shuttle.collected_text(pg_catalog.bytea, pg_catalog.bytea) IS
'string_agg() of parts that storage nodes have collected; plans take it by themselves';
