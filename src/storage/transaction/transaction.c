/*-------------------------------------------------------------------------
 * transaction.c
 *	  Transactions of nodes: what a request needs before it.
 *
 * A node's transaction begins in the packet of the first request. Under local
 * READ COMMITTED it is clean at first (REPEATABLE READ READ ONLY). A request
 * of a later local snapshot adds COMMIT and BEGIN before itself, unless a
 * running statement has read the node: its functions must see the same data.
 * The first write or row lock replaces the transaction by a READ COMMITTED
 * one, which stays (trap 15). Under REPEATABLE READ and SERIALIZABLE the
 * node's level is the same. Savepoints s2, s3, ... follow the local nest
 * level. A READ COMMITTED one needs none of those that were open when it began:
 * nothing on the node is older, so it is rolled back as a whole with them.
 *
 * A statement that is all that the local transaction does with nodes is sent without BEGIN:
 * it is a transaction of its own on the node, which ends at the Sync behind it. Anything that comes
 * behind it nevertheless begins another one. The session is named without its transaction
 * then, which is enough to find who waits for whom: what has no other statement waits
 * for one lock at a time, and its locks end with it.
 *
 * Rules: commands that begin or end a transaction or savepoint wait until all speculative requests are answered, because an error of one would make the
 * node skip them. All answers arrive before SAVEPOINT (trap 18). COMMIT starts
 * a packet, so no earlier error skips it.
 *
 * Memory: none of its own; commands belong to the pipeline.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/trigger.h"
#include "storage/proc.h"
#include "utils/timeout.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_read_only.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/transaction/windows.h"

/* Margin of a node's statement_timeout after the session's, and the step that
 * it is rounded to, so that the next statement can use it, too. */
#define TIMEOUT_GRACE_MS 500L
#define TIMEOUT_STEP_MS 100L

const ShuttleCutCalls *shuttle_cut_calls = NULL;
static int	sending_level = 0;

static bool ensure_transaction(ShuttleNode *node, ShuttleEffect effect,
							   uint64 snapshot, int nestlevel,
							   ShuttleRequestCall complete);
static void begin(ShuttleNode *node, TransactionKind kind, uint64 snapshot,
				  int nestlevel);
static void end_clean(ShuttleNode *node, ShuttleRequestCall complete);
static void undo_failed(ShuttleNode *node);
static void end_statement(ShuttleNode *node, ShuttleRequestCall complete);
static void note_begun(ShuttleNode *node, TransactionKind kind, uint64 snapshot, int nestlevel);
static bool open_savepoints(ShuttleNode *node, int nestlevel, bool begun_now,
							ShuttleRequestCall complete);
static void complete_answers(ShuttleNode *node, ShuttleRequestCall complete);
static void follow_read_only(ShuttleNode *node);
static void set_timeouts(ShuttleNode *node);
static void follow_replication_role(ShuttleNode *node);

void
shuttle_transaction_forget(ShuttleNode *node)
{
	node->transaction.kind = TRANSACTION_NONE;
	node->transaction.generation++;
	node->transaction.snapshot = 0;
	node->transaction.nreaders = 0;
	node->transaction.level = 0;
	node->transaction.begun = false;
	node->transaction.is_statement = false;
	node->commit.must_wait = false;
	node->transaction.wrote = false;
	node->commit.pending = false;
	node->queue.adding_speculative = false;
	node->queue.adding_repeatable = false;
	node->errors.speculative_failed = false;
	node->errors.recovery_due = false;
	node->transaction.can_repeat = false;
	node->transaction.begin_again = false;
	node->transaction.snapshot_asked = false;
	PQclear(node->transaction.snapshot_answer);
	node->transaction.snapshot_answer = NULL;
	shuttle_node_error_release(&node->errors.first);
	shuttle_cursor_forget_level(node, 0);
}

void
shuttle_transaction_set_level(int nest_level)
{
	sending_level = nest_level;
}

int
shuttle_transaction_level(void)
{
	return sending_level > 0 ? sending_level : GetCurrentTransactionNestLevel();
}

void
shuttle_transaction_want(ShuttleNode *node)
{
	int			nestlevel = shuttle_transaction_level();

	if (node->transaction.wanted_level == 0 || node->transaction.wanted_level > nestlevel)
		node->transaction.wanted_level = nestlevel;
}

