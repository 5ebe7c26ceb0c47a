/*-------------------------------------------------------------------------
 * transaction_end.c
 *	  Transactions of nodes: commit, and release of savepoints.
 *
 * If only one node was written to, COMMIT goes to all nodes at once before the
 * local commit, but after that node's to nodes with only locked rows. Answers
 * are waited for if the node wrote, if it locked rows and none wrote, and
 * under SERIALIZABLE. Other COMMITs are only flushed; the next use reads their
 * answers. node_commit.c has the COMMIT of one node, two_phase.c commits on
 * several nodes, transaction_abort.c rolls back.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/portal.h"
#include "utils/timeout.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_points.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/transaction/windows.h"

/* A cancel that came too late is held until the transaction's end. */
static bool cancel_is_held = false;

/* A node has committed its part, and the local transaction has yet to end. */
static bool committed_behind = false;

static void commit_all(bool in_worker);
static void prepare_all(void);
static void send_part(CommitPart part);
static void check_part(CommitPart part);
static void check_before_commit(ShuttleNode *node);
static void heed_cancel(void);
static void release_savepoint(ShuttleNode *node, int level);
static void tell_commits(void);
static void forget_all(void);

void
shuttle_transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			commit_all(event == XACT_EVENT_PARALLEL_PRE_COMMIT);
			break;

		case XACT_EVENT_PRE_PREPARE:
			prepare_all();
			break;

		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			cancel_is_held = committed_behind = false;	/* the error has reset
														 * the holdoff */
			shuttle_windows_abort();
			shuttle_windows_lower_fence();
			shuttle_transaction_roll_back_all(1);
			shuttle_two_phase_undo();
			tell_commits();
			forget_all();
			break;

		case XACT_EVENT_COMMIT:
			shuttle_windows_committed();
			shuttle_two_phase_finish();
			shuttle_windows_close();
			forget_all();
			if (cancel_is_held)
				RESUME_CANCEL_INTERRUPTS();
			if (committed_behind)
				RESUME_CANCEL_INTERRUPTS();
			cancel_is_held = committed_behind = false;
			break;

		case XACT_EVENT_PREPARE:
			shuttle_two_phase_prepared();
			forget_all();
			break;

		case XACT_EVENT_PARALLEL_COMMIT:
			forget_all();
			break;
	}
}

void
shuttle_transaction_end_savepoint(SubXactEvent event, SubTransactionId self,
								  SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	dlist_iter	iter;

	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
	{
		shuttle_cut_calls->release_level(level);
		dlist_foreach(iter, &shuttle_nodes)
		{
			ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

			release_savepoint(node, level);
		}
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		shuttle_windows_lower_fence();
		shuttle_cut_calls->forget_level(level);
		shuttle_transaction_roll_back_all(level);
	}
}

/* ---- commit */

static void
commit_all(bool in_worker)
{
	bool		two_phase;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
		check_before_commit(dlist_container(ShuttleNode, link, iter.cur));

	two_phase = shuttle_two_phase_plan(in_worker);
	if (two_phase)
	{
		shuttle_two_phase_name();
		send_part(COMMIT_PREPARED_FIRST);
	}
	shuttle_windows_note_local();
	if (!two_phase)
		shuttle_windows_open();
	send_part(COMMIT_AT_ONCE);
	if (two_phase)
	{
		shuttle_two_phase_record();
		check_part(COMMIT_PREPARED_FIRST);
	}
	check_part(COMMIT_AT_ONCE);
	heed_cancel();
	if (two_phase)
		shuttle_windows_open();
	send_part(COMMIT_LAST);
	check_part(COMMIT_LAST);
	heed_cancel();
	if (shuttle_storage_calls.check_commit != NULL)
		shuttle_storage_calls.check_commit();
	if (two_phase)
		SHUTTLE_POINT("prepared");
	if (shuttle_notices_waiting)
		shuttle_notices_show();
	/* cancels are too late then */
	if (two_phase && shuttle_two_phase_decide())
		shuttle_transaction_hold_cancels();
}

