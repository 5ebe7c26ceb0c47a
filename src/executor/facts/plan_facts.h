/*-------------------------------------------------------------------------
 * plan_facts.h
 *	  What PostgreSQL's plan nodes do with their input, where their
 *	  children are, walks over running plans (plan_facts.c), and which
 *	  parameters a row needs in any case (needed_params.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_PLAN_FACTS_H
#define SHUTTLE_EXECUTOR_FACTS_PLAN_FACTS_H

#include "nodes/execnodes.h"

/* What a type of plan node does; several may be true. */
typedef enum ShuttlePlanFact
{
	SHUTTLE_READS_ALL = 1 << 0, /* reads all of its outer input before it
								 * returns a row */
	SHUTTLE_HANDS_ON = 1 << 1,	/* reads one or more outer rows for each row,
								 * and returns it before it reads on */
	SHUTTLE_READS_GROUPS = 1 << 2,	/* the same, but sees the end of a group
									 * by reading the next row */
	SHUTTLE_RUNS_OUTER = 1 << 3,	/* always executes its outer input */
	SHUTTLE_ONLY_COMPUTES = 1 << 4, /* has no effects except those of its
									 * target list and conditions */
	SHUTTLE_SCANS_TABLE = 1 << 5	/* scans a local table */
} ShuttlePlanFact;

/* A node's facts, ORed; 0 if its type is not in the table. */
extern int	shuttle_plan_facts(const Plan *plan);

/*
 * A node's n-th child, from 0, not counting its outer and inner plan; or NULL.
 */
extern PlanState *shuttle_plan_other_child(const PlanState *node, int n);

/* True if a node computes values when it is rescanned, before it is executed: what they
 * depend on may not be there yet, and they may fail. Its children are not looked at. */
extern bool shuttle_plan_rescan_computes(const PlanState *node);

/*
 * Plans that a walk has reached through a CTE scan or a SubPlan, perhaps
 * several times. Initialize to zeros; it grows in the current memory context.
 */
typedef struct ShuttleVisits
{
	List	   *plans;
	List	   *notes;			/* int *, one for each plan */
} ShuttleVisits;

/* The walk's note on a plan: 0 at the first visit, then what the walk has
 * stored. */
extern int *shuttle_plan_visit_note(ShuttleVisits *visits, const PlanState *plan);

/* True if matches() is true of any node at or below root. Each scanned CTE is
 * visited once. */
extern bool shuttle_plan_any_node(PlanState *root, bool (*matches) (PlanState *node));

/* ---- needed_params.c */

/* True if evaluating the expression, or the expressions of a list, always reads
 * the parameter. */
extern bool shuttle_needed_param_is_read(Node *expression, int param);

/* True if computing a row of the node or of its first input needs the
 * parameter. */
extern bool shuttle_needed_param_is_needed(PlanState *node, int param);

/* True if the executor leaves partitions out when it runs. state: may be NULL. */
extern bool shuttle_prunes_at_run_time(const struct PartitionPruneState *state);

/* True for LIMIT 0, which reads nothing; false if the limit is unknown yet. */
extern bool shuttle_limit_is_zero(LimitState *limit);

#endif							/* SHUTTLE_EXECUTOR_FACTS_PLAN_FACTS_H */
