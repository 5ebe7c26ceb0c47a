/*-------------------------------------------------------------------------
 * merge_refusal.c
 *	  Adds the reason and a hint to core's error if it refuses a MERGE.
 *
 * A MERGE into a foreign table is refused by the parser, where we have no
 * hook; one into a partitioned table by the planner, if a foreign partition is
 * left after pruning, before any callback of the wrapper. Of a table without a
 * partition of ours core's error stays as it is.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "foreign/fdwapi.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "executor/shuttle_executor.h"
#include "planner/write/write.h"
#include "tablets/shuttle_tablets.h"

/* The MERGE of a statement: itself, or one in its WITH clause; else NULL. */
static const Query *
find_merge(const Query *query)
{
	ListCell   *cell;

	if (query->commandType == CMD_MERGE)
		return query;
	foreach(cell, query->hasModifyingCTE ? query->cteList : NIL)
	{
		const Query *part = (const Query *) lfirst_node(CommonTableExpr, cell)->ctequery;

		if (part->commandType == CMD_MERGE)
			return part;
	}
	return NULL;
}

/* Core names the first tablet that is left. */
static char *
named_after_table(Oid relid, char *message)
{
	char	   *name = strchr(message, '"');

	return name == NULL || shuttle_table_kind(relid) != SHUTTLE_TABLE_DISTRIBUTED ? message :
		psprintf("%.*s\"%s\"", (int) (name - message), message, get_rel_name(relid));
}

static bool
has_partition_of_ours(Oid relid)
{
	ListCell   *cell;

	foreach(cell, find_all_inheritors(relid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE &&
			shuttle_server_routine_is_ours(GetFdwRoutineByRelId(lfirst_oid(cell))))
			return true;
	}
	return false;
}

/* An error context callback could not read the error, hence PG_TRY. */
static PlannedStmt *
plan_merge(Query *query, const Query *merge, ShuttlePlanCall call)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			relid = rt_fetch(merge->resultRelation, merge->rtable)->relid;
	PlannedStmt *statement = NULL;

	PG_TRY();
	{
		statement = shuttle_plan_rest(query, call);
	}
	PG_CATCH();
	{
		ErrorData  *error;
		const char *reason;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED || error->hint != NULL ||
			strstr(error->message, "MERGE") == NULL || !has_partition_of_ours(relid))
			PG_RE_THROW();
		FlushErrorState();
		reason = merge == query ? shuttle_merge_refusal(merge) : "It is in a WITH clause.";
		error->message = named_after_table(relid, error->message);
		if (reason != NULL)
			error->detail = pstrdup(reason);
		error->hint = pstrdup("Use INSERT ... ON CONFLICT, or UPDATE ... FROM and an INSERT of the rows that are missing.");
		ReThrowError(error);
	}
	PG_END_TRY();
	return statement;
}

PlannedStmt *
shuttle_merge_refusal_plan(Query *query, ShuttlePlanCall call)
{
	const Query *merge = find_merge(query);

	return merge == NULL ? shuttle_plan_rest(query, call) : plan_merge(query, merge, call);
}
