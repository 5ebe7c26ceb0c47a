/*-------------------------------------------------------------------------
 * pipeline.c
 *	  Sends a node's queue in whole packets, and reads answers.
 *
 * Rules (trap 34): only whole packets are sent, so that each later packet
 * starts a new segment on the node. The pump reads a command's results to the
 * final NULL before anything is sent, and never raises: a transaction's first
 * error is stored in the node. An error of a speculative command concerns only
 * its request; node_reset.c resets the node.
 *
 * Memory: commands live in node->cxt until their answer was read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_counters.h"
#include "explain/shuttle_explain.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"

static bool is_commit_of_statement(const ShuttleNode *node, const ShuttleCommand *command);
static void remember_error(ShuttleNode *node, ShuttleCommand *command,
						   bool out_of_date);
static bool take_result(ShuttleNode *node, ShuttleCommand *command, PGresult *result);
static bool take_end(ShuttleNode *node, const ShuttleCommand *command, PGresult *end);
static void answer_command(ShuttleNode *node, ShuttleCommand *command);
static void note_settings(ShuttleNode *node, const PGresult *result);
static void flush_output(ShuttleNode *node);
static void note_round_trip(ShuttleNode *node);

/* ---- ends of packets */

bool
shuttle_pipeline_sync(ShuttleNode *node)
{
	if (shuttle_command_try_add(node, COMMAND_SYNC, NULL) == NULL)
		return false;
	shuttle_pipeline_send(node);
	return true;
}

void
shuttle_pipeline_end_packet(ShuttleNode *node)
{
	if (shuttle_command_add(node, COMMAND_SYNC, NULL)->speculative)
		node->errors.nspeculative++;
	node->queue.adding_speculative = false;
	node->queue.adding_repeatable = false;
	shuttle_pipeline_send(node);
}

/* ---- taking away */

void
shuttle_pipeline_clear(ShuttleNode *node)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &node->queue.commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		dlist_delete(&command->link);
		shuttle_command_free(node, command);
	}
	dlist_foreach_modify(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		request->lost |= request->state == REQUEST_OPEN;
		shuttle_request_fail(request, NULL, false);
	}
	node->queue.unsent = NULL;
	node->queue.nunsent_syncs = 0;
	node->queue.nin_flight = 0;
	node->errors.nspeculative = 0;
	node->queue.unsynced = node->queue.goes_on = false;
	node->queue.adding_speculative = false;
	node->queue.adding_repeatable = false;
	node->errors.speculative_failed = false;
	node->errors.recovery_due = false;
	node->queue.timing = false;
	node->socket.flush_pending = false;
	node->socket.readable = false;
}

/* ---- sending */

void
shuttle_pipeline_send(ShuttleNode *node)
{
	bool		sent = false;

	if (node->connection.state != NODE_READY || node->rollback.awaited)
		return;
	while (node->queue.nunsent_syncs > 0 && !shuttle_pipeline_is_held(node))
	{
		ShuttleCommand *command = node->queue.unsent;
		bool		was_idle = node->queue.nin_flight == 0;

		if (!shuttle_command_send(node, command))
		{
			shuttle_connection_broke(node, PQerrorMessage(node->connection.conn), false);
			return;
		}
		command->sent = sent = true;
		node->queue.unsent = dlist_has_next(&node->queue.commands, &command->link) ?
			dlist_container(ShuttleCommand, link,
							dlist_next_node(&node->queue.commands, &command->link)) :
			NULL;
		if (command->kind == COMMAND_SYNC)
			node->queue.nunsent_syncs--;
		else
		{
			node->queue.nin_flight++;
			if (was_idle)
			{
				node->queue.timing = true;

				/* nobody waits for this answer */
				node->shown.trip_counts = command->kind != COMMAND_COMMIT ||
					!command->ignore_error;
				INSTR_TIME_SET_CURRENT(node->queue.sent_at);
			}
		}
	}
	if (sent || node->socket.flush_pending)
		flush_output(node);
}

