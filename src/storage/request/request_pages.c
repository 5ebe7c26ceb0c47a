/*-------------------------------------------------------------------------
 * request_pages.c
 *	  Reads answers by a cursor, page by page.
 *
 * The first packet has DECLARE and FETCHes: if all rows are wanted, for the
 * estimated number of rows, at least two pages. Each time that the reader has
 * to wait, the number of pages requested and not read doubles, up to as many as have
 * come: a node that computes slowly is not asked for more by waiting. With a row
 * goal, that many rows are requested; when they are used up, as many again as
 * were read, or as a larger new goal says. The first refill has at least 10
 * rows and later ones 100, as from postgres_fdw, so that a loop that takes
 * single rows never waits more often. An answer that is moved to the store is
 * requested up to the estimate, and beyond it as many rows again as have come.
 * If the plan may stop at any row (below a merge join), pages ahead follow those read.
 * A page has as many rows of the mean size so far as fit into
 * shuttle.fetch_size_limit. (Servers and tables have options of these names,
 * too.)
 *
 * shuttle.fetch_ahead limits what all scans of the session have requested and
 * not read: all of it may arrive before one row is read. Scans that nobody
 * reads yet (early start) share one half of it. Scans that are read in turns
 * share the rest, each with at least two pages.
 *
 * Memory: none of its own; answer_pages.c has the rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/request/request.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* If neither the planner nor an answer tells a row's size. */
#define USUAL_ROW_BYTES 100

/* Guess of a row's memory beside its values: libpq keeps a pointer and a length
 * per value, and alignment. */
#define ROW_OVERHEAD_BYTES 100

#define FEWEST_PAGES 2
#define MOST_PAGES 1024

/* Rows of the first and of later refills after a row goal; postgres_fdw's
 * default is 100. */
#define FIRST_REFILL_ROWS 10
#define REFILL_ROWS 100

/* Guess of the rows that a node sends in a millisecond; a fast one sends twice as many. */
#define ROWS_PER_MS 2000

static int	fitting_rows(const ShuttleRequest *request);
static int	first_window(const ShuttleRequest *request);
static int	most_pages(const ShuttleRequest *request);
static void add_fetch(ShuttleRequest *request);

/* Lock only rows that are needed (trap 21). */
static bool
locks_stepwise(const ShuttleRequest *request)
{
	return request->effect == SHUTTLE_LOCKS && !request->whole;
}

/* True if rows are requested only when needed: row goal, or row locks. */
static bool
is_stepwise(const ShuttleRequest *request)
{
	return request->row_goal > 0 || locks_stepwise(request);
}

static double
mean_row_bytes(const ShuttleRequest *request)
{
	if (request->nrows_seen > 0)
		return Max(1.0, (double) request->nbytes_seen / request->nrows_seen);
	return request->row_bytes > 0 ? request->row_bytes : USUAL_ROW_BYTES;
}

/* Rows per page, by their size and by fetch_limit. */
static int
fitting_rows(const ShuttleRequest *request)
{
	double		rows = request->limits.fetch_size_limit_kb * 1024.0 /
		mean_row_bytes(request);

	return (int) Max(1, Min(rows, request->limits.fetch_limit));
}

/* Memory of an outstanding page, by the mean of earlier rows. */
static double
page_memory(const ShuttleRequest *request)
{
	double		row_bytes = request->nrows_seen > 0 ?
		(double) request->memory_seen / request->nrows_seen :
		mean_row_bytes(request) + ROW_OVERHEAD_BYTES;

	return row_bytes * request->page_rows;
}

/* What the session's other scans have requested and not read. */
typedef struct OtherScans
{
	double		read_bytes;
	double		unread_bytes;	/* of scans that nobody reads yet */
	int			nread;
} OtherScans;

static OtherScans
look_at_others(const ShuttleRequest *request)
{
	OtherScans	others = {0};
	dlist_iter	node_iter;
	dlist_iter	iter;

	dlist_foreach(node_iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, node_iter.cur);

		dlist_foreach(iter, &node->requests.all)
		{
			ShuttleRequest *other = dlist_container(ShuttleRequest, link, iter.cur);
			double		bytes;

			if (other == request || other->mode != REQUEST_CURSOR)
				continue;
			bytes = other->bytes_here + other->npages_asked * page_memory(other);
			if (!other->being_read)
				others.unread_bytes += bytes;
			else
			{
				others.read_bytes += bytes;
				if (other->state == REQUEST_OPEN)
					others.nread++;
			}
		}
	}
	return others;
}

