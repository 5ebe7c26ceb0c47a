/*-------------------------------------------------------------------------
 * connection.c
 *	  Opens, checks and closes the session's connections to its nodes.
 *
 * A connection goes CLOSED -> CONNECTING -> READY. It is closed when it
 * breaks, when it was idle for too long, or, outside a transaction, when its
 * options changed. If it breaks inside a transaction it is LOST until the
 * transaction has ended: the work on the node is gone.
 *
 * Memory: a node owns its PGconn, and one of the server's external file
 * descriptors with it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/host_race.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/values/values.h"

#define OLDEST_VERSION 120000
#define EXIT_WAIT_MS 100

/* A connection that has worked within this time is not expected to be dead. */
#define FRESH_MS 10000

static ShuttleNode *create_node(NodeKey key);
static void name_node(ShuttleNode *node);
static void race_lost(ShuttleNode *node);
static void fail_connect(ShuttleNode *node, int sqlstate, const char *detail,
						 const char *hint);
static void finish_connect(ShuttleNode *node);
static void close_at_exit(int code, Datum arg);

static ShuttleNode *
find_node(Oid serverid, Oid userid)
{
	NodeKey		key = {serverid, shuttle_nodes_mapping(serverid, userid)};
	ShuttleNode *node = shuttle_nodes_find(key);

	return node != NULL ? node : create_node(key);
}

/* True if the next transaction needs another connection. */
static bool
is_to_replace(ShuttleNode *node)
{
	return node->connection.invalidated || shuttle_epoch_is_old(node);
}

ShuttleNode *
shuttle_connection_get(Oid serverid, Oid userid)
{
	ShuttleNode *node = find_node(serverid, userid);

	shuttle_connection_use(node, userid);
	return node;
}

void
shuttle_connection_use(ShuttleNode *node, Oid userid)
{
	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
	if (is_to_replace(node) && !shuttle_transaction_is_open(node))
		shuttle_connection_close(node);
	shuttle_connect_check_user(node, userid);
	node->userid = userid;
	shuttle_transaction_want(node);
	if (node->connection.state == NODE_CLOSED)
		shuttle_connection_start(node);
	if (node->shown.entry_missing)
		shuttle_node_totals_enter(node);
}

static ShuttleNode *
create_node(NodeKey key)
{
	ShuttleNode *node;

	if (dlist_is_empty(&shuttle_nodes))
		on_proc_exit(close_at_exit, (Datum) 0);
	node = shuttle_nodes_add(key, GetForeignServer(key.serverid)->servername);
	shuttle_transaction_forget(node);
	return node;
}

/* The old name is not freed: callers may still use it. */
static void
name_node(ShuttleNode *node)
{
	const char *name = GetForeignServer(node->key.serverid)->servername;

	if (node->name == NULL || strcmp(node->name, name) != 0)
		node->name = MemoryContextStrdup(node->cxt, name);
}

int
shuttle_connection_end_idle(Oid serverid)
{
	int			nclosed = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if ((OidIsValid(serverid) && node->key.serverid != serverid) ||
			node->connection.state == NODE_CLOSED)
			continue;
		if (shuttle_transaction_is_open(node) || node->transaction.used_level > 0 ||
			node->transaction.wanted_level > 0)
			ereport(WARNING,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot close connection to storage node \"%s\" because it is still in use",
							node->name)));
		else
		{
			shuttle_connection_close(node);
			nclosed++;
		}
	}
	return nclosed;
}

void
shuttle_connection_options_changed(Datum arg, int cacheid, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		uint32		own = cacheid == FOREIGNSERVEROID ?
			node->options.server_hash : node->options.mapping_hash;

		if (node->connection.state != NODE_CLOSED && (hash == 0 || hash == own))
			node->connection.invalidated = true;
	}
}

/* ---- connecting */

/* Reads the node's options for a new connection. */
static ConnectOptions *
read_options(ShuttleNode *node)
{
	ConnectOptions *options;

	Assert(node->connection.state == NODE_CLOSED);
	name_node(node);
	options = shuttle_connect_options(node, node->userid, node->userid, true);
	node->connection.invalidated = false;
	node->connection.used_password = false;
	node->options.server_hash =
		GetSysCacheHashValue1(FOREIGNSERVEROID,
							  ObjectIdGetDatum(node->key.serverid));
	node->options.mapping_hash =
		GetSysCacheHashValue1(USERMAPPINGOID, ObjectIdGetDatum(node->key.umid));

	/* Allocate these now: aborting must not. */
	(void) shuttle_wait_event(SHUTTLE_WAIT_CONNECT);
	shuttle_node_totals_enter(node);
	shuttle_cluster_find_prepared(node);
	return options;
}

