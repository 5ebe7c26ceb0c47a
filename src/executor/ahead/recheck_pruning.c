/*-------------------------------------------------------------------------
 * recheck_pruning.c
 *	  Run-time pruning of the trees by which rows are checked again.
 *
 * From version 18 on an EvalPlanQual tree is lent the pruning of the statement's
 * own plan, which goes by the parameters that are set there.  In plans of core's
 * these are mostly those of the row that is checked.  Where a Materialize has read
 * all rows before the first one is written they are those of the last one, and the
 * partition of the row would be left out: an UPDATE would pass over the row, or
 * write what a subquery does not find.
 *
 * Our nodes are told when such a tree is made, before their children are.  The
 * trees of subplans are made first.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat_executor.h"
#include "executor/ahead/sure_values.h"

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
