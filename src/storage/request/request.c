/*-------------------------------------------------------------------------
 * request.c
 *	  Requests: a statement on its way to a node, and its answer on its way
 *	  back.
 *
 *	  UNSENT --send--> OPEN --last answer--> DONE
 *	    ^               |---node's error---> FAILED
 *	    |               `---skipped--------> SKIPPED
 *	    `-- more rows than a held answer may have; savepoint rolled back
 *
 * A read whose size is certain is sent as it is.  One that is small by
 * estimate is held: sent with a limit of one row more than a page and given
 * out when it is complete; with that row more it is read again by a cursor.
 * All others are read by cursors (request_pages.c).
 *
 * Memory: a request is a context below its owner's.  Its reset callback
 * detaches it from the queue and frees the PGresults; what arrives later is
 * dropped.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/values/values.h"

#define MOST_PARAMETERS 65535

/* Rows of types that can't be larger need not be watched as they come. */
#define NARROW_ROW_BYTES 1024

/* Rows that index and sequential scans of the transaction returned so far. */
#define ROWS_SCANNED_SQL \
	"SELECT pg_catalog.sum(pg_catalog.pg_stat_get_xact_tuples_returned(oid))" \
	" FROM pg_catalog.pg_class WHERE relkind IN ('r', 'i', 'm', 't')" \
	" AND oid >= 16384"

static ShuttleRequest *create_request(ShuttleNode *node,
									  const ShuttleStatement *statement,
									  MemoryContext owner);
static ShuttlePageLimits fill_limits(ShuttlePageLimits limits);
static int	owner_level(void);
static RequestMode choose_mode(const ShuttleRequest *request, ShuttleSize size);
static void send_request(ShuttleRequest *request, bool ahead);
static void send_earlier_again(ShuttleRequest *request);
static void require_transaction(ShuttleNode *node);
static bool needs_guard(const ShuttleRequest *request);
static void send_again(ShuttleRequest *request, bool ahead);
static bool failed_ahead(const ShuttleRequest *request, bool wait);
static bool is_intervention(const ShuttleNodeError *error);
static bool next_row(ShuttleRequest *request, ShuttleRow *row);
static void wait_for_answer(ShuttleRequest *request, ShuttleCondition condition);
static void raise_failure(ShuttleRequest *request);

/* ---- sending */

ShuttleRequest *
shuttle_request_send(ShuttleNode *node, const ShuttleStatement *statement,
					 MemoryContext owner)
{
	ShuttleRequest *request;

	if (statement->nparams > MOST_PARAMETERS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("request to storage node \"%s\" has %d parameters",
						node->name, statement->nparams),
				 errdetail("The limit is %d.", MOST_PARAMETERS)));
	request = create_request(node, statement, owner);
	request->mode = choose_mode(request, statement->size);
	send_request(request, statement->ahead);
	return request;
}

