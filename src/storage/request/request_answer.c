/*-------------------------------------------------------------------------
 * request_answer.c
 *	  Answers to a request, as the pump reads them, and the request's end.
 *
 * Memory: nothing here allocates from the server or raises; these functions
 * run in the pump, in reset callbacks and while a transaction aborts.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/shuttle_counters.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/values/values.h"

static void start_over(ShuttleRequest *request);
static void detach_commands(ShuttleRequest *request);
static bool take_last(ShuttleRequest *request, ShuttleCommand *command);
static void mark_behind_end(ShuttleRequest *request);

/* ---- counting */

/* True if the tag is that of a statement that can return rows. */
static bool
tag_returns_rows(const char *tag)
{
	static const char *const words[] = {"SELECT", "FETCH", "INSERT", "UPDATE", "DELETE", "MERGE", "CALL", "EXPLAIN", "SHOW"};

	for (int i = 0; i < lengthof(words); i++)
	{
		if (strncmp(tag, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

/* Counts a result's rows and bytes and notes its command tag. */
static void
count_rows(ShuttleCommand *command, const PGresult *result)
{
	ShuttleRequest *request = command->request;
	const char *tag = PQcmdStatus(unconstify(PGresult *, result));
	int			nrows = PQntuples(result);
	int			ncolumns = PQnfields(result);
	int			header_bytes = 1 + 4 + 2 + 4 * ncolumns;
	int64		largest = *request->width;
	int64		bytes = 0;

	for (int row = 0; row < nrows; row++)
	{
		int64		row_bytes = header_bytes;

		for (int column = 0; column < ncolumns; column++)
			row_bytes += PQgetlength(result, row, column);
		largest = Max(largest, row_bytes);
		bytes += row_bytes;
	}
	*request->width = largest;

	/*
	 * The tag may come with the last part, and be missing in the result after
	 * it.
	 */
	if (tag[0] != '\0' && (ncolumns == 0 || tag_returns_rows(tag)))
	{
		command->tag_bytes = strlen(tag);
		command->tells_rows = shuttle_tag_tells_rows(tag);
		command->naffected = strtoull(PQcmdTuples(unconstify(PGresult *, result)),
									  NULL, 10);
	}
	request->nrows_seen += nrows;
	request->nbytes_seen += bytes;

	/* libpq keeps a pointer and a length per value. */
	request->memory_seen += bytes + (int64) nrows * ncolumns * 16;
	shuttle_count(request->counters, SHUTTLE_ROWS_RETURNED, nrows);
	shuttle_count(request->counters, SHUTTLE_BYTES_RECEIVED, bytes);
	shuttle_node_count(request->node, SHUTTLE_NODE_ROWS_READ, nrows);
	shuttle_node_count(request->node, SHUTTLE_NODE_BYTES_RECEIVED, bytes);
}

/* Counts the bytes around an answer's rows. */
static void
count_frame(const ShuttleCommand *command)
{
	ShuttleRequest *request = command->request;
	const PGresult *result = command->result;
	int			ncolumns = PQnfields(result);
	int64		bytes;

	/* ParseComplete, BindComplete, CommandComplete, ReadyForQuery */
	bytes = 5 + 5 + 6 + command->tag_bytes + 6;
	if (ncolumns == 0)			/* NoData */
		bytes += 5;
	else						/* RowDescription */
		bytes += 7;
	for (int column = 0; column < ncolumns; column++)
		bytes += strlen(PQfname(result, column)) + 1 + 18;
	shuttle_count(request->counters, SHUTTLE_BYTES_RECEIVED, bytes);
	shuttle_node_count(request->node, SHUTTLE_NODE_BYTES_RECEIVED, bytes);
}

/* ---- answers */

/* Pages requested before the end was known need not be waited for. */
static void
mark_behind_end(ShuttleRequest *request)
{
	dlist_iter	iter;

	dlist_foreach(iter, &request->node->queue.commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->request == request)
			command->behind_end = true;
	}
}

bool
shuttle_request_take(ShuttleRequest *request, ShuttleCommand *command,
					 PGresult *result)
{
	count_rows(command, result);
	if (shuttle_answer_format_check(request, result, command->in_binary))
		return shuttle_answer_pages_take(request->node, command, result);
	PQclear(result);
	start_over(request);
	return true;
}

/* Takes the last result, which is the only one if the answer did not come in
 * parts. Returns false if the answer is not usable. */
static bool
take_last(ShuttleRequest *request, ShuttleCommand *command)
{
	ShuttleNode *node = request->node;
	PGresult   *result = command->result;

	count_rows(command, result);
	count_frame(command);
	if (!shuttle_answer_format_check(request, result, command->in_binary))
	{
		start_over(request);
		return false;
	}
	if (command->tag_bytes == 0 ||
		(command->tells_rows &&
		 command->naffected != command->nrows + PQntuples(result)))
	{
		shuttle_connection_broke(node, SHUTTLE_NO_ANSWER, false);
		return false;
	}
	if (command->kind == COMMAND_FETCH)
		request->naffected += command->nrows + PQntuples(result);
	else
		request->naffected = command->naffected;
	if (PQntuples(result) == 0)
		return true;
	command->result = NULL;
	if (shuttle_answer_pages_take(node, command, result))
		return true;
	shuttle_connection_lost(node, "out of memory");
	return false;
}

void
shuttle_request_answer(ShuttleRequest *request, ShuttleCommand *command)
{
	ShuttleNode *node = request->node;
	const PGresult *result = command->result;

	switch (command->kind)
	{
		case COMMAND_SCANNED:
			{
				int64		scanned = PQntuples(result) == 1 && PQnfields(result) == 1 ?
					strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;

				request->nscanned_asked--;
				if (command->nrows_asked == 0)
					request->scanned_before = scanned;
				else
					shuttle_count(request->counters, SHUTTLE_ROWS_SCANNED,
								  scanned - request->scanned_before);
				break;
			}

		case COMMAND_STATEMENT:
			if (!take_last(request, command))
				break;
			if (request->mode == REQUEST_HELD &&
				command->nrows > request->most_held)
			{
				shuttle_answer_pages_free(request);
				request->state = REQUEST_UNSENT;
				break;
			}
			if (request->effect == SHUTTLE_WRITES)
				shuttle_node_count(node, SHUTTLE_NODE_ROWS_WRITTEN,
								   request->naffected);
			request->state = REQUEST_DONE;
			shuttle_answer_pages_end(request);
			break;

		case COMMAND_FETCH:
			if (!take_last(request, command))
				break;
			request->npages_asked--;
			request->stalled = false;
			if (command->nrows < command->nrows_asked)
			{
				request->at_end = true;
				mark_behind_end(request);
				if (request->state == REQUEST_OPEN)
					request->state = REQUEST_DONE;
			}
			shuttle_answer_pages_end(request);
			break;

		default:
			break;
	}
	shuttle_command_free(node, command);
}

void
shuttle_request_fail(ShuttleRequest *request, ShuttleNodeError *error,
					 bool own_error)
{
	/* Counters after a complete answer will not come either. */
	request->nscanned_asked = 0;
	if (request->state != REQUEST_OPEN)
		return;
	shuttle_answer_format_forget(request);
	request->state = REQUEST_FAILED;
	request->own_error = own_error;
	shuttle_node_error_release(&request->error);
	request->error = shuttle_node_error_hold(error);
}

void
shuttle_request_skip(ShuttleRequest *request)
{
	if (request->state != REQUEST_OPEN)
		return;

	/*
	 * Repeat a request that only had a savepoint for a prepared statement:
	 * its owner does not know of it.
	 */
	if (!request->speculative)
	{
		shuttle_request_repeat(request);
		return;
	}
	request->state = REQUEST_SKIPPED;
	request->nscanned_asked = 0;
}

/* ---- ending */

void
shuttle_request_close(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	MemoryContextDelete(request->cxt);

	/* As postgres_fdw, whose CLOSE goes to the node. */
	if (node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(node);
}

/* Removes a request's unsent commands from the queue and detaches the others,
 * whose answers are dropped. */
static void
detach_commands(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &node->queue.commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->request != request)
			continue;
		command->request = NULL;
		if (command->sent ||
			(command->kind != COMMAND_STATEMENT &&
			 command->kind != COMMAND_DECLARE &&
			 command->kind != COMMAND_FETCH &&
			 command->kind != COMMAND_SCANNED))
			continue;
		if (command->kind == COMMAND_DECLARE)
			node->requests.cursors[command->cursor].state = CURSOR_FREE;
		shuttle_command_unlink(node, command);
		shuttle_command_free(node, command);
	}
}

void
shuttle_request_repeat(ShuttleRequest *request)
{
	if (request->state != REQUEST_OPEN)
		return;
	Assert(!request->handed_out && dlist_is_empty(&request->pages));
	detach_commands(request);
	request->cursor = -1;
	request->npages_asked = 0;
	request->nscanned_asked = 0;
	request->at_end = false;
	request->state = REQUEST_UNSENT;
	request->repeats = true;
	request->node->requests.repeat_due |= request->unawaited;
}

void
shuttle_request_take_back(ShuttleRequest *request)
{
	Assert(!request->handed_out);
	if (request->state == REQUEST_SKIPPED)
		return;
	start_over(request);
	if (request->store != NULL)
		MemoryContextDelete(shuttle_answer_store_context(request->store));
	request->store = NULL;
	shuttle_node_error_release(&request->error);
	request->own_error = false;
	request->repeats = true;
}

void
shuttle_request_repeat_all(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->generation == node->transaction.generation)
			shuttle_request_repeat(request);
	}
}

