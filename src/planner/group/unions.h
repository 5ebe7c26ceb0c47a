/*-------------------------------------------------------------------------
 * unions.h
 *	  UNION ALL, grouping sets and aggregates that collect values, for groupings on nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_GROUP_UNIONS_H
#define SHUTTLE_PLANNER_GROUP_UNIONS_H

#include "executor/shuttle_executor.h"
#include "planner/hooks.h"

/* ---- aggregates that collect values (collected_aggregates.c) */

/* True of array_agg() and the like, which collect values; sets the state's
 * kind. */
extern bool shuttle_collects(const Aggref *aggregate, ShuttleStateKind *kind);

/* The aggregate that nodes are asked for instead. */
extern Aggref *shuttle_collecting_source(const Aggref *aggregate);

/* Replaces core's aggregates by ours in a finished plan that combines what
 * nodes collected. */
extern void shuttle_finish_collected_aggregates(PlannedStmt *statement);

/* ---- branches of a UNION ALL that are subqueries (union_branches.c) */

/* True of a query level that may be a branch of a grouped UNION ALL. */
extern bool shuttle_is_below_union(const PlannerInfo *root);

/* The relation that a branch selects from, at the branch's query level; NULL if
 * its rows are not the branch's rows one to one. */
extern RelOptInfo *shuttle_branch_input(const RelOptInfo *branch);

/* Replaces the branch's columns by the expressions that it selects. */
extern void *shuttle_translate_to_branch(RelOptInfo *branch, Node *node);

/* A subquery scan of the branch with the columns of the path groups. */
extern Path *shuttle_branch_path(PlannerInfo *root, RelOptInfo *branch, Path *groups);

/* A query level's aggregates. */
typedef struct ShuttleAggregates
{
	bool		any;
	List	   *infos;
	List	   *transitions;
} ShuttleAggregates;
extern ShuttleAggregates shuttle_get_aggregates(const PlannerInfo *root);

/* Sets a query level's aggregates; returns the previous ones. */
extern ShuttleAggregates shuttle_set_aggregates(PlannerInfo *root,
												ShuttleAggregates aggregates);

/* Part of the planner hook: casts branches that differ in type, so that core makes
 * them children of one relation (union_types.c). */
extern PlannedStmt *shuttle_union_types_plan(Query *query, ShuttlePlanCall call);

/* A ressortgroupref that neither list uses, of TargetEntry and of SortGroupClause
 * (grouping_targets.c). */
extern Index shuttle_next_reference(const List *targetlist, const List *clauses);

/* Part of the planner hook: nodes group by all columns of grouping sets, and by values of
 * DISTINCT aggregates beside others, if that is cheaper (two_steps.c). */
extern PlannedStmt *shuttle_two_steps_plan(Query *query, ShuttlePlanCall call);

#endif							/* SHUTTLE_PLANNER_GROUP_UNIONS_H */
