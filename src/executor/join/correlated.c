/*-------------------------------------------------------------------------
 * correlated.c
 *	  Keys that use initplans of the inner side with values from further above.
 *
 * If a value from above changes, core marks the initplans that use it when it rescans
 * their nodes, and executes them again when they are needed. It rescans the inner side for
 * the join's first outer row. The first batch collects its keys before, and must not use
 * the old values. So when a batch is the first of a run, each node of the inner side that
 * core has told of a change is rescanned.
 *
 * Nothing else of that may show. Index scans, and a LIMIT with an expression, compute
 * values during a rescan, which may use an outer row that is not there yet, or fail. If
 * the inner side has such a node, keys that use these initplans are not collected.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/facts/plan_facts.h"
#include "executor/join/join.h"
#include "executor/shuttle_executor.h"

/* True if a node computes nothing when it is rescanned, but for its children. */
static bool
is_inert(PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_AggState:
		case T_AppendState:
		case T_ForeignScanState:
		case T_GroupState:
		case T_HashJoinState:
		case T_HashState:
		case T_IncrementalSortState:
		case T_MaterialState:
		case T_MemoizeState:
		case T_MergeAppendState:
		case T_ResultState:
		case T_SeqScanState:
		case T_SortState:
		case T_SubqueryScanState:
		case T_UniqueState:
		case T_WindowAggState:
			return true;
		case T_LimitState:
			return !shuttle_plan_rescan_computes(node);
		default:
			return shuttle_node_is_look_ahead(node) || shuttle_node_is_routed_append(node);
	}
}

static bool
is_inert_below(PlanState *node)
{
	PlanState  *child;

	if (node == NULL)
		return true;
	check_stack_depth();
	if (!is_inert(node) || !is_inert_below(outerPlanState(node)) ||
		!is_inert_below(innerPlanState(node)))
		return false;
	for (int i = 0; (child = shuttle_plan_other_child(node, i)) != NULL; i++)
	{
		if (!is_inert_below(child))
			return false;
	}
	return true;
}

bool
shuttle_correlated_add(LookAheadState *look, PlanState *root)
{
	if (root == NULL || !is_inert_below(root))
		return false;
	look->correlated = list_append_unique_ptr(look->correlated, root);
	return true;
}

static void
rescan_changed(PlanState *node)
{
	PlanState  *child;

	if (node == NULL)
		return;
	if (node->chgParam != NULL)
		ExecReScan(node);
	rescan_changed(outerPlanState(node));
	rescan_changed(innerPlanState(node));
	for (int i = 0; (child = shuttle_plan_other_child(node, i)) != NULL; i++)
		rescan_changed(child);
}

void
shuttle_correlated_renew(const LookAheadState *look)
{
	ListCell   *lc;

	foreach(lc, look->correlated)
		rescan_changed(lfirst(lc));
}
