/*-------------------------------------------------------------------------
 * planning_memo.h
 *	  What was found out during one planning (planning_memo.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_PLANNING_MEMO_H
#define SHUTTLE_PLANNER_FACTS_PLANNING_MEMO_H

#include "nodes/pathnodes.h"

/* The value remembered for a relation (or NULL) and a key; NULL: none. */
extern void *shuttle_planning_memo_find(PlannerInfo *root, const void *of, List *key);

/*
 * Remembers a value. It must live in root->planner_cxt, like the key's members.
 */
extern void shuttle_planning_memo_add(PlannerInfo *root, const void *of, List *key,
									  void *value);

/* The same with a set of relations, or NULL, as the key, which costs less. GEQO frees and
 * rebuilds joinrels, so their relids tell which one is meant. kind: not 0; what is
 * remembered. */
extern void *shuttle_planning_memo_find_set(PlannerInfo *root, const void *of, int kind, Relids relids);
extern void shuttle_planning_memo_add_set(PlannerInfo *root, const void *of, int kind, Relids relids,
										  void *value);

#endif							/* SHUTTLE_PLANNER_FACTS_PLANNING_MEMO_H */