/* No window: nothing is visible before COMMIT PREPARED. */
static void
prepare_all(void)
{
	bool		any;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
		check_before_commit(dlist_container(ShuttleNode, link, iter.cur));
	any = shuttle_two_phase_plan_client();
	if (any)
	{
		shuttle_two_phase_name();
		send_part(COMMIT_PREPARED_FIRST);
	}
	send_part(COMMIT_AT_ONCE);
	if (any)
	{
		shuttle_two_phase_record();
		check_part(COMMIT_PREPARED_FIRST);
	}
	check_part(COMMIT_AT_ONCE);
	if (shuttle_storage_calls.check_commit != NULL)
		shuttle_storage_calls.check_commit();
	if (any)
		SHUTTLE_POINT("client-prepared");
	if (shuttle_notices_waiting)
		shuttle_notices_show();
}

/* Sends the commands of all nodes with this part in the commit, if none is lost. */
static void
send_part(CommitPart part)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.part == part && node->connection.state == NODE_LOST &&
			node->commit.must_wait)
			shuttle_node_error_raise_lost(node);
	}
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node) || node->commit.part != part)
			continue;
		if (node->transaction.is_statement)
		{
			shuttle_node_count(node, SHUTTLE_NODE_COMMITS, 1);
			shuttle_transaction_forget(node);
			continue;
		}
		node->commit.part_asked = true;
		if (part == COMMIT_PREPARED_FIRST)
			shuttle_two_phase_send(node);
		else
			shuttle_node_commit_send(node);
	}
}

static void
check_part(CommitPart part)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		/* also if the connection was lost meanwhile */
		if (!node->commit.part_asked || node->commit.part != part)
			continue;
		node->commit.part_asked = false;
		if (part == COMMIT_PREPARED_FIRST)
			shuttle_two_phase_check(node);
		else
			shuttle_node_commit_check(node);
	}
}

/* The oldest write that nobody waits for, and that was lost with its connection. */
static ShuttleRequest *
find_lost_write(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->unawaited && request->state == REQUEST_UNSENT)
			return request;
	}
	return NULL;
}

/* From here on nothing is sent again: COMMIT would not follow it. */
static void
repeat_lost_writes(ShuttleNode *node)
{
	ShuttleRequest *request;

	if (node->requests.nunawaited == 0)
		return;
	shuttle_connection_check(node);
	while ((request = find_lost_write(node)) != NULL)
		shuttle_request_complete(request);
	node->transaction.can_repeat = false;
}

/* Raises an error if a node cannot commit. */
static void
check_before_commit(ShuttleNode *node)
{
	repeat_lost_writes(node);
	if (node->connection.state == NODE_LOST && node->commit.must_wait)
		shuttle_node_error_raise_lost(node);
	if (!shuttle_transaction_is_open(node))
		return;
	if (node->transaction.begin_again)
		shuttle_transaction_roll_back(node, 1, false);
	else if (!node->commit.must_wait)
		shuttle_transaction_leave_unread(node);
	else
	{
		shuttle_transaction_await_speculative(node);

		/* As long as no node has committed, a lost one is only an error. */
		shuttle_connection_check(node);
		if (node->connection.state == NODE_LOST)
			shuttle_node_error_raise_lost(node);
		if (node->errors.first != NULL)
			shuttle_node_error_raise(node, node->errors.first, NULL);
	}
}

void
shuttle_transaction_hold_cancels(void)
{
	HOLD_CANCEL_INTERRUPTS();
	committed_behind = true;
}

static bool
something_committed(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.writes && node->commit.done)
			return true;
	}
	return false;
}

/* If a node has committed, a cancel is too late for the transaction, as in a
 * local commit: it still ends a procedure afterwards, else it is ignored. */