void
shuttle_transaction_prepare(ShuttleNode *node, ShuttleEffect effect,
							uint64 snapshot, int nest_level, bool fast_start,
							ShuttleRequestCall complete)
{
	int			nestlevel = nest_level > 0 ? nest_level : shuttle_transaction_level();
	bool		writes = effect == SHUTTLE_WRITES || effect == SHUTTLE_MAY_WRITE;

	if (writes && !node->transaction.wrote)
		shuttle_two_phase_check_writer(node);

	/* The wait may show that the transaction has to begin again. */
	for (;;)
	{
		bool		begun_now = ensure_transaction(node, effect, snapshot, nestlevel,
												   complete);

		if (node->transaction.used_level == 0 || node->transaction.used_level > nestlevel)
			node->transaction.used_level = nestlevel;
		if (node->errors.first != NULL)
			shuttle_node_error_raise(node, node->errors.first, NULL);
		if (open_savepoints(node, nestlevel, begun_now, complete))
			break;
	}
	if (writes)
		shuttle_two_phase_check_standby(node);
	if (node->transaction.kind == TRANSACTION_CLEAN)
		shuttle_snapshot_note_reader(node, snapshot);
	shuttle_cut_calls->join(node, snapshot);
	if (effect != SHUTTLE_READS)
	{
		node->commit.must_wait = true;
		if (node->transaction.begun)
			node->transaction.can_repeat = false;
	}
	if (writes && !node->transaction.wrote && shuttle_windows_want_xid())
		shuttle_two_phase_ask_xid(node);
	if (writes)
		node->transaction.wrote = true;
	shuttle_cursor_close_unwanted(node);
	follow_read_only(node);
	set_timeouts(node);
	if (writes)
		follow_replication_role(node);
	if (fast_start != node->transaction.fast_start)
		shuttle_command_add(node, COMMAND_CONTROL, fast_start ?
							"SET LOCAL cursor_tuple_fraction = 0.1" :
							"SET LOCAL cursor_tuple_fraction = 1");
	node->transaction.fast_start = fast_start;
}

/* True if the node has a usable transaction. */
static bool
is_of_use(const ShuttleNode *node)
{
	return shuttle_transaction_is_open(node) && !node->transaction.begin_again &&
		!node->transaction.is_statement;
}

/* Waits while the node is paused; the connection may end meanwhile. */
static void
get_ready(ShuttleNode *node, bool repeats)
{
	shuttle_connection_revive(node, repeats);
	while (!shuttle_pause_enter(node))
	{
		shuttle_wait_until(node, SHUTTLE_WAIT_PAUSE, shuttle_pause_is_over, node);
		shuttle_connection_revive(node, false);
	}
}

/* Begins a transaction and returns true, unless the open one serves the
 * request. */
static bool
ensure_transaction(ShuttleNode *node, ShuttleEffect effect, uint64 snapshot,
				   int nestlevel, ShuttleRequestCall complete)
{
	TransactionKind kind = IsolationUsesXactSnapshot() ? TRANSACTION_FIXED :
		effect == SHUTTLE_READS ? TRANSACTION_CLEAN : TRANSACTION_CURRENT;
	bool		was_open = shuttle_transaction_is_open(node);

	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
	if (is_of_use(node))
	{
		if (node->transaction.kind != TRANSACTION_CLEAN ||
			(kind != TRANSACTION_CURRENT &&
			 (snapshot <= node->transaction.snapshot || shuttle_snapshot_is_needed(node))))
			return false;
		end_clean(node, complete);
	}
	else if (node->transaction.is_statement)
		end_statement(node, complete);
	else if (node->transaction.begin_again)
		undo_failed(node);
	else
		get_ready(node, false);
	begin(node, kind, snapshot, nestlevel);
	if (!was_open)
		shuttle_connection_slot_show(node);
	return true;
}

