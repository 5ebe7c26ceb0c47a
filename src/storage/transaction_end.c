/*-------------------------------------------------------------------------
 * transaction_end.c
 *	  Transactions of nodes: commit, abort and the end of savepoints.
 *
 * Commit: where one node was written to, COMMIT goes to all nodes at once,
 * before the local commit; answers are waited for where something was written
 * or locked, and under SERIALIZABLE.  Other COMMITs are flushed, and answered
 * by the next use.  What happens with several is in two_phase.c.
 *
 * Abort (traps 19, 33, 34): callbacks never raise, and wait at most a second,
 * for the cancel of what is running.  Then ROLLBACK [TO] goes out in a packet
 * of its own, and behind a cancel nothing else does until its tag was read.  A
 * node that could not be cancelled loses its connection.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "base/shuttle_points.h"
#include "storage/requests_internal.h"
#include "storage/storage_internal.h"

#define ABORT_WAIT_MS 1000
#define QUIET_WAIT_MS 200
#define CANCEL_AGAIN_MS 100
#define MOST_TRIES 3

static void end_transaction(XactEvent event, void *arg);
static void end_savepoint(SubXactEvent event, SubTransactionId self,
						  SubTransactionId parent, void *arg);
static void commit_all(bool in_worker);
static void send_part(CommitPart part);
static void check_part(CommitPart part);
static void check_before_commit(ShuttleNode *node);
static void leave_unread(ShuttleNode *node);
static void send_commit(ShuttleNode *node);
static void check_commit(ShuttleNode *node);
static void release_savepoint(ShuttleNode *node, int level);
static void roll_back_all(int level);
static bool stop_requests(ShuttleNode *node, int level);
static bool works_on_request(ShuttleNode *node);
static void send_rollback(ShuttleNode *node, int level, bool cancelled);
static void cancel_again(ShuttleNode *node, TimestampTz deadline);
static void tell_commits(void);
static void forget_all(void);

void
shuttle_transaction_end_init(void)
{
	RegisterXactCallback(end_transaction, NULL);
	RegisterSubXactCallback(end_savepoint, NULL);
}

static void
end_transaction(XactEvent event, void *arg)
{
	dlist_iter	iter;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			commit_all(event == XACT_EVENT_PARALLEL_PRE_COMMIT);
			break;

		case XACT_EVENT_PRE_PREPARE:
			dlist_foreach(iter, &shuttle_nodes)
			{
				ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

				if (shuttle_transaction_is_open(node))
					ereport(ERROR,
							(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							 errmsg("cannot PREPARE a transaction that has operated on storage node \"%s\"",
									node->name),
							 errhint("Use COMMIT, or leave foreign tables out of the transaction.")));
			}
			break;

		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			roll_back_all(1);
			shuttle_two_phase_undo();
			tell_commits();
			forget_all();
			break;

		case XACT_EVENT_COMMIT:
			shuttle_two_phase_finish();
			forget_all();
			break;

		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PREPARE:
			forget_all();
			break;
	}
}

static void
end_savepoint(SubXactEvent event, SubTransactionId self,
			  SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	dlist_iter	iter;

	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
	{
		dlist_foreach(iter, &shuttle_nodes)
		{
			ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

			release_savepoint(node, level);
		}
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		roll_back_all(level);
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
	send_part(COMMIT_AT_ONCE);
	if (two_phase)
	{
		shuttle_two_phase_record();
		check_part(COMMIT_PREPARED_FIRST);
	}
	check_part(COMMIT_AT_ONCE);
	send_part(COMMIT_LAST);
	check_part(COMMIT_LAST);
	if (two_phase)
		SHUTTLE_POINT("prepared");
	if (shuttle_notices_waiting)
		shuttle_notices_show();
}

/* Sends what the nodes with one part in the commit have to do, at once. */
static void
send_part(CommitPart part)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node) || node->part != part)
			continue;
		node->part_asked = true;
		if (part == COMMIT_PREPARED_FIRST)
			shuttle_two_phase_send(node);
		else
			send_commit(node);
	}
}

static void
check_part(CommitPart part)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		/* also of one whose connection has been lost meanwhile */
		if (!node->part_asked || node->part != part)
			continue;
		node->part_asked = false;
		if (part == COMMIT_PREPARED_FIRST)
			shuttle_two_phase_check(node);
		else
			check_commit(node);
	}
}

