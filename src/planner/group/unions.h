/*-------------------------------------------------------------------------
 * unions.h
 *	  UNION ALL and aggregates that collect values, for groupings on nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_GROUP_UNIONS_H
#define SHUTTLE_PLANNER_GROUP_UNIONS_H

#include "executor/shuttle_executor.h"

/* ---- partial aggregates (partial_aggregates.c, aggregate_states.c) */

/* True of an aggregate that nodes collect values for, and its state's kind
 * (collected_aggregates.c). */
extern bool shuttle_collects(const Aggref *aggregate, ShuttleStateKind *kind);

/* What nodes are asked for in its place. */
extern Aggref *shuttle_collecting_source(const Aggref *aggregate);

/* Has a finished plan combine what nodes collected by aggregates of ours. */
extern void shuttle_finish_collected_aggregates(PlannedStmt *statement);

/* ---- branches of a UNION ALL that are subqueries (union_branches.c) */

/* True of a query level that may be a branch of one that is grouped. */
extern bool shuttle_is_below_union(const PlannerInfo *root);

/* What a branch selects from, at its own query level, where each row of that is one
 * of the branch; else NULL. */
extern RelOptInfo *shuttle_branch_input(const RelOptInfo *branch);

/* An expression over the branch's columns, over what they are selected from. */
extern void *shuttle_translate_to_branch(RelOptInfo *branch, Node *node);

/* A scan of the branch that has the columns of a path of its query level. */
extern Path *shuttle_branch_path(PlannerInfo *root, RelOptInfo *branch, Path *groups);

/* What a query level knows of its aggregates. */
typedef struct ShuttleAggregates
{
	bool		any;
	List	   *infos;
	List	   *transitions;
} ShuttleAggregates;
extern ShuttleAggregates shuttle_get_aggregates(const PlannerInfo *root);

/* Lends a query level those of another one; returns its own. */
extern ShuttleAggregates shuttle_set_aggregates(PlannerInfo *root,
												ShuttleAggregates aggregates);

/* Has branches that differ in type be children of one relation; called once
 * (union_types.c). */
extern void shuttle_union_types_init(void);

#endif							/* SHUTTLE_PLANNER_GROUP_UNIONS_H */
