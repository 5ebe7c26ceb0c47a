/*-------------------------------------------------------------------------
 * host_liveness.c
 *	  Finds hosts that are gone without a word while something is sent to them.
 *
 * Keep-alives find one of which an answer is awaited.  While something that was
 * sent is not acknowledged the kernel sends none, and goes on trying for a
 * quarter of an hour.  Its option tcp_user_timeout shortens that, but takes a
 * node that does not read for a while for dead as well: one that is busy with
 * a statement of a minute while the next batches wait in its buffer.  So we ask
 * the kernel ourselves: a host is silent while something has been sent twice in
 * vain and no acknowledgement of any kind has come since.
 *
 * Elsewhere than on Linux, only keep-alives are had.
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

	/* Local sockets have no such thing, and need none. */
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
