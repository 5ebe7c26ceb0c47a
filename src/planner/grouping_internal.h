/*-------------------------------------------------------------------------
 * grouping_internal.h
 *	  A grouping of a query of which each node computes its part.
 *-------------------------------------------------------------------------
 */
#ifndef GROUPING_INTERNAL_H
#define GROUPING_INTERNAL_H

#include "planner/planner_internal.h"

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

#endif							/* GROUPING_INTERNAL_H */
