/*-------------------------------------------------------------------------
 * subplan_choice.c
 *	  The choice between the two plans of an EXISTS in a condition.
 *
 * Core keeps both until the plan is finished (AlternativeSubPlan): one that runs
 * for each row, and one that runs once and hashes its rows. It then compares what
 * they cost for the rows of the node that has the condition. Those of the inner
 * side of a nested loop are the rows of one of its loops, often one. So a subquery
 * that reads nodes is run for each row of the join, with round trips each time.
 *
 * The first plan's price is therefore that of all rows of the relation, which a
 * nested loop may ask for one by one. The price is read for this choice only: paths
 * have been priced before.
 *
 * Source: fix_alternative_subplan() in src/backend/optimizer/plan/setrefs.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "executor/shuttle_executor.h"
#include "planner/scan/scan.h"

typedef struct ChoiceContext
{
	PlannerInfo *root;
	double		nrows;			/* that the condition may be evaluated for */
} ChoiceContext;

static bool
reads_node(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL)
		return false;
	check_stack_depth();
	if (IsA(plan, ForeignScan))
		return true;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (reads_node(*child))
			return true;
	}
	return false;
}

static bool
price_for_all_rows(Node *node, void *arg)
{
	const ChoiceContext *context = arg;

	if (node == NULL)
		return false;
	if (IsA(node, AlternativeSubPlan))
	{
		SubPlan    *by_row = linitial_node(SubPlan, ((AlternativeSubPlan *) node)->subplans);

		if (!by_row->useHashTable &&
			reads_node(list_nth(context->root->glob->subplans, by_row->plan_id - 1)))
			by_row->per_call_cost *= context->nrows;
		return false;
	}
	return expression_tree_walker(node, price_for_all_rows, arg);
}

void
shuttle_subplan_choice_consider(PlannerInfo *root, RelOptInfo *rel)
{
	ChoiceContext context = {.root = root,.nrows = Max(rel->rows, 1)};
	ListCell   *cell;

	if (root->glob->subplans == NIL)
		return;
	foreach(cell, rel->baserestrictinfo)
		(void) price_for_all_rows((Node *) lfirst_node(RestrictInfo, cell)->clause, &context);
}
