/*-------------------------------------------------------------------------
 * routines.h
 *	  Functions and procedures that nodes have, and traps (routines.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_NEEDS_ROUTINES_H
#define SHUTTLE_TABLETS_NEEDS_ROUTINES_H

#include "tablets/common/layout.h"

/* The name of a distributed routine that is this object, or in this schema; NULL:
 * there is none. */
extern char *shuttle_routine_in(Oid classid, Oid objectid);

/* Makes routines of that name anew on nodes that have them otherwise. */
extern void shuttle_routines_follow(const char *name);

/* Makes all routines on a new node. */
extern void shuttle_routines_make(Oid serverid);

/* A routine's name with its schema and arguments, as in shuttle.routines. */
extern char *shuttle_routine_name(Oid routine);

/* Forgets a routine, by its name with arguments, and drops it on nodes. */
extern void shuttle_routine_drop(const char *name);

/* The statement that makes the trap of one tablet. */
extern char *shuttle_routine_trap_of_tablet(Oid relid, const ShuttleTablet *tablet);

/* The function that traps call, as an object for node_owners.h. */
extern char *shuttle_routine_trap_object(void);

/* Statements that make a table's traps on a node; and makes them on all. */
extern List *shuttle_routine_traps_texts(Oid relid, const ShuttleLayout *layout, Oid serverid);
extern void shuttle_routine_traps_make(Oid relid, const ShuttleLayout *layout, List *servers);

#endif							/* SHUTTLE_TABLETS_NEEDS_ROUTINES_H */
