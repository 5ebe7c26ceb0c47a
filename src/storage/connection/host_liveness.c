/*-------------------------------------------------------------------------
 * host_liveness.c
 *	  Detects hosts that die silently while data is sent to them.
 *
 * TCP keepalives watch connections that only wait. The kernel sends none while
 * data is unacknowledged, and retransmits for a quarter of an hour. Its option
 * tcp_user_timeout shortens that, but also ends connections to a node that
 * does not read for a while, for example because a statement takes a minute
 * and the next batches fill its buffer. So we read TCP_INFO: a host is silent
 * while data has been retransmitted and no acknowledgement of any kind has
 * come since.
 *
 * On systems other than Linux there are only keepalives.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <netinet/in.h>
#include <netinet/tcp.h>
#endif

#include "utils/timestamp.h"

#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"

#define LOOKS_PER_LIMIT 6

static bool is_silent(const ShuttleNode *node);

static long
period_ms(const ShuttleNode *node)
{
	return Max(100, node->liveness.silence_limit_ms / LOOKS_PER_LIMIT);
}

static bool
is_watched(const ShuttleNode *node)
{
	return node->liveness.silence_limit_ms > 0 &&
		(node->queue.nin_flight > 0 || node->socket.flush_pending);
}

long
shuttle_host_liveness_wait_ms(const ShuttleNode *node)
{
	return is_watched(node) ? period_ms(node) : -1;
}

bool
shuttle_host_liveness_is_gone(ShuttleNode *node, TimestampTz now)
{
	HostLiveness *liveness = &node->liveness;

	if (!is_watched(node) || now < liveness->next_look)
		return false;
	liveness->next_look = TimestampTzPlusMilliseconds(now, period_ms(node));
	if (!is_silent(node))
		liveness->silent_since = 0;
	else if (liveness->silent_since == 0)
		liveness->silent_since = now;
	else
		return TimestampDifferenceMilliseconds(liveness->silent_since, now) >=
			liveness->silence_limit_ms;
	return false;
}

#ifdef __linux__

static bool
is_silent(const ShuttleNode *node)
{
	struct tcp_info info;
	socklen_t	size = sizeof(info);

	/* Unix-domain sockets have no TCP_INFO, and need none. */
	memset(&info, 0, sizeof(info));
	if (getsockopt(PQsocket(node->connection.conn), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return false;
	return info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 &&
		info.tcpi_last_ack_recv >= (uint32) period_ms(node);
}

#else

static bool
is_silent(const ShuttleNode *node)
{
	return false;
}

#endif