/*
 * A pooler in transaction mode gives a server session to another client when it
 * passes on the end of a transaction, unless a later Sync has arrived. A packet
 * may arrive in parts: those before its Sync would be lost or go to the other's
 * session. So no transaction begins before the end of the previous one was
 * answered.
 */
bool
shuttle_pipeline_is_held(const ShuttleNode *node)
{
	const ShuttleCommand *next = node->queue.unsent;
	const ShuttleCommand *before;

	if (!node->options.pooled || next == NULL ||
		(next->kind != COMMAND_BEGIN && next->kind != COMMAND_FINISH) ||
		dlist_head_element(ShuttleCommand, link,
						   (dlist_head *) &node->queue.commands) == next)
		return false;
	before = dlist_container(ShuttleCommand, link, next->link.prev);
	return before->kind == COMMAND_SYNC;
}

static void
flush_output(ShuttleNode *node)
{
	int			rest = PQflush(node->connection.conn);

	if (rest < 0)
		shuttle_connection_broke(node, PQerrorMessage(node->connection.conn), false);
	else
		node->socket.flush_pending = rest > 0;
}

/* ---- reading: the pump */

void
shuttle_pipeline_read(ShuttleNode *node)
{
	while (!dlist_is_empty(&node->queue.commands) && !node->errors.recovery_due)
	{
		ShuttleCommand *command = dlist_head_element(ShuttleCommand, link,
													 &node->queue.commands);
		PGresult   *result;

		if (!command->sent || shuttle_answer_pages_hold_up(node))
			return;
		shuttle_answer_pages_begin(node, command);
		if (PQisBusy(node->connection.conn))
			return;
		result = PQgetResult(node->connection.conn);
		if (result != NULL && PQresultStatus(result) != PGRES_PIPELINE_SYNC)
		{
			/* Do nothing until NULL has followed. */
			if (!take_result(node, command, result))
				return;
			continue;
		}
		if (result == NULL && is_commit_of_statement(node, command))
			continue;
		if (!take_end(node, command, result))
			return;
		shuttle_command_unlink(node, command);
		answer_command(node, command);
	}
}

/*
 * The node has answered a command. If its primary may be replaced, what has only
 * read can be repeated until a request is answered: a server that is shut down
 * for a switchover still sends the answer to BEGIN.
 */
static void
note_answer(ShuttleNode *node, const ShuttleCommand *command)
{
	bool		only_reads = node->epoch.hosts != 0 && !node->commit.must_wait;

	if (command->generation != node->transaction.generation)
		return;
	if (command->kind == COMMAND_BEGIN ? !only_reads :
		command->kind == COMMAND_STATEMENT || command->kind == COMMAND_FETCH ||
		command->kind == COMMAND_SCANNED)
		node->transaction.can_repeat = false;
}

/* Returns false if the connection was closed. */
static bool
take_part(ShuttleNode *node, ShuttleCommand *command, PGresult *result)
{
	if (command->request == NULL || command->dropped)
		shuttle_answer_pages_drop(node, result);
	else if (!shuttle_request_take(command->request, command, result))
	{
		shuttle_connection_lost(node, "out of memory");
		return false;
	}
	return true;
}

/* What is a transaction by itself commits at its Sync, whose answer can follow an error. */
static bool
is_commit_of_statement(const ShuttleNode *node, const ShuttleCommand *command)
{
	return command->kind == COMMAND_SYNC && node->transaction.is_statement && node->commit.pending &&
		command->packet == node->transaction.first_packet;
}

/* A command that was dropped has not said whether it has failed. */
static void
answer_commit_of_statement(ShuttleNode *node, const ShuttleCommand *command)
{
	node->commit.pending = false;
	node->commit.unknown = node->commit.unknown || command->dropped;
	node->commit.done = !command->dropped && node->errors.first == NULL && !node->transaction.begin_again;
	if (node->commit.done)
		shuttle_node_count(node, SHUTTLE_NODE_COMMITS, 1);
}

