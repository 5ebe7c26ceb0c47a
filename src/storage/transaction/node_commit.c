/*-------------------------------------------------------------------------
 * node_commit.c
 *	  COMMIT of one node's transaction, and of a statement in its packet.
 *
 * A statement that is the whole transaction can have COMMIT in its packet. Until
 * COMMIT is answered, only errors of the statement and of the connection are
 * raised. Once the node has committed, cancels wait until the local transaction
 * has ended, too.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_storage.h"
#include "storage/shuttle_unawaited.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/transaction/windows.h"

/* The transaction that has a cursor WITH HOLD. */
static LocalTransactionId held_cursor_lxid = InvalidLocalTransactionId;

static void add_commit(ShuttleNode *node);
static void await_commit(ShuttleNode *node);

void
shuttle_node_commit_send(ShuttleNode *node)
{
	if (node->queue.unsynced)
		shuttle_command_add(node, COMMAND_SYNC, NULL);
	add_commit(node);
}

static void
add_commit(ShuttleNode *node)
{
	node->commit.pending = node->commit.must_wait;
	node->commit.writes = node->transaction.wrote;
	node->commit.done = node->commit.skipped = false;
	node->transaction.can_repeat = false;
	shuttle_command_add(node, COMMAND_COMMIT, "COMMIT")->ignore_error = !node->commit.must_wait;
	if (node->commit.part == COMMIT_LAST && !node->commit.must_wait)
		shuttle_node_count(node, SHUTTLE_NODE_COMMITS, 1);
	shuttle_pipeline_end_packet(node);
}

static bool
commit_is_answered(void *arg)
{
	ShuttleNode *node = arg;

	return !node->commit.pending || node->connection.state == NODE_LOST ||
		node->connection.state == NODE_CLOSED;
}

static bool
is_flushed(void *arg)
{
	ShuttleNode *node = arg;

	return !node->socket.flush_pending || node->connection.state != NODE_READY;
}

/* COMMIT of a failed transaction answers ROLLBACK, without an error. */
static void
raise_rollback(const ShuttleNode *node)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_ROLLBACK),
			 errmsg("storage node \"%s\" rolled the transaction back",
					node->name),
			 errhint("Repeat the transaction.")));
}

void
shuttle_node_commit_check(ShuttleNode *node)
{
	bool		must_wait = node->commit.must_wait;

	if (must_wait)
		await_commit(node);
	else
		shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT, is_flushed, node);

	/* If BEGIN had failed, the tag of COMMIT is that of an empty transaction. */
	if (must_wait && node->errors.first != NULL)
		node->commit.done = false;

	/* A connection that broke after the answer does not matter. */
	if (must_wait && !node->commit.done)
	{
		if (!node->commit.unknown)
			CHECK_FOR_INTERRUPTS();
		shuttle_windows_abort();	/* while it is known that the outcome is
									 * not */
		node->commit.unknown = false;	/* the error reports it */
		if (node->connection.state == NODE_LOST || node->connection.state == NODE_CLOSED)
			shuttle_node_error_raise_lost(node);
		if (node->errors.first != NULL)
			shuttle_node_error_raise(node, node->errors.first, "COMMIT");
	}
	shuttle_transaction_forget(node);

	if (must_wait && !node->commit.done)
		raise_rollback(node);
}

static bool
commit_is_over(void *arg)
{
	return commit_is_answered(arg) || QueryCancelPending;
}

/* A cancel is sent to the node; its answer to COMMIT decides: nothing is raised
 * before it is known. */
static void
await_commit(ShuttleNode *node)
{
	HOLD_CANCEL_INTERRUPTS();
	shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT, commit_is_over, node);
	RESUME_CANCEL_INTERRUPTS();
	if (!commit_is_answered(node))
		shuttle_transaction_stop_commit(node);
	if (node->commit.done && node->errors.first == NULL)
		shuttle_windows_acknowledge(node);
}

/* ---- COMMIT in a statement's packet */

/* Only a command of this transaction that has written raises the number. */
static bool
wrote_here(void)
{
	return GetCurrentCommandId(false) != FirstCommandId ||
		(shuttle_cluster_methods != NULL && shuttle_cluster_methods->wrote_here());
}

/* A cursor WITH HOLD of this transaction is read when it commits, and may fail. Core's
 * ThereAreNoReadyPortals() counts those of earlier transactions, too, and does not end
 * its search when it finds one. */
void
shuttle_node_commit_note_held_cursor(void)
{
	held_cursor_lxid = shuttle_my_lxid();
}

bool
shuttle_node_commit_behind_is_possible(const ShuttleNode *node)
{
	dlist_iter	iter;

	if (held_cursor_lxid == shuttle_my_lxid() || IsTransactionBlock() || GetCurrentTransactionNestLevel() != 1 ||
		IsolationIsSerializable() || wrote_here())
		return false;
	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *other = dlist_container(ShuttleNode, link, iter.cur);

		if (other->commit.must_wait || other->requests.nunawaited > 0)
			return false;
	}
	return node->connection.state == NODE_READY &&
		(!shuttle_transaction_is_open(node) || node->transaction.kind == TRANSACTION_CLEAN);
}

bool
shuttle_node_commit_behind_send(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	if (!shuttle_request_is_sent_safely(request) || !shuttle_transaction_is_open(node))
		return false;
	if (node->transaction.wrote && shuttle_cluster_methods != NULL)
		shuttle_cluster_methods->warn();
	node->commit.part = COMMIT_AT_ONCE;
	if (node->transaction.is_statement)
		return true;
	shuttle_windows_open();
	add_commit(node);
	return true;
}

bool
shuttle_node_commit_behind_await(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	ShuttleNodeError *error;

	await_commit(node);
	if (node->errors.first != NULL)
		node->commit.done = false;
	if (!node->commit.done && node->connection.state != NODE_READY)
		shuttle_node_error_raise_lost(node);
	if (node->commit.skipped)
	{
		shuttle_windows_abort();	/* the node is still in its transaction */
		return false;
	}
	error = shuttle_node_error_hold(node->errors.first);
	shuttle_transaction_forget(node);
	if (!node->commit.done && shuttle_request_look(request) == SHUTTLE_END)
	{
		if (error != NULL)
			shuttle_node_error_raise_unawaited(node, error);
		raise_rollback(node);
	}
	shuttle_node_error_release(&error);
	if (!node->commit.done || !node->commit.writes)
		return node->commit.done;
	shuttle_transaction_hold_cancels();
	return true;
}

bool
shuttle_node_commit_behind_has_failed(const ShuttleNode *node)
{
	return !node->commit.pending && !node->commit.done && !node->commit.unknown &&
		node->connection.state == NODE_READY;
}
