/*-------------------------------------------------------------------------
 * union_branches.h
 *	  Branches of a UNION ALL that are subqueries (union_branches.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_FACTS_UNION_BRANCHES_H
#define SHUTTLE_PLANNER_FACTS_UNION_BRANCHES_H

#include "nodes/pathnodes.h"

/* True of a query level that may be a branch of a grouped UNION ALL. */
extern bool shuttle_union_is_around(const PlannerInfo *root);

/* The relation that a branch selects from, at the branch's query level; NULL if
 * its rows are not the branch's rows one to one. */
extern RelOptInfo *shuttle_union_branch_input(const RelOptInfo *branch);

/* Replaces the branch's columns by the expressions that it selects. */
extern void *shuttle_union_translate_to_branch(RelOptInfo *branch, Node *node);

/* A subquery scan of the branch with the columns of the path groups. */
extern Path *shuttle_union_branch_path(PlannerInfo *root, RelOptInfo *branch, Path *groups);

/* A query level's aggregates. */
typedef struct ShuttleAggregates
{
	bool		any;
	List	   *infos;
	List	   *transitions;
} ShuttleAggregates;
extern ShuttleAggregates shuttle_union_get_aggregates(const PlannerInfo *root);

/* Sets a query level's aggregates; returns the previous ones. */
extern ShuttleAggregates shuttle_union_set_aggregates(PlannerInfo *root,
													  ShuttleAggregates aggregates);

#endif							/* SHUTTLE_PLANNER_FACTS_UNION_BRANCHES_H */