/* Takes a result of a command. Returns false if the connection was closed. */
static bool
take_result(ShuttleNode *node, ShuttleCommand *command, PGresult *result)
{
	note_round_trip(node);
	if (shuttle_node_error_ends_connection(result))
	{
		bool		said;
		const char *reason = shuttle_node_error_reason_of_end(node, result, &said);

		shuttle_connection_broke(node, reason, said);
		PQclear(result);
		return false;
	}
	note_answer(node, command);
	if (!shuttle_command_fits(command, result))
	{
		PQclear(result);
		shuttle_connection_broke(node, SHUTTLE_NO_ANSWER, false);
		return false;
	}
	if (shuttle_answer_pages_is_part(result))
		return take_part(node, command, result);
	if (is_commit_of_statement(node, command))
	{
		/* as of a deferred constraint */
		if (node->errors.first == NULL)
			node->errors.first = shuttle_node_error_create(result, "COMMIT");
		else
			PQclear(result);
		return true;
	}
	if (command->kind == COMMAND_SYNC)
	{
		PQclear(result);
		shuttle_connection_lost(node, "the node's answers are out of step");
		return false;
	}
	command->result = result;
	return true;
}

/* Takes the end of a command's results: NULL, or the result of SYNC. Returns false
 * if the connection was closed. */
static bool
take_end(ShuttleNode *node, const ShuttleCommand *command, PGresult *end)
{
	bool		is_sync = command->kind == COMMAND_SYNC;
	bool		is_complete = is_sync ? end != NULL : command->result != NULL;

	PQclear(end);
	if (!is_complete)
	{
		shuttle_connection_broke(node, PQerrorMessage(node->connection.conn), false);
		return false;
	}
	if (is_sync && node->errors.speculative_failed &&
		command->packet == node->errors.speculative_packet)
		node->errors.recovery_due = true;
	return true;
}

/* The first answer to what was sent to an idle node. */
static void
note_round_trip(ShuttleNode *node)
{
	instr_time	elapsed;
	double		elapsed_ms;

	if (!node->queue.timing)
		return;
	node->queue.timing = false;
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, node->queue.sent_at);
	elapsed_ms = INSTR_TIME_GET_MILLISEC(elapsed);
	shuttle_round_trip_add(node->key.serverid, elapsed_ms);
	if (node->shown.least_trip_ms < 0 || elapsed_ms < node->shown.least_trip_ms)
		node->shown.least_trip_ms = elapsed_ms;
	if (node->shown.trip_counts)
	{
		node->shown.sum_trips_ms += elapsed_ms;
		node->shown.ntrips++;
	}
}

static void
answer_commit(ShuttleNode *node, const ShuttleCommand *command, bool failed)
{
	if (command->generation != node->transaction.generation)
		return;
	node->commit.pending = false;
	node->commit.skipped = PQresultStatus(command->result) == PGRES_PIPELINE_ABORTED;
	node->commit.done = !failed && strcmp(PQcmdStatus(command->result), "COMMIT") == 0;
	if (node->commit.done && node->commit.must_wait)
		shuttle_node_count(node, SHUTTLE_NODE_COMMITS, 1);
}

/* Handles an answered command, which is out of the queue, and frees it unless
 * its request takes it. */
