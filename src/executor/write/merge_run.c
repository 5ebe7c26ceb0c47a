/*-------------------------------------------------------------------------
 * merge_run.c
 *	  Plan node that runs a MERGE as several statements
 *	  (planner/write/merge_plan.c).
 *
 * Its first input reads everything that the statement reads, and returns the
 * target rows that several source rows act upon: these raise the error of
 * core's MERGE, before anything is written. The other inputs are ModifyTables,
 * one for each action, which find their rows in what was read.
 *
 * Rule: the rows of all actions count as the statement's. Core does not count
 * those of a ModifyTable planned for WITH, and runs it once more at the end,
 * when nothing is left to do.
 * Memory: everything lives in the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

static Node *create_state(CustomScan *plan);
static void begin_merge(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_merge(CustomScanState *node);
static void end_merge(CustomScanState *node);
static void rescan_merge(CustomScanState *node);

static const CustomScanMethods merge_methods = {
	.CustomName = shuttle_node_merge_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods merge_exec_methods = {
	.CustomName = shuttle_node_merge_name,
	.BeginCustomScan = begin_merge,
	.ExecCustomScan = exec_merge,
	.EndCustomScan = end_merge,
	.ReScanCustomScan = rescan_merge,
};

void
shuttle_merge_register(void)
{
	RegisterCustomScanMethods(&merge_methods);
}

CustomScan *
shuttle_merge_make(List *plans)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &merge_methods;
	scan->custom_plans = plans;
	return scan;
}

PlanState *
shuttle_merge_reading(const PlanState *node)
{
	return shuttle_node_is_merge_plan(node->plan) ?
		linitial(((const CustomScanState *) node)->custom_ps) : NULL;
}

PlanState *
shuttle_merge_rows(const PlanState *node)
{
	PlanState  *reading = shuttle_merge_reading(node);

	while (reading != NULL && !IsA(reading, CteScanState))
		reading = outerPlanState(reading);
	return reading == NULL ? NULL : ((CteScanState *) reading)->cteplanstate;
}

/* ---- execution */

static Node *
create_state(CustomScan *plan)
{
	CustomScanState *state = makeNode(CustomScanState);

	state->methods = &merge_exec_methods;
	return (Node *) state;
}

static void
begin_merge(CustomScanState *node, EState *estate, int eflags)
{
	ListCell   *cell;

	foreach(cell, ((CustomScan *) node->ss.ps.plan)->custom_plans)
	{
		PlanState  *child = ExecInitNode(lfirst(cell), estate, eflags);

		if (IsA(child, ModifyTableState))
			((ModifyTableState *) child)->canSetTag = true;
		node->custom_ps = lappend(node->custom_ps, child);
	}
}

static bool
has_row(PlanState *child)
{
	TupleTableSlot *row = ExecProcNode(child);

	return !TupIsNull(row);
}

static TupleTableSlot *
exec_merge(CustomScanState *node)
{
	ListCell   *cell;

	if (has_row(linitial(node->custom_ps)))
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("%s command cannot affect row a second time", "MERGE"),
				 errhint("Ensure that not more than one source row matches any one target row.")));

	/* without RETURNING each does all its work in one call */
	for_each_from(cell, node->custom_ps, 1)
	{
		if (has_row(lfirst(cell)))
			elog(ERROR, "unexpected row of an action of MERGE");
	}
	return NULL;
}

static void
end_merge(CustomScanState *node)
{
	ListCell   *cell;

	foreach(cell, node->custom_ps)
		ExecEndNode(lfirst(cell));
}

static void
rescan_merge(CustomScanState *node)
{
	elog(ERROR, "rows of a statement that writes cannot be read again");
}
