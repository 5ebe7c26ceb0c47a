/*-------------------------------------------------------------------------
 * group.h
 *	  Groups and aggregates of which each node computes its part.
 *
 * Files: partial_aggregates.c adds the paths; aggregate_states.c says what a
 * node is asked for; grouping_targets.c makes target lists; whole_groups.c and
 * ordered_groups.c are cases in which nothing has to be combined here; collected_aggregates.c for array_agg and the like;
 * sums_of_groups.c estimates HAVING, fewer_groups.c prices groups in doubt.
 *
 * In: GROUP BY or aggregates that core plans. Out: paths whose scans return states or groups.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_GROUP_GROUP_H
#define SHUTTLE_PLANNER_GROUP_GROUP_H

#include "executor/shuttle_executor.h"

/* ---- states of partial aggregates (aggregate_states.c) */

/* How to get the transition state of an aggregate from a node. */
typedef struct ShuttleAggregateState
{
	ShuttleStateKind kind;
	Aggref	   *partial;		/* core's partial Aggref for the state */
	List	   *sources;		/* ordinary Aggrefs that the node is asked for */
} ShuttleAggregateState;

/* The state of an aggregate over input; NULL if ordinary aggregates cannot
 * provide it. */
extern ShuttleAggregateState *shuttle_aggregate_state(const RelOptInfo *input,
													  Aggref *aggregate);

/* ---- groups of one partition (whole_groups.c) */

/* True if all rows of a group are in one partition. groups: the expressions of
 * GROUP BY. */
extern bool shuttle_whole_groups_are_certain(PlannerInfo *root, RelOptInfo *rel, List *groups);

/* ---- sums in HAVING (sums_of_groups.c) */

/*
 * Lowers the rows and the price of a table's groups if HAVING wants sums that
 * few groups can have. having: a list of conditions on the table's columns;
 * ngroups: groups before HAVING.
 */
extern void shuttle_sums_of_groups_expect_few(PlannerInfo *root, RelOptInfo *table,
											  List *having, double ngroups, Path *groups);

/* ---- groups that nodes sort (ordered_groups.c) */

/* True if the query has ORDER BY and LIMIT over the groups, so that nodes may
 * sort them. */
extern bool shuttle_ordered_groups_are_wanted(const PlannerInfo *root);

/* True if core can merge the child's sorted groups by the query's sort columns.
 * target: the result of grouping input. */
extern bool shuttle_ordered_groups_can_merge(const PlannerInfo *root, const RelOptInfo *input,
											 const PathTarget *target, const Path *child);

/* A path for a child's groups, sorted by its node; NULL if the node may sort
 * differently. groups: their relation, which has an unsorted path. */
extern ForeignPath *shuttle_ordered_groups_path(PlannerInfo *root, RelOptInfo *input,
												RelOptInfo *child, RelOptInfo *groups,
												const PathTarget *target);

/* ---- paths and plans with partial aggregates (partial_aggregates.c) */

/* Part of create_upper_paths_hook: adds paths with partial aggregates. */
extern void shuttle_partial_aggregates_consider(PlannerInfo *root, UpperRelationKind stage,
												RelOptInfo *input, RelOptInfo *output, void *extra);

/* ---- a grouping that nodes take part in */

/*
 * One grouping of a query, and what children are asked for. All expressions are
 * the parent's. For a branch of a UNION ALL there is another ShuttleGrouping,
 * with the branch's input.
 */
typedef struct ShuttleGrouping
{
	PlannerInfo *root;
	RelOptInfo *input;
	const struct ShuttleGrouping *outer;	/* the UNION ALL's grouping; NULL:
											 * this is no branch */
	RelOptInfo *branch;			/* the branch's relation in the UNION ALL */
	List	   *columns;		/* TargetEntries of the branch */
	int			depth;			/* nesting of branches; 0: none */
	RelOptInfo *grouped;
	bool		is_distinct;	/* DISTINCT, not GROUP BY */
	bool		is_whole;		/* all rows of a group are in one child */
	bool		is_of_rows;		/* nodes only remove duplicate rows */
	PathTarget *target;			/* result of the grouping */
	int			flags;			/* GROUPING_CAN_... */
	List	   *targetlist;
	Node	   *having;
	List	   *whole_clause;	/* the query's GROUP BY or DISTINCT */
	List	   *node_clause;	/* GROUP BY on nodes */
	List	   *clause;			/* grouping here, without redundant columns */
	List	   *pathkeys;		/* input order for sorted grouping */
	List	   *states;			/* of ShuttleAggregateState */
	PathTarget *answers;		/* grouping columns and sources of states */
	PathTarget *partial;		/* grouping columns and core's partial states */
	PathTarget *states_target;	/* the same, as foreign scans return it */
	AggClauseCosts partial_costs;
	AggClauseCosts final_costs;
} ShuttleGrouping;

/* ---- groups in doubt (fewer_groups.c) */

/* Lowers the price of a child's groups, of which there may be fewer than core expects. */
extern void shuttle_fewer_groups_expect(const ShuttleGrouping *grouping, RelOptInfo *child,
										Path *groups);

/* ---- what children are asked for (grouping_targets.c) */

/* Fills the targets; false if the query needs what nodes cannot provide. */
extern bool shuttle_grouping_fill_targets(ShuttleGrouping *grouping);

/* True of min() and the like: one of the values in a sort order, so repeated values make
 * no difference. */
extern bool shuttle_grouping_is_extreme(Oid function);

/* The same for is_of_rows: grouping columns and aggregated values. */
extern bool shuttle_grouping_fill_rows_targets(ShuttleGrouping *grouping);

/* Translates the parent's expressions to a child or branch; copies them. */
extern void *shuttle_grouping_translate(const ShuttleGrouping *grouping,
										RelOptInfo *child, void *node);
extern PathTarget *shuttle_grouping_translate_target(const ShuttleGrouping *grouping,
													 RelOptInfo *child,
													 const PathTarget *target);

/* The same for the SELECT that the child's node gets. */
extern void *shuttle_grouping_translate_for_node(const ShuttleGrouping *grouping,
												 RelOptInfo *child, void *node);
extern PathTarget *shuttle_grouping_translate_target_for_node(const ShuttleGrouping *grouping,
															  RelOptInfo *child,
															  const PathTarget *target);

#endif							/* SHUTTLE_PLANNER_GROUP_GROUP_H */
