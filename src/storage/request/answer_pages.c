/*-------------------------------------------------------------------------
 * answer_pages.c
 *	  Rows of answers in memory: from libpq to the reader.
 *
 * An answer to one command (a page of a cursor, or the whole answer of a
 * statement) comes in parts if its rows could be wide, so that memory is
 * bounded; else libpq returns it whole. How many rows libpq gathers is set
 * before it parses the first of them.
 *
 * Rules:
 * - Rows of an incomplete page are returned only if the page exceeds its room
 *   ("flowing"), and never if an error could still make them void: those of a
 *   statement, and of the first page of a speculative request.
 * - If a request's rows exceed their room, its node is "held up": nothing more
 *   is read from its connection, so the node has to wait. The same if nobody
 *   waits for the node while the session has enough to read.
 * - A wait for a held up node moves the blocking rows into the store of their
 *   request, which goes to a file beyond work_mem. So every wait can end.
 *
 * Memory: the PGresults of a page are freed when it was read; those of a
 * flowing page one by one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "explain/shuttle_explain.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/values/values.h"

/*
 * Rows that libpq gathers: by the scan's recent width, one if unknown. The next
 * rows may still be wide, and libpq returns only complete parts: so a session
 * may hold this many large rows. With eight, the parts take a tenth of the time
 * to read rows of 80 bytes; more would save little.
 */
#define MOST_TOGETHER 8
#define FIRST_TOGETHER 1
#define TOGETHER_BYTES (64 * 1024)
#define SMALL_PART_BYTES 4096

#define LEAST_ROOM_BYTES (64 * 1024)

/* libpq's buffers keep the size of the largest message: after the transaction
 * the connection is replaced. */
#define LARGE_MESSAGE_BYTES (64 * 1024 * 1024)

struct ShuttlePage
{
	dlist_node	link;			/* in request->pages */
	PGresult   *result;
	int64		bytes;			/* memory */
	bool		in_binary;
	bool		is_last;		/* last part of its page */
	bool		is_first;		/* first part: its columns are to be checked */
};

static int64 session_bytes = 0; /* of all pages */

static int	rows_together(const ShuttleCommand *command);
static void forget_width(ShuttleRequest *request);
static int64 room_bytes(const ShuttleRequest *request);
static bool may_flow(const ShuttleRequest *request);
static void free_read(ShuttleRequest *request, const ShuttlePage *last);
static void free_page(ShuttleRequest *request, ShuttlePage *page);
static void set_current(ShuttleRequest *request, ShuttlePage *page, int row);
static void check_columns(ShuttleRequest *request, ShuttlePage *page);

/* ---- from libpq; runs in the pump */

static bool
has_rows(const ShuttleCommand *command)
{
	return command->kind == COMMAND_STATEMENT || command->kind == COMMAND_FETCH;
}

void
shuttle_answer_pages_begin(ShuttleNode *node, ShuttleCommand *command)
{
	int			nrows;

	if (command->begun)
		return;
	command->begun = true;
	if (!has_rows(command))
		return;
	nrows = rows_together(command);
	if (command->request != NULL)
		forget_width(command->request);
	if (nrows == 0)
		return;

	/* If libpq refuses, the answer comes whole. */
#ifdef LIBPQ_HAS_CHUNK_MODE
	if (nrows > 1)
		(void) PQsetChunkedRowsMode(node->connection.conn, nrows);
	else
#endif
		(void) PQsetSingleRowMode(node->connection.conn);
}

/* Rows that libpq gathers into one part; 0: all. */
static int
rows_together(const ShuttleCommand *command)
{
	const ShuttleRequest *request = command->request;

	if (request == NULL || command->dropped)
		return FIRST_TOGETHER;
	if (request->effect != SHUTTLE_WRITES && request->is_narrow)
		return 0;
	if (*request->width == 0)
		return FIRST_TOGETHER;
	return (int) Max(1, Min(TOGETHER_BYTES / *request->width, MOST_TOGETHER));
}

/* Decay: an occasional wide row must not slow down all later ones. */
static void
forget_width(ShuttleRequest *request)
{
	*request->width -= *request->width / 2;
}

