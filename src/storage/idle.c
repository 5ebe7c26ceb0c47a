/*-------------------------------------------------------------------------
 * idle.c
 *	  Ends connections that were idle for shuttle.idle_timeout.
 *
 * The session itself may be idle, and then runs none of our code but the
 * handler of a timer.  The handler shuts the socket down, no more; the node
 * sees the end of the connection, and so do we at its next use, which then
 * connects again.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "port/atomics.h"
#include "utils/timeout.h"

#include "base/shuttle_settings.h"
#include "storage/storage_internal.h"

#define MOST_IDLE 64

/* Written by the session, read by the handler. */
typedef struct IdleSocket
{
	volatile int socket;		/* -1: slot is free */
	TimestampTz since;
} IdleSocket;

static IdleSocket idle_sockets[MOST_IDLE];
static bool registered = false;
static TimeoutId idle_timer;
static int	idle_period_ms = 0;

static void end_idle_connections(void);

void
shuttle_idle_begin(ShuttleNode *node)
{
	int			period_ms;

	if (shuttle_settings.idle_timeout_s <= 0)
		return;
	if (!registered)
	{
		for (int i = 0; i < MOST_IDLE; i++)
			idle_sockets[i].socket = -1;
		idle_timer = RegisterTimeout(USER_TIMEOUT, end_idle_connections);
		registered = true;
	}
	for (int i = 0; i < MOST_IDLE && node->idle_slot == 0; i++)
	{
		if (idle_sockets[i].socket >= 0)
			continue;
		idle_sockets[i].since = GetCurrentTimestamp();
		pg_compiler_barrier();
		idle_sockets[i].socket = PQsocket(node->conn);
		node->idle_slot = i + 1;
	}

	/*
	 * A look now and then is enough, and costs a signal only.  An error of
	 * the session, in whatever statement, stops the timer.
	 */
	period_ms = Max(100, shuttle_settings.idle_timeout_s * 1000 / 8);
	if (get_timeout_active(idle_timer) && period_ms == idle_period_ms)
		return;
	idle_period_ms = period_ms;
	enable_timeout_every(idle_timer,
						 TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													 period_ms),
						 period_ms);
}

void
shuttle_idle_end(ShuttleNode *node)
{
	if (node->idle_slot > 0)
		idle_sockets[node->idle_slot - 1].socket = -1;
	node->idle_slot = 0;
}

/* Runs in a signal handler. */
static void
end_idle_connections(void)
{
	int			save_errno = errno;
	TimestampTz now = GetCurrentTimestamp();

	if (shuttle_settings.idle_timeout_s <= 0)
		return;
	for (int i = 0; i < MOST_IDLE; i++)
	{
		int			socket = idle_sockets[i].socket;

		if (socket < 0 ||
			!TimestampDifferenceExceeds(idle_sockets[i].since, now,
										shuttle_settings.idle_timeout_s * 1000))
			continue;
		idle_sockets[i].socket = -1;
		(void) shutdown(socket, SHUT_RDWR);
	}
	errno = save_errno;
}
