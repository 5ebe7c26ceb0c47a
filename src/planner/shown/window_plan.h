/*-------------------------------------------------------------------------
 * window_plan.h
 *	  Paths by which nodes return the first rows of windows, and their plans.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_SHOWN_WINDOW_PLAN_H
#define SHUTTLE_PLANNER_SHOWN_WINDOW_PLAN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* The fdw_private of such a path. */
enum LimitPrivate
{
	LIMIT_FUNCTION,				/* the WindowFunc; no other path begins so */
	LIMIT_COLUMNS,				/* Vars of the window's keys */
	LIMIT_CLAUSES,				/* their SortGroupClauses */
	LIMIT_NPARTITION,			/* number of those that PARTITION BY has */
	LIMIT_IS_STRICT,			/* less than the value, or equal, too */
	LIMIT_VALUE					/* Const or Param */
};

/* The name of a function that depends on the rows before only, or NULL. */
extern const char *shuttle_window_function_name(const WindowFunc *function);

/* True of such a path; and GetForeignPlan for it. */
extern bool shuttle_window_plan_is_for(const ForeignPath *path);
extern ForeignScan *shuttle_window_plan_make(PlannerInfo *root, RelOptInfo *rel, Oid relid,
											 const ForeignPath *path, List *targetlist,
											 List *clauses, Plan *outer);

#endif							/* SHUTTLE_PLANNER_SHOWN_WINDOW_PLAN_H */
