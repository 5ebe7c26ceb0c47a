/*-------------------------------------------------------------------------
 * wait.c
 *	  Waiting: a wait for one node sends and reads on all connections.
 *
 * Each pass writes what can be written and reads what has arrived on every
 * connection with work, so that no connection blocks another by a full buffer.
 * The set of sockets is kept across statements and rebuilt when a socket was
 * opened, replaced or closed.
 *
 * Memory: the set lives for the session.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/connection/host_race.h"
#include "storage/connection/node_state.h"
#include "storage/request/answer.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"

#define MOST_EVENTS 16

/* How often to look whether another server has become the node's primary. */
#define EPOCH_LOOK_MS 1000

/* How often to look whether a paused node was resumed. */
#define PAUSE_LOOK_MS 25

/* When to check for a deadlock. */
typedef struct LockWatch
{
	TimestampTz next;			/* 0: not set yet */
	int64		interval_ms;
} LockWatch;

static WaitEventSet *wait_set = NULL;
static bool set_changed = true;

static bool make_way(void);
static void make_set(void);
static void update_set(void);
static uint32 wanted_events(ShuttleNode *node);
static long wait_limit_ms(const LockWatch *watch);
static void look_at_hosts(void);
static void watch_locks(LockWatch *watch);
static void wait_once(ShuttleNode *node, ShuttleWaitEvent event,
					  const LockWatch *watch);

void
shuttle_wait_set_changed(void)
{
	set_changed = true;
}

/* One pass over all nodes; never waits. */
static void
progress_all(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->connection.state == NODE_CONNECTING || node->connection.state == NODE_READY)
			shuttle_node_progress(node);
	}
}

void
shuttle_wait_until(ShuttleNode *node, ShuttleWaitEvent event,
				   ShuttleCondition condition, void *arg)
{
	LockWatch	watch = {0};

	shuttle_node_wait_begin(node);
	for (;;)
	{
		progress_all();
		if (shuttle_notices_waiting)
			shuttle_notices_show();
		if (shuttle_epoch_news)
			shuttle_epoch_log_all();
		if (shuttle_cluster_has_prepared)
			shuttle_cluster_recover_prepared();
		if (condition(arg))
			return;
		if (make_way())
			continue;
		watch_locks(&watch);
		wait_once(node, event, &watch);
	}
}

/* Stores answers that block the nodes waited for; false: there are none. */
static bool
make_way(void)
{
	bool		made = false;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (shuttle_node_wait_is_for(node) && shuttle_answer_pages_make_way(node))
			made = true;
	}
	return made;
}

/* Checks for a deadlock over nodes; the interval grows to twice the setting. */
static void
watch_locks(LockWatch *watch)
{
	TimestampTz now;

	if (shuttle_settings.deadlock_timeout_ms <= 0 || !shuttle_cluster_can_find_deadlocks())
		return;
	now = GetCurrentTimestamp();
	if (watch->next == 0)
		watch->interval_ms = shuttle_settings.deadlock_timeout_ms;
	else if (now >= watch->next)
	{
		shuttle_cluster_find_deadlocks();
		now = GetCurrentTimestamp();
		watch->interval_ms = Min(2 * watch->interval_ms,
								 2 * (int64) shuttle_settings.deadlock_timeout_ms);
	}
	else
		return;
	watch->next = TimestampTzPlusMilliseconds(now, watch->interval_ms);
}

