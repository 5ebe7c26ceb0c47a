/*-------------------------------------------------------------------------
 * transaction_abort.c
 *	  Transactions and savepoints of nodes: rolling back (traps 19, 33, 34).
 *
 * Abort callbacks never raise. They cancel what runs on nodes and wait a
 * second for the next node to answer; each answer gives the others another
 * second. Then ROLLBACK [TO] goes out in its own packet; after a cancel
 * nothing else is sent until its tag has arrived. A node that cannot be
 * cancelled loses its connection.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/shuttle_unawaited.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"

#define ABORT_WAIT_MS 1000
#define QUIET_WAIT_MS 200
#define CANCEL_AGAIN_MS 100
#define MOST_TRIES 3
#define MOST_POLLED 64			/* nodes polled at once */
#define CANNOT_CANCEL "the node could not be told to cancel"

static void cancel_nodes(dlist_head *nodes, int level);
static bool stop_requests(ShuttleNode *node, int level);
static bool works_on_request(ShuttleNode *node);
static void cancel_again(ShuttleNode *node, TimestampTz *deadline);

/* Events to poll a node for. */
static struct pollfd
awaited_event(const ShuttleNode *node)
{
	return (struct pollfd)
	{
		.fd = PQsocket(node->connection.conn),
			.events = POLLIN | (node->socket.flush_pending ? POLLOUT : 0),
	};
}

/* Sends and reads after a poll; returns true if something arrived. */
static bool
take_event(ShuttleNode *node, const struct pollfd *event)
{
	bool		came = (event->revents & ~POLLOUT) != 0;

	node->socket.readable = node->socket.readable || came;
	shuttle_node_progress(node);
	return came;
}

/*
 * Reads outstanding answers, without raising, until none is left, nothing
 * arrives for wait_ms, or deadline is over. Returns false if some are left.
 * interruptible: also ends if an interrupt is pending.
 */
static bool
wait_quietly(ShuttleNode *node, double wait_ms, TimestampTz deadline,
			 bool interruptible)
{
	TimestampTz quiet_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													   (int64) wait_ms);

	/* ROLLBACK ends with its Sync, which nin_flight does not count */
	while (node->connection.state == NODE_READY &&
		   (node->queue.nin_flight > 0 || node->socket.flush_pending || node->rollback.awaited))
	{
		struct pollfd event = awaited_event(node);
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  Min(quiet_at, deadline));

		if (rest_ms <= 0 || (interruptible && InterruptPending) ||
			shuttle_answer_pages_hold_up(node))
			return false;
		(void) shuttle_wait_event_poll(SHUTTLE_WAIT_ABORT, &event, 1, (int) rest_ms);
		if (take_event(node, &event))
			quiet_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												   (int64) wait_ms);
	}
	return true;
}

bool
shuttle_transaction_wait_quietly(ShuttleNode *node,
								 bool (*condition) (const ShuttleNode *node),
								 TimestampTz deadline)
{
	while (node->connection.state == NODE_READY && !condition(node))
	{
		struct pollfd event = awaited_event(node);
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  deadline);

		(void) shuttle_wait_event_poll(SHUTTLE_WAIT_COMMIT, &event, 1, (int) rest_ms);
		(void) take_event(node, &event);
		if (rest_ms <= 0)
			break;
	}
	return condition(node);
}

/* How long to wait before a cancel is repeated. */
static int64
again_ms(const ShuttleNode *node)
{
	return (int64) Max(CANCEL_AGAIN_MS, 4 * shuttle_round_trip_of(node));
}

/* Deadline for the next node's answer. */
static TimestampTz
abort_deadline(void)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ABORT_WAIT_MS);
}

/* The answer to ROLLBACK follows earlier answers, which can take long on a slow
 * line. The transaction is over, so nothing is lost with the connection. */
void
shuttle_transaction_await_rollback(ShuttleNode *node)
{
	TimestampTz deadline = abort_deadline();

	while (node->rollback.awaited &&
		   !wait_quietly(node, ABORT_WAIT_MS, deadline, true))
	{
		CHECK_FOR_INTERRUPTS();
		if (GetCurrentTimestamp() >= deadline)
			shuttle_connection_close(node);
	}
}

void
shuttle_transaction_leave_unread(ShuttleNode *node)
{
	if (node->connection.state == NODE_CONNECTING)
	{
		shuttle_connection_close(node);
		return;
	}
	if (dlist_is_empty(&node->queue.commands))
		return;					/* a statement alone has left nothing */
	node->socket.readable = true;
	shuttle_node_progress(node);
	if (shuttle_command_queue_is_idle(node) ||
		wait_quietly(node, Max(QUIET_WAIT_MS, 4 * shuttle_round_trip_of(node)),
					 abort_deadline(), true))
		return;
	CHECK_FOR_INTERRUPTS();
	if (stop_requests(node, 1))
	{
		dlist_head	nodes = DLIST_STATIC_INIT(nodes);

		dlist_push_tail(&nodes, &node->rollback.cancel_link);
		cancel_nodes(&nodes, 1);
	}
}

