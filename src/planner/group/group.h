/*-------------------------------------------------------------------------
 * group.h
 *	  Groups and aggregates of which each node computes its part.
 *
 * Files: partial_aggregates.c adds the paths; aggregate_states.c says what a
 * node is asked for; grouping_targets.c and partial_plan.c make target lists
 * and plans of it; whole_groups.c, ordered_groups.c and one_group.c are cases
 * in which nothing has to be combined here; union_branches.c and union_types.c
 * do the same for UNION ALL; collected_aggregates.c for array_agg and the like.
 *
 * In: a grouping of core's. Out: paths whose scans return states or groups.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_GROUP_GROUP_H
#define SHUTTLE_PLANNER_GROUP_GROUP_H

#include "executor/shuttle_executor.h"

/* ---- partial aggregates (partial_aggregates.c, aggregate_states.c) */

/* How core's partial aggregate is had from a node. */
typedef struct ShuttleAggregateState
{
	ShuttleStateKind kind;
	Aggref	   *partial;		/* as core combines it */
	List	   *sources;		/* of Aggref: over complete groups */
} ShuttleAggregateState;

/* Of an aggregate over input, in the current context; NULL where ordinary
 * aggregates cannot tell the state of this one. */
extern ShuttleAggregateState *shuttle_aggregate_state(const RelOptInfo *input,
													  Aggref *aggregate);

/* True where the rows of a group all come from one partition (whole_groups.c).
 * groups: the expressions that are grouped by. */
extern bool shuttle_groups_are_whole(PlannerInfo *root, RelOptInfo *rel, List *groups);

/* True where nodes may be asked for the first groups in the order of the query
 * (ordered_groups.c). */
extern bool shuttle_wants_ordered_groups(const PlannerInfo *root);

/* True where core sorts a child's groups by the columns that it sorts all by.
 * target: what comes out of the groups of input. */
extern bool shuttle_can_merge_groups(const PlannerInfo *root, const RelOptInfo *input,
									 const PathTarget *target, const Path *child);

/* A child's groups, sorted by its node; NULL where that may sort otherwise.  groups:
 * their relation, which has a path without an order. */
extern ForeignPath *shuttle_ordered_groups_path(PlannerInfo *root, RelOptInfo *input,
												RelOptInfo *child, RelOptInfo *groups,
												const PathTarget *target);

/* ---- branches of a UNION ALL that are subqueries (union_branches.c) */

/* Installs the hook that adds paths with partial aggregates. */
extern void shuttle_partial_aggregates_init(void);

/* True where a foreign path's answers are to be made states of aggregates, and
 * GetForeignPlan of such paths (partial_plan.c). */
extern bool shuttle_is_partial_aggregate(const ForeignPath *path);
extern ForeignScan *shuttle_plan_partial_aggregate(PlannerInfo *root, RelOptInfo *rel,
												   Oid relid, ForeignPath *path,
												   List *targetlist, List *clauses,
												   Plan *outer);

/* ---- aggregates that nobody looks at (one_group.c) */

/* Takes postgres_fdw's paths for them away, which answer the wrong number of rows. */
extern void shuttle_one_group_init(void);

/*
 * True where a query has one group for all rows, and a node would not see that:
 * no aggregate is left in what is wanted of it, nor in HAVING (may be NULL).
 */
extern bool shuttle_one_group_is_lost(PlannerInfo *root, const RelOptInfo *grouped,
									  Node *having);

/*
 * One grouping of a query, and what is asked for it; all of the parent.  What a branch
 * of a UNION ALL selects from is an input of its own, for the same grouping.
 */
typedef struct ShuttleGrouping
{
	PlannerInfo *root;
	RelOptInfo *input;
	const struct ShuttleGrouping *outer;	/* of the UNION ALL, else NULL */
	RelOptInfo *branch;			/* of it */
	List	   *columns;		/* of the branch: TargetEntries */
	int			depth;			/* of branches within branches; 0: none */
	RelOptInfo *grouped;
	bool		is_distinct;	/* and no GROUP BY */
	bool		is_whole;		/* each group is of one child */
	bool		is_of_rows;		/* nodes only leave out rows that repeat */
	PathTarget *target;			/* what comes out */
	int			flags;			/* GROUPING_CAN_... */
	List	   *targetlist;
	Node	   *having;
	List	   *whole_clause;	/* the query's */
	List	   *node_clause;	/* to group by on nodes */
	List	   *clause;			/* to group by here */
	List	   *pathkeys;		/* to sort by before */
	List	   *states;			/* of ShuttleAggregateState */
	PathTarget *answers;		/* groups, and sources of states */
	PathTarget *partial;		/* groups, and states as core makes them */
	PathTarget *states_target;	/* the same as scans of foreign children have */
	AggClauseCosts partial_costs;
	AggClauseCosts final_costs;
} ShuttleGrouping;

/* ---- what children are asked for (grouping_targets.c) */

/* Fills the targets; false where the query wants what nodes cannot give. */
extern bool shuttle_grouping_fill_targets(ShuttleGrouping *grouping);

/* The same with groups and values, where nodes leave out rows that repeat. */
extern bool shuttle_grouping_fill_rows_targets(ShuttleGrouping *grouping);

/*
 * Expressions of the parent as those of a child or a branch; copies, in the current
 * context.
 */
extern void *shuttle_grouping_translate(const ShuttleGrouping *grouping,
										RelOptInfo *child, void *node);
extern PathTarget *shuttle_grouping_translate_target(const ShuttleGrouping *grouping,
													 RelOptInfo *child,
													 const PathTarget *target);

/* The same as the child's node is asked for them. */
extern void *shuttle_grouping_translate_for_node(const ShuttleGrouping *grouping,
												 RelOptInfo *child, void *node);
extern PathTarget *shuttle_grouping_translate_target_for_node(const ShuttleGrouping *grouping,
															  RelOptInfo *child,
															  const PathTarget *target);

#endif							/* SHUTTLE_PLANNER_GROUP_GROUP_H */
