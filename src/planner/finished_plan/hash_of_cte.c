/*-------------------------------------------------------------------------
 * hash_of_cte.c
 *	  Adds what a CTE costs to the hash side of a join that reads it.
 *
 * A hash join builds its hash table first, unless the outer side starts more cheaply
 * than the hash table costs: then it looks if there is an outer row at all. Core
 * compares costs of the finished plan, where a scan of a CTE costs nothing but the
 * reading of its stored rows. A foreign scan's start costs fdw_startup_cost, so a CTE
 * that reads whole tables from nodes is computed before an outer side that turns out
 * to be empty.
 *
 * So the Hash nodes of statements that read nodes are given the whole cost, each CTE
 * once. Nothing but that comparison, early_start.c and EXPLAIN reads it.
 *
 * Source: ExecHashJoinImpl() in src/backend/executor/nodeHashjoin.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/plannodes.h"

#include "executor/shuttle_executor.h"
#include "planner/finished_plan/finished_plan.h"

/* The cost of the CTEs that a plan reads; those in seen are left out. */
static Cost
cost_of_ctes(Plan *plan, const PlannedStmt *statement, Bitmapset **seen)
{
	Cost		cost = 0;
	Plan	  **child;

	if (plan == NULL)
		return 0;
	check_stack_depth();
	if (IsA(plan, CteScan))
	{
		int			id = ((CteScan *) plan)->ctePlanId;
		Plan	   *cte = list_nth(statement->subplans, id - 1);

		if (cte == NULL || bms_is_member(id, *seen))
			return 0;
		*seen = bms_add_member(*seen, id);
		return cte->total_cost + cost_of_ctes(cte, statement, seen);
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		cost += cost_of_ctes(*child, statement, seen);
	return cost;
}

static void
add_to_hashes(Plan *plan, const PlannedStmt *statement)
{
	Plan	  **child;

	if (plan == NULL)
		return;
	check_stack_depth();
	if (IsA(plan, Hash))
	{
		Bitmapset  *seen = NULL;

		plan->total_cost += cost_of_ctes(outerPlan(plan), statement, &seen);
		bms_free(seen);
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		add_to_hashes(*child, statement);
}

void
shuttle_hash_of_cte_price(PlannedStmt *statement)
{
	ListCell   *cell;

	if (statement->subplans == NIL)
		return;
	add_to_hashes(statement->planTree, statement);
	foreach(cell, statement->subplans)
		add_to_hashes(lfirst(cell), statement);
}