/* The answer is not usable: requests it again, as text. */
static void
start_over(ShuttleRequest *request)
{
	Assert(!request->handed_out);
	detach_commands(request);
	shuttle_answer_pages_free(request);
	if (request->cursor >= 0 && request->generation == request->node->transaction.generation)
		shuttle_cursor_release(request->node, request->cursor);
	request->cursor = -1;
	request->npages_asked = 0;
	request->nscanned_asked = 0;
	request->at_end = false;
	request->state = REQUEST_UNSENT;
}

void
shuttle_request_abort(ShuttleRequest *request)
{
	request->cursor = -1;
	if (request->state != REQUEST_OPEN && request->state != REQUEST_UNSENT)
		return;
	detach_commands(request);
	shuttle_answer_pages_free(request);
	request->npages_asked = 0;
	request->nscanned_asked = 0;
	request->at_end = false;
	if (!request->handed_out && request->effect == SHUTTLE_READS)
	{
		if (request->store != NULL)
			MemoryContextDelete(shuttle_answer_store_context(request->store));
		request->store = NULL;
		request->state = REQUEST_UNSENT;
	}
	else
	{
		request->state = REQUEST_OPEN;
		shuttle_request_fail(request, NULL, false);
	}
}

/* Reset callback: only frees and marks. */
void
shuttle_request_abandon(void *arg)
{
	ShuttleRequest *request = arg;
	ShuttleNode *node = request->node;

	if (request->link.next != NULL)
	{
		dlist_delete(&request->link);
		detach_commands(request);
		node->requests.nunawaited -= request->unawaited;
	}
	shuttle_answer_pages_free(request);
	if (request->cursor >= 0 && request->generation == node->transaction.generation)
		shuttle_cursor_release(node, request->cursor);
	shuttle_node_error_release(&request->error);
}
