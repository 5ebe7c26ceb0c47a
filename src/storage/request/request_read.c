/*-------------------------------------------------------------------------
 * request_read.c
 *	  Requests: returns the rows of an answer to its owner, and waits for them.
 *
 * Memory: none of its own; rows are in pages (answer_pages.c) and the store
 * (answer_store.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"

static bool failed_speculatively(const ShuttleRequest *request, bool wait);
static bool is_intervention(const ShuttleNodeError *error);
static bool next_row(ShuttleRequest *request, ShuttleRow *row);
static void wait_for_answer(ShuttleRequest *request, ShuttleCondition condition);
static void raise_failure(ShuttleRequest *request);

/* An answer is used when the snapshots of all nodes that are read together fit. A
 * request that was taken back for that, or is not sent, is sent before. */
static bool
admit(ShuttleRequest *request, bool wait)
{
	if (request->state == REQUEST_UNSENT)
		shuttle_request_send_again(request, request->prefetches);
	request->admitted = shuttle_cut_calls->admit(request->node, request->generation, request->snapshot, wait);
	return request->admitted;
}

ShuttleStatus
shuttle_request_fetch(ShuttleRequest *request, bool wait, ShuttleRow *row)
{
	/* The node's transaction is lost, even if rows of it arrived. */
	if (request->node->connection.state == NODE_LOST)
		shuttle_node_error_raise_lost(request->node);
	request->prefetches = request->speculative && !wait;
	request->being_read = true;
	if (!request->admitted && !admit(request, wait))
		return SHUTTLE_PENDING;
	for (;;)
	{
		/* A savepoint inside its owner's may roll back and lose the rest. */
		if (request->sent_level > request->level || request->keep)
			shuttle_request_complete(request);
		if (failed_speculatively(request, wait))
			return SHUTTLE_FAILED;
		if (next_row(request, row))
			return SHUTTLE_ROW;

		switch (request->state)
		{
			case REQUEST_UNSENT:
				shuttle_request_send_again(request, request->prefetches);
				break;

			case REQUEST_OPEN:
				break;

			case REQUEST_DONE:
				if (request->nscanned_asked == 0)
					return SHUTTLE_END;
				break;

			case REQUEST_FAILED:
				raise_failure(request);
				break;

			case REQUEST_SKIPPED:
				return SHUTTLE_LOST;
		}

		if (request->mode == REQUEST_CURSOR)
			shuttle_request_pages_ask(request, true);
		if (wait)
			wait_for_answer(request, shuttle_request_has_news);
		else
		{
			request->node->socket.readable = true;
			shuttle_node_progress(request->node);
			if (shuttle_notices_waiting)
				shuttle_notices_show();
			if (!shuttle_request_has_news(request))
				return SHUTTLE_PENDING;
		}
	}
}

ShuttleStatus
shuttle_request_look(const ShuttleRequest *request)
{
	switch (request->state)
	{
		case REQUEST_DONE:
			return request->nscanned_asked == 0 ? SHUTTLE_END : SHUTTLE_PENDING;
		case REQUEST_UNSENT:
		case REQUEST_OPEN:
			return SHUTTLE_PENDING;
		default:
			return SHUTTLE_FAILED;
	}
}

bool
shuttle_request_is_answered(ShuttleRequest *request)
{
	request->node->socket.readable = true;
	shuttle_node_progress(request->node);
	return request->node->connection.state == NODE_LOST || shuttle_request_has_news(request);
}

/* A failed speculative request is not an error: its owner can send it again. */
static bool
failed_speculatively(const ShuttleRequest *request, bool wait)
{
	return request->state == REQUEST_FAILED && request->own_error &&
		request->speculative && !request->handed_out &&
		!(wait && is_intervention(request->error));
}

/* Somebody cancelled the request on the node: the statement is not at fault. */
static bool
is_intervention(const ShuttleNodeError *error)
{
	return error != NULL &&
		ERRCODE_TO_CATEGORY(shuttle_node_error_result_sqlstate(error->result)) ==
		ERRCODE_OPERATOR_INTERVENTION;
}

/* Keep back rows that an error could still make void. */
static bool
is_withheld(const ShuttleRequest *request)
{
	if (request->mode != REQUEST_CURSOR)
		return request->state != REQUEST_DONE;
	return request->state == REQUEST_OPEN && request->stored_part &&
		request->speculative && !request->handed_out;
}

static bool
has_rows_here(ShuttleRequest *request)
{
	if (is_withheld(request))
		return false;
	return (request->store != NULL && shuttle_answer_store_has_rows(request->store)) ||
		shuttle_answer_pages_has_unread(request);
}

bool
shuttle_request_has_rows(ShuttleRequest *request)
{
	return request->node->connection.state != NODE_LOST &&
		(request->state == REQUEST_DONE || has_rows_here(request));
}

/* More rows come only on request: a page ended at its last row. */
static bool
has_to_ask(const ShuttleRequest *request)
{
	return request->mode == REQUEST_CURSOR && request->npages_asked == 0;
}