static void
wait_once(ShuttleNode *node, ShuttleWaitEvent event, const LockWatch *watch)
{
	WaitEvent	events[MOST_EVENTS];
	int			nevents;
	instr_time	start;
	instr_time	elapsed;

	if (set_changed)
		make_set();
	else
		update_set();

	if (node->connection.state == NODE_CONNECTING && event != SHUTTLE_WAIT_PAUSE)
		event = SHUTTLE_WAIT_CONNECT;
	INSTR_TIME_SET_CURRENT(start);
	nevents = WaitEventSetWait(wait_set, wait_limit_ms(watch), events, MOST_EVENTS,
							   shuttle_wait_event(event));
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	shuttle_node_count(node, SHUTTLE_NODE_WAIT_US,
					   INSTR_TIME_GET_MICROSEC(elapsed));
	for (int i = 0; i < nevents; i++)
	{
		ShuttleNode *ready = events[i].user_data;

		if (events[i].events & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		else if (events[i].events & WL_SOCKET_READABLE)
			ready->socket.readable = true;
	}
	look_at_hosts();
}

/* Rebuilds the set. A failure leaves none, and the next wait tries again. */
static void
make_set(void)
{
	int			nsockets = 0;
	dlist_iter	iter;

	if (wait_set != NULL)
		FreeWaitEventSet(wait_set);
	wait_set = NULL;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		nsockets += node->connection.race != NULL ?
			shuttle_host_race_nhosts(node->connection.race) : 1;
	}
	wait_set = shuttle_create_wait_event_set(nsockets + 2);
	AddWaitEventToSet(wait_set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(wait_set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		node->socket.set_position = -1;
		node->socket.set_events = wanted_events(node);
		if (node->socket.set_events == 0)
			continue;
		if (node->connection.race != NULL)
			shuttle_host_race_add_to_set(node->connection.race, wait_set, node);
		if (node->connection.conn == NULL || PQsocket(node->connection.conn) < 0)
			continue;
		node->socket.set_position = AddWaitEventToSet(wait_set, node->socket.set_events,
													  PQsocket(node->connection.conn), NULL, node);
	}
	set_changed = false;
}

static void
update_set(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		uint32		events;

		events = wanted_events(node);
		if (events == node->socket.set_events)
			continue;

		/* A socket without events cannot be in the set. */
		if (events == 0 || node->socket.set_events == 0)
		{
			make_set();
			return;
		}
		if (node->socket.set_position < 0)
			continue;
		ModifyWaitEvent(wait_set, node->socket.set_position, events, NULL);
		node->socket.set_events = events;
	}
}

/* Events to wait for; 0: none, since the node is held up. A node that is being
 * connected knows its sockets' events itself. */
static uint32
wanted_events(ShuttleNode *node)
{
	if (shuttle_answer_pages_hold_up(node))
		return 0;
	return WL_SOCKET_READABLE |
		(node->socket.flush_pending ? WL_SOCKET_WRITEABLE : 0);
}

/* The shorter of two times; negative: forever. */
static long
first_of(long one_ms, long other_ms)
{
	return one_ms < 0 || (other_ms >= 0 && other_ms < one_ms) ? other_ms : one_ms;
}

/* How long a node needs no check; -1: forever. */
static long
node_limit_ms(const ShuttleNode *node)
{
	TimestampTz wake_at;

	if (node->connection.paused)
		return PAUSE_LOOK_MS;
	if (node->connection.state == NODE_READY)
		return first_of(shuttle_host_liveness_wait_ms(node),
						node->epoch.hosts != 0 && node->queue.nin_flight > 0 ?
						EPOCH_LOOK_MS : -1);
	if (node->connection.state != NODE_CONNECTING)
		return -1;
	wake_at = shuttle_host_race_wake_at(node->connection.race);
	return wake_at == 0 ? -1 :
		TimestampDifferenceMilliseconds(GetCurrentTimestamp(), wake_at);
}

/* Until a connect times out, or hosts or deadlocks have to be checked. */
static long
wait_limit_ms(const LockWatch *watch)
{
	long		limit_ms = watch->next == 0 ? -1 :
		TimestampDifferenceMilliseconds(GetCurrentTimestamp(), watch->next);
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		limit_ms = first_of(limit_ms, node_limit_ms(node));
	}
	return limit_ms;
}

static void
look_at_hosts(void)
{
	TimestampTz now = GetCurrentTimestamp();
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		char		detail[128];

		if (node->connection.state != NODE_READY)
			continue;
		if (node->queue.nin_flight > 0 && shuttle_epoch_is_old(node))
		{
			shuttle_connection_leave_old(node, false);
			continue;
		}
		if (!shuttle_host_liveness_is_gone(node, now))
			continue;
		snprintf(detail, sizeof(detail), "The host has not answered for %d s.",
				 node->liveness.silence_limit_ms / 1000);
		shuttle_connection_broke(node, detail, false);
	}
}
