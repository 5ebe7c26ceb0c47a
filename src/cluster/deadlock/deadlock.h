/*-------------------------------------------------------------------------
 * deadlock.h
 *	  The search for deadlocks over several nodes (deadlock.c), and the
 *	  cycles of sessions that it finds (deadlock_cycle.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_CLUSTER_DEADLOCK_DEADLOCK_H
#define SHUTTLE_CLUSTER_DEADLOCK_DEADLOCK_H

#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

/*
 * Called while the session waits for nodes. at_work: ShuttleServerUsers with a
 * statement under way. Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the
 * like.
 */
extern void shuttle_deadlock_look(List *at_work);

/* A session of any server. */
typedef struct ShuttleLockSession
{
	uint64		system_identifier;
	int			pid;
	int64		start;			/* start of its transaction in us; 0: not
								 * known */
	uint32		number;			/* local transaction number */
} ShuttleLockSession;

typedef struct ShuttleLockEdge
{
	ShuttleLockSession waiter;
	ShuttleLockSession blocker;
	bool		on_node;		/* the waiter is a query node's session and
								 * waits for a node */
	const char *server;			/* server with the lock; NULL: this one */
} ShuttleLockEdge;

/* One look at everything. */
typedef struct ShuttleLockLook
{
	List	   *edges;			/* of ShuttleLockEdge */
	bool		is_over;		/* the wait ended meanwhile */
} ShuttleLockLook;

/* True if they are one session. Transactions are compared only if both are
 * known: a prepared one may be left over from an earlier process with the same
 * PID. */
extern bool shuttle_deadlock_is_same_session(ShuttleLockSession a, ShuttleLockSession b);

/* The edges that both looks have. */
extern ShuttleLockLook *shuttle_deadlock_common_edges(const ShuttleLockLook *first,
													  const ShuttleLockLook *second);

/*
 * A cycle through this session, as a list of edges beginning with its own, or
 * NIL. Unless with_younger, only cycles without younger sessions.
 */
extern List *shuttle_deadlock_cycle(const ShuttleLockLook *look, ShuttleLockSession me,
									bool with_younger);

/* True if this session has seen a cycle so often that all younger sessions had
 * time to end it. */
extern bool shuttle_deadlock_is_overdue(const ShuttleLockLook *look, ShuttleLockSession me,
										List *cycle);

#endif							/* SHUTTLE_CLUSTER_DEADLOCK_DEADLOCK_H */