static void
begin(ShuttleNode *node, TransactionKind kind, uint64 snapshot, int nestlevel)
{
	const char *isolation = "READ COMMITTED";
	char	   *name;
	const char *deferrable = "";
	char		sql[128];

	if (kind == TRANSACTION_CLEAN)
		isolation = "REPEATABLE READ";
	else if (kind == TRANSACTION_FIXED)
		isolation = IsolationIsSerializable() ? "SERIALIZABLE" : "REPEATABLE READ";
	if (kind == TRANSACTION_FIXED && IsolationIsSerializable())
		deferrable = XactDeferrable ? " DEFERRABLE" : " NOT DEFERRABLE";
	snprintf(sql, sizeof(sql), "BEGIN ISOLATION LEVEL %s%s%s", isolation,
			 kind == TRANSACTION_CLEAN || shuttle_read_only_applies() ? " READ ONLY" : "",
			 deferrable);

	shuttle_transaction_forget(node);
	shuttle_command_add(node, COMMAND_BEGIN, sql);
	shuttle_node_add_local_settings(node);
	name = shuttle_session_name_now(node);
	if (name != NULL)
		shuttle_node_add_local_setting(node, "application_name", name);
	note_begun(node, kind, snapshot, nestlevel);
}

/* Its first command was added just now, or is next. */
static void
note_begun(ShuttleNode *node, TransactionKind kind, uint64 snapshot, int nestlevel)
{
	node->transaction.first_packet = node->queue.packet;
	node->transaction.can_repeat = node->transaction.used_level == 0;
	node->transaction.kind = kind;
	node->transaction.snapshot = snapshot;
	node->transaction.level = 1;
	node->transaction.begun_level = nestlevel;
	node->transaction.unmarked_level = 1;
	node->transaction.read_only_level = kind == TRANSACTION_CLEAN || shuttle_read_only_applies() ? 1 : 0;
	node->commit.must_wait = IsolationIsSerializable();
	node->transaction.timeout_deadline = 0;
	node->transaction.lock_timeout = 0;
	node->transaction.replica = 0;
	node->transaction.fast_start = false;
	node->commit.xid = 0;
	shuttle_cut_calls->begin(node, snapshot);
}

/* True if a statement needs nothing that is set behind BEGIN, nor a transaction that is open. */
static bool
needs_no_begin(const ShuttleNode *node, bool writes)
{
	if (writes && (SessionReplicationRole != SESSION_REPLICATION_ROLE_ORIGIN || !shuttle_connection_is_fresh(node)))
		return false;
	return !IsolationUsesXactSnapshot() && !shuttle_read_only_applies() && shuttle_transaction_level() == 1 &&
		!shuttle_transaction_is_open(node) && !node->options.pooled && !node->queue.unsynced &&
		!get_timeout_active(STATEMENT_TIMEOUT) && LockTimeout == 0 && !shuttle_counters_want_rows_scanned;
}

/* It commits by itself at its Sync: until that is answered, nobody knows whether it has. */
static void
note_statement_writes(ShuttleNode *node)
{
	node->transaction.can_repeat = false;
	node->transaction.wrote = true;
	node->commit.must_wait = node->commit.pending = node->commit.writes = true;
	node->commit.done = node->commit.skipped = false;
}

bool
shuttle_transaction_begin_statement(ShuttleNode *node, ShuttleEffect effect, uint64 snapshot)
{
	bool		writes = effect != SHUTTLE_READS;

	if (node->connection.state != NODE_READY || !needs_no_begin(node, writes) ||
		(!writes && !shuttle_cut_calls->may_be_alone(snapshot)))
		return false;
	if (writes)
		shuttle_two_phase_check_writer(node);
	get_ready(node, !writes);
	if (node->connection.state != NODE_READY || !needs_no_begin(node, writes) ||
		(writes && shuttle_windows_follow_alone()))
		return false;
	if (writes)
		shuttle_two_phase_check_standby(node);
	shuttle_transaction_forget(node);
	note_begun(node, writes ? TRANSACTION_CURRENT : TRANSACTION_CLEAN, snapshot, 1);
	node->transaction.is_statement = true;
	node->transaction.used_level = 1;
	if (writes)
		note_statement_writes(node);
	else
		shuttle_snapshot_note_reader(node, snapshot);

	/* nobody knows its snapshot: what joins it later fails */
	shuttle_cut_calls->join(node, snapshot);
	shuttle_connection_slot_show_state(node);
	return true;
}

/* The statement's transaction has ended, or will when its answer has come. */
static void
end_statement(ShuttleNode *node, ShuttleRequestCall complete)
{
	complete_answers(node, complete);
	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
	if (node->errors.first != NULL)
		shuttle_node_error_raise(node, node->errors.first, NULL);
	shuttle_transaction_forget(node);
	get_ready(node, false);
}