/* Raises what would keep a node from committing. */
static void
check_before_commit(ShuttleNode *node)
{
	if (node->state == NODE_LOST && node->must_wait)
		shuttle_connection_raise(node);
	if (!shuttle_transaction_is_open(node))
		return;
	if (node->begin_again)
		send_rollback(node, 1, false);
	else if (!node->must_wait)
		leave_unread(node);
	else
	{
		shuttle_transaction_settle_ahead(node);

		/* While no node has committed, a lost one does no harm. */
		shuttle_connection_check(node);
		if (node->state == NODE_LOST)
			shuttle_connection_raise(node);
		if (node->error != NULL)
			shuttle_node_error_raise(node, node->error, NULL);
	}
}

/*
 * Reads what is on its way, without raising, until nothing is left, nothing
 * came for wait_ms, or deadline is over.  Returns false where the node is still
 * not quiet.  interruptible: it also ends when an interrupt is pending.
 */
static bool
wait_quietly(ShuttleNode *node, double wait_ms, TimestampTz deadline,
			 bool interruptible)
{
	TimestampTz quiet_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   (int64) wait_ms);

	/*
	 * a ROLLBACK is settled behind its Sync, which is not counted as in
	 * flight
	 */
	while (node->state == NODE_READY &&
		   (node->nin_flight > 0 || node->flush_pending || node->settling))
	{
		struct pollfd event = {.fd = PQsocket(node->conn),.events = POLLIN};
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  Min(quiet_at, deadline));

		if (node->flush_pending)
			event.events |= POLLOUT;
		if (rest_ms <= 0 || (interruptible && InterruptPending) ||
			shuttle_pages_hold_up(node))
			return false;
		if (shuttle_poll(SHUTTLE_WAIT_ABORT, &event, 1, (int) rest_ms) > 0 &&
			(event.revents & ~POLLOUT) != 0)
		{
			node->readable = true;
			quiet_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												   (int64) wait_ms);
		}
		shuttle_pipeline_progress(node);
	}
	return true;
}

bool
shuttle_transaction_wait_quietly(ShuttleNode *node,
								 bool (*condition) (const ShuttleNode *node),
								 TimestampTz deadline)
{
	while (node->state == NODE_READY && !condition(node))
	{
		struct pollfd event = {.fd = PQsocket(node->conn),.events = POLLIN};
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  deadline);

		if (node->flush_pending)
			event.events |= POLLOUT;
		if (rest_ms <= 0)
			break;
		if (shuttle_poll(SHUTTLE_WAIT_COMMIT, &event, 1, (int) rest_ms) > 0 &&
			(event.revents & ~POLLOUT) != 0)
			node->readable = true;
		shuttle_pipeline_progress(node);
	}
	return condition(node);
}

/* The latest time for something that an abort waits for. */
static TimestampTz
abort_deadline(void)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ABORT_WAIT_MS);
}

/*
 * A ROLLBACK stands behind what the node had sent before, which on a slow line
 * can take any time; of a transaction that is over, nothing is lost with the
 * connection.
 */
void
shuttle_transaction_await_rollback(ShuttleNode *node)
{
	TimestampTz deadline = abort_deadline();

	while (node->settling &&
		   !wait_quietly(node, ABORT_WAIT_MS, deadline, true))
	{
		CHECK_FOR_INTERRUPTS();
		if (GetCurrentTimestamp() >= deadline)
			shuttle_connection_close(node);
	}
}

/*
 * True where nothing that is still to come takes the node any time: pages
 * behind the end of a cursor, which were asked for before it was known.
 */
static bool
nothing_runs(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->commands)
	{
		const ShuttleCommand *command = dlist_container(ShuttleCommand, link,
														iter.cur);

		if (command->kind == COMMAND_STATEMENT ||
			command->kind == COMMAND_DECLARE ||
			(command->kind == COMMAND_FETCH && !command->behind_end))
			return false;
	}
	return true;
}

/*
 * A read-only transaction may end while answers are unread that nobody wants:
 * they would stand in front of the COMMIT, and a statement that still runs
 * could hold it up for long.  Answers that do not come soon are cancelled.
 */
