/*-------------------------------------------------------------------------
 * merge_refusal.c
 *	  Says what to write instead of a MERGE that core refuses.
 *
 * A MERGE into a foreign table is refused when it is parsed, where nothing of ours
 * is asked; one into a partitioned table when the plan is made, if a foreign
 * partition is left by then, and no callback of the wrapper is called before.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/planner.h"

#include "planner/planner_internal.h"

static planner_hook_type previous_planner = NULL;

static PlannedStmt *
plan_next(Query *query, const char *query_string, int cursor_options,
		  ParamListInfo params)
{
	planner_hook_type planner = previous_planner != NULL ? previous_planner : standard_planner;

	return planner(query, query_string, cursor_options, params);
}

/* A callback cannot read the error that it would add to. */
static PlannedStmt *
plan_statement(Query *query, const char *query_string, int cursor_options,
			   ParamListInfo params)
{
	MemoryContext cxt = CurrentMemoryContext;
	PlannedStmt *statement = NULL;

	if (query->commandType != CMD_MERGE)
		return plan_next(query, query_string, cursor_options, params);
	PG_TRY();
	{
		statement = plan_next(query, query_string, cursor_options, params);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED || error->hint != NULL ||
			strstr(error->message, "MERGE") == NULL)
			PG_RE_THROW();
		FlushErrorState();
		error->hint = pstrdup("Use INSERT ... ON CONFLICT, or UPDATE ... FROM and an INSERT of the rows that are missing.");
		ReThrowError(error);
	}
	PG_END_TRY();
	return statement;
}

void
shuttle_merge_refusal_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_statement;
}