bool
shuttle_request_has_news(void *arg)
{
	ShuttleRequest *request = arg;

	/* Wait for the counters after the first rows and after the last. */
	if (request->nscanned_asked > 0 && !request->handed_out)
		return false;

	/* the last page is kept: only counters are missing */
	if (request->state != REQUEST_OPEN)
		return request->nscanned_asked == 0;
	return has_rows_here(request) || has_to_ask(request);
}

/* The same, without rows in the store. */
static bool
has_more(void *arg)
{
	ShuttleRequest *request = arg;

	if (request->state == REQUEST_OPEN)
		return !dlist_is_empty(&request->pages) || has_to_ask(request);
	return request->nscanned_asked == 0;
}

static bool
is_complete(void *arg)
{
	ShuttleRequest *request = arg;

	return request->state != REQUEST_OPEN && request->nscanned_asked == 0;
}

/* Waits, and adds the time to the request's counters. */
static void
wait_for_answer(ShuttleRequest *request, ShuttleCondition condition)
{
	instr_time	start;
	instr_time	elapsed;

	if (condition(request))
		return;
	INSTR_TIME_SET_CURRENT(start);
	shuttle_wait_until(request->node, request->effect == SHUTTLE_WRITES ?
					   SHUTTLE_WAIT_WRITE : SHUTTLE_WAIT_READ,
					   condition, request);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	shuttle_count(request->counters, request->effect == SHUTTLE_WRITES ?
				  SHUTTLE_FLUSH_TIME_US : SHUTTLE_READ_TIME_US,
				  INSTR_TIME_GET_MICROSEC(elapsed));
}

typedef struct AnyRequest
{
	ShuttleRequest *const *requests;
	int			nrequests;
} AnyRequest;

static bool
any_has_news(void *arg)
{
	AnyRequest *any = arg;

	for (int i = 0; i < any->nrequests; i++)
	{
		if (shuttle_request_has_news(any->requests[i]))
			return true;
	}
	return false;
}

void
shuttle_request_wait_any(ShuttleRequest *const *requests, int nrequests)
{
	AnyRequest	any = {requests, nrequests};
	instr_time	start;
	instr_time	elapsed;

	for (int i = 1; i < nrequests; i++)
		shuttle_node_wait_also_for(requests[i]->node);
	INSTR_TIME_SET_CURRENT(start);
	shuttle_wait_until(requests[0]->node, SHUTTLE_WAIT_READ, any_has_news, &any);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	shuttle_count(requests[0]->counters, SHUTTLE_READ_TIME_US,
				  INSTR_TIME_GET_MICROSEC(elapsed));
}

/* The next available row: first from the store, then from pages. */
static bool
next_row(ShuttleRequest *request, ShuttleRow *row)
{
	bool		found;
	bool		ended;

	if (request->nscanned_asked > 0 && !request->handed_out)
		return false;
	if (is_withheld(request))
		return false;
	found = request->store != NULL && shuttle_answer_store_get(request->store, row);
	while (!found)
	{
		found = shuttle_answer_pages_next(request, row, &ended);
		if (!ended)
			break;
		shuttle_request_page_was_read(request);
	}
	if (found)
	{
		request->handed_out = true;
		request->nrows_read++;
	}
	return found;
}

static void
raise_failure(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	if (request->error == NULL &&
		(request->lost || (node->connection.state != NODE_READY &&
						   node->connection.state != NODE_CONNECTING)))
		shuttle_node_error_raise_lost(node);
	if (request->error == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("answer of storage node \"%s\" ended with its savepoint",
						node->name),
				 shuttle_node_error_add_request(node, request->sql)));
	shuttle_node_error_raise(node, request->error, request->sql);
}

void
shuttle_request_complete(ShuttleRequest *request)
{
	request->prefetches = false;
	while (request->state == REQUEST_UNSENT || request->state == REQUEST_OPEN)
	{
		if (request->state == REQUEST_UNSENT)
			shuttle_request_send_again(request, false);
		if (request->mode == REQUEST_CURSOR)
		{
			shuttle_answer_pages_store(request);
			shuttle_request_pages_ask_all(request);
			wait_for_answer(request, has_more);
		}
		else
			wait_for_answer(request, is_complete);
	}
	if (request->mode == REQUEST_CURSOR)
		shuttle_answer_pages_store(request);
}

uint64
shuttle_request_finish(ShuttleRequest *request)
{
	if (!request->admitted)
		(void) admit(request, true);
	shuttle_request_complete(request);
	if (request->state == REQUEST_FAILED || request->state == REQUEST_SKIPPED)
		raise_failure(request);
	return request->naffected;
}

bool
shuttle_request_rewind(ShuttleRequest *request)
{
	if (request->forgot || request->state == REQUEST_FAILED ||
		request->state == REQUEST_SKIPPED)
		return false;
	shuttle_answer_pages_rewind(request);
	if (request->store != NULL)
		shuttle_answer_store_rewind(request->store);
	return true;
}