static ShuttleRequest *
create_request(ShuttleNode *node, const ShuttleStatement *statement,
			   MemoryContext owner)
{
	MemoryContext cxt = AllocSetContextCreate(owner, "shuttle request",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleRequest *request = palloc0(sizeof(ShuttleRequest));

	request->cxt = cxt;
	request->node = node;
	request->cursor = -1;
	dlist_init(&request->pages);
	request->callback.func = shuttle_request_abandon;
	request->callback.arg = request;
	MemoryContextRegisterResetCallback(cxt, &request->callback);

	request->sql = pstrdup(statement->sql);
	request->nparams = statement->nparams;
	request->values = palloc(sizeof(char *) * Max(1, statement->nparams));
	for (int i = 0; i < statement->nparams; i++)
		request->values[i] = statement->values[i] != NULL ?
			pstrdup(statement->values[i]) : NULL;
	request->effect = statement->effect;
	request->snapshot = statement->snapshot;
	request->ahead = statement->ahead;
	request->estimated_rows = statement->estimated_rows;
	request->row_goal = statement->row_goal;
	request->whole = statement->whole;
	request->keep = statement->keep;
	request->row_bytes = statement->row_bytes;
	request->limits = fill_limits(statement->limits);
	request->decoder = statement->decoder;
	request->is_narrow = statement->decoder != NULL &&
		shuttle_decoder_is_narrow(statement->decoder, NARROW_ROW_BYTES);
	request->width = statement->decoder != NULL ?
		shuttle_decoder_width(statement->decoder) : &request->own_width;
	request->ncolumns = statement->ncolumns;
	request->tag_only = statement->tag_only;
	request->custom_plan = statement->custom_plan;
	request->looks = statement->looks;
	request->counters = statement->counters;
	request->nest_level = statement->nest_level;
	request->level = statement->nest_level > 0 ? statement->nest_level : owner_level();
	MemoryContextSwitchTo(old_cxt);
	return request;
}

static ShuttlePageLimits
fill_limits(ShuttlePageLimits limits)
{
	if (limits.fetch_limit <= 0)
		limits.fetch_limit = shuttle_settings.fetch_limit;
	if (limits.fetch_size_limit_kb <= 0)
		limits.fetch_size_limit_kb = shuttle_settings.fetch_size_limit_kb;
	if (limits.fetch_ahead_kb <= 0)
		limits.fetch_ahead_kb = shuttle_settings.fetch_ahead_kb;
	return limits;
}

/*
 * The nesting level that a request belongs to: a cursor of an outer level may
 * be fetched from inside a savepoint, and lives on when that rolls back.  Its
 * query then runs under the resource owner of the cursor.
 */
static int
owner_level(void)
{
	int			level = shuttle_transaction_level();

	if (level == GetCurrentTransactionNestLevel() &&
		ActivePortal != NULL &&
		ActivePortal->createSubid != GetCurrentSubTransactionId() &&
		ActivePortal->resowner == CurrentResourceOwner)
		return level - 1;
	return level;
}

static RequestMode
choose_mode(const ShuttleRequest *request, ShuttleSize size)
{
	/* one page holds it */
	bool		small = request->estimated_rows <= request->limits.fetch_limit &&
		request->estimated_rows * request->row_bytes <=
		request->limits.fetch_size_limit_kb * 1024.0;

	if (request->effect == SHUTTLE_WRITES)
		return REQUEST_WHOLE;

	/* Locks are never taken ahead of need. */
	if (request->effect == SHUTTLE_LOCKS && request->row_goal > 0 &&
		request->row_goal < request->estimated_rows)
		return REQUEST_CURSOR;
	if (size == SHUTTLE_SIZE_CERTAIN && small)
		return REQUEST_WHOLE;

	/* It may be asked twice, and it is asked for all rows. */
	if (size == SHUTTLE_SIZE_ESTIMATED && small &&
		request->effect == SHUTTLE_READS &&
		(request->row_goal <= 0 || request->row_goal >= request->estimated_rows))
		return REQUEST_HELD;
	return REQUEST_CURSOR;
}

/* Puts a request's packet into the pipeline. */
static void
send_request(ShuttleRequest *request, bool ahead)
{
	ShuttleNode *node = request->node;
	MemoryContext old_cxt;

	if (node->requests.repeat_due)
		send_earlier_again(request);
	old_cxt = MemoryContextSwitchTo(request->cxt);
	shuttle_transaction_prepare(node, request->effect, request->snapshot,
								request->nest_level,
								request->mode == REQUEST_CURSOR ?
								request->row_goal > 0 : node->transaction.fast_start,
								shuttle_request_complete);
	request->generation = node->transaction.generation;
	request->sent_level = node->transaction.level;
	if (request->mode != REQUEST_CURSOR)
		request->sent_sql = request->mode == REQUEST_WHOLE ? request->sql :
			psprintf("SELECT * FROM (\n%s\n) AS held LIMIT " INT64_FORMAT,
					 request->sql, shuttle_request_most_held(request) + 1);
	if (needs_guard(request))
		ahead = true;
	shuttle_format_choose(request);
	if (request->effect == SHUTTLE_WRITES || request->effect == SHUTTLE_MAY_WRITE)
		require_transaction(node);
	if (ahead)
	{
		node->queue.adding_ahead = true;
		shuttle_pipeline_add(node, COMMAND_GUARD, "SAVEPOINT a");
	}
	if (shuttle_count_rows_scanned)
		shuttle_request_add_scanned(request, false);
	if (request->mode == REQUEST_CURSOR)
		shuttle_pages_open(request);
	else
	{
		bool		earlier = false;
		ShuttlePrepared *prepared = request->custom_plan ? NULL :
			shuttle_prepared_use(node, request, &earlier);
		ShuttleCommand *command = shuttle_pipeline_add(node, COMMAND_STATEMENT,
													   NULL);

		command->request = request;
		command->prepared = prepared;
		command->prepared_earlier = earlier;
		command->in_binary = request->format == FORMAT_BINARY;
		shuttle_count(request->counters, request->effect == SHUTTLE_WRITES ?
					  SHUTTLE_FLUSH_REQUESTS : SHUTTLE_READ_REQUESTS, 1);
		shuttle_node_count(node, SHUTTLE_NODE_REQUESTS, 1);
	}
	if (shuttle_count_rows_scanned)
		shuttle_request_add_scanned(request, true);
	if (ahead)
		shuttle_request_add_release(request);

	if (request->link.next == NULL)
		dlist_push_tail(&node->requests.all, &request->link);
	request->state = REQUEST_OPEN;
	shuttle_pipeline_end_packet(node);
	MemoryContextSwitchTo(old_cxt);
}

/*
 * Writes that nobody waits for, of a transaction that has to begin again, go in
 * front of what was sent behind them.
 */
static void
send_earlier_again(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	bool		is_new = request->link.next == NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &node->requests.all)
	{
		ShuttleRequest *earlier = dlist_container(ShuttleRequest, link, iter.cur);

		if (earlier == request)
			break;
		if (earlier->unawaited && earlier->state == REQUEST_UNSENT)
		{
			send_again(earlier, false);
			is_new = false;
		}
	}

	/* All were looked at, and none was found. */
	if (is_new)
		node->requests.repeat_due = false;
}

