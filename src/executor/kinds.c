/*-------------------------------------------------------------------------
 * kinds.c
 *	  What kind a node, a scan or an expression is.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

#include "executor/kinds.h"
#include "executor/shuttle_executor.h"

const char	shuttle_look_ahead_name[] = "Look Ahead";
const char	shuttle_routed_append_name[] = "Routed Append";
const char	shuttle_merge_name[] = "Merge";
const char	shuttle_keyed_write_name[] = "Keyed Write";
const char	shuttle_routed_statement_name[] = "Routed Statement";
const char	shuttle_shipped_call_name[] = "Shipped Call";

/* Callbacks of our routine that postgres_fdw's never has. The routine of a served
 * scan is a copy with another IterateForeignScan. */
static BeginForeignScan_function our_begin = NULL;
static IterateForeignScan_function our_iterate = NULL;

/* ---- plan nodes of ours */

static bool
has_plan_name(const Plan *plan, const char *name)
{
	return plan != NULL && IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods->CustomName == name;
}

static bool
has_name(const PlanState *node, const char *name)
{
	return node != NULL && IsA(node, CustomScanState) &&
		((const CustomScanState *) node)->methods->CustomName == name;
}

bool
shuttle_is_look_ahead_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_look_ahead_name);
}

bool
shuttle_is_look_ahead(const PlanState *node)
{
	return has_name(node, shuttle_look_ahead_name);
}

bool
shuttle_is_routed_append_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_routed_append_name);
}

bool
shuttle_is_routed_append(const PlanState *node)
{
	return has_name(node, shuttle_routed_append_name);
}

bool
shuttle_is_merge_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_merge_name);
}

bool
shuttle_is_keyed_write_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_keyed_write_name);
}

bool
shuttle_is_routed_statement_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_routed_statement_name);
}

bool
shuttle_is_shipped_call_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_shipped_call_name);
}

/* ---- foreign tables */

void
shuttle_foreign_note_ours(const FdwRoutine *routine)
{
	our_begin = routine->BeginForeignScan;
	our_iterate = routine->IterateForeignScan;
}

bool
shuttle_foreign_is_ours(const FdwRoutine *routine)
{
	return our_begin != NULL && routine->BeginForeignScan == our_begin;
}

bool
shuttle_foreign_scan_is_ours(const ForeignScanState *scan)
{
	return scan->fdwroutine->IterateForeignScan == our_iterate;
}

bool
shuttle_reads_foreign_table(const PlannedStmt *statement)
{
	ListCell   *lc;

	foreach(lc, statement->rtable)
	{
		if (lfirst_node(RangeTblEntry, lc)->relkind == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/* ---- expressions */

static bool
uses_param_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			((Param *) node)->paramid == *(int *) context;
	return expression_tree_walker(node, uses_param_walker, context);
}

bool
shuttle_expression_uses_param(Node *expression, int param)
{
	return uses_param_walker(expression, &param);
}
