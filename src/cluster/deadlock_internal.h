/*-------------------------------------------------------------------------
 * deadlock_internal.h
 *	  The search for deadlocks over several nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_DEADLOCK_INTERNAL_H
#define SHUTTLE_DEADLOCK_INTERNAL_H

#include "nodes/pg_list.h"

#include "storage/shuttle_storage.h"

/*
 * Called while the session waits for nodes. at_work: ShuttleServerUsers with a
 * statement under way. Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the
 * like.
 */
extern void shuttle_deadlock_look(List *at_work);

/* Foreign servers of other query nodes (query_nodes.c). */
extern List *shuttle_query_node_list(void);

#endif							/* SHUTTLE_DEADLOCK_INTERNAL_H */
