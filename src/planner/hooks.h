/*-------------------------------------------------------------------------
 * hooks.h
 *	  How the parts of the planner hook call each other (hooks.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_HOOKS_H
#define SHUTTLE_PLANNER_HOOKS_H

#include "nodes/nodeFuncs.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

typedef struct ShuttlePlanCall ShuttlePlanCall;

/* A part of the planner hook, which plans a query around the parts that follow it. */
typedef PlannedStmt *(*ShuttlePlanPart) (Query *query, ShuttlePlanCall call);

/* A call of the planner, but for its query. */
struct ShuttlePlanCall
{
	const char *query_string;	/* may be NULL */
	int			cursor_options;
	ParamListInfo params;
	struct ExplainState *explain;	/* since 19; may be NULL */
	const ShuttlePlanPart *rest;	/* the parts after the caller; the last is
									 * core */
};

/* Plans a query by the rest of the parts, any number of times. */
static inline PlannedStmt *
shuttle_plan_rest(Query *query, ShuttlePlanCall call)
{
	ShuttlePlanPart part = *call.rest++;

	return part(query, call);
}

/*
 * Calls a walker for the queries below a query, until it returns true. Only sublinks put
 * queries into expressions: without them no expression is walked, since parts do this
 * for each statement of the server.
 */
static inline bool
shuttle_walk_queries_below(Query *query, bool (*walker) (Node *, void *), void *context)
{
	ListCell   *lc;

	if (query->hasSubLinks)
		return query_tree_walker(query, walker, context, 0);
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_SUBQUERY && walker((Node *) rte->subquery, context))
			return true;
	}
	foreach(lc, query->cteList)
	{
		if (walker(lfirst_node(CommonTableExpr, lc)->ctequery, context))
			return true;
	}
	return false;
}

#endif							/* SHUTTLE_PLANNER_HOOKS_H */