/* Ends a clean transaction, which loses nothing. */
static void
end_clean(ShuttleNode *node, ShuttleRequestCall complete)
{
	shuttle_cut_calls->before_end(node);
	complete_answers(node, complete);
	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
	if (node->transaction.begin_again)
		undo_failed(node);
	else if (node->transaction.kind == TRANSACTION_NONE)
		shuttle_connection_revive(node, false);
	else
	{
		if (node->queue.unsynced)
			shuttle_command_add(node, COMMAND_SYNC, NULL);
		shuttle_command_add(node, COMMAND_COMMIT, "COMMIT")->ignore_error = true;
	}
}

/* Ends a transaction that failed before it did anything. */
static void
undo_failed(ShuttleNode *node)
{
	if (node->queue.unsynced)
		shuttle_command_add(node, COMMAND_SYNC, NULL);
	shuttle_command_add(node, COMMAND_CONTROL, "ROLLBACK")->ignore_error = true;
}

/*
 * Without strict_savepoints, a savepoint may follow unanswered writes. If one
 * of them fails, transaction_abort.c deals with it when a savepoint is rolled
 * back.
 */
static bool
need_not_wait(const ShuttleRequest *request)
{
	return request != NULL && request->unawaited &&
		request->state == REQUEST_OPEN && !shuttle_settings.strict_savepoints;
}

/*
 * True if the answer is still expected in the node's transaction. A request to
 * be repeated belongs to the newest one; a speculative one is repeated only
 * when needed.
 */
static bool
is_to_come(const ShuttleRequest *request)
{
	if (request->being_sent || need_not_wait(request))
		return false;
	if (request->state == REQUEST_UNSENT && request->repeats)
		return !request->speculative;
	return request->generation == request->node->transaction.generation &&
		(request->state == REQUEST_OPEN || request->state == REQUEST_UNSENT);
}

/* Reads all answers still expected in the node's transaction. */
static void
complete_answers(ShuttleNode *node, ShuttleRequestCall complete)
{
	bool		again = true;

	while (again)
	{
		dlist_iter	iter;

		again = false;
		dlist_foreach(iter, &node->requests.all)
		{
			ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

			if (!is_to_come(request))
				continue;
			complete(request);
			again = true;
			break;
		}
	}
}

static bool
speculative_were_answered(void *arg)
{
	ShuttleNode *node = arg;

	return (node->errors.nspeculative == 0 && !node->errors.speculative_failed && !node->errors.recovery_due) ||
		node->connection.state == NODE_LOST || node->connection.state == NODE_CLOSED;
}

/*
 * True if no unanswered command can fail by itself. Commands that only follow
 * the local transaction do not count: a ROLLBACK TO fails only if the node's
 * transaction is lost anyway.
 */
static bool
no_request_in_flight(void *arg)
{
	ShuttleNode *node = arg;
	dlist_iter	iter;

	if (node->connection.state == NODE_LOST || node->connection.state == NODE_CLOSED)
		return true;
	if (!speculative_were_answered(node))
		return false;
	dlist_foreach(iter, &node->queue.commands)
	{
		const ShuttleCommand *command = dlist_container(ShuttleCommand, link,
														iter.cur);

		switch (command->kind)
		{
			case COMMAND_STATEMENT:
				if (need_not_wait(command->request))
					break;
				return false;
			case COMMAND_DECLARE:
			case COMMAND_FETCH:
			case COMMAND_SCANNED:
			case COMMAND_PREPARE:
				return false;
			default:
				break;
		}
	}
	return true;
}

/* Returns false if the transaction turns out to be unusable. */
static bool
open_savepoints(ShuttleNode *node, int nestlevel, bool begun_now,
				ShuttleRequestCall complete)
{
	ShuttleCommand *last = NULL;
	int			first;

	if (node->transaction.level >= nestlevel)
		return true;
	if (!begun_now)
	{
		complete_answers(node, complete);
		shuttle_wait_until(node, SHUTTLE_WAIT_READ, no_request_in_flight, node);
		if (node->connection.state == NODE_LOST)
			shuttle_node_error_raise_lost(node);
		if (!is_of_use(node))
			return false;
		if (node->errors.first != NULL)
			shuttle_node_error_raise(node, node->errors.first, NULL);

		/* A repeated request may have opened them. */
		if (node->transaction.level >= nestlevel)
			return true;
	}

	/* they are undone by ROLLBACK */
	else if (node->transaction.kind == TRANSACTION_CURRENT)
	{
		node->transaction.unmarked_level = node->transaction.level = nestlevel;
		return true;
	}
	first = node->transaction.level + 1;
	while (node->transaction.level < nestlevel)
	{
		char		sql[32];

		snprintf(sql, sizeof(sql), "SAVEPOINT s%d", node->transaction.level + 1);
		last = shuttle_command_add(node, COMMAND_CONTROL, sql);
		node->transaction.level++;
	}

	/* If a cancel hit it, earlier work would be lost. */
	if (!begun_now)
		last->spared_level = first;
	return true;
}

