/*-------------------------------------------------------------------------
 * plan_facts.h
 *	  What is known of PostgreSQL's plan nodes, and walks over running plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_PLAN_FACTS_H
#define SHUTTLE_EXECUTOR_AHEAD_PLAN_FACTS_H

#include "nodes/execnodes.h"

/*
 * Plans that a walk has come to by a scan of a CTE or by a SubPlan, which may be
 * reached several times.  Starts as zeros; in the memory of the walk.
 */
typedef struct ShuttleVisits
{
	List	   *plans;
	List	   *notes;			/* of int *, one for each plan */
} ShuttleVisits;

/* The walk's note on a plan: 0 at the first visit, then what the walk has set. */
extern int *shuttle_visit_note(ShuttleVisits *visits, const PlanState *plan);

/*
 * True if the function says so of any node at or below the root.  Each CTE that
 * is scanned there is looked at once.
 */
extern bool shuttle_any_node(PlanState *root, bool (*matches) (PlanState *node));

#endif							/* SHUTTLE_EXECUTOR_AHEAD_PLAN_FACTS_H */