/* A transaction that began inside the savepoint ends with it. But a clean one
 * that an outer statement needs stays, as if it had begun outside. */
static void
keep_needed(ShuttleNode *node, int level)
{
	if (level == 1 || node->transaction.kind != TRANSACTION_CLEAN ||
		!shuttle_snapshot_is_needed(node))
		return;
	node->transaction.begun_level = Min(node->transaction.begun_level, level - 1);
	node->transaction.used_level = Min(node->transaction.used_level, level - 1);
}

/* True if an unawaited write of an outer level is not answered yet; or_failed: or has failed. */
static bool
has_doubtful_write(ShuttleNode *node, int level, bool or_failed)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->unawaited && request->sent_level < level &&
			(request->state == REQUEST_OPEN || (or_failed && request->state != REQUEST_DONE)))
			return true;
	}
	return false;
}

/*
 * Unawaited writes are usually answered soon: cancelling would take longer.
 * Returns false if one of an outer level has, or may have, failed: the node may
 * then have skipped later SAVEPOINT and RELEASE commands, and a ROLLBACK TO
 * that name could undo earlier writes. The connection is lost then: it waits longer.
 */
static bool
await_writes(ShuttleNode *node, int level, TimestampTz *deadline)
{
	if (node->requests.nunawaited == 0)
		return true;
	if (wait_quietly(node, Max(QUIET_WAIT_MS, 4 * shuttle_round_trip_of(node)),
					 *deadline, false) ||
		(has_doubtful_write(node, level, false) && wait_quietly(node, ABORT_WAIT_MS, *deadline, false)))
		*deadline = abort_deadline();
	return level == 1 || !has_doubtful_write(node, level, true);
}

bool
shuttle_transaction_unawaited_is_written(ShuttleRequest *request, ShuttleNodeError **error)
{
	TimestampTz deadline = abort_deadline();

	if (request->state == REQUEST_OPEN)
		(void) await_writes(request->node, 1, &deadline);
	*error = request->state == REQUEST_FAILED ? shuttle_node_error_hold(request->error) : NULL;
	return request->state == REQUEST_DONE;
}

/* Aborts a node's requests of a level. Returns true if it still works and has
 * to be cancelled; else sends ROLLBACK. */
static bool
begin_to_roll_back(ShuttleNode *node, int level, TimestampTz *deadline)
{
	if (node->rollback.awaited)
	{
		if (!wait_quietly(node, ABORT_WAIT_MS, *deadline, false))
		{
			shuttle_connection_lost(node, "the node did not answer");
			return false;
		}
		*deadline = abort_deadline();
	}
	if (!await_writes(node, level, deadline))
		shuttle_connection_lost(node, "a write in front of the savepoint has failed, or was not answered in time");
	else if (stop_requests(node, level))
		return true;
	else
		shuttle_transaction_roll_back(node, level, false);
	return false;
}

/* The level to roll back: 1 if the node's transaction began inside the
 * savepoint, unless the local one keeps its snapshot. */
static int
level_to_undo(const ShuttleNode *node, int level)
{
	return node->transaction.begun_level >= level &&
		(!IsolationUsesXactSnapshot() || !node->transaction.begun) ? 1 : level;
}

/* True if the node may still execute a command that a cancel must not hit. */
static bool
is_spared(ShuttleNode *node, int level)
{
	return node->connection.state == NODE_READY &&
		shuttle_command_queue_has_spared(node, level_to_undo(node, level));
}

/* Waits for such commands, with a time limit for the next node. */
static void
await_spared(dlist_head *nodes, int level)
{
	TimestampTz latest = 0;
	int			nbefore = 0;

	for (;;)
	{
		struct pollfd events[MOST_POLLED];
		ShuttleNode *waiting[MOST_POLLED];
		int			nspared = 0;
		long		rest_ms;
		dlist_iter	iter;

		dlist_foreach(iter, nodes)
		{
			ShuttleNode *node = dlist_container(ShuttleNode, rollback.cancel_link, iter.cur);

			if (!is_spared(node, level) || shuttle_answer_pages_hold_up(node))
				continue;
			if (nspared < MOST_POLLED)
			{
				waiting[nspared] = node;
				events[nspared] = awaited_event(node);
			}
			nspared++;
		}
		if (latest == 0 || nspared < nbefore)
			latest = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ABORT_WAIT_MS / 2);
		nbefore = nspared;
		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), latest);
		if (nspared == 0 || rest_ms <= 0)
			return;
		(void) shuttle_wait_event_poll(SHUTTLE_WAIT_ABORT, events, Min(nspared, MOST_POLLED),
									   (int) rest_ms);
		for (int i = 0; i < Min(nspared, MOST_POLLED); i++)
			(void) take_event(waiting[i], &events[i]);
	}
}