static void
leave_unread(ShuttleNode *node)
{
	bool		cancelled;

	if (node->state == NODE_CONNECTING)
	{
		shuttle_connection_close(node);
		return;
	}
	node->readable = true;
	shuttle_pipeline_progress(node);
	if (nothing_runs(node) ||
		wait_quietly(node, Max(QUIET_WAIT_MS, 4 * shuttle_round_trip_shortest(&node->round_trip)),
					 abort_deadline(), true))
		return;
	CHECK_FOR_INTERRUPTS();
	if (!stop_requests(node, 1))
		return;
	shuttle_cancel(&node, &cancelled, 1, abort_deadline());
	if (cancelled)
		send_rollback(node, 1, true);
	else
		shuttle_connection_close(node);
}

static void
send_commit(ShuttleNode *node)
{
	if (node->unsynced)
		shuttle_pipeline_add(node, COMMAND_SYNC, NULL);
	node->commit_pending = node->must_wait;
	node->committed = false;
	node->can_repeat = false;
	shuttle_pipeline_add(node, COMMAND_COMMIT, "COMMIT")->ignore_error = !node->must_wait;
	shuttle_pipeline_end_packet(node);
}

static bool
commit_is_answered(void *arg)
{
	ShuttleNode *node = arg;

	return !node->commit_pending || node->state == NODE_LOST ||
		node->state == NODE_CLOSED;
}

static bool
is_flushed(void *arg)
{
	ShuttleNode *node = arg;

	return !node->flush_pending || node->state != NODE_READY;
}

static void
check_commit(ShuttleNode *node)
{
	bool		must_wait = node->must_wait;

	shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT,
					   must_wait ? commit_is_answered : is_flushed, node);

	/* A connection that broke behind the answer does no harm. */
	if (must_wait && !node->committed)
	{
		if (node->state == NODE_LOST || node->state == NODE_CLOSED)
		{
			node->commit_unknown = false;	/* the error says it */
			shuttle_connection_raise(node);
		}
		if (node->error != NULL)
			shuttle_node_error_raise(node, node->error, "COMMIT");
	}
	shuttle_transaction_forget(node);

	/* COMMIT of a failed transaction answers ROLLBACK, without an error. */
	if (must_wait && !node->committed)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("storage node \"%s\" rolled the transaction back",
						node->name),
				 errhint("Repeat the transaction.")));
}

/* ---- savepoints */

/* RELEASE travels with the next packet. */
static void
release_savepoint(ShuttleNode *node, int level)
{
	dlist_iter	iter;
	char		sql[40];

	/* An error is raised while all of it still belongs to the savepoint. */
	if (shuttle_transaction_is_open(node) && node->level >= level &&
		node->error != NULL)
		shuttle_node_error_raise(node, node->error, NULL);
	node->begun_level = Min(node->begun_level, level - 1);
	node->used_level = Min(node->used_level, level - 1);
	node->wanted_level = Min(node->wanted_level, level - 1);
	dlist_foreach(iter, &node->requests)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		request->level = Min(request->level, level - 1);
		request->sent_level = Min(request->sent_level, level - 1);
		request->nest_level = Min(request->nest_level, level - 1);
	}
	if (!shuttle_transaction_is_open(node) || node->level < level)
		return;
	shuttle_transaction_settle_ahead(node);
	if (node->state == NODE_LOST)
		shuttle_connection_raise(node);
	if (node->error != NULL)
		shuttle_node_error_raise(node, node->error, NULL);
	if (!shuttle_transaction_is_open(node))
		return;
	node->level = level - 1;
	if (node->begin_again)
		return;
	snprintf(sql, sizeof(sql), "RELEASE SAVEPOINT s%d", level);
	shuttle_pipeline_add(node, COMMAND_CONTROL, sql);
	shuttle_cursor_release_level(node, level);
}

/* ---- abort; never raises */

/*
 * What began inside the savepoint ends with it, but a clean transaction that a
 * statement outside counts on.  That one then stays as it is, as if it had
 * begun there, or is missed.
 */
static void
keep_needed(ShuttleNode *node, int level)
{
	if (level == 1 || node->transaction != TRANSACTION_CLEAN ||
		!shuttle_snapshot_is_needed(node))
		return;
	node->begun_level = Min(node->begun_level, level - 1);
	node->used_level = Min(node->used_level, level - 1);
}

