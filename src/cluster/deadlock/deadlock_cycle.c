/*-------------------------------------------------------------------------
 * deadlock_cycle.c
 *	  Finds the cycle among sessions that wait for each other, and who of
 *	  them gives up.
 *
 * Each session sees the same edges, and decides for itself alone: it gives up
 * if there is a cycle through it without younger sessions that wait for a
 * storage node (deadlock.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "base/shuttle_compat.h"
#include "cluster/deadlock/deadlock.h"

#define LOOKS_FOR_YOUNGER 2

/*
 * A cycle that younger sessions should have ended, and how often it was seen.
 */
static uint32 seen_cycle = 0;
static int	nseen = 0;

bool
shuttle_deadlock_is_same_session(ShuttleLockSession a, ShuttleLockSession b)
{
	return a.system_identifier == b.system_identifier && a.pid == b.pid &&
		(a.start == 0 || b.start == 0 || (a.start == b.start && a.number == b.number));
}

static bool
same_edge(const ShuttleLockEdge *a, const ShuttleLockEdge *b)
{
	return shuttle_deadlock_is_same_session(a->waiter, b->waiter) &&
		shuttle_deadlock_is_same_session(a->blocker, b->blocker) &&
		a->waiter.start == b->waiter.start && a->waiter.number == b->waiter.number &&
		a->blocker.start == b->blocker.start && a->blocker.number == b->blocker.number &&
		a->server == b->server;
}

ShuttleLockLook *
shuttle_deadlock_common_edges(const ShuttleLockLook *first, const ShuttleLockLook *second)
{
	ShuttleLockLook *common = palloc0_object(ShuttleLockLook);
	ListCell   *cell;
	ListCell   *again;

	foreach(cell, first->edges)
	{
		foreach(again, second->edges)
		{
			if (same_edge(lfirst(cell), lfirst(again)))
			{
				common->edges = lappend(common->edges, lfirst(cell));
				break;
			}
		}
	}
	return common;
}

/* When the transaction began in which a session waits for a node; 0: it does not. A statement
 * that is a transaction by itself does not tell: it counts as the youngest, as least is lost with it. */
static int64
start_of_waiter(const ShuttleLockLook *look, ShuttleLockSession session)
{
	ListCell   *cell;

	foreach(cell, look->edges)
	{
		const ShuttleLockEdge *edge = lfirst(cell);

		if (edge->on_node && shuttle_deadlock_is_same_session(edge->waiter, session))
			return edge->waiter.start == 0 ? PG_INT64_MAX : edge->waiter.start;
	}
	return 0;
}

/* True for a session that should give up before this one. */
static bool
is_younger(const ShuttleLockLook *look, ShuttleLockSession session, ShuttleLockSession me)
{
	int64		start = start_of_waiter(look, session);
	int64		my_start = start_of_waiter(look, me);

	if (my_start == 0)
		my_start = me.start;
	if (start == 0 || shuttle_deadlock_is_same_session(session, me))
		return false;
	if (start != my_start)
		return start > my_start;
	if (session.system_identifier != me.system_identifier)
		return session.system_identifier > me.system_identifier;
	return session.pid > me.pid;
}

bool
shuttle_deadlock_is_overdue(const ShuttleLockLook *look, ShuttleLockSession me, List *cycle)
{
	uint32		hash = 0;
	int			nyounger = 0;
	ListCell   *cell;

	foreach(cell, cycle)
	{
		const ShuttleLockEdge *edge = lfirst(cell);

		hash = hash_combine(hash, hash_bytes((const unsigned char *) &edge->waiter.pid,
											 sizeof(edge->waiter.pid)));
		hash = hash_combine(hash, edge->waiter.number);
		if (is_younger(look, edge->waiter, me))
			nyounger++;
	}
	nseen = cycle != NIL && hash == seen_cycle ? nseen + 1 : 1;
	seen_cycle = hash;
	return cycle != NIL && nseen > LOOKS_FOR_YOUNGER * nyounger;
}

/* Breadth-first; came_by remembers the edge before each edge. */
List *
shuttle_deadlock_cycle(const ShuttleLockLook *look, ShuttleLockSession me, bool with_younger)
{
	int			nedges = list_length(look->edges);
	int		   *came_by = palloc_array(int, Max(1, nedges));	/* edge -> previous edge */
	int		   *queue = palloc_array(int, Max(1, nedges));
	bool	   *seen = palloc0_array(bool, Max(1, nedges));
	int			nqueued = 0;

	for (int next = -1; next < nqueued; next++)
	{
		ShuttleLockSession at = next < 0 ? me :
			((ShuttleLockEdge *) list_nth(look->edges, queue[next]))->blocker;

		for (int i = 0; i < nedges; i++)
		{
			const ShuttleLockEdge *edge = list_nth(look->edges, i);

			if (seen[i] || !shuttle_deadlock_is_same_session(edge->waiter, at) ||
				(!with_younger && is_younger(look, edge->blocker, me)))
				continue;
			seen[i] = true;
			came_by[i] = next < 0 ? -1 : queue[next];
			queue[nqueued++] = i;
			if (shuttle_deadlock_is_same_session(edge->blocker, me))
			{
				List	   *cycle = NIL;

				for (int back = i; back >= 0; back = came_by[back])
					cycle = lcons(list_nth(look->edges, back), cycle);
				return cycle;
			}
		}
	}
	return NIL;
}
