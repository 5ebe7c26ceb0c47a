/*-------------------------------------------------------------------------
 * request.c
 *	  Requests: sends a statement to a node.
 *
 *   UNSENT --send--> OPEN --last answer--> DONE
 *     ^               |---node's error---> FAILED
 *     |               `---skipped--------> SKIPPED
 *     `-- held answer with too many rows; savepoint rolled back
 *
 * A read whose size is certain is sent as it is. One that is small by estimate
 * is held: sent with a LIMIT, and returned when complete; if more rows come, it
 * is read again with a cursor, which has the node compute all rows a second time.
 * So the LIMIT is far above the estimate, if the rows are narrow. Other reads use
 * a cursor at once (request_pages.c).
 *
 * Memory: a request is a context below its owner's. The reset callback
 * detaches it from the queue and frees its PGresults; later answers are
 * dropped.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_commit_behind.h"
#include "storage/shuttle_storage.h"
#include "storage/shuttle_unawaited.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/values/values.h"

#define MOST_PARAMETERS 65535

/* Pages of rows that a held answer may have, if they fit into the size of two. */
#define MOST_HELD_PAGES 16
#define MOST_HELD_SIZES 2

/* If the planner does not tell a row's size. */
#define USUAL_ROW_BYTES 100

/* If no row can be larger, rows need not be watched as they arrive. */
#define NARROW_ROW_BYTES 1024

/* Rows returned so far by index and sequential scans of the transaction. */
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
static void send_request(ShuttleRequest *request, bool speculative);
static void send_earlier_again(ShuttleRequest *request);
static void require_transaction(ShuttleNode *node);
static bool needs_guard(const ShuttleRequest *request);

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
	if (statement->excludes_cursors)
		shuttle_wait_until(node, SHUTTLE_WAIT_READ, shuttle_cursor_can_close_unwanted, node);
	request = create_request(node, statement, owner);
	request->mode = choose_mode(request, statement->size);
	send_request(request, statement->speculative);
	return request;
}

/* Called in the request's context. */
static void
copy_values(ShuttleRequest *request, const ShuttleStatement *statement)
{
	int			n = statement->nparams;

	request->nparams = n;
	request->values = palloc_array(char *, Max(1, n));
	if (statement->lengths != NULL)
	{
		request->lengths = palloc_array(int, Max(1, n));
		request->formats = palloc_array(int, Max(1, n));
	}
	for (int i = 0; i < n; i++)
	{
		const char *value = statement->values[i];
		bool		in_binary = statement->lengths != NULL && statement->lengths[i] >= 0;
		int			length = value == NULL ? 0 :
			in_binary ? statement->lengths[i] : strlen(value);

		request->values[i] = value == NULL ? NULL :
			memcpy(palloc(length + 1), value, length + !in_binary);
		if (request->lengths != NULL)
		{
			request->lengths[i] = length;
			request->formats[i] = in_binary;
		}
	}
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
	copy_values(request, statement);
	request->effect = statement->effect;
	request->snapshot = statement->snapshot;
	request->speculative = statement->speculative;
	request->estimated_rows = statement->estimated_rows;
	request->row_goal = statement->row_goal;
	request->whole = statement->whole;
	request->may_stop = statement->may_stop;
	request->keep = statement->keep;
	request->row_bytes = statement->row_bytes;
	request->limits = fill_limits(statement->limits);
	request->decoder = statement->decoder;
	request->is_narrow = statement->decoder != NULL &&
		shuttle_row_decoder_is_narrow(statement->decoder, NARROW_ROW_BYTES);
	request->width = statement->decoder != NULL ?
		shuttle_row_decoder_width(statement->decoder) : &request->own_width;
	request->types_hash = statement->types_hash;
	if (statement->decoder != NULL)
	{
		shuttle_row_decoder_note_node(statement->decoder, node->name);
		request->types_hash = hash_combine(request->types_hash,
										   shuttle_row_decoder_types_hash(statement->decoder));
	}
	request->ncolumns = statement->ncolumns;
	request->tag_only = statement->tag_only;
	request->custom_plan = statement->custom_plan;
	request->changes_tables = statement->changes_tables;
	request->packet_goes_on = statement->packet_goes_on;
	request->looks = statement->looks;
	request->is_transaction = statement->is_transaction;
	request->counters = statement->counters;
	request->userid = shuttle_storage_calls.acting_user != NULL ? shuttle_storage_calls.acting_user() : GetUserId();
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
 * Nest level of a request. A cursor of an outer level may be fetched from
 * inside a savepoint and survives its rollback; its query then runs under the
 * cursor's resource owner.
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
	/* fits one page */
	bool		small = request->estimated_rows <= request->limits.fetch_limit &&
		request->estimated_rows * request->row_bytes <=
		request->limits.fetch_size_limit_kb * 1024.0;

	if (request->effect == SHUTTLE_WRITES)
		return REQUEST_WHOLE;

	/*
	 * The cursor's snapshot keeps others from the rows' places until they are
	 * locked.
	 */
	if (request->effect == SHUTTLE_READS_TO_LOCK)
		return REQUEST_CURSOR;

	/* Lock only rows that are needed. */
	if (request->effect == SHUTTLE_LOCKS && request->row_goal > 0 &&
		request->row_goal < request->estimated_rows)
		return REQUEST_CURSOR;
	if (size == SHUTTLE_SIZE_CERTAIN && small)
		return REQUEST_WHOLE;

	/* Held: may run twice, and returns all rows. */
	if (size == SHUTTLE_SIZE_ESTIMATED && small &&
		request->effect == SHUTTLE_READS &&
		(request->row_goal <= 0 || request->row_goal >= request->estimated_rows))
		return REQUEST_HELD;
	return REQUEST_CURSOR;
}