/*
 * Writes that nobody waits for are mostly answered soon: a cancel would take
 * longer.  Returns false where one of a level around has failed, or may have: the
 * node then may have ignored any savepoint behind it, and a ROLLBACK to one of that
 * name would undo writes that are to stay (an earlier one's, whose RELEASE it has
 * ignored too).
 */
static bool
await_writes(ShuttleNode *node, int level, TimestampTz deadline)
{
	dlist_iter	iter;

	if (node->nunawaited == 0)
		return true;
	(void) wait_quietly(node, Max(QUIET_WAIT_MS, 4 * shuttle_round_trip_shortest(&node->round_trip)),
						deadline, false);
	if (level == 1)
		return true;
	dlist_foreach(iter, &node->requests)
	{
		const ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->unawaited && request->sent_level < level &&
			request->state != REQUEST_DONE)
			return false;
	}
	return true;
}

/*
 * Rolls all nodes back to what was before a level; 1 is the transaction.
 */
static void
roll_back_all(int level)
{
	TimestampTz deadline = abort_deadline();
	ShuttleNode *busy[64];
	bool		cancelled[64] = {false};
	int			nbusy = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->state == NODE_CONNECTING && level == 1)
			shuttle_connection_close(node);
		keep_needed(node, level);
		if (!shuttle_transaction_is_open(node) || node->level < level)
			continue;
		if (node->settling &&
			!wait_quietly(node, ABORT_WAIT_MS, deadline, false))
			shuttle_connection_lost(node, "the node did not answer");
		else if (!await_writes(node, level, deadline))
			shuttle_connection_lost(node, "a write in front of the savepoint has failed");
		else if (!stop_requests(node, level))
			send_rollback(node, level, false);
		else if (nbusy < lengthof(busy))
			busy[nbusy++] = node;
		else
			shuttle_connection_lost(node, "too many nodes to cancel at once");
	}
	if (nbusy > 0)
		shuttle_cancel(busy, cancelled, nbusy, deadline);
	for (int i = 0; i < nbusy; i++)
	{
		if (cancelled[i] && (busy[i]->commit_pending ||
							 busy[i]->two_phase_state == TWO_PHASE_ASKED))
			cancelled[i] = wait_quietly(busy[i], ABORT_WAIT_MS, deadline, false);
		if (busy[i]->commit_pending)
			busy[i]->commit_unknown = true;
		if (cancelled[i])
			send_rollback(busy[i], level, true);
		else
			shuttle_connection_lost(busy[i], "the node could not be told to cancel");
	}
	for (int i = 0; i < nbusy; i++)
		cancel_again(busy[i], deadline);

	/*
	 * A node that was first used inside may begin again, unless a plan from
	 * outside counts on it.
	 */
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->wanted_level >= level)
			node->wanted_level = 0;
		if (node->used_level < level)
			continue;
		node->used_level = node->wanted_level;
		if (node->used_level > 0)
			continue;
		if (node->state == NODE_LOST && !IsolationUsesXactSnapshot())
		{
			node->state = NODE_CLOSED;
			shuttle_node_show(node);
		}
	}
}

/*
 * The local transaction failed when nodes had been asked to commit, by a cancel
 * or by another node's error.
 */
static void
tell_commits(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->committed)
			ereport(WARNING,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("storage node \"%s\" has committed", node->name),
					 errdetail("The transaction failed behind that.")));
		else if (node->commit_unknown)
			ereport(WARNING,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("storage node \"%s\" may have committed", node->name),
					 errdetail("Its answer to COMMIT did not come."),
					 errhint("Look on the node whether the transaction is there.")));
	}
}

/*
 * Makes the requests of a level void and reads what has arrived.  Returns
 * true where the node still works on something.
 */
static bool
stop_requests(ShuttleNode *node, int level)
{
	dlist_mutable_iter iter;

	node->adding_ahead = false;
	node->adding_repeatable = false;
	node->ahead_failed = false;
	node->recovery_due = false;
	dlist_foreach_modify(iter, &node->requests)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->sent_level >= level)
			shuttle_request_abort(request);
	}
	dlist_foreach_modify(iter, &node->commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->kind == COMMAND_SYNC && command->ahead)
			node->nahead--;
		command->ahead = false;
		command->dropped = true;
	}
	shuttle_node_error_release(&node->error);
	if (node->state == NODE_READY)
	{
		node->readable = true;
		shuttle_pipeline_progress(node);
	}
	return node->state == NODE_READY && works_on_request(node);
}

