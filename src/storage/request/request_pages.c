/*-------------------------------------------------------------------------
 * request_pages.c
 *	  Answers that are read by a cursor, page by page.
 *
 * The first packet carries DECLARE and the first FETCHes.  Where all rows are
 * wanted, these are as many as the estimate says, at least two; the number
 * asked for and not read then doubles each time that the reader has to wait.
 * With a row goal it is that many rows, and then, each time that they are used
 * up, as many as there were so far, or as a new goal says, if that is more.  An
 * answer that has to get out of the way is asked for as far as it is expected to
 * go, goal or not, and beyond that for as many rows again as have come.  Who
 * comes back a row at a time is likely to be a loop: it gets 10 rows the first
 * time and 100 later, as from postgres_fdw, so that it never waits more often.
 * Rows of a page are what fits shuttle.fetch_size_limit by the mean size of the
 * rows so far.  (Servers and tables have options of these names as well.)
 *
 * shuttle.fetch_ahead bounds what all scans of the session have asked for and
 * not read, since all of it may come before one row is read.  Scans that nobody
 * reads yet (early start) get one half of it together, so that the one that is
 * read has room; where several are read by turns, each has its share, and never
 * fewer than two pages.
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

/* Guess where neither the planner nor an answer has told a row's size. */
#define USUAL_ROW_BYTES 100

/* What a row takes here beside its values, by guess: libpq keeps a pointer and a
 * length of each, and aligns them. */
#define ROW_OVERHEAD_BYTES 100

#define FEWEST_PAGES 2
#define MOST_PAGES 1024

/* Rows to ask for where those of the goal are used up: the first time, and then;
 * postgres_fdw's pages have 100 unless told otherwise. */
#define FIRST_REFILL_ROWS 10
#define REFILL_ROWS 100

static int	fitting_rows(const ShuttleRequest *request);
static int	first_window(const ShuttleRequest *request);
static int	most_pages(const ShuttleRequest *request);
static void add_fetch(ShuttleRequest *request);

/* Locks are never taken ahead of need (trap 21). */
static bool
locks_stepwise(const ShuttleRequest *request)
{
	return request->effect == SHUTTLE_LOCKS && !request->whole;
}

/* Has the plan above asked for some rows only, or is asking a side effect? */
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

/* Rows of a page, by their size and the limit of the plan. */
static int
fitting_rows(const ShuttleRequest *request)
{
	double		rows = request->limits.fetch_size_limit_kb * 1024.0 /
		mean_row_bytes(request);

	return (int) Max(1, Min(rows, request->limits.fetch_limit));
}

/* Memory of a page that is on its way, as pages so far were. */
static double
page_memory(const ShuttleRequest *request)
{
	double		row_bytes = request->nrows_seen > 0 ?
		(double) request->memory_seen / request->nrows_seen :
		mean_row_bytes(request) + ROW_OVERHEAD_BYTES;

	return row_bytes * request->page_rows;
}

/* What the session's other scans have asked for and not read. */
typedef struct OtherScans
{
	double		read_bytes;
	double		unread_bytes;	/* of those that nobody reads yet */
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

/* Rows of a page, where the plan may take fewer than fit. */
static int
goal_rows(const ShuttleRequest *request)
{
	int			rows = fitting_rows(request);

	if (request->row_goal <= 0)
		return rows;
	return (int) Max(1, Min(ceil(request->row_goal), rows));
}

/* Pages of locking requests have their goal's rows at once; of others those that
 * were asked for come as they are. */
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

/* Pages that may be asked for and not read. */
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
	return (int) Max(FEWEST_PAGES, Min(bytes / page_memory(request), MOST_PAGES));
}

static int
pages_of(const ShuttleRequest *request, double rows)
{
	return (int) Max(1, Min(ceil(rows / request->page_rows), MOST_PAGES));
}

/* Pages of those rows that are expected and were not asked for.  One row more
 * than the estimate shows that it was right. */