static void
begin_connection(ShuttleNode *node)
{
	node->connection.farewell[0] = '\0';
	node->liveness.silent_since = 0;
	node->commit.max_prepared = -1;
	node->connection.state = NODE_CONNECTING;
	node->socket.readable = false;
	node->shown.connected_at = GetCurrentTimestamp();
	node->connection.used_at = 0;
	node->shown.address[0] = '\0';
	node->shown.least_trip_ms = -1;
	node->shown.sum_trips_ms = 0;
	node->shown.ntrips = 0;
	shuttle_wait_set_changed();
}

void
shuttle_connection_start(ShuttleNode *node)
{
	ConnectOptions *options = read_options(node);

	node->connection.race = shuttle_host_race_start(node, options, shuttle_settings.failover_wait_ms);
	if (node->connection.race == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
				 errmsg("could not connect to server \"%s\"", node->name),
				 errdetail("There are too many open files on the local server."),
				 errhint("Raise the server's \"max_files_per_process\" and/or \"ulimit -n\" limits.")));
	begin_connection(node);
	shuttle_connection_slot_show(node);

	/* Others fail when somebody waits: then a statement tries once. */
	if (shuttle_host_race_is_lost(node->connection.race))
		race_lost(node);
}

void
shuttle_connection_adopt(Oid serverid, Oid userid, PGconn **conn)
{
	ShuttleNode *node = find_node(serverid, userid);

	if (node->connection.state != NODE_CLOSED)
		return;
	node->userid = userid;
	(void) read_options(node);
	begin_connection(node);
	node->connection.conn = *conn;
	node->connection.host = 0;
	*conn = NULL;
	PQsetNoticeReceiver(node->connection.conn, shuttle_notice_receive, node);
	finish_connect(node);
}

void
shuttle_connection_poll(ShuttleNode *node)
{
	HostRace   *race = node->connection.race;
	bool		changed = false;
	bool		moved;
	RaceState	state = shuttle_host_race_advance(race, &changed);

	Assert(node->connection.state == NODE_CONNECTING);

	/* A new socket may have the number of an old one. */
	if (changed)
		shuttle_wait_set_changed();
	if (state == RACE_LOST)
		race_lost(node);
	else if (state == RACE_WON)
	{
		node->connection.race = NULL;
		node->connection.conn = shuttle_host_race_take(race, &node->connection.host, &moved);
		if (moved)
			shuttle_cluster_node_moved();
		finish_connect(node);
	}
}

int
shuttle_connection_version(const ShuttleNode *node)
{
	return node->connection.conn != NULL && PQstatus(node->connection.conn) == CONNECTION_OK ?
		PQserverVersion(node->connection.conn) : 0;
}

static void
finish_connect(ShuttleNode *node)
{
	int			version = PQserverVersion(node->connection.conn);

	node->connection.used_password = PQconnectionUsedPassword(node->connection.conn) != 0;
	if (version < OLDEST_VERSION)
	{
		char		detail[128];

		snprintf(detail, sizeof(detail),
				 "The node runs PostgreSQL %d.%d; %d is the oldest that is supported.",
				 version / 10000,
				 version >= 100000 ? version % 10000 : version / 100 % 100,
				 OLDEST_VERSION / 10000);
		fail_connect(node, ERRCODE_FEATURE_NOT_SUPPORTED, detail,
					 "Upgrade the node, or leave the server on postgres_fdw.");
		return;
	}
	if (!shuttle_connect_allowed(node))
	{
		shuttle_connection_close(node);
		shuttle_connect_fail_password(node);
		return;
	}
	if (PQsetnonblocking(node->connection.conn, 1) != 0 ||
		PQenterPipelineMode(node->connection.conn) != 1)
	{
		fail_connect(node, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION,
					 PQerrorMessage(node->connection.conn), NULL);
		return;
	}
	node->connection.state = NODE_READY;
	shuttle_node_count(node, SHUTTLE_NODE_CONNECTS, 1);
	if (node->shown.was_connected)
		shuttle_node_count(node, SHUTTLE_NODE_RECONNECTS, 1);
	node->shown.was_connected = true;
	shuttle_connection_slot_note_address(node);
	shuttle_connection_slot_show(node);
	shuttle_node_prepend_settings(node);
}

