/*-------------------------------------------------------------------------
 * wait_events.c
 *	  Names of wait events, registered with core by each session.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/wait_event.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_wait_events.h"

/* Released names stay; docs/operations.md explains them. */
static const char *const names[] = {
	[SHUTTLE_WAIT_HOST_NAME] = "ShuttleHostName",
	[SHUTTLE_WAIT_CONNECT] = "ShuttleConnect",
	[SHUTTLE_WAIT_PAUSE] = "ShuttlePaused",
	[SHUTTLE_WAIT_READ] = "ShuttleRead",
	[SHUTTLE_WAIT_WRITE] = "ShuttleWrite",
	[SHUTTLE_WAIT_COMMIT] = "ShuttleCommit",
	[SHUTTLE_WAIT_ABORT] = "ShuttleAbort",
	[SHUTTLE_WAIT_WINDOW] = "ShuttleWindow",
	[SHUTTLE_WAIT_FENCE] = "ShuttleFence",
	[SHUTTLE_WAIT_RUN] = "ShuttleRunOnNodes",
	[SHUTTLE_WAIT_QUERY_NODES] = "ShuttleQueryNodes",
	[SHUTTLE_WAIT_RECOVERY] = "ShuttleRecovery",
};

StaticAssertDecl(lengthof(names) == SHUTTLE_NWAIT_EVENTS,
				 "every wait event has a name");

static uint32 numbers[SHUTTLE_NWAIT_EVENTS];

/* Registers all at once, so that later calls, while aborting, cannot fail. */
uint32
shuttle_wait_event(ShuttleWaitEvent event)
{
	if (numbers[SHUTTLE_NWAIT_EVENTS - 1] == 0)
	{
		for (int i = 0; i < SHUTTLE_NWAIT_EVENTS; i++)
			numbers[i] = shuttle_new_wait_event(names[i]);
	}
	return numbers[event];
}

int
shuttle_wait_event_poll(ShuttleWaitEvent event, struct pollfd *sockets, int nsockets,
						int limit_ms)
{
	int			nready;
	int			save_errno;

	pgstat_report_wait_start(shuttle_wait_event(event));
	nready = poll(sockets, nsockets, limit_ms);
	save_errno = errno;
	pgstat_report_wait_end();
	errno = save_errno;
	return nready;
}
