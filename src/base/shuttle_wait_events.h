/*-------------------------------------------------------------------------
 * shuttle_wait_events.h
 *	  Wait events, as pg_stat_activity shows them.
 *
 * From PostgreSQL 17 on each event has its own name, of type Extension;
 * before, all are shown as Extension.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_WAIT_EVENTS_H
#define SHUTTLE_WAIT_EVENTS_H

#include <poll.h>

typedef enum ShuttleWaitEvent
{
	SHUTTLE_WAIT_HOST_NAME,
	SHUTTLE_WAIT_CONNECT,
	SHUTTLE_WAIT_PAUSE,
	SHUTTLE_WAIT_READ,
	SHUTTLE_WAIT_WRITE,
	SHUTTLE_WAIT_COMMIT,
	SHUTTLE_WAIT_ABORT,
	SHUTTLE_WAIT_WINDOW,
	SHUTTLE_WAIT_FENCE,
	SHUTTLE_WAIT_RUN,
	SHUTTLE_WAIT_QUERY_NODES,
	SHUTTLE_WAIT_RECOVERY,
	SHUTTLE_NWAIT_EVENTS
} ShuttleWaitEvent;

/* The number of an event for core's wait functions. Errors: the first call of a
 * session registers the names, which core may refuse. */
extern uint32 shuttle_wait_event(ShuttleWaitEvent event);

/* poll(), for those who may not raise; shown as a wait for the event. */
extern int	shuttle_wait_event_poll(ShuttleWaitEvent event, struct pollfd *sockets,
									int nsockets, int limit_ms);

#endif							/* SHUTTLE_WAIT_EVENTS_H */