/* Rows per page, limited by the row goal. */
static int
goal_rows(const ShuttleRequest *request)
{
	int			rows = fitting_rows(request);

	if (request->row_goal <= 0)
		return rows;
	return (int) Max(1, Min(ceil(request->row_goal), rows));
}

/* The pages of a locking request follow the goal at once; for others,
 * outstanding pages stay as requested. */
void
shuttle_request_set_goal(ShuttleRequest *request, double row_goal)
{
	bool		was_stepwise = is_stepwise(request);

	request->row_goal = row_goal;
	request->whole = request->whole && row_goal <= 0;
	if (request->mode != REQUEST_CURSOR)
		return;
	if (request->effect == SHUTTLE_LOCKS)
		request->page_rows = goal_rows(request);
	else if (was_stepwise && !is_stepwise(request))
	{
		request->page_rows = goal_rows(request);
		request->window = first_window(request);
	}
}

/*
 * Most pages ahead if the plan may stop at any row: as many as were read, and those that
 * a node sends in about a round trip. So what is sent for nothing takes no longer than
 * what was needed, and a reader of all rows soon has as many on the way as fit in there.
 */
static double
careful_pages(const ShuttleRequest *request)
{
	double		trip_ms;

	if (!request->may_stop || request->row_goal > 0)
		return MOST_PAGES;
	trip_ms = shuttle_round_trip_of(request->node);
	if (trip_ms < 0)
		return MOST_PAGES;
	return Max(FEWEST_PAGES, trip_ms * ROWS_PER_MS / request->page_rows) +
		(double) request->nrows_read / request->page_rows;
}

/* Maximum number of pages requested and not read. */
static int
most_pages(const ShuttleRequest *request)
{
	double		most_bytes = request->limits.fetch_ahead_kb * 1024.0;
	OtherScans	others = look_at_others(request);
	double		bytes;

	if (request->being_read)
		bytes = Max(most_bytes - others.read_bytes - others.unread_bytes,
					most_bytes / (others.nread + 1) / 2);
	else
		bytes = most_bytes / 2 - others.unread_bytes;
	return (int) Max(FEWEST_PAGES, Min(bytes / page_memory(request),
									   Min(careful_pages(request), MOST_PAGES)));
}

static int
pages_of(const ShuttleRequest *request, double rows)
{
	return (int) Max(1, Min(ceil(rows / request->page_rows), MOST_PAGES));
}

/* Pages for the expected rows that were not requested yet. The row beyond the
 * estimate shows that the estimate was right. */
static int
first_window(const ShuttleRequest *request)
{
	return Max(FEWEST_PAGES, pages_of(request, request->estimated_rows + 1 -
									  request->nrows_asked));
}

void
shuttle_request_pages_open(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	ShuttleCommand *command;

	request->cursor = shuttle_cursor_allocate(node);
	request->sent_sql = psprintf("DECLARE c%d NO SCROLL CURSOR FOR %s",
								 request->cursor, request->sql);
	command = shuttle_command_add(node, COMMAND_DECLARE, NULL);
	command->request = request;
	command->cursor = request->cursor;

	request->at_end = false;
	request->npages_asked = 0;
	request->nrows_asked = 0;
	request->outgrown = false;
	request->naffected = 0;

	/*
	 * A large goal of a merge join is a guess: it bounds what is asked for at
	 * first.
	 */
	if (request->may_stop && request->row_goal > FEWEST_PAGES * fitting_rows(request) &&
		request->effect == SHUTTLE_READS)
	{
		request->estimated_rows = Min(request->estimated_rows, request->row_goal);
		request->row_goal = 0;
	}
	request->page_rows = goal_rows(request);
	if (locks_stepwise(request))
		request->window = 1;
	else if (is_stepwise(request))
		request->window = pages_of(request, request->row_goal);
	else
		request->window = first_window(request);
	for (int i = Min(request->window, most_pages(request)); i > 0; i--)
		add_fetch(request);
}

