/*-------------------------------------------------------------------------
 * node_names.c
 *	  What kind a node, a scan or an expression is.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

#include "base/shuttle_expressions.h"
#include "executor/facts/node_names.h"
#include "executor/shuttle_executor.h"

const char	shuttle_node_look_ahead_name[] = "Look Ahead";
const char	shuttle_node_lock_ahead_name[] = "Lock Ahead";
const char	shuttle_node_routed_append_name[] = "Routed Append";
const char	shuttle_node_merge_name[] = "Merge";
const char	shuttle_node_keyed_write_name[] = "Keyed Write";
const char	shuttle_node_routed_statement_name[] = "Routed Statement";
const char	shuttle_node_shipped_call_name[] = "Shipped Call";

/* Callbacks of our routine that postgres_fdw's never has. The routine of a served
 * scan is a copy with another IterateForeignScan. */

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
shuttle_node_is_look_ahead_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_look_ahead_name);
}

bool
shuttle_node_is_look_ahead(const PlanState *node)
{
	return has_name(node, shuttle_node_look_ahead_name);
}

bool
shuttle_node_is_lock_ahead(const PlanState *node)
{
	return has_name(node, shuttle_node_lock_ahead_name);
}

bool
shuttle_node_is_routed_append_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_routed_append_name);
}

bool
shuttle_node_is_routed_append(const PlanState *node)
{
	return has_name(node, shuttle_node_routed_append_name);
}

bool
shuttle_node_is_merge_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_merge_name);
}

bool
shuttle_node_is_keyed_write_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_keyed_write_name);
}

bool
shuttle_node_is_routed_statement_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_routed_statement_name);
}

bool
shuttle_node_is_shipped_call_plan(const Plan *plan)
{
	return has_plan_name(plan, shuttle_node_shipped_call_name);
}

/* ---- foreign tables */

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

bool
shuttle_node_uses_param(Node *expression, int param)
{
	return bms_is_member(param, shuttle_expression_params(expression));
}