bool
shuttle_answer_pages_is_part(const PGresult *result)
{
#ifdef LIBPQ_HAS_CHUNK_MODE
	if (PQresultStatus(result) == PGRES_TUPLES_CHUNK)
		return true;
#endif
	return PQresultStatus(result) == PGRES_SINGLE_TUPLE;
}

static void
count_memory(ShuttleRequest *request, int64 bytes)
{
	request->bytes_here += bytes;
	session_bytes += bytes;
	shuttle_dist_count_memory(bytes);
}

static void
note_room(ShuttleRequest *request)
{
	if (request->bytes_here >= room_bytes(request) && may_flow(request))
		request->flowing = true;
}

/*
 * The last part, if a part's only row can be added to it. A row alone takes over 3 kB in
 * libpq, whatever its size. Not while the part is read, and not behind another command's
 * rows.
 */
static ShuttlePage *
part_with_room(ShuttleRequest *request, const ShuttleCommand *command, const PGresult *result)
{
	ShuttlePage *last;

	if (PQntuples(result) != 1 || PQresultMemorySize(result) > SMALL_PART_BYTES ||
		command->nrows == 0 || dlist_is_empty(&request->pages))
		return NULL;
	last = dlist_tail_element(ShuttlePage, link, &request->pages);
	if (last->is_last || last == request->reading ||
		last->bytes > TOGETHER_BYTES - SMALL_PART_BYTES)
		return NULL;
	return last;
}

/* False: out of memory. */
static bool
add_row(ShuttleRequest *request, ShuttlePage *page, const PGresult *result)
{
	int			row = PQntuples(page->result);
	int64		bytes;

	for (int column = 0; column < PQnfields(result); column++)
	{
		bool		is_null = PQgetisnull(result, 0, column);

		if (!PQsetvalue(page->result, row, column,
						is_null ? NULL : PQgetvalue(result, 0, column),
						is_null ? -1 : PQgetlength(result, 0, column)))
			return false;
	}
	bytes = PQresultMemorySize(page->result);
	count_memory(request, bytes - page->bytes);
	page->bytes = bytes;
	return true;
}

bool
shuttle_answer_pages_take(ShuttleNode *node, ShuttleCommand *command, PGresult *result)
{
	ShuttleRequest *request = command->dropped ? NULL : command->request;
	ShuttlePage *page;

	if (request == NULL || PQntuples(result) == 0)
	{
		shuttle_answer_pages_drop(node, result);
		return true;
	}
	page = part_with_room(request, command, result);
	if (page != NULL)
	{
		bool		added = add_row(request, page, result);

		command->nrows++;
		PQclear(result);
		note_room(request);
		return added;
	}
	page = MemoryContextAllocExtended(node->cxt, sizeof(ShuttlePage),
									  MCXT_ALLOC_NO_OOM);
	if (page == NULL)
	{
		PQclear(result);
		return false;
	}
	page->result = result;
	page->bytes = PQresultMemorySize(result);
	page->in_binary = command->in_binary;
	page->is_last = false;
	page->is_first = command->nrows == 0;
	dlist_push_tail(&request->pages, &page->link);
	command->nrows += PQntuples(result);
	count_memory(request, page->bytes);
	shuttle_answer_pages_note_message(node, *request->width);
	note_room(request);
	return true;
}

void
shuttle_answer_pages_drop(ShuttleNode *node, PGresult *result)
{
	if (PQntuples(result) > 0)
		shuttle_answer_pages_note_message(node, PQresultMemorySize(result) /
										  PQntuples(result));
	PQclear(result);
}

void
shuttle_answer_pages_note_message(ShuttleNode *node, int64 bytes)
{
	if (bytes > LARGE_MESSAGE_BYTES)
		node->connection.invalidated = true;
}

void
shuttle_answer_pages_end(ShuttleRequest *request)
{
	ShuttlePage *page;

	request->flowing = false;
	request->stored_part = false;
	if (dlist_is_empty(&request->pages))
		return;
	page = dlist_tail_element(ShuttlePage, link, &request->pages);
	if (page->is_last)
		return;
	page->is_last = true;
	request->npages_here++;
}