static void
add_fetch(ShuttleRequest *request)
{
	char		sql[64];
	ShuttleCommand *command;

	snprintf(sql, sizeof(sql), "FETCH %d FROM c%d", request->page_rows,
			 request->cursor);
	command = shuttle_command_add(request->node, COMMAND_FETCH, sql);
	command->request = request;
	command->nrows_asked = request->page_rows;
	command->in_binary = request->format == FORMAT_BINARY;
	request->npages_asked++;
	request->nrows_asked += request->page_rows;
	shuttle_count(request->counters, SHUTTLE_READ_REQUESTS, 1);
	shuttle_node_count(request->node, SHUTTLE_NODE_REQUESTS, 1);
}

/*
 * True while the outstanding pages should include the last row: another page
 * would be empty and delay what comes next. If the last of them is full, the
 * estimate was wrong.
 */
static bool
estimate_is_covered(const ShuttleRequest *request)
{
	return request->npages_asked > 0 && !request->outgrown &&
		!is_stepwise(request) &&
		request->nrows_asked > request->estimated_rows;
}

/* Widens the window, since the reader waits. */
static void
widen(ShuttleRequest *request, int most)
{
	if (is_stepwise(request))
	{
		double		rows = request->nrefills++ == 0 ? FIRST_REFILL_ROWS : REFILL_ROWS;

		rows = Max(rows, Max(request->row_goal, request->nrows_seen));
		request->page_rows = (int) Max(1, Min(rows, fitting_rows(request)));
		request->window = pages_of(request, rows);
		return;
	}
	most = Min(most, FEWEST_PAGES + request->nrows_seen / Max(1, request->page_rows));
	if (request->window < most)
		request->window = Min(request->window * 2, most);
}

void
shuttle_request_pages_ask(ShuttleRequest *request, bool waits)
{
	ShuttleNode *node = request->node;
	int			most;
	int			nfree;

	if (request->state != REQUEST_OPEN || request->at_end ||
		estimate_is_covered(request))
		return;
	request->outgrown = request->nrows_asked > request->estimated_rows;
	most = most_pages(request);
	if (waits && request->forgot && !request->stalled &&
		!locks_stepwise(request) && request->window < MOST_PAGES)
	{
		widen(request, most);
		request->stalled = true;
	}
	nfree = Min(request->window, most) - request->npages_asked -
		request->npages_here;
	if (nfree <= 0)
		return;

	/* Pages of an open cursor can be requested again unchanged. */
	shuttle_cursor_close_unwanted(node);
	if (request->prefetches)
	{
		node->queue.adding_speculative = node->queue.adding_repeatable = true;
		shuttle_command_add(node, COMMAND_GUARD, "SAVEPOINT a");
	}
	if (shuttle_counters_want_rows_scanned)
		shuttle_request_add_scanned(request, false);
	for (int i = 0; i < nfree; i++)
		add_fetch(request);
	if (shuttle_counters_want_rows_scanned)
		shuttle_request_add_scanned(request, true);
	if (request->prefetches)
		shuttle_request_add_release(request);
	shuttle_pipeline_end_packet(node);
}

/* True if all pages requested for a row goal have arrived. */
static bool
is_between_pages(const ShuttleRequest *request)
{
	return request->mode == REQUEST_CURSOR && request->state == REQUEST_OPEN &&
		request->row_goal > 0 && !locks_stepwise(request) && !request->at_end &&
		request->npages_asked == 0 && request->handed_out;
}

bool
shuttle_request_is_used_up(ShuttleRequest *request)
{
	return is_between_pages(request) && !shuttle_answer_pages_has_unread(request) &&
		(request->store == NULL || !shuttle_answer_store_has_rows(request->store));
}

void
shuttle_request_ask_soon(ShuttleRequest *request)
{
	if (!is_between_pages(request) || request->effect != SHUTTLE_READS ||
		shuttle_answer_pages_count_unread(request) * 2 > request->nrows_seen)
		return;
	widen(request, most_pages(request));
	request->window += request->npages_here;
	shuttle_request_pages_ask(request, false);
}

void
shuttle_request_pages_ask_all(ShuttleRequest *request)
{
	if (!locks_stepwise(request))
	{
		request->row_goal = 0;
		request->may_stop = false;
		request->page_rows = fitting_rows(request);
		request->window = Max(first_window(request),
							  pages_of(request, request->nrows_seen));
	}
	shuttle_request_pages_ask(request, false);
}

void
shuttle_request_page_was_read(ShuttleRequest *request)
{
	if (locks_stepwise(request))
		request->page_rows = goal_rows(request);
	else if (!is_stepwise(request))
	{
		request->page_rows = fitting_rows(request);
		shuttle_request_pages_ask(request, false);
	}
}