/*
 * True where a cancel would end something.  What is left of an inner level may
 * be its own ROLLBACK, which must not be hit.
 */
static bool
works_on_request(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->sent && command->kind != COMMAND_ROLLBACK &&
			command->kind != COMMAND_SYNC)
			return true;
	}
	return false;
}

static void
send_rollback(ShuttleNode *node, int level, bool cancelled)
{
	char		sql[48];
	bool		added = true;

	if (node->state != NODE_READY && node->state != NODE_CONNECTING)
		return;
	if (node->two_phase_state == TWO_PHASE_DONE)
	{
		/* it is not in the transaction any more */
		shuttle_transaction_forget(node);
		return;
	}
	if (node->settling)
	{
		/* nothing is sent before that is answered, and nobody waits for it */
		shuttle_connection_lost(node, "the node did not answer");
		return;
	}

	node->begin_again = false;

	/* What began inside the savepoint ends with it. */
	if (node->begun_level >= level && !IsolationUsesXactSnapshot())
		level = 1;
	if (node->unsynced)
		added = shuttle_pipeline_try(node, COMMAND_SYNC, NULL) != NULL;
	node->settle_packet = node->packet;
	node->settle_level = level;
	node->settle_tries = 0;
	if (level == 1)
		added = added &&
			shuttle_pipeline_try(node, COMMAND_ROLLBACK, "ROLLBACK") != NULL;
	else
	{
		snprintf(sql, sizeof(sql), "ROLLBACK TO SAVEPOINT s%d", level);
		added = added &&
			shuttle_pipeline_try(node, COMMAND_ROLLBACK, sql) != NULL;
		snprintf(sql, sizeof(sql), "RELEASE SAVEPOINT s%d", level);
		added = added &&
			shuttle_pipeline_try(node, COMMAND_ROLLBACK, sql) != NULL;
		shuttle_cursor_forget_level(node, level);
		if (node->read_only_level >= level)
			node->read_only_level = 0;
		node->level = level - 1;
		node->timeout_deadline = -1;
		node->lock_timeout = -1;
	}
	if (!added || !shuttle_pipeline_sync(node))
	{
		shuttle_connection_lost(node, "out of memory");
		return;
	}
	if (node->state == NODE_READY)
		node->settling = cancelled;
	if (level == 1)
		shuttle_transaction_forget(node);
}

/*
 * A cancel that reaches the node before its statement does has no effect, and
 * the statement would run on, with its locks.  One too many hits the ROLLBACK,
 * which is then sent again.
 */
static void
cancel_again(ShuttleNode *node, TimestampTz deadline)
{
	bool		cancelled = true;

	while (cancelled && node->settling &&
		   !wait_quietly(node, Max(CANCEL_AGAIN_MS, 4 * shuttle_round_trip_shortest(&node->round_trip)),
						 deadline, false) &&
		   GetCurrentTimestamp() < deadline)
		shuttle_cancel(&node, &cancelled, 1, deadline);
}

/* Runs in the pump, behind the Sync of a ROLLBACK's packet. */
void
shuttle_transaction_settled(ShuttleNode *node)
{
	node->settle_packet = 0;
	if (!node->settle_failed)
	{
		node->settling = false;
		return;
	}
	node->settle_failed = false;
	if (!node->settling || ++node->settle_tries >= MOST_TRIES)
		shuttle_connection_lost(node, "the node did not roll back");
	else
		node->settle_again = true;
}

/* All nodes are outside of transactions now. */
static void
forget_all(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		node->used_level = 0;
		node->wanted_level = 0;
		node->committed = false;
		node->commit_unknown = false;
		shuttle_two_phase_forget(node);
		shuttle_node_totals_tell(node);
		if (node->state == NODE_LOST)
			node->state = NODE_CLOSED;
		else if (node->state == NODE_CLOSED)
			continue;
		Assert(!shuttle_transaction_is_open(node));
		if (node->state == NODE_CONNECTING ||
			(node->state == NODE_READY && (!node->keep || node->invalidated)))
			shuttle_connection_close(node);
		else if (node->state == NODE_READY)
			shuttle_idle_begin(node);
		shuttle_node_show(node);
	}
}