/*
 * Where BEGIN fails (a late cancel may hit it), the node skips the rest of its
 * packet only.  A write in a packet behind that would be a transaction of its own,
 * and stay; so it goes behind what fails outside of transactions.
 */
static void
require_transaction(ShuttleNode *node)
{
	if (node->transaction.begun || node->queue.packet == node->transaction.first_packet)
		return;
	shuttle_pipeline_add(node, COMMAND_CONTROL, "SAVEPOINT b");
	shuttle_pipeline_add(node, COMMAND_CONTROL, "RELEASE SAVEPOINT b");
}

/*
 * A statement that was prepared by an earlier transaction fails if a table was
 * altered since.  In the packet of BEGIN that can be repeated; behind it, a
 * read gets a savepoint once a transaction.
 */
static bool
needs_guard(const ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	return request->mode != REQUEST_CURSOR &&
		request->effect == SHUTTLE_READS &&
		node->queue.packet != node->transaction.first_packet &&
		shuttle_prepared_is_untried(node, request->sent_sql);
}

/* What was answered may not fit, or have been taken back: then the next answer
 * is read by a cursor. */
static void
send_again(ShuttleRequest *request, bool ahead)
{
	if (request->store != NULL)
		MemoryContextDelete(shuttle_store_context(request->store));
	request->store = NULL;
	shuttle_pages_free(request);
	if (!request->repeats)
		request->mode = REQUEST_CURSOR;
	request->repeats = false;

	/* savepoints in front of it wait for other answers, not for this one */
	request->being_sent = true;
	send_request(request, ahead);
	request->being_sent = false;
}

/* Its error would take the request's cursor away, so it is the request's. */
void
shuttle_request_add_release(ShuttleRequest *request)
{
	shuttle_pipeline_add(request->node, COMMAND_CONTROL,
						 "RELEASE SAVEPOINT a")->request = request;
}

void
shuttle_request_add_scanned(ShuttleRequest *request, bool behind)
{
	ShuttleCommand *command;

	if (request->effect == SHUTTLE_WRITES && !request->looks)
		return;
	command = shuttle_pipeline_add(request->node, COMMAND_SCANNED,
								   ROWS_SCANNED_SQL);
	command->request = request;
	command->nrows_asked = behind;
	request->nscanned_asked++;
}

/* ---- reading */