void
shuttle_transaction_await_speculative(ShuttleNode *node)
{
	shuttle_wait_until(node, SHUTTLE_WAIT_READ, speculative_were_answered, node);
}

/*
 * Follows a local SET TRANSACTION READ ONLY, possibly inside a savepoint:
 * reading a remote table may write. Not for a request of an outer level, which
 * may not be read only.
 */
static void
follow_read_only(ShuttleNode *node)
{
	if (!shuttle_read_only_applies() || node->transaction.read_only_level > 0 ||
		node->transaction.level != GetCurrentTransactionNestLevel())
		return;
	shuttle_command_add(node, COMMAND_CONTROL, "SET TRANSACTION READ ONLY");
	node->transaction.read_only_level = node->transaction.level;
}

/* A local timeout is a deadline, a node's is a duration: an earlier statement's
 * stays if it is neither too short nor much too long. */
static void
set_statement_timeout(ShuttleNode *node, TimestampTz deadline)
{
	long		wanted_ms = TIMEOUT_GRACE_MS +
		TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
	char		value[32];

	if (deadline == 0)
		shuttle_command_add(node, COMMAND_CONTROL,
							"SET LOCAL statement_timeout TO DEFAULT");
	else if (node->transaction.timeout_deadline <= 0 || node->transaction.timeout_ms < wanted_ms ||
			 node->transaction.timeout_ms > wanted_ms + TIMEOUT_GRACE_MS)
	{
		node->transaction.timeout_ms = (wanted_ms + TIMEOUT_STEP_MS - 1) /
			TIMEOUT_STEP_MS * TIMEOUT_STEP_MS;
		snprintf(value, sizeof(value), "%ld", node->transaction.timeout_ms);
		shuttle_node_add_local_setting(node, "statement_timeout", value);
	}
	node->transaction.timeout_deadline = deadline;
}

/*
 * Sets the rest of our timeouts on the node, so that it stops even if no cancel
 * reaches it. The session's statement_timeout fires first, so the error is
 * always the same. Without a local timeout the node's default applies.
 */
static void
set_timeouts(ShuttleNode *node)
{
	TimestampTz deadline = get_timeout_active(STATEMENT_TIMEOUT) ?
		get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
	char		value[32];

	if (deadline != node->transaction.timeout_deadline)
		set_statement_timeout(node, deadline);
	if (LockTimeout != node->transaction.lock_timeout)
	{
		snprintf(value, sizeof(value), "%d", LockTimeout);
		if (LockTimeout == 0)
			shuttle_command_add(node, COMMAND_CONTROL,
								"SET LOCAL lock_timeout TO DEFAULT");
		else
			shuttle_node_add_local_setting(node, "lock_timeout", value);
		node->transaction.lock_timeout = LockTimeout;
	}
}

/* In a session of role replica nodes check no foreign keys either. Their user may not be
 * allowed to choose the role: then they do, and say so. Once another role has come after it,
 * it is set again before each write, as a savepoint may take it back. */
static void
follow_replication_role(ShuttleNode *node)
{
	bool		is_replica = SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA &&
		(shuttle_storage_calls.runs_own_statement == NULL || !shuttle_storage_calls.runs_own_statement());

	if (node->transaction.replica == (is_replica ? 1 : 0))
		return;
	shuttle_command_add(node, COMMAND_CONTROL, is_replica ?
						"DO 'BEGIN SET LOCAL session_replication_role = replica; EXCEPTION WHEN insufficient_privilege THEN"
						" RAISE WARNING ''foreign keys are checked, since user \"%\" may not set session_replication_role'',"
						" current_user; END'" :
						"DO 'BEGIN SET LOCAL session_replication_role TO DEFAULT; EXCEPTION WHEN insufficient_privilege THEN NULL; END'");
	node->transaction.replica = is_replica ? 1 : -1;
}
