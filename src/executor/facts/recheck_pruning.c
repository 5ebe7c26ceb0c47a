/*-------------------------------------------------------------------------
 * recheck_pruning.c
 *	  Run-time pruning in EvalPlanQual's copy of the plan.
 *
 * From PostgreSQL 18 on, EvalPlanQual's plan shares the pruning state of the
 * statement's plan, which uses the parameters set there. In core's plans these
 * mostly belong to the row that is rechecked. But if a Materialize has read
 * all rows before the first one is written, they belong to the last row. The
 * partition of the rechecked row would be pruned: an UPDATE would skip the
 * row, or a subquery would not find it.
 *
 * Our nodes call this when such a plan starts, before their children start.
 * The plans of subplans start first.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat_executor.h"
#include "executor/facts/safe_values.h"

static bool
take_own(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, AppendState))
	{
		AppendState *append = (AppendState *) node;
		const Append *plan = (const Append *) node->plan;

		append->as_prune_state = SHUTTLE_OWN_PRUNING(node, plan, plan->appendplans,
													 append->as_prune_state);
	}
	else if (IsA(node, MergeAppendState))
	{
		MergeAppendState *append = (MergeAppendState *) node;
		const MergeAppend *plan = (const MergeAppend *) node->plan;

		append->ms_prune_state = SHUTTLE_OWN_PRUNING(node, plan, plan->mergeplans,
													 append->ms_prune_state);
	}
	return planstate_tree_walker(node, take_own, context);
}

void
shuttle_recheck_pruning_init(EState *estate)
{
	ListCell   *cell;

	if (!shuttle_make_pruning(estate))
		return;
	foreach(cell, estate->es_subplanstates)
		(void) take_own(lfirst(cell), NULL);
}