static void
answer_command(ShuttleNode *node, ShuttleCommand *command)
{
	bool		failed = command->kind != COMMAND_SYNC && shuttle_command_failed(command);
	bool		out_of_date = false;

	/* Before the error takes the result. */
	if (command->prepared != NULL)
		out_of_date = shuttle_prepared_answer(node, command, failed);
	if (command->kind == COMMAND_DECLARE)
		shuttle_cursor_answer(node, command, failed);
	if (failed)
		remember_error(node, command, out_of_date);
	switch (command->kind)
	{
		case COMMAND_STATEMENT:
		case COMMAND_DECLARE:
		case COMMAND_FETCH:
		case COMMAND_SCANNED:
			if (command->request == NULL || command->dropped)
				break;
			if (!failed)
			{
				shuttle_request_answer(command->request, command);
				return;
			}
			shuttle_request_fail(command->request, node->errors.first,
								 command->speculative && node->errors.speculative_failed);
			break;

		case COMMAND_BEGIN:
			if (!failed && command->generation == node->transaction.generation)
				node->transaction.begun = true;
			break;

		case COMMAND_COMMIT:
			answer_commit(node, command, failed);
			break;

		case COMMAND_EPOCH:
			if (!failed)
				shuttle_connection_take_epoch(node, command->result);
			break;

		case COMMAND_LOOK:
			if (!failed && PQntuples(command->result) > 0)
				node->commit.left_prepared = shuttle_cluster_has_prepared = true;
			break;

		case COMMAND_SNAPSHOT:
			if (failed || command->generation != node->transaction.generation ||
				PQntuples(command->result) != 1 || PQnfields(command->result) != 2)
				break;
			PQclear(node->transaction.snapshot_answer);
			node->transaction.snapshot_answer = command->result;
			command->result = NULL;
			break;

		case COMMAND_XID:
		case COMMAND_PREPARE_TRANSACTION:
		case COMMAND_FINISH:
			shuttle_two_phase_answer(node, command, failed);
			break;

		case COMMAND_ROLLBACK:
			/* A late cancel can hit it (trap 19). */
			if (failed || !shuttle_command_ended_transaction(command))
				node->rollback.failed = true;
			else if (node->rollback.level == 1)
				shuttle_node_count(node, SHUTTLE_NODE_ROLLBACKS, 1);
			break;

		case COMMAND_SYNC:
			if (is_commit_of_statement(node, command))
				answer_commit_of_statement(node, command);
			if (command->packet == node->rollback.packet)
				shuttle_transaction_rolled_back(node);
			break;

		case COMMAND_SETTINGS:
			if (failed)
				shuttle_connection_lost(node,
										PQresultErrorField(command->result,
														   PG_DIAG_MESSAGE_PRIMARY));
			else
				note_settings(node, command->result);
			break;

		default:
			break;
	}
	shuttle_command_free(node, command);
}

/* The last row tells if the node can prepare transactions. */
static void
note_settings(ShuttleNode *node, const PGresult *result)
{
	int			nrows = PQntuples(result);

	if (nrows > 0)
		node->commit.max_prepared = atoi(PQgetvalue(result, nrows - 1, 0));
}

/* Stores the transaction's error, or that of a speculative request. Failures
 * caused by an earlier error (PGRES_PIPELINE_ABORTED, 25P02) are not stored. */
static void
remember_error(ShuttleNode *node, ShuttleCommand *command, bool out_of_date)
{
	const char *sql = command->sql;

	if (command->dropped || command->ignore_error ||
		command->generation != node->transaction.generation ||
		node->errors.first != NULL || node->errors.speculative_failed || node->transaction.begin_again)
		return;
	if (command->request != NULL && command->kind != COMMAND_SCANNED)
		sql = command->request->sql;
	else if (command->kind == COMMAND_PREPARE_TRANSACTION)
		sql = "PREPARE TRANSACTION";
	shuttle_node_count(node, SHUTTLE_NODE_ERRORS, 1);

	if (command->speculative && command->kind != COMMAND_GUARD)
	{
		node->errors.speculative_failed = true;
		node->errors.speculative_packet = command->packet;

		/* Its owner may ask again before the packet has ended. */
		shuttle_cursor_forget_packet(node, command->packet);
		if (command->request != NULL && out_of_date)
			shuttle_request_repeat(command->request);
		else if (command->request != NULL)
		{
			ShuttleNodeError *error =
				shuttle_node_error_create(command->result, sql);

			command->result = NULL;
			shuttle_request_fail(command->request, error, true);
			shuttle_node_error_release(&error);
		}
		command->request = NULL;
		return;
	}

	/* A request behind another one would be repeated without it. */
	if (out_of_date && command->packet == node->transaction.first_packet &&
		!command->request->is_behind)
	{
		node->transaction.begin_again = true;
		shuttle_request_repeat_all(node);
		command->request = NULL;
		return;
	}
	node->errors.first = shuttle_node_error_create(command->result, sql);
	command->result = NULL;
	if (command->request != NULL)
		shuttle_node_error_place(node->errors.first, command->request);
}