/* Fails with libpq's messages, which name address and reason but no secret. */
static void
race_lost(ShuttleNode *node)
{
	char		detail[lengthof(node->connection.failure.detail)];

	if (shuttle_host_race_reasons(node->connection.race, detail, sizeof(detail)))
		fail_connect(node, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION, detail,
					 "Check that the node is up, and the options host, port and connect_timeout of the server.");
	else
		fail_connect(node, ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION, detail,
					 "Check the options host, port and dbname of the server, user and password of the user mapping, and that the node accepts connections.");
}

static void
fail_connect(ShuttleNode *node, int sqlstate, const char *detail,
			 const char *hint)
{
	NodeFailure failure = {.sqlstate = sqlstate};
	int			length;

	snprintf(failure.message, sizeof(failure.message),
			 "could not connect to server \"%s\"", node->name);
	strlcpy(failure.detail, detail, sizeof(failure.detail));
	for (length = strlen(failure.detail);
		 length > 0 && failure.detail[length - 1] == '\n'; length--)
		failure.detail[length - 1] = '\0';
	if (hint != NULL)
		strlcpy(failure.hint, hint, sizeof(failure.hint));
	shuttle_node_count(node, SHUTTLE_NODE_ERRORS, 1);
	shuttle_connection_close(node);
	node->connection.failure = failure;
}

/* ---- ending */

void
shuttle_connection_close(ShuttleNode *node)
{
	PGconn	   *conn = node->connection.conn;
	HostRace   *race = node->connection.race;

	shuttle_idle_end(node);
	node->connection.conn = NULL;
	node->connection.race = NULL;
	node->connection.state = NODE_CLOSED;
	node->connection.invalidated = false;
	node->rollback.awaited = false;
	node->rollback.failed = false;
	node->rollback.packet = 0;
	node->rollback.again = false;
	node->transaction.lock_timeout = 0;
	node->transaction.replica = 0;
	node->transaction.timeout_deadline = 0;
	node->transaction.fast_start = false;

	/* Open requests report this failure. */
	if (node->connection.failure.sqlstate == 0)
	{
		node->connection.failure.sqlstate = ERRCODE_CONNECTION_FAILURE;
		snprintf(node->connection.failure.message, sizeof(node->connection.failure.message),
				 "connection to storage node \"%s\" was closed", node->name);
	}
	shuttle_pipeline_clear(node);
	shuttle_prepared_clear(node);
	shuttle_answer_format_clear(node);
	shuttle_transaction_forget(node);
	if (conn != NULL)
	{
		PQfinish(conn);
		ReleaseExternalFD();
	}
	shuttle_host_race_end(race);
	shuttle_wait_set_changed();
	shuttle_connection_slot_show(node);
}

void
shuttle_connection_lost(ShuttleNode *node, const char *detail)
{
	NodeFailure failure = {.sqlstate = ERRCODE_CONNECTION_FAILURE};
	bool		in_transaction = shuttle_transaction_is_open(node) ||
		node->transaction.used_level > 0;
	bool		must_wait = node->commit.must_wait;
	char	   *extra;
	int			length;

	snprintf(failure.message, sizeof(failure.message),
			 "connection to storage node \"%s\" was lost", node->name);
	if (node->connection.farewell[0] != '\0')
		detail = node->connection.farewell;
	strlcpy(failure.detail, detail != NULL ? detail : "",
			sizeof(failure.detail));

	/* libpq adds this text if it is called again. */
	extra = strstr(failure.detail, "\ninvalid socket");
	if (extra != NULL)
		*extra = '\0';
	for (length = strlen(failure.detail);
		 length > 0 && failure.detail[length - 1] == '\n'; length--)
		failure.detail[length - 1] = '\0';
	strlcpy(failure.hint, "The next transaction connects again.",
			sizeof(failure.hint));

	shuttle_node_count(node, SHUTTLE_NODE_ERRORS, 1);
	shuttle_connection_close(node);
	node->connection.failure = failure;
	if (in_transaction)
	{
		node->connection.state = NODE_LOST;
		node->commit.must_wait = must_wait;
		shuttle_connection_slot_show(node);
	}
}

