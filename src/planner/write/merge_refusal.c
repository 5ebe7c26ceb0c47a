/*-------------------------------------------------------------------------
 * merge_refusal.c
 *	  Adds a hint to core's error if it refuses a MERGE.
 *
 * A MERGE into a foreign table is refused by the parser, where we have no
 * hook; one into a partitioned table by the planner, if a foreign partition is
 * left after pruning, before any callback of the wrapper.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "planner/write/write.h"
#include "tablets/shuttle_tablets.h"

/* Core names the first tablet that is left. */
static char *
named_after_table(const Query *query, char *message)
{
	Oid			relid = rt_fetch(query->resultRelation, query->rtable)->relid;
	char	   *name = strchr(message, '"');

	return name == NULL || shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED ? message :
		psprintf("%.*s\"%s\"", (int) (name - message), message, get_rel_name(relid));
}

/* An error context callback could not read the error, hence PG_TRY. */
static PlannedStmt *
plan_merge(Query *query, ShuttlePlanCall call)
{
	MemoryContext cxt = CurrentMemoryContext;
	PlannedStmt *statement = NULL;

	PG_TRY();
	{
		statement = shuttle_plan_rest(query, call);
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
		error->message = named_after_table(query, error->message);
		error->hint = pstrdup("Use INSERT ... ON CONFLICT, or UPDATE ... FROM and an INSERT of the rows that are missing.");
		ReThrowError(error);
	}
	PG_END_TRY();
	return statement;
}

PlannedStmt *
shuttle_merge_refusal_plan(Query *query, ShuttlePlanCall call)
{
	if (query->commandType == CMD_MERGE)
		return plan_merge(query, call);
	return shuttle_plan_rest(query, call);
}
