/*-------------------------------------------------------------------------
 * hooks.h
 *	  How the parts of the planner hook call each other (hooks.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_PLANNER_HOOKS_H
#define SHUTTLE_PLANNER_HOOKS_H

#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/* A call of the planner, but for its query. */
typedef struct ShuttlePlanCall
{
	const char *query_string;	/* may be NULL */
	int			cursor_options;
	ParamListInfo params;
	int			next;			/* the part that plans next */
} ShuttlePlanCall;

/* Plans a query by the parts behind the caller, the last of which is core. A part
 * may call it any number of times. */
extern PlannedStmt *shuttle_plan_rest(Query *query, ShuttlePlanCall call);

#endif							/* SHUTTLE_PLANNER_HOOKS_H */