/* Rows that an error could still make void must not be read: those of a
 * statement, or speculative. */
static bool
may_flow(const ShuttleRequest *request)
{
	return request->mode == REQUEST_CURSOR &&
		(!request->speculative || request->handed_out);
}

/* ---- holding up */

/* Rows of an answer that is moved to a store get little room. */
static int64
room_bytes(const ShuttleRequest *request)
{
	int64		room_kb = work_mem;

	if (request->mode == REQUEST_CURSOR)
		room_kb = request->limits.fetch_ahead_kb;
	else if (request->store != NULL)
		room_kb = 0;
	return Max(LEAST_ROOM_BYTES, room_kb * INT64CONST(1024));
}

/* Counts the next part, too: it arrives whole before the node can be held up
 * again. */
static bool
is_full(const ShuttleCommand *command)
{
	const ShuttleRequest *request = command->request;

	return request->bytes_here + rows_together(command) * *request->width >=
		room_bytes(request);
}

bool
shuttle_answer_pages_hold_up(ShuttleNode *node)
{
	ShuttleCommand *command;
	ShuttleRequest *request;

	if (node->connection.state != NODE_READY || node->errors.recovery_due ||
		dlist_is_empty(&node->queue.commands))
		return false;
	command = dlist_head_element(ShuttleCommand, link, &node->queue.commands);
	request = command->request;
	if (!command->sent || request == NULL || command->dropped ||
		!has_rows(command) || dlist_is_empty(&request->pages))
		return false;
	if (is_full(command))
		return true;
	return !shuttle_node_wait_is_for(node) &&
		session_bytes >= request->limits.fetch_ahead_kb * INT64CONST(1024);
}

bool
shuttle_answer_pages_make_way(ShuttleNode *node)
{
	ShuttleCommand *command;

	if (!shuttle_answer_pages_hold_up(node))
		return false;
	command = dlist_head_element(ShuttleCommand, link, &node->queue.commands);
	shuttle_answer_pages_store(command->request);
	return true;
}

/* ---- to the reader */

/* True if rows in memory may be read. */
static bool
is_readable(ShuttleRequest *request)
{
	if (dlist_is_empty(&request->pages))
		return false;
	if (request->mode != REQUEST_CURSOR)
		return request->state == REQUEST_DONE;
	return request->npages_here > 0 || request->flowing;
}

bool
shuttle_answer_pages_has_unread(ShuttleRequest *request)
{
	ShuttlePage *page = request->reading;

	if (!is_readable(request))
		return false;
	return page == NULL || request->row < PQntuples(page->result) ||
		dlist_has_next(&request->pages, &page->link);
}

int64
shuttle_answer_pages_count_unread(const ShuttleRequest *request)
{
	bool		read = request->reading != NULL;
	int64		nrows = -request->row;
	dlist_iter	iter;

	dlist_foreach(iter, unconstify(dlist_head *, &request->pages))
	{
		const ShuttlePage *page = dlist_container(ShuttlePage, link, iter.cur);

		read = read && page != request->reading;
		if (!read)
			nrows += PQntuples(page->result);
	}
	return nrows;
}

bool
shuttle_answer_pages_next(ShuttleRequest *request, ShuttleRow *row, bool *ended)
{
	*ended = false;
	while (is_readable(request))
	{
		ShuttlePage *page = request->reading;
		bool		was_last;

		if (page == NULL)
			page = request->reading = dlist_head_element(ShuttlePage, link,
														 &request->pages);
		if (request->row < PQntuples(page->result))
		{
			set_current(request, page, request->row++);
			*row = request->current;
			return true;
		}

		was_last = page->is_last;
		if (!dlist_has_next(&request->pages, &page->link))
		{
			/* Keep the last page, so that the answer can be read again. */
			if (!was_last || request->state == REQUEST_DONE)
				return false;
		}
		else if (!was_last && !request->flowing)
		{
			request->reading = dlist_container(ShuttlePage, link,
											   dlist_next_node(&request->pages,
															   &page->link));
			request->row = 0;
			continue;
		}
		free_read(request, page);
		if (was_last)
		{
			*ended = true;
			return false;
		}
	}
	return false;
}

