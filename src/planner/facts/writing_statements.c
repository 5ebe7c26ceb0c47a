/*-------------------------------------------------------------------------
 * writing_statements.c
 *	  The parts of a statement that write, and their plans.
 *
 * Clauses that core cannot plan are taken out of these queries before planning
 * and attached to their plans after it, so both lists must have the same
 * order. Data-modifying WITH is allowed at the top level only, and its
 * subplans are in the order of WITH.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/plannodes.h"

#include "planner/facts/written_tables.h"

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
