/*-------------------------------------------------------------------------
 * outside_connection.c
 *	  The connection of a statement that runs outside the session's transaction.
 *
 * It is a new one, or the one that the caller's side has kept from the
 * statement before. A run that ends returns a usable connection to its side.
 *
 * Memory: a side lives in the caller's context; a reset callback closes its
 * connection.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "storage/connection/connection.h"
#include "storage/connection/host_race.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/outside_transaction.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/two_phase.h"

struct ShuttleSide
{
	PGconn	   *conn;			/* NULL: none, or in use by a run */
	NodeEpoch	epoch;			/* of the connection */
	char		address[128];
	MemoryContextCallback callback;
};

static bool start_on_side(OutsideRun *run);
static void connect_to_node(OutsideRun *run, Oid userid);
static void keep_connection(OutsideRun *run);

/* ---- sides */

static void
close_side(void *arg)
{
	ShuttleSide *side = arg;

	if (side->conn == NULL)
		return;
	PQfinish(side->conn);
	ReleaseExternalFD();
	side->conn = NULL;
}

ShuttleSide *
shuttle_outside_side_create(void)
{
	ShuttleSide *side = palloc0_object(ShuttleSide);

	side->callback.func = close_side;
	side->callback.arg = side;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &side->callback);
	return side;
}

void
shuttle_outside_side_end(ShuttleSide *side, Oid serverid, Oid userid)
{
	if (side->conn != NULL)
		shuttle_connection_adopt(serverid, userid, &side->conn);
	close_side(side);
}

/* ---- connections of runs */

void
shuttle_outside_connect(OutsideRun *run, Oid userid)
{
	initStringInfo(&run->rows);
	run->node.name = pstrdup(run->result->name);
	run->node.key.serverid = run->result->serverid;
	if (!start_on_side(run))
		connect_to_node(run, userid);
}

/* Takes the connection that the side has kept; false: a new one is needed. */
static bool
start_on_side(OutsideRun *run)
{
	ShuttleSide *side = run->result->side;

	if (side == NULL || side->conn == NULL)
		return false;
	run->node.epoch = side->epoch;
	strlcpy(run->node.shown.address, side->address, sizeof(run->node.shown.address));
	if (shuttle_epoch_is_old(&run->node))
	{
		close_side(side);
		return false;
	}
	run->node.connection.conn = side->conn;
	side->conn = NULL;

	/* Notices belong to this run. */
	PQsetNoticeReceiver(run->node.connection.conn, shuttle_notice_receive, &run->node);
	run->state = RUN_SENDING;
	run->step = STEP_BEGIN;
	return true;
}

static void
add_node_context(void *arg)
{
	errcontext("storage node \"%s\"", ((OutsideRun *) arg)->result->name);
}

/* Whose rights the password rule checks: the server owner's, who chose host and
 * mappings; the user's if the owner is a superuser. */
static Oid
whose_rights(Oid serverid, Oid userid)
{
	Oid			owner = GetForeignServer(serverid)->owner;

	return superuser_arg(owner) ? userid : owner;
}

/* shuttle_connect_options(), but errors of a mapping fail only the run. PG_TRY:
 * a reset callback could not stop the error. */
static ConnectOptions *
try_options(OutsideRun *run, Oid userid)
{
	MemoryContext cxt = CurrentMemoryContext;
	ConnectOptions *volatile options = NULL;
	Oid			mapped = run->result->by_public ? InvalidOid : userid;

	PG_TRY();
	{
		options = shuttle_connect_options(&run->node,
										  whose_rights(run->node.key.serverid, userid),
										  mapped, run->result->lasts);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
			error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			PG_RE_THROW();
		FlushErrorState();
		shuttle_outside_fail(run, unpack_sql_state(error->sqlerrcode), error->message);
	}
	PG_END_TRY();
	return options;
}

/* The wait needs a file descriptor, too, and would raise if there is none. */
static bool
enough_sockets(void)
{
	bool		enough;

	if (!AcquireExternalFD())
		return false;
	enough = AcquireExternalFD();
	if (enough)
		ReleaseExternalFD();
	ReleaseExternalFD();
	return enough;
}

/* Begins to connect. */
static void
connect_to_node(OutsideRun *run, Oid userid)
{
	ShuttleNode *node = &run->node;
	ConnectOptions *options;
	ErrorContextCallback context = {
		.previous = error_context_stack,
		.callback = add_node_context,
		.arg = run,
	};

	node->userid = userid;
	error_context_stack = &context;
	options = run->result->side != NULL ?
		try_options(run, userid) :
		shuttle_connect_options(node, userid, userid, false);
	error_context_stack = context.previous;
	if (options == NULL)
		return;
	node->connection.race = enough_sockets() ? shuttle_host_race_start(node, options, 0) : NULL;
	if (node->connection.race == NULL)
	{
		shuttle_outside_fail(run, "53000", "there are too many open files on the local server");
		return;
	}
	run->state = RUN_CONNECTING;
	shuttle_outside_go_on_connecting(run);
}

void
shuttle_outside_go_on_connecting(OutsideRun *run)
{
	ShuttleNode *node = &run->node;
	bool		moved;
	char		reasons[lengthof(node->connection.failure.detail)];

	switch (shuttle_host_race_advance(node->connection.race, NULL))
	{
		case RACE_RUNNING:
			return;
		case RACE_LOST:
			(void) shuttle_host_race_reasons(node->connection.race, reasons, sizeof(reasons));
			shuttle_outside_fail(run, "08001", reasons);
			return;
		case RACE_WON:
			break;
	}
	node->connection.conn = shuttle_host_race_take(node->connection.race, &node->connection.host, &moved);
	node->connection.race = NULL;
	if (moved)
		shuttle_cluster_node_moved();
	node->connection.used_password = PQconnectionUsedPassword(node->connection.conn) != 0;
	if (!shuttle_connect_allowed(node))
	{
		shuttle_connect_fail_password(node);
		shuttle_outside_fail(run, "2F003", node->connection.failure.message);
		return;
	}
	if (PQsetnonblocking(node->connection.conn, 1) != 0)
	{
		shuttle_outside_fail(run, "08001", PQerrorMessage(node->connection.conn));
		return;
	}
	shuttle_connection_slot_note_address(node);
	run->state = RUN_SENDING;
	run->step = run->result->lasts ? STEP_BEGIN : STEP_EPOCH;
}

void
shuttle_outside_end(OutsideRun *run)
{
	PGconn	   *conn = run->node.connection.conn;

	run->state = RUN_ENDED;
	shuttle_host_race_end(run->node.connection.race);
	run->node.connection.race = NULL;
	if (conn != NULL)
		keep_connection(run);
	conn = run->node.connection.conn;
	run->node.connection.conn = NULL;
	if (conn == NULL)
		return;
	PQfinish(conn);
	ReleaseExternalFD();
}

/* Returns a usable connection to its side. A cancel that is late would meet the next statement. */
static void
keep_connection(OutsideRun *run)
{
	ShuttleSide *side = run->result->side;

	if (side == NULL || run->cancelled || PQstatus(run->node.connection.conn) != CONNECTION_OK ||
		PQtransactionStatus(run->node.connection.conn) != PQTRANS_IDLE)
		return;
	side->conn = run->node.connection.conn;
	side->epoch = run->node.epoch;
	strlcpy(side->address, run->node.shown.address, sizeof(side->address));
	run->node.connection.conn = NULL;
}
