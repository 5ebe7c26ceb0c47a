/*-------------------------------------------------------------------------
 * request_answer.c
 *	  What becomes of a request: its answers as the pump reads them, and its
 *	  end.
 *
 * Memory: nothing here allocates from the server or raises; these functions
 * run in the pump, in reset callbacks and while a transaction aborts.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "explain/shuttle_explain.h"
#include "storage/storage_internal.h"

static void keep_page(ShuttleRequest *request, ShuttleCommand *command);
static void start_over(ShuttleRequest *request);
static void detach_commands(ShuttleRequest *request);
static void free_pages(ShuttleRequest *request);
static void mark_behind_end(ShuttleRequest *request);

/* Pages that were asked for before the end was known hold nothing up. */
static void
mark_behind_end(ShuttleRequest *request)
{
	dlist_iter	iter;

	dlist_foreach(iter, &request->node->commands)
	{
		ShuttleCommand *command = dlist_container(ShuttleCommand, link, iter.cur);

		if (command->request == request)
			command->behind_end = true;
	}
}

static void
keep_page(ShuttleRequest *request, ShuttleCommand *command)
{
	dlist_push_tail(&request->pages, &command->link);
	command->page_bytes = PQresultMemorySize(command->result);
	request->npages_here++;
	request->bytes_here += command->page_bytes;
	shuttle_explain_memory(command->page_bytes);
}

void
shuttle_request_answer(ShuttleRequest *request, ShuttleCommand *command)
{
	ShuttleNode *node = request->node;
	PGresult   *result = command->result;

	switch (command->kind)
	{
		case COMMAND_SCANNED:
			{
				int64		scanned = PQntuples(result) == 1 ?
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
			shuttle_pages_count(request, result);
			if (!shuttle_format_check(request, command))
			{
				start_over(request);
				break;
			}
			if (request->mode == REQUEST_HELD &&
				PQntuples(result) > request->limits.fetch_limit)
			{
				request->state = REQUEST_UNSENT;
				break;
			}
			request->naffected = strtoull(PQcmdTuples(result), NULL, 10);
			if (request->effect == SHUTTLE_WRITES)
				shuttle_node_count(node, SHUTTLE_NODE_ROWS_WRITTEN,
								   request->naffected);
			request->state = REQUEST_DONE;
			keep_page(request, command);
			return;

		case COMMAND_FETCH:
			shuttle_pages_count(request, result);
			if (!shuttle_format_check(request, command))
			{
				start_over(request);
				break;
			}
			request->npages_asked--;
			request->naffected += PQntuples(result);
			request->stalled = false;
			if (PQntuples(result) < command->nrows_asked)
			{
				request->at_end = true;
				mark_behind_end(request);
				if (request->state == REQUEST_OPEN)
					request->state = REQUEST_DONE;
			}
			if (PQntuples(result) == 0)
				break;
			keep_page(request, command);
			return;

		default:
			break;
	}
	shuttle_command_free(node, command);
}

void
shuttle_request_fail(ShuttleRequest *request, ShuttleNodeError *error,
					 bool own_error)
{
	if (request->state != REQUEST_OPEN)
		return;
	shuttle_format_forget(request);
	request->state = REQUEST_FAILED;
	request->nscanned_asked = 0;
	request->own_error = own_error;
	shuttle_node_error_release(&request->error);
	request->error = shuttle_node_error_hold(error);
}

void
shuttle_request_skip(ShuttleRequest *request)
{
	if (request->state != REQUEST_OPEN)
		return;

	/* Its owner need not know that there was a savepoint in front. */
	if (!request->ahead)
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

	/* As postgres_fdw's CLOSE, which goes to the node. */
	if (node->state == NODE_LOST)
		shuttle_connection_raise(node);
}

/* Takes a request's commands out of the queue; those sent are answered yet. */
static void
detach_commands(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &node->commands)
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
			node->cursors[command->cursor].state = CURSOR_FREE;
		shuttle_pipeline_unlink(node, command);
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
}

void
shuttle_request_repeat_all(ShuttleNode *node)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node->requests)
	{
		ShuttleRequest *request = dlist_container(ShuttleRequest, link, iter.cur);

		if (request->generation == node->generation)
			shuttle_request_repeat(request);
	}
}

static void
free_pages(ShuttleRequest *request)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &request->pages)
	{
		shuttle_pages_free(request,
						   dlist_container(ShuttleCommand, link, iter.cur));
	}
	request->row = 0;
}

/* Nothing of the answer is of use: it has to be asked for again, as texts. */
static void
start_over(ShuttleRequest *request)
{
	Assert(!request->handed_out);
	detach_commands(request);
	free_pages(request);
	if (request->cursor >= 0 && request->generation == request->node->generation)
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
	free_pages(request);
	request->npages_asked = 0;
	request->nscanned_asked = 0;
	request->at_end = false;
	if (!request->handed_out && request->effect == SHUTTLE_READS)
	{
		if (request->store != NULL)
			MemoryContextDelete(shuttle_store_context(request->store));
		request->store = NULL;
		request->state = REQUEST_UNSENT;
	}
	else
	{
		request->state = REQUEST_OPEN;
		shuttle_request_fail(request, NULL, false);
	}
}

/* The reset callback: frees and marks, no more. */
void
shuttle_request_abandon(void *arg)
{
	ShuttleRequest *request = arg;
	ShuttleNode *node = request->node;

	if (request->link.next != NULL)
	{
		dlist_delete(&request->link);
		detach_commands(request);
	}
	free_pages(request);
	if (request->cursor >= 0 && request->generation == node->generation)
		shuttle_cursor_release(node, request->cursor);
	shuttle_node_error_release(&request->error);
}
