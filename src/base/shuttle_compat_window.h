/*-------------------------------------------------------------------------
 * shuttle_compat_window.h
 *	  Version differences: window functions.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_WINDOW_H
#define SHUTTLE_COMPAT_WINDOW_H

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"

/*
 * The conditions by which the query above ends a window early, as operators with a
 * WindowFunc on one side. 17 moved them from the window's clause to its functions.
 */
static inline List *
shuttle_run_conditions(const WindowClause *window, const List *functions)
{
#if PG_VERSION_NUM >= 170000
	List	   *conditions = NIL;
	ListCell   *function;
	ListCell   *lc;

	foreach(function, functions)
	{
		foreach(lc, lfirst_node(WindowFunc, function)->runCondition)
		{
			const WindowFuncRunCondition *condition = lfirst(lc);
			Expr	   *left = condition->wfunc_left ? lfirst(function) : condition->arg;
			Expr	   *right = condition->wfunc_left ? condition->arg : lfirst(function);

			conditions = lappend(conditions,
								 make_opclause(condition->opno, BOOLOID, false, left, right,
											   InvalidOid, condition->inputcollid));
		}
	}
	return conditions;
#else
	return window->runCondition;
#endif
}

#endif							/* SHUTTLE_COMPAT_WINDOW_H */
