/*-------------------------------------------------------------------------
 * cancel.c
 *	  Cancels what runs on nodes, for example while a (sub)transaction
 *	  aborts.
 *
 * Never raises, and gives up when no node has answered for a while: abort
 * callbacks hold interrupts (trap 33). Each answer restarts the time limit, so
 * that a busy machine with many nodes loses none, while silent nodes wait
 * together.
 *
 * A cancel request has its own connection, which the node closes after it has
 * signalled its backend: then the cancel is done. From libpq 17 on this does
 * not block; before, a child process calls PQcancel().
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "utils/timestamp.h"

#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"

typedef struct Cancel
{
	ShuttleNode *node;
	bool		running;
	bool		done;
#ifdef LIBPQ_HAS_ASYNC_CANCEL
	PGcancelConn *conn;
	PostgresPollingStatusType polling;
#else
	PGcancel   *cancel;
	HelperProcess helper;
#endif
} Cancel;

#define MOST_AT_ONCE 64

static void start_cancel(Cancel *cancel);
static struct pollfd wanted_event(const Cancel *cancel);
static void advance_cancel(Cancel *cancel);
static void end_cancel(Cancel *cancel);

#ifdef LIBPQ_HAS_ASYNC_CANCEL

static void
start_cancel(Cancel *cancel)
{
	cancel->conn = PQcancelCreate(cancel->node->connection.conn);
	cancel->polling = PGRES_POLLING_WRITING;
	cancel->running = cancel->conn != NULL && PQcancelStart(cancel->conn) == 1;
}

static struct pollfd
wanted_event(const Cancel *cancel)
{
	return (struct pollfd)
	{
		.fd = PQcancelSocket(cancel->conn),
			.events = cancel->polling == PGRES_POLLING_READING ? POLLIN : POLLOUT,
	};
}

static void
advance_cancel(Cancel *cancel)
{
	cancel->polling = PQcancelPoll(cancel->conn);
	cancel->done = cancel->polling == PGRES_POLLING_OK;
	cancel->running = !cancel->done &&
		cancel->polling != PGRES_POLLING_FAILED;
}

static void
end_cancel(Cancel *cancel)
{
	PQcancelFinish(cancel->conn);
}

#else

/* Runs in the child process. */
static void
call_cancel(void *arg, int fd)
{
	char		message[256];

	if (PQcancel(arg, message, sizeof(message)) == 1 && write(fd, "+", 1) < 0)
		return;
}

static void
start_cancel(Cancel *cancel)
{
	cancel->cancel = PQgetCancel(cancel->node->connection.conn);
	cancel->running = cancel->cancel != NULL &&
		shuttle_helper_start(&cancel->helper, call_cancel, cancel->cancel);
	cancel->helper.pid = cancel->running ? cancel->helper.pid : 0;
}

static struct pollfd
wanted_event(const Cancel *cancel)
{
	return (struct pollfd)
	{
		.fd = cancel->helper.fd,
			.events = POLLIN,
	};
}

static void
advance_cancel(Cancel *cancel)
{
	char		answer;

	cancel->done = read(cancel->helper.fd, &answer, 1) == 1;
	cancel->running = false;
}

static void
end_cancel(Cancel *cancel)
{
	if (cancel->helper.pid > 0)
		shuttle_helper_end(&cancel->helper);
	PQfreeCancel(cancel->cancel);
}

#endif

/* Starts further cancels if there is room; returns how many run. */
static int
fill_window(Cancel *window, dlist_iter *next, const dlist_head *nodes)
{
	int			nrunning = 0;

	for (int i = 0; i < MOST_AT_ONCE; i++)
	{
		Cancel	   *cancel = &window[i];

		while (!cancel->running && next->cur != &nodes->head)
		{
			memset(cancel, 0, sizeof(Cancel));
			cancel->node = dlist_container(ShuttleNode, rollback.cancel_link, next->cur);
			next->cur = next->cur->next;
			start_cancel(cancel);
			if (!cancel->running)
				end_cancel(cancel);
		}
		nrunning += cancel->running ? 1 : 0;
	}
	return nrunning;
}

/* Waits until some cancels can continue; false: none could for limit_ms. */
static bool
advance_window(Cancel *window, int limit_ms)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit_ms);
	struct pollfd events[MOST_AT_ONCE];
	Cancel	   *waiting[MOST_AT_ONCE];
	int			nwaiting = 0;
	int			nready;

	for (int i = 0; i < MOST_AT_ONCE; i++)
	{
		if (!window[i].running)
			continue;
		waiting[nwaiting] = &window[i];
		events[nwaiting++] = wanted_event(&window[i]);
	}
	do
	{
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  deadline);

		nready = shuttle_wait_event_poll(SHUTTLE_WAIT_ABORT, events, nwaiting, (int) rest_ms);
	} while (nready < 0 && errno == EINTR);
	if (nready <= 0)
		return false;
	for (int i = 0; i < nwaiting; i++)
	{
		if (events[i].revents == 0)
			continue;
		advance_cancel(waiting[i]);
		if (waiting[i]->running)
			continue;
		waiting[i]->node->rollback.cancelled = waiting[i]->done;
		end_cancel(waiting[i]);
	}
	return true;
}

void
shuttle_cancel(dlist_head *nodes, int limit_ms)
{
	Cancel		window[MOST_AT_ONCE] = {0};
	dlist_iter	next;

	dlist_foreach(next, nodes)
		dlist_container(ShuttleNode, rollback.cancel_link, next.cur)->rollback.cancelled = false;
	next.cur = dlist_is_empty(nodes) ? &nodes->head : nodes->head.next;
	while (fill_window(window, &next, nodes) > 0)
	{
		if (!advance_window(window, limit_ms))
			break;
	}
	for (int i = 0; i < MOST_AT_ONCE; i++)
	{
		if (window[i].running)
			end_cancel(&window[i]);
	}
}

bool
shuttle_cancel_one(ShuttleNode *node, int limit_ms)
{
	dlist_head	nodes = DLIST_STATIC_INIT(nodes);

	dlist_push_tail(&nodes, &node->rollback.cancel_link);
	shuttle_cancel(&nodes, limit_ms);
	return node->rollback.cancelled;
}