/*
 * Maximum rows of a held answer: a power of two times shuttle.fetch_limit, so that the
 * statement's text, which is prepared, does not follow small changes of the estimated
 * size.
 */
static int64
rows_to_hold(const ShuttleRequest *request)
{
	double		rows = request->limits.fetch_limit;
	double		row_bytes = request->row_bytes > 0 ? request->row_bytes : USUAL_ROW_BYTES;
	double		most_rows = MOST_HELD_SIZES * request->limits.fetch_size_limit_kb * 1024.0 /
		row_bytes;

	if (request->row_goal > 0)
		return (int64) Max(1, Min(rows, 2 * request->row_goal));
	for (int npages = 2; npages <= MOST_HELD_PAGES && rows * 2 <= most_rows; npages *= 2)
		rows *= 2;
	return (int64) rows;
}

/* Adds the request's statement to the packet, prepared if that pays. */
static void
add_statement(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	bool		earlier = false;
	ShuttlePrepared *prepared = request->custom_plan ? NULL :
		shuttle_prepared_use(node, request, &earlier);
	ShuttleCommand *command = shuttle_command_add(node, COMMAND_STATEMENT, NULL);

	command->request = request;
	command->prepared = prepared;
	command->prepared_earlier = earlier;
	command->in_binary = request->format == FORMAT_BINARY;
	shuttle_count(request->counters, request->effect == SHUTTLE_WRITES ?
				  SHUTTLE_FLUSH_REQUESTS : SHUTTLE_READ_REQUESTS, 1);
	shuttle_node_count(node, SHUTTLE_NODE_REQUESTS, 1);
}

/*
 * Some DDL leaves messages to caches that the server has not processed, with which it
 * refuses to change tables in a later savepoint. RELEASE processes them.
 */
static void
add_change(ShuttleRequest *request)
{
	shuttle_command_add(request->node, COMMAND_CONTROL, "SAVEPOINT c");
	add_statement(request);
	shuttle_command_add(request->node, COMMAND_CONTROL, "RELEASE SAVEPOINT c");
}

