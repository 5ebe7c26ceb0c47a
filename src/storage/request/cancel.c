/*-------------------------------------------------------------------------
 * cancel.c
 *	  Cancels what runs on nodes, while a (sub)transaction aborts.
 *
 * Never raises and never waits longer than it is told: interrupts are held in
 * abort callbacks (trap 33).  A request to cancel travels over a connection of
 * its own; the node closes that when it has signalled, so a cancel is done
 * when its connection has ended.  libpq can do so without blocking from 17
 * on; before, a child process calls PQcancel().
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "base/shuttle_compat.h"
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
	cancel->conn = PQcancelCreate(cancel->node->conn);
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

/* Runs in the child. */
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
	cancel->cancel = PQgetCancel(cancel->node->conn);
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

/* Waits for the cancels that are under way; returns when none is. */
static void
drive_cancels(Cancel *cancels, int ncancels, TimestampTz deadline)
{
	for (;;)
	{
		struct pollfd events[MOST_AT_ONCE];
		Cancel	   *waiting[MOST_AT_ONCE];
		int			nwaiting = 0;
		long		rest_ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
															  deadline);

		for (int i = 0; i < ncancels; i++)
		{
			if (!cancels[i].running)
				continue;
			waiting[nwaiting] = &cancels[i];
			events[nwaiting++] = wanted_event(&cancels[i]);
		}
		if (nwaiting == 0 || rest_ms <= 0)
			return;
		if (shuttle_poll(SHUTTLE_WAIT_ABORT, events, nwaiting, (int) rest_ms) < 0 &&
			errno != EINTR)
			return;
		for (int i = 0; i < nwaiting; i++)
		{
			if (events[i].revents != 0)
				advance_cancel(waiting[i]);
		}
	}
}

void
shuttle_cancel(ShuttleNode **nodes, bool *done, int nnodes, TimestampTz deadline)
{
	Cancel		cancels[MOST_AT_ONCE];

	for (int first = 0; first < nnodes; first += MOST_AT_ONCE)
	{
		int			ncancels = Min(nnodes - first, MOST_AT_ONCE);

		memset(cancels, 0, sizeof(cancels));
		for (int i = 0; i < ncancels; i++)
		{
			cancels[i].node = nodes[first + i];
			start_cancel(&cancels[i]);
		}
		drive_cancels(cancels, ncancels, deadline);
		for (int i = 0; i < ncancels; i++)
		{
			done[first + i] = cancels[i].done;
			end_cancel(&cancels[i]);
		}
	}
}
