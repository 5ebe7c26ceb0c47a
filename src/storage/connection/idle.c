/*-------------------------------------------------------------------------
 * idle.c
 *	  Closes connections that were idle for shuttle.idle_timeout.
 *
 * If the session itself is idle, only the handler of a timer can run. It shuts
 * the socket down and no more. The node sees the end of the connection; the
 * session sees it at the next use, and connects again.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "port/atomics.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/shuttle_settings.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"

#define CHUNK_SIZE 64

/* Written by the session, read by the signal handler. */
typedef struct IdleSocket
{
	volatile int socket;		/* -1: free */
	TimestampTz since;
	ShuttleNode *node;
} IdleSocket;

/* Never freed: the handler may run while the session adds to the list. */
typedef struct IdleChunk
{
	IdleSocket	sockets[CHUNK_SIZE];
	struct IdleChunk *volatile next;
} IdleChunk;

static IdleChunk *volatile first_chunk = NULL;
static bool registered = false;
static TimeoutId idle_timer;
static int	idle_period_ms = 0;

static void end_idle_connections(void);

static IdleSocket *
find_free_socket(void)
{
	IdleChunk  *chunk;

	for (chunk = first_chunk; chunk != NULL; chunk = chunk->next)
	{
		for (int i = 0; i < CHUNK_SIZE; i++)
		{
			if (chunk->sockets[i].socket < 0)
				return &chunk->sockets[i];
		}
	}
	chunk = MemoryContextAllocZero(TopMemoryContext, sizeof(IdleChunk));
	for (int i = 0; i < CHUNK_SIZE; i++)
		chunk->sockets[i].socket = -1;
	chunk->next = first_chunk;
	pg_compiler_barrier();
	first_chunk = chunk;
	return &chunk->sockets[0];
}

static void
note_idle(ShuttleNode *node)
{
	IdleSocket *idle = find_free_socket();

	idle->since = GetCurrentTimestamp();
	idle->node = node;
	pg_compiler_barrier();
	idle->socket = PQsocket(node->connection.conn);
	node->connection.idle_socket = idle;
}

void
shuttle_idle_begin(ShuttleNode *node)
{
	int			period_ms;

	if (shuttle_settings.idle_timeout_s <= 0)
		return;
	if (!registered)
		idle_timer = RegisterTimeout(USER_TIMEOUT, end_idle_connections);
	registered = true;
	if (node->connection.idle_socket == NULL)
		note_idle(node);

	/*
	 * A periodic check is enough and costs only a signal. Any error in the
	 * session stops the timer.
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
	if (node->connection.idle_socket != NULL)
		node->connection.idle_socket->socket = -1;
	node->connection.idle_socket = NULL;
	node->connection.ended_idle = false;
}

/* Runs in a signal handler. */
static void
end_if_idle_too_long(IdleSocket *idle, TimestampTz now)
{
	int			socket = idle->socket;

	if (socket < 0 ||
		!TimestampDifferenceExceeds(idle->since, now,
									shuttle_settings.idle_timeout_s * 1000))
		return;
	idle->socket = -1;
	(void) shutdown(socket, SHUT_RDWR);
	idle->node->connection.ended_idle = true;
	shuttle_connection_slot_show_ended(idle->node);
}

/* Runs in a signal handler. */
static void
end_idle_connections(void)
{
	int			save_errno = errno;
	TimestampTz now = GetCurrentTimestamp();

	if (shuttle_settings.idle_timeout_s <= 0)
		return;
	for (IdleChunk *chunk = first_chunk; chunk != NULL; chunk = chunk->next)
	{
		for (int i = 0; i < CHUNK_SIZE; i++)
			end_if_idle_too_long(&chunk->sockets[i], now);
	}
	errno = save_errno;
}
