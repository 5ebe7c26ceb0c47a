/*-------------------------------------------------------------------------
 * writing_statements.c
 *	  The statements that write in what is planned at once, and their plans.
 *
 * What core cannot plan or keep is taken from these statements before they are
 * planned, and hung behind their plans: both must be found in the same order.
 * WITH may write on the topmost level only, and is planned into subplans in the
 * order of WITH.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/plannodes.h"

#include "base/shuttle_compat.h"
#include "planner/statement/statement.h"

List *
shuttle_writing_queries(Query *query)
{
	List	   *queries = list_make1(query);
	ListCell   *cell;

	foreach(cell, query->cteList)
	{
		Query	   *inner = castNode(Query, lfirst_node(CommonTableExpr, cell)->ctequery);

		if (inner->commandType != CMD_SELECT)
			queries = lappend(queries, inner);
	}
	return queries;
}

List *
shuttle_writing_plans(const PlannedStmt *statement)
{
	List	   *plans = list_make1(statement->planTree);
	ListCell   *cell;

	foreach(cell, statement->subplans)
	{
		Plan	   *plan = lfirst(cell);

		if (plan != NULL && IsA(plan, ModifyTable))
			plans = lappend(plans, plan);
	}
	return plans;
}