static void
heed_cancel(void)
{
	if (!QueryCancelPending || cancel_is_held)
		return;
	if (committed_behind)
	{
		QueryCancelPending = false;
		(void) get_timeout_indicator(STATEMENT_TIMEOUT, true);
	}
	else if (!something_committed())
		CHECK_FOR_INTERRUPTS();
	else if (SPI_inside_nonatomic_context())
	{
		HOLD_CANCEL_INTERRUPTS();
		cancel_is_held = true;
	}
	else
	{
		QueryCancelPending = false;
		(void) get_timeout_indicator(STATEMENT_TIMEOUT, true);
	}
}

/* ---- savepoints */

/* RELEASE goes out with the next packet. */
static void
release_savepoint(ShuttleNode *node, int level)
{
	dlist_iter	iter;
	char		sql[40];

	/* Raise an error before anything leaves the savepoint. */
	if (shuttle_transaction_is_open(node) && node->transaction.level >= level &&
		node->errors.first != NULL)
		shuttle_node_error_raise(node, node->errors.first, NULL);
	node->transaction.begun_level = Min(node->transaction.begun_level, level - 1);
	node->transaction.used_level = Min(node->transaction.used_level, level - 1);
	node->transaction.wanted_level = Min(node->transaction.wanted_level, level - 1);
	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		request->level = Min(request->level, level - 1);
		request->sent_level = Min(request->sent_level, level - 1);
		request->nest_level = Min(request->nest_level, level - 1);
	}
	if (!shuttle_transaction_is_open(node) || node->transaction.level < level)
		return;
	shuttle_transaction_await_speculative(node);
	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
	if (node->errors.first != NULL)
		shuttle_node_error_raise(node, node->errors.first, NULL);
	if (!shuttle_transaction_is_open(node))
		return;
	node->transaction.level = level - 1;
	if (node->transaction.begin_again)
		return;
	if (node->transaction.unmarked_level >= level)
		node->transaction.unmarked_level = Max(1, level - 1);
	else
	{
		snprintf(sql, sizeof(sql), "RELEASE SAVEPOINT s%d", level);
		shuttle_command_add(node, COMMAND_CONTROL, sql);
	}
	shuttle_cursor_release_level(node, level);
}

static void
warn_of_commit(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" has committed", node_name),
			 errdetail("The transaction failed behind that.")));
}

static void
warn_of_unknown(const char *node_name)
{
	ereport(WARNING,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("storage node \"%s\" may have committed", node_name),
			 errdetail("Its answer to COMMIT did not come."),
			 errhint("Look on the node whether the transaction is there.")));
}

/* Warns of nodes that have, or may have, committed writes though the local
 * transaction failed, by a cancel or another node's error. */
static void
tell_commits(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!node->commit.writes)
			continue;
		if (node->commit.done)
			shuttle_notices_warn_of_node(node, warn_of_commit);
		else if (node->commit.unknown)
			shuttle_notices_warn_of_node(node, warn_of_unknown);
	}
}

/* No node is in a transaction now. */
static void
forget_all(void)
{
	dlist_iter	iter;

	shuttle_cut_calls->forget_all();
	shuttle_windows_end_alone();
	shuttle_windows_forget_local();
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->transaction.used_level > 0)
			node->connection.used_at = GetCurrentStatementStartTimestamp();
		node->transaction.used_level = 0;
		node->transaction.wanted_level = 0;
		shuttle_pause_leave(node);
		node->commit.done = false;
		node->commit.unknown = false;
		shuttle_two_phase_forget(node);
		shuttle_node_totals_tell(node);
		if (node->connection.state == NODE_LOST)
			node->connection.state = NODE_CLOSED;
		else if (node->connection.state == NODE_CLOSED)
			continue;
		Assert(!shuttle_transaction_is_open(node));
		if (node->connection.state == NODE_CONNECTING ||
			(node->connection.state == NODE_READY && (!node->options.keep || node->connection.invalidated)))
			shuttle_connection_close(node);
		else if (node->connection.state == NODE_READY)
			shuttle_idle_begin(node);
		shuttle_connection_slot_show(node);
	}
}