/* Removes nodes that must not or cannot be cancelled; if still busy with such a
 * command they are lost. */
static void
leave_out_spared(dlist_head *nodes, int level)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, rollback.cancel_link, iter.cur);

		if (is_spared(node, level))
			shuttle_connection_lost(node, "the node did not answer");
		if (node->connection.state != NODE_READY)
			dlist_delete(iter.cur);
	}
}

/* Cancels what nodes work on and rolls them back. */
static void
cancel_nodes(dlist_head *nodes, int level)
{
	TimestampTz deadline;
	dlist_iter	iter;

	await_spared(nodes, level);
	leave_out_spared(nodes, level);
	shuttle_cancel(nodes, ABORT_WAIT_MS);
	deadline = abort_deadline();
	dlist_foreach(iter, nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, rollback.cancel_link, iter.cur);

		if (node->rollback.cancelled && (node->commit.pending ||
										 node->commit.two_phase == TWO_PHASE_ASKED))
		{
			node->rollback.cancelled = wait_quietly(node, ABORT_WAIT_MS, deadline, false);
			if (node->rollback.cancelled)
				deadline = abort_deadline();
		}
		if (node->commit.pending)
			node->commit.unknown = true;
		if (node->rollback.cancelled)
			shuttle_transaction_roll_back(node, level, true);
		else
			shuttle_connection_lost(node, CANNOT_CANCEL);
	}
	/* remove it first: it may be cancelled once more, alone */
	while (!dlist_is_empty(nodes))
		cancel_again(dlist_container(ShuttleNode, rollback.cancel_link,
									 dlist_pop_head_node(nodes)), &deadline);
}

static bool
commit_was_answered(const ShuttleNode *node)
{
	return !node->commit.pending;
}

void
shuttle_transaction_stop_commit(ShuttleNode *node)
{
	TimestampTz deadline = abort_deadline();
	bool		cancelled = false;

	/* a cancel that arrives before its statement has no effect */
	do
	{
		TimestampTz again;

		cancelled = shuttle_cancel_one(node, ABORT_WAIT_MS);
		again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), again_ms(node));
		(void) shuttle_transaction_wait_quietly(node, commit_was_answered,
												Min(again, deadline));
	} while (node->commit.pending && GetCurrentTimestamp() < deadline);

	/* a late cancel could hit the next command */
	if (node->commit.pending)
		shuttle_connection_broke(node, "the node did not answer", false);
	else if (!cancelled && node->connection.state == NODE_READY)
		shuttle_connection_close(node);
}

void
shuttle_transaction_roll_back_all(int level)
{
	TimestampTz deadline = abort_deadline();
	dlist_head	busy = DLIST_STATIC_INIT(busy);
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->connection.state == NODE_CONNECTING && level == 1)
			shuttle_connection_close(node);
		keep_needed(node, level);
		if (shuttle_transaction_is_open(node) && node->transaction.level >= level &&
			begin_to_roll_back(node, level, &deadline))
			dlist_push_tail(&busy, &node->rollback.cancel_link);
	}
	if (!dlist_is_empty(&busy))
		cancel_nodes(&busy, level);

	/*
	 * A node first used inside the level may begin again, unless a plan of an
	 * outer level uses it.
	 */
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->transaction.wanted_level >= level)
			node->transaction.wanted_level = 0;
		if (node->transaction.used_level < level)
			continue;
		node->transaction.used_level = node->transaction.wanted_level;
		if (node->transaction.used_level > 0)
			continue;
		if (node->connection.state == NODE_LOST && !IsolationUsesXactSnapshot())
		{
			node->connection.state = NODE_CLOSED;
			shuttle_connection_slot_show(node);
		}
	}
}

/* Aborts the requests of a level and reads what has arrived. Returns true if
 * the node still works on something. */
static bool
stop_requests(ShuttleNode *node, int level)
{
	dlist_mutable_iter iter;

	node->queue.adding_speculative = false;
	node->queue.adding_repeatable = false;
	node->errors.speculative_failed = false;
	node->errors.recovery_due = false;
	dlist_foreach_modify(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->sent_level >= level)
			shuttle_request_abort(request);
	}
	dlist_foreach_modify(iter, &node->queue.commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->kind == COMMAND_SYNC && command->speculative)
			node->errors.nspeculative--;
		command->speculative = false;
		command->dropped = true;
	}
	shuttle_node_error_release(&node->errors.first);
	if (node->connection.state == NODE_READY)
	{
		node->socket.readable = true;
		shuttle_node_progress(node);
	}
	return node->connection.state == NODE_READY && works_on_request(node);
}