bool
shuttle_connection_is_fresh(const ShuttleNode *node)
{
	return !TimestampDifferenceExceeds(node->connection.used_at, GetCurrentStatementStartTimestamp(), FRESH_MS);
}

void
shuttle_connection_broke(ShuttleNode *node, const char *detail, bool said)
{
	bool		committing = node->commit.pending && !said;

	if (shuttle_transaction_is_open(node) && node->transaction.can_repeat)
	{
		/* Each is sent again when its owner fetches rows. */
		shuttle_request_repeat_all(node);
		shuttle_connection_close(node);
		return;
	}
	shuttle_connection_lost(node, detail);
	if (committing)
	{
		node->commit.unknown = true;
		node->connection.failure.sqlstate = ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN;
		strlcpy(node->connection.failure.hint,
				"It was lost during COMMIT. Look on the node whether the transaction is there.",
				sizeof(node->connection.failure.hint));
	}
}

void
shuttle_connection_leave_old(ShuttleNode *node, bool is_new)
{
	char		detail[lengthof(node->connection.failure.detail)];

	shuttle_host_order_note_old(node->key.serverid, node->connection.host);
	shuttle_epoch_explain(node, detail, sizeof(detail));
	shuttle_connection_broke(node, detail, false);
	if (is_new && node->connection.state == NODE_LOST &&
		node->connection.failure.sqlstate == ERRCODE_CONNECTION_FAILURE)
		strlcpy(node->connection.failure.hint, SHUTTLE_EPOCH_HINT,
				sizeof(node->connection.failure.hint));
}

void
shuttle_connection_take_epoch(ShuttleNode *node, const PGresult *result)
{
	if (!shuttle_epoch_take(node, result))
	{
		shuttle_connection_leave_old(node, true);
		return;
	}
	if (node->epoch.news != EPOCH_NO_NEWS)
		shuttle_cluster_node_moved();
	shuttle_connection_slot_show(node);
}

/* The session ends. Reads outstanding answers first, for a short while: if a
 * socket is closed with unread data, the node logs a lost connection. */
static void
close_at_exit(int code, Datum arg)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   EXIT_WAIT_MS);
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		while (node->connection.state == NODE_READY && node->queue.nin_flight > 0)
		{
			struct pollfd event = {.fd = PQsocket(node->connection.conn),.events = POLLIN};
			long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
																  deadline);

			if (rest_ms <= 0 || shuttle_wait_event_poll(SHUTTLE_WAIT_COMMIT, &event, 1, (int) rest_ms) <= 0)
				break;
			node->socket.readable = true;
			shuttle_node_progress(node);
		}
		if (node->connection.conn != NULL)
			PQfinish(node->connection.conn);
		shuttle_host_race_end(node->connection.race);
		node->connection.conn = NULL;
		node->connection.race = NULL;
		node->connection.state = NODE_CLOSED;
	}
}

void
shuttle_connection_check(ShuttleNode *node)
{
	/* The reason may arrive before the end of the connection. */
	while (node->connection.state == NODE_READY)
	{
		struct pollfd event = {.fd = PQsocket(node->connection.conn),.events = POLLIN};

		if (poll(&event, 1, 0) <= 0)
			break;
		node->socket.readable = true;
		(void) shuttle_answer_pages_make_way(node);
		shuttle_node_progress(node);

		/* Makes libpq process messages that belong to no command. */
		if (node->connection.state == NODE_READY && dlist_is_empty(&node->queue.commands))
			(void) PQisBusy(node->connection.conn);
	}
	if (node->connection.state == NODE_READY && node->connection.farewell[0] != '\0')
		shuttle_connection_broke(node, NULL, true);
}

/* Reading shows whether the connection died while idle. Also reads answers to a
 * COMMIT that nobody waited for. */
void
shuttle_connection_revive(ShuttleNode *node, bool repeats)
{
	bool		may_be_dead = !repeats || node->connection.ended_idle || !shuttle_connection_is_fresh(node);

	shuttle_idle_end(node);
	shuttle_transaction_await_rollback(node);
	if (may_be_dead || !dlist_is_empty(&node->queue.commands))
		shuttle_connection_check(node);
	if (is_to_replace(node) && node->connection.state != NODE_LOST)
		shuttle_connection_close(node);
	if (node->connection.state == NODE_CLOSED)
		shuttle_connection_start(node);
	if (node->connection.state == NODE_CLOSED || node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
}