/* Adds a request's packet to the pipeline. */
static void
send_request(ShuttleRequest *request, bool speculative)
{
	ShuttleNode *node = request->node;
	MemoryContext old_cxt;

	if (node->requests.repeat_due)
		send_earlier_again(request);
	shuttle_cut_calls->before_request(node, request->effect, request->snapshot);
	old_cxt = MemoryContextSwitchTo(request->cxt);
	if (!request->is_transaction || request->mode == REQUEST_CURSOR ||
		!shuttle_transaction_begin_statement(node, request->effect, request->snapshot))
		shuttle_transaction_prepare(node, request->effect, request->snapshot,
									request->nest_level,
									request->mode == REQUEST_CURSOR ?
									request->row_goal > 0 : node->transaction.fast_start,
									shuttle_request_complete);
	request->generation = node->transaction.generation;
	request->sent_level = node->transaction.level;
	request->admitted = !shuttle_cut_calls->is_member(node, request->snapshot);
	if (request->mode == REQUEST_WHOLE)
		request->sent_sql = request->sql;
	else if (request->mode == REQUEST_HELD)
	{
		request->most_held = rows_to_hold(request);
		request->sent_sql = psprintf("SELECT * FROM (\n%s\n) AS held LIMIT " INT64_FORMAT,
									 request->sql, request->most_held + 1);
	}
	if (needs_guard(request))
		speculative = true;
	shuttle_answer_format_choose(request);
	if ((request->effect == SHUTTLE_WRITES || request->effect == SHUTTLE_MAY_WRITE) &&
		!node->transaction.is_statement)
		require_transaction(node);
	if (speculative)
	{
		node->queue.adding_speculative = true;
		shuttle_command_add(node, COMMAND_GUARD, "SAVEPOINT a");
	}
	if (shuttle_counters_want_rows_scanned)
		shuttle_request_add_scanned(request, false);
	if (request->mode == REQUEST_CURSOR)
		shuttle_request_pages_open(request);
	else if (request->changes_tables && node->transaction.unmarked_level > 1)
		add_change(request);
	else
		add_statement(request);
	if (shuttle_counters_want_rows_scanned)
		shuttle_request_add_scanned(request, true);
	if (speculative)
		shuttle_request_add_release(request);

	if (request->link.next == NULL)
		dlist_push_tail(&node->requests.all, &request->link);
	request->state = REQUEST_OPEN;
	request->is_behind = node->queue.goes_on;
	node->queue.goes_on = request->packet_goes_on;
	request->packet_goes_on = false;
	if (!node->queue.goes_on)
		shuttle_pipeline_end_packet(node);
	MemoryContextSwitchTo(old_cxt);
}

/* If a transaction begins again, unawaited writes are sent again before later
 * requests. */
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
			shuttle_request_send_again(earlier, false);
			is_new = false;
		}
	}

	/* None is left to be sent again. */
	if (is_new)
		node->requests.repeat_due = false;
}

/*
 * If BEGIN fails (by a late cancel), the node skips only the rest of its
 * packet; a write in a later packet would commit by itself. So let it follow a
 * SAVEPOINT, which fails outside of transactions.
 */
static void
require_transaction(ShuttleNode *node)
{
	if (node->transaction.begun || node->queue.packet == node->transaction.first_packet)
		return;
	shuttle_command_add(node, COMMAND_CONTROL, "SAVEPOINT b");
	shuttle_command_add(node, COMMAND_CONTROL, "RELEASE SAVEPOINT b");
}

/*
 * A statement prepared by an earlier transaction fails if a table was altered
 * since. In the packet of BEGIN it can simply be repeated; later, a read gets a
 * savepoint once per transaction.
 */
static bool
needs_guard(const ShuttleRequest *request)
{
	ShuttleNode *node = request->node;

	return request->mode != REQUEST_CURSOR &&
		request->effect == SHUTTLE_READS &&
		node->queue.packet != node->transaction.first_packet &&
		shuttle_prepared_is_untried(node, request);
}

void
shuttle_request_send_again(ShuttleRequest *request, bool speculative)
{
	if (request->store != NULL)
		MemoryContextDelete(shuttle_answer_store_context(request->store));
	request->store = NULL;
	shuttle_answer_pages_free(request);
	if (!request->repeats)
		request->mode = REQUEST_CURSOR;
	request->repeats = false;

	/*
	 * the commit of a statement alone is waited for with its first sending
	 * only
	 */
	request->is_transaction = false;

	/* opening savepoints must not wait for this answer */
	request->being_sent = true;
	send_request(request, speculative);
	request->being_sent = false;
}

/* An error of RELEASE would undo the request's cursor, so it belongs to the
 * request. */
void
shuttle_request_add_release(ShuttleRequest *request)
{
	shuttle_command_add(request->node, COMMAND_CONTROL,
						"RELEASE SAVEPOINT a")->request = request;
}

void
shuttle_request_add_scanned(ShuttleRequest *request, bool behind)
{
	ShuttleCommand *command;

	if (request->effect == SHUTTLE_WRITES && !request->looks)
		return;
	command = shuttle_command_add(request->node, COMMAND_SCANNED,
								  ROWS_SCANNED_SQL);
	command->request = request;
	command->nrows_asked = behind;
	request->nscanned_asked++;
}

bool
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
	return shuttle_request_is_sent_safely(request);
}

bool
shuttle_request_is_sent_safely(const ShuttleRequest *request)
{
	const ShuttleNode *node = request->node;

	return request->state == REQUEST_OPEN && node->connection.state == NODE_READY &&
		shuttle_connection_is_fresh(node);
}
