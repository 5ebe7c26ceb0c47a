/*-------------------------------------------------------------------------
 * group.h
 *	  Groups and aggregates of which each node computes its part.
 *
 * Files: partial_aggregates.c adds the paths; aggregate_states.c says what a
 * node is asked for; grouping_targets.c and partial_plan.c make target lists
 * and plans; whole_groups.c, ordered_groups.c and one_group.c are cases in
 * which nothing has to be combined here; union_branches.c and union_types.c do
 * the same for UNION ALL; collected_aggregates.c for array_agg and the like;
 * sums_of_groups.c estimates HAVING, fewer_groups.c prices groups in doubt;
 * two_steps.c and step_aggregates.c change the query.
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
extern bool shuttle_groups_are_whole(PlannerInfo *root, RelOptInfo *rel, List *groups);

/* ---- sums in HAVING (sums_of_groups.c) */

/*
 * Lowers the rows and the price of a table's groups if HAVING wants sums that
 * few groups can have. having: a list of conditions on the table's columns;
 * ngroups: groups before HAVING.
 */
extern void shuttle_expect_few_sums(PlannerInfo *root, RelOptInfo *table,
									List *having, double ngroups, Path *groups);

/* ---- groups that nodes sort (ordered_groups.c) */

/* True if the query has ORDER BY and LIMIT over the groups, so that nodes may
 * sort them. */
extern bool shuttle_wants_ordered_groups(const PlannerInfo *root);

/* True if core can merge the child's sorted groups by the query's sort columns.
 * target: the result of grouping input. */
extern bool shuttle_can_merge_groups(const PlannerInfo *root, const RelOptInfo *input,
									 const PathTarget *target, const Path *child);

/* A path for a child's groups, sorted by its node; NULL if the node may sort
 * differently. groups: their relation, which has an unsorted path. */
extern ForeignPath *shuttle_ordered_groups_path(PlannerInfo *root, RelOptInfo *input,
												RelOptInfo *child, RelOptInfo *groups,
												const PathTarget *target);

/* ---- paths and plans with partial aggregates (partial_aggregates.c, partial_plan.c) */

/* Part of create_upper_paths_hook: adds paths with partial aggregates. */
extern void shuttle_partial_aggregates_consider(PlannerInfo *root, UpperRelationKind stage,
												RelOptInfo *input, RelOptInfo *output, void *extra);

/* True if a foreign path's rows are to become aggregate states; and
 * GetForeignPlan of such paths. */
extern bool shuttle_is_partial_aggregate(const ForeignPath *path);
extern ForeignScan *shuttle_plan_partial_aggregate(PlannerInfo *root, RelOptInfo *rel,
												   Oid relid, ForeignPath *path,
												   List *targetlist, List *clauses,
												   Plan *outer);

/* ---- aggregates that nobody looks at (one_group.c) */

/* Part of create_upper_paths_hook: replaces postgres_fdw's paths for them, which
 * return the wrong number of rows. */
extern void shuttle_one_group_mend(PlannerInfo *root, UpperRelationKind stage,
								   RelOptInfo *input, RelOptInfo *output, void *extra);

/*
 * True if a query has one group for all rows, but the SELECT for a node would
 * not show that: its targets and HAVING (may be NULL) have no aggregate left.
 */
extern bool shuttle_one_group_is_lost(PlannerInfo *root, const RelOptInfo *grouped,
									  Node *having);

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
extern void shuttle_expect_fewer_groups(const ShuttleGrouping *grouping, RelOptInfo *child,
										Path *groups);

/* ---- what children are asked for (grouping_targets.c) */

/* Fills the targets; false if the query needs what nodes cannot provide. */
extern bool shuttle_grouping_fill_targets(ShuttleGrouping *grouping);

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
