/*-------------------------------------------------------------------------
 * named_columns.c
 *	  Notes in an INSERT's plan which columns of a partitioned table have
 *	  values.
 *
 * A foreign partition is known only when a row is routed to it, and by then
 * the plan computes values for all columns. So the statement's own columns are
 * noted in the plan (remote_default.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"

#include "executor/shuttle_executor.h"
#include "planner/facts/written_tables.h"
#include "planner/rewrite/rewrite.h"

/* The columns, as a list in a list; NIL if they are not needed. */
static List *
find_named(const Query *query)
{
	List	   *named = NIL;
	ListCell   *lc;

	if (query->commandType != CMD_INSERT ||
		rt_fetch(query->resultRelation, query->rtable)->relkind !=
		RELKIND_PARTITIONED_TABLE)
		return NIL;
	foreach(lc, query->targetList)
		named = lappend_int(named, lfirst_node(TargetEntry, lc)->resno);
	return list_make1(named);
}

static void
give_named(Plan *plan, List *named)
{
	if (named == NIL)
		return;
	if (!IsA(plan, ModifyTable) || ((ModifyTable *) plan)->operation != CMD_INSERT)
		elog(ERROR, "unexpected plan of an INSERT");
	shuttle_remote_default_attach((ModifyTable *) plan, linitial(named));
}

PlannedStmt *
shuttle_named_columns_plan(Query *query, ShuttlePlanCall call)
{
	List	   *named = NIL;
	PlannedStmt *statement;
	ListCell   *lc;
	ListCell   *columns;

	if (!shuttle_query_writes(query))
		return shuttle_plan_rest(query, call);
	foreach(lc, shuttle_writing_queries(query))
		named = lappend(named, find_named(lfirst_node(Query, lc)));
	statement = shuttle_plan_rest(query, call);
	forboth(lc, shuttle_writing_plans(statement), columns, named)
		give_named(lfirst(lc), lfirst(columns));
	return statement;
}
