/*-------------------------------------------------------------------------
 * write_source.c
 *	  Whether a statement's source is read to its end before the first row
 *	  is written.
 *
 * What is read later from a node sees what was written there before. So a
 * source is read to its end if it asks nodes repeatedly, or calls users'
 * STABLE functions: PostgreSQL shows these the state before the statement
 * (trap 24). VOLATILE functions see the rows written so far; if the source
 * calls one, no rows are kept for STABLE ones.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_executor.h"
#include "executor/ahead/outer_side.h"
#include "executor/ahead/plan_facts.h"
#include "executor/join/join.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write_buffer.h"

static bool
looks_ahead(PlanState *node)
{
	return shuttle_is_look_ahead(node);
}

static bool
reads_node(PlanState *node)
{
	return IsA(node, ForeignScanState);
}

/* True for a scan of the rows to be changed. */
static bool
is_of_target(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;

	SHUTTLE_EACH_WRITTEN(rtindex, scan->ss.ps.state->es_plannedstmt)
	{
		if (bms_is_member(rtindex, plan->fs_base_relids))
			return true;
	}
	return false;
}

/* True for a scan that reads a written table by values of other rows. */
static bool
asks_for_written(PlanState *node)
{
	const ForeignScanState *scan = (const ForeignScanState *) node;

	return IsA(node, ForeignScanState) &&
		shuttle_exec_params(((const ForeignScan *) node->plan)->fdw_exprs) != NULL &&
		!is_of_target(scan) && shuttle_reads_written_table(scan);
}

/* True if the source itself writes: its rows were changed by direct
 * modification. */
static bool
is_left_to_nodes(const ModifyTableState *node)
{
	for (int i = 0; i < node->mt_nrels; i++)
	{
		if (node->resultRelInfo[i].ri_usesFdwDirectModify)
			return true;
	}
	return false;
}

bool
shuttle_source_asks_again(const ModifyTableState *node)
{
	PlanState  *source = outerPlanState(node);

	if (source == NULL)
		return false;
	return (IsA(source, MaterialState) &&
			shuttle_any_node(source, looks_ahead) && shuttle_any_node(source, reads_node)) ||
		(!is_left_to_nodes(node) && shuttle_any_node(source, asks_for_written));
}

/* PostgreSQL's own functions do not read tables that users write. */
static bool
is_stable_of_users(Oid function, void *context)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) == PROVOLATILE_STABLE;
}

static bool
calls_walker(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, is_stable_of_users, context) ||
		 expression_tree_walker(node, calls_walker, context));
}

/* True if a node's other expressions call such a function. */
static bool
own_expressions_call(const Plan *plan)
{
	ListCell   *lc;

	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return calls_walker((Node *) ((const ForeignScan *) plan)->fdw_exprs, NULL);
		case T_ValuesScan:
			return calls_walker((Node *) ((const ValuesScan *) plan)->values_lists, NULL);
		case T_FunctionScan:
			foreach(lc, ((const FunctionScan *) plan)->functions)
			{
				if (calls_walker(((RangeTblFunction *) lfirst(lc))->funcexpr, NULL))
					return true;
			}
			return false;
		case T_HashJoin:
			return calls_walker((Node *) ((const HashJoin *) plan)->hashclauses, NULL) ||
				calls_walker((Node *) ((const Join *) plan)->joinqual, NULL);
		case T_NestLoop:
		case T_MergeJoin:
			return calls_walker((Node *) ((const Join *) plan)->joinqual, NULL);
		default:
			return false;
	}
}

static bool
node_calls(PlanState *node)
{
	return calls_walker((Node *) node->plan->targetlist, NULL) ||
		calls_walker((Node *) node->plan->qual, NULL) ||
		own_expressions_call(node->plan);
}

bool
shuttle_source_sees_snapshot(PlanState *source)
{
	/* a single row is computed completely before it is written */
	return !(IsA(source, ResultState) && outerPlanState(source) == NULL) &&
		shuttle_any_node(source, node_calls) && !shuttle_outer_shows_effects(source);
}