static int
first_window(const ShuttleRequest *request)
{
	return Max(FEWEST_PAGES, pages_of(request, request->estimated_rows + 1 -
									  request->nrows_asked));
}

void
shuttle_pages_open(ShuttleRequest *request)
{
	ShuttleNode *node = request->node;
	ShuttleCommand *command;

	request->cursor = shuttle_cursor_allocate(node);
	request->sent_sql = psprintf("DECLARE c%d NO SCROLL CURSOR FOR %s",
								 request->cursor, request->sql);
	command = shuttle_pipeline_add(node, COMMAND_DECLARE, NULL);
	command->request = request;
	command->cursor = request->cursor;

	request->at_end = false;
	request->npages_asked = 0;
	request->nrows_asked = 0;
	request->outgrown = false;
	request->naffected = 0;
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
	command = shuttle_pipeline_add(request->node, COMMAND_FETCH, sql);
	command->request = request;
	command->nrows_asked = request->page_rows;
	command->in_binary = request->format == FORMAT_BINARY;
	request->npages_asked++;
	request->nrows_asked += request->page_rows;
	shuttle_count(request->counters, SHUTTLE_READ_REQUESTS, 1);
	shuttle_node_count(request->node, SHUTTLE_NODE_REQUESTS, 1);
}

/*
 * True while pages are on their way that should hold the last row: one more
 * would be asked for in vain, and its empty answer stand in the way of what
 * comes next.  When the last of them comes back full the estimate was wrong.
 */
static bool
estimate_is_covered(const ShuttleRequest *request)
{
	return request->npages_asked > 0 && !request->outgrown &&
		!is_stepwise(request) &&
		request->nrows_asked > request->estimated_rows;
}

/* Lets more be asked for, as the reader waits for what it needs. */
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
	if (request->window < most)
		request->window = Min(request->window * 2, most);
}

void
shuttle_pages_ask(ShuttleRequest *request, bool waits)
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

	/* Pages of an open cursor can be asked for again as they are. */
	shuttle_cursor_close_unwanted(node);
	if (request->reads_ahead)
	{
		node->queue.adding_ahead = node->queue.adding_repeatable = true;
		shuttle_pipeline_add(node, COMMAND_GUARD, "SAVEPOINT a");
	}
	if (shuttle_count_rows_scanned)
		shuttle_request_add_scanned(request, false);
	for (int i = 0; i < nfree; i++)
		add_fetch(request);
	if (shuttle_count_rows_scanned)
		shuttle_request_add_scanned(request, true);
	if (request->reads_ahead)
		shuttle_request_add_release(request);
	shuttle_pipeline_end_packet(node);
}

/* True where pages that a goal has bounded have come, and none is on its way. */
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
	return is_between_pages(request) && !shuttle_pages_has_unread(request) &&
		(request->store == NULL || !shuttle_store_has_rows(request->store));
}

void
shuttle_request_ask_soon(ShuttleRequest *request)
{
	if (!is_between_pages(request) || request->effect != SHUTTLE_READS ||
		shuttle_pages_count_unread(request) * 2 > request->nrows_seen)
		return;
	widen(request, most_pages(request));
	request->window += request->npages_here;
	shuttle_pages_ask(request, false);
}

void
shuttle_pages_ask_all(ShuttleRequest *request)
{
	if (!locks_stepwise(request))
	{
		request->row_goal = 0;
		request->page_rows = fitting_rows(request);
		request->window = Max(first_window(request),
							  pages_of(request, request->nrows_seen));
	}
	shuttle_pages_ask(request, false);
}

void
shuttle_request_page_was_read(ShuttleRequest *request)
{
	if (locks_stepwise(request))
		request->page_rows = goal_rows(request);
	else if (!is_stepwise(request))
	{
		request->page_rows = fitting_rows(request);
		shuttle_pages_ask(request, false);
	}
}