void
shuttle_answer_pages_rewind(ShuttleRequest *request)
{
	request->reading = NULL;
	request->row = 0;
}

/* Frees all parts up to the one just read. */
static void
free_read(ShuttleRequest *request, const ShuttlePage *last)
{
	bool		more = true;

	while (more)
	{
		ShuttlePage *page = dlist_head_element(ShuttlePage, link,
											   &request->pages);

		more = page != last;
		free_page(request, page);
	}
	shuttle_answer_pages_rewind(request);
	request->forgot = true;
}

static void
free_page(ShuttleRequest *request, ShuttlePage *page)
{
	dlist_delete(&page->link);
	if (page->is_last)
		request->npages_here--;
	count_memory(request, -page->bytes);
	PQclear(page->result);
	pfree(page);
}

void
shuttle_answer_pages_free(ShuttleRequest *request)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &request->pages)
	{
		free_page(request, dlist_container(ShuttlePage, link, iter.cur));
	}
	shuttle_answer_pages_rewind(request);
	request->flowing = false;
	request->stored_part = false;
}

void
shuttle_answer_pages_store(ShuttleRequest *request)
{
	/* rows already read are dropped */
	if (request->reading != NULL &&
		(request->row > 0 ||
		 dlist_has_prev(&request->pages, &request->reading->link)))
		request->forgot = true;
	while (request->reading != NULL &&
		   dlist_has_prev(&request->pages, &request->reading->link))
		free_page(request, dlist_head_element(ShuttlePage, link, &request->pages));

	while (!dlist_is_empty(&request->pages))
	{
		ShuttlePage *page = dlist_head_element(ShuttlePage, link,
											   &request->pages);

		if (request->store == NULL)
			request->store = shuttle_answer_store_create(request->cxt);
		for (; request->row < PQntuples(page->result); request->row++)
		{
			set_current(request, page, request->row);
			shuttle_answer_store_put(request->store, &request->current);
		}
		request->stored_part = !page->is_last;
		free_page(request, page);
		shuttle_answer_pages_rewind(request);
	}
}

/* Makes a row of a page the current row. */
static void
set_current(ShuttleRequest *request, ShuttlePage *page, int row)
{
	const PGresult *result = page->result;
	ShuttleRow *current = &request->current;

	if (unlikely(page->is_first))
		check_columns(request, page);
	if (current->values == NULL)
	{
		int			ncolumns = PQnfields(result);
		Size		room = Max(1, ncolumns);

		current->ncolumns = ncolumns;
		current->values = MemoryContextAlloc(request->cxt, sizeof(char *) * room);
		current->lengths = MemoryContextAlloc(request->cxt, sizeof(int) * room);
	}
	current->in_binary = page->in_binary;
	for (int i = 0; i < current->ncolumns; i++)
	{
		int			length = PQgetlength(result, row, i);

		current->lengths[i] = length;
		current->values[i] = length == 0 && PQgetisnull(result, row, i) ?
			NULL : PQgetvalue(result, row, i);
	}
}

/* Each part must have the columns of the earlier ones and the requested format,
 * and in binary the types that its values are read as: no row is checked. */
static void
check_columns(ShuttleRequest *request, ShuttlePage *page)
{
	const PGresult *result = page->result;
	int			ncolumns = PQnfields(result);
	int			expected = request->current.values != NULL ?
		request->current.ncolumns : request->ncolumns;
	bool		agrees = true;

	if (expected > 0 && ncolumns != expected)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("answer has %d columns where %d were expected",
						ncolumns, expected),
				 shuttle_node_error_add_request(request->node, request->sql)));
	for (int i = 0; i < ncolumns; i++)
		agrees &= (PQfformat(result, i) != 0) == page->in_binary;
	if (agrees && page->in_binary)
		agrees = shuttle_row_decoder_agrees(request->decoder, result,
											PQserverVersion(request->node->connection.conn));
	if (!agrees)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("answer has other types or formats than were expected"),
				 shuttle_node_error_add_request(request->node, request->sql)));
	page->is_first = false;
}