ShuttleStatus
shuttle_request_fetch(ShuttleRequest *request, bool wait, ShuttleRow *row)
{
	/* What a transaction has lost is lost, even if rows of it are here. */
	if (request->node->connection.state == NODE_LOST)
		shuttle_connection_raise(request->node);
	request->reads_ahead = request->ahead && !wait;
	request->being_read = true;
	for (;;)
	{
		/* A savepoint that is not its owner's may take the rest away. */
		if (request->sent_level > request->level || request->keep)
			shuttle_request_complete(request);
		if (failed_ahead(request, wait))
			return SHUTTLE_FAILED;
		if (next_row(request, row))
			return SHUTTLE_ROW;

		switch (request->state)
		{
			case REQUEST_UNSENT:
				send_again(request, request->reads_ahead);
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
			shuttle_pages_ask(request, true);
		if (wait)
			wait_for_answer(request, shuttle_request_has_news);
		else
		{
			request->node->socket.readable = true;
			shuttle_pipeline_progress(request->node);
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

/* Its owner may ask otherwise: no row of it is wanted then. */
static bool
failed_ahead(const ShuttleRequest *request, bool wait)
{
	return request->state == REQUEST_FAILED && request->own_error &&
		request->ahead && !request->handed_out &&
		!(wait && is_intervention(request->error));
}

/* Somebody cancelled it on the node: that has nothing to do with its keys. */
static bool
is_intervention(const ShuttleNodeError *error)
{
	return error != NULL &&
		ERRCODE_TO_CATEGORY(shuttle_result_sqlstate(error->result)) ==
		ERRCODE_OPERATOR_INTERVENTION;
}

/* Rows that may turn out to be void stay here, also those in the store. */
static bool
is_withheld(const ShuttleRequest *request)
{
	if (request->mode != REQUEST_CURSOR)
		return request->state != REQUEST_DONE;
	return request->state == REQUEST_OPEN && request->stored_part &&
		request->ahead && !request->handed_out;
}

static bool
has_rows_here(ShuttleRequest *request)
{
	if (is_withheld(request))
		return false;
	return (request->store != NULL && shuttle_store_has_rows(request->store)) ||
		shuttle_pages_has_unread(request);
}

bool
shuttle_request_has_rows(ShuttleRequest *request)
{
	return request->node->connection.state != NODE_LOST &&
		(request->state == REQUEST_DONE || has_rows_here(request));
}

/* Nothing more comes without asking: a page ended where its rows were read. */
static bool
has_to_ask(const ShuttleRequest *request)
{
	return request->mode == REQUEST_CURSOR && request->npages_asked == 0;
}

bool
shuttle_request_has_news(void *arg)
{
	ShuttleRequest *request = arg;

	/* The counters behind the first rows, and the last, are waited for. */
	if (request->nscanned_asked > 0 && !request->handed_out)
		return false;

	/* the last page stays when it was read: then only counters are missing */
	if (request->state != REQUEST_OPEN)
		return request->nscanned_asked == 0;
	return has_rows_here(request) || has_to_ask(request);
}

/* The same, leaving out what is in the store. */
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

/* Waits, and counts the time as the request's. */
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
		shuttle_wait_also_for(requests[i]->node);
	INSTR_TIME_SET_CURRENT(start);
	shuttle_wait_until(requests[0]->node, SHUTTLE_WAIT_READ, any_has_news, &any);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	shuttle_count(requests[0]->counters, SHUTTLE_READ_TIME_US,
				  INSTR_TIME_GET_MICROSEC(elapsed));
}

/* The next row that is here: from the store first, then from pages. */
static bool
next_row(ShuttleRequest *request, ShuttleRow *row)
{
	bool		found;
	bool		ended;

	if (request->nscanned_asked > 0 && !request->handed_out)
		return false;
	if (is_withheld(request))
		return false;
	found = request->store != NULL && shuttle_store_get(request->store, row);
	while (!found)
	{
		found = shuttle_pages_next(request, row, &ended);
		if (!ended)
			break;
		shuttle_request_page_was_read(request);
	}
	if (found)
		request->handed_out = true;
	return found;
}

static void
raise_failure(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	if (request->error == NULL && node->connection.state != NODE_READY &&
		node->connection.state != NODE_CONNECTING)
		shuttle_connection_raise(node);
	if (request->error == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("answer of storage node \"%s\" ended with its savepoint",
						node->name),
				 errcontext("storage node \"%s\", request: %s", node->name,
							request->sql)));
	shuttle_node_error_raise(node, request->error, request->sql);
}

void
shuttle_request_complete(ShuttleRequest *request)
{
	request->reads_ahead = false;
	while (request->state == REQUEST_UNSENT || request->state == REQUEST_OPEN)
	{
		if (request->state == REQUEST_UNSENT)
			send_again(request, false);
		if (request->mode == REQUEST_CURSOR)
		{
			shuttle_pages_store(request);
			shuttle_pages_ask_all(request);
			wait_for_answer(request, has_more);
		}
		else
			wait_for_answer(request, is_complete);
	}
	if (request->mode == REQUEST_CURSOR)
		shuttle_pages_store(request);
}

uint64
shuttle_request_finish(ShuttleRequest *request)
{
	shuttle_request_complete(request);
	if (request->state == REQUEST_FAILED || request->state == REQUEST_SKIPPED)
		raise_failure(request);
	return request->naffected;
}

void
shuttle_request_leave(ShuttleRequest *request, MemoryContext owner, const char *origin)
{
	ShuttleNode *node = request->node;

	Assert(request->effect == SHUTTLE_WRITES && request->decoder == NULL);
	MemoryContextSetParent(request->cxt, owner);
	request->counters = NULL;
	request->origin = origin != NULL ? MemoryContextStrdup(request->cxt, origin) : NULL;
	request->unawaited = true;
	node->requests.nunawaited++;
	node->requests.repeat_due |= request->state == REQUEST_UNSENT;
}

bool
shuttle_request_rewind(ShuttleRequest *request)
{
	if (request->forgot || request->state == REQUEST_FAILED ||
		request->state == REQUEST_SKIPPED)
		return false;
	shuttle_pages_rewind(request);
	if (request->store != NULL)
		shuttle_store_rewind(request->store);
	return true;
}