/* True if there is something to cancel. Not the ROLLBACK of an inner level,
 * which a cancel must not hit. */
static bool
works_on_request(ShuttleNode *node)
{
	dlist_iter	iter;

	/* It still ends an earlier transaction. */
	if (shuttle_pipeline_is_held(node))
		return false;
	dlist_foreach(iter, &node->queue.commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->sent && command->kind != COMMAND_ROLLBACK &&
			command->kind != COMMAND_SYNC)
			return true;
	}
	return false;
}

/*
 * Adds a part of a ROLLBACK that a cancel for an outer savepoint must not hit.
 * That cancel may follow before the answer, and without its RELEASE the node
 * would lose both. A cancel for the whole transaction may hit it.
 */
static bool
add_spared(ShuttleNode *node, const char *sql, int level)
{
	ShuttleCommand *command = shuttle_command_try_add(node, COMMAND_ROLLBACK, sql);

	if (command != NULL)
		command->spared_level = level;
	return command != NULL;
}

void
shuttle_transaction_roll_back(ShuttleNode *node, int level, bool cancelled)
{
	char		sql[48];
	bool		added = true;

	if (node->connection.state != NODE_READY && node->connection.state != NODE_CONNECTING)
		return;
	if (node->commit.two_phase == TWO_PHASE_DONE)
	{
		/* a prepared transaction is left to two_phase.c */
		shuttle_transaction_forget(node);
		return;
	}
	if (node->rollback.awaited)
	{
		/* its answer is missing, and nothing may be sent before */
		shuttle_connection_lost(node, "the node did not answer");
		return;
	}

	if (node->transaction.is_statement && !cancelled)
	{
		/* it has ended */
		shuttle_transaction_forget(node);
		return;
	}
	node->transaction.begin_again = false;
	level = level_to_undo(node, level);
	if (node->queue.unsynced)
		added = shuttle_command_try_add(node, COMMAND_SYNC, NULL) != NULL;
	node->rollback.packet = node->queue.packet;
	node->rollback.level = level;
	node->rollback.ntries = 0;

	/* a ROLLBACK outside of a transaction gives a warning */
	if (node->transaction.is_statement)
		added = added && shuttle_command_try_add(node, COMMAND_CONTROL, "BEGIN") != NULL;
	if (level == 1)
		added = added &&
			shuttle_command_try_add(node, COMMAND_ROLLBACK, "ROLLBACK") != NULL;
	else
	{
		snprintf(sql, sizeof(sql), "ROLLBACK TO SAVEPOINT s%d", level);
		added = added && add_spared(node, sql, Max(2, level - 1));
		snprintf(sql, sizeof(sql), "RELEASE SAVEPOINT s%d", level);
		added = added && add_spared(node, sql, Max(2, level - 1));
		shuttle_cursor_forget_level(node, level);
		if (node->transaction.read_only_level >= level)
			node->transaction.read_only_level = 0;
		node->transaction.level = level - 1;
		node->transaction.timeout_deadline = -1;
		node->transaction.lock_timeout = -1;
		if (node->transaction.replica != 0)
			node->transaction.replica = -1;
	}
	if (!added || !shuttle_pipeline_sync(node))
	{
		shuttle_connection_lost(node, "out of memory");
		return;
	}
	if (node->connection.state == NODE_READY)
		node->rollback.awaited = cancelled;
	if (level == 1)
		shuttle_transaction_forget(node);
}

/*
 * Repeats a cancel: one that arrives before its statement has no effect, and
 * the statement would keep its locks. One too many hits ROLLBACK, which is sent
 * again. Waits for the answer, since a late cancel could hit the next command.
 */
static void
cancel_again(ShuttleNode *node, TimestampTz *deadline)
{
	double		wait_ms = again_ms(node);

	while (node->rollback.awaited &&
		   !wait_quietly(node, wait_ms, *deadline, false) &&
		   GetCurrentTimestamp() < *deadline)
	{
		if (!shuttle_cancel_one(node, ABORT_WAIT_MS))
			shuttle_connection_lost(node, CANNOT_CANCEL);
		wait_ms *= 2;
	}
	if (!node->rollback.awaited)
		*deadline = abort_deadline();
}

/* Runs in the pump, after the Sync of ROLLBACK's packet. */
void
shuttle_transaction_rolled_back(ShuttleNode *node)
{
	node->rollback.packet = 0;
	if (!node->rollback.failed)
	{
		node->rollback.awaited = false;
		return;
	}
	node->rollback.failed = false;
	if (!node->rollback.awaited || ++node->rollback.ntries >= MOST_TRIES)
		shuttle_connection_lost(node, "the node did not roll back");
	else
		node->rollback.again = true;
}
