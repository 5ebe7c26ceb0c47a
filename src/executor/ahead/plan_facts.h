/*-------------------------------------------------------------------------
 * plan_facts.h
 *	  What is known of PostgreSQL's plan nodes, and walks over running plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_PLAN_FACTS_H
#define SHUTTLE_EXECUTOR_AHEAD_PLAN_FACTS_H

#include "nodes/execnodes.h"

/* What a kind of plan node does; a node may do several of these. */
typedef enum ShuttlePlanFact
{
	SHUTTLE_READS_ALL = 1 << 0, /* all of its outer input, before its first
								 * row */
	SHUTTLE_HANDS_ON = 1 << 1,	/* a row takes at least one of the outer
								 * input, and comes out before the next one is
								 * read */
	SHUTTLE_READS_GROUPS = 1 << 2,	/* and knows a group of rows by the row
									 * behind */
	SHUTTLE_RUNS_OUTER = 1 << 3,	/* is never executed without its outer
									 * input */
	SHUTTLE_ONLY_COMPUTES = 1 << 4	/* does nothing that shows, beside
									 * evaluating its target list and
									 * conditions */
} ShuttlePlanFact;

/* The facts of a node, as bits; 0 of one that is not known. */
extern int	shuttle_plan_facts(const Plan *plan);

/* The n-th child of a node, from 0, beside its outer and inner plan; or NULL. */
extern PlanState *shuttle_other_child(const PlanState *node, int n);

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
