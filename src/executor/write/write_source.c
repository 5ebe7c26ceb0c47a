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

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_expressions.h"
#include "executor/facts/node_names.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/parameters.h"
#include "executor/facts/plan_facts.h"
#include "executor/facts/scan_facts.h"
#include "executor/write/write_buffer.h"

static bool
looks_ahead(PlanState *node)
{
	return shuttle_node_is_look_ahead(node);
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
		shuttle_expression_has(((const ForeignScan *) node->plan)->fdw_exprs, SHUTTLE_HAS_PLAN_PARAM) &&
		!is_of_target(scan) && shuttle_scan_reads_written_table(scan);
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

MaterialState *
shuttle_write_source_kept(PlanState *source)
{
	for (;;)
	{
		if (IsA(source, SubqueryScanState))
			source = ((SubqueryScanState *) source)->subplan;
		else if (IsA(source, ResultState) && outerPlanState(source) != NULL &&
				 ((const Result *) source->plan)->resconstantqual == NULL)
			source = outerPlanState(source);
		else
			return IsA(source, MaterialState) ? (MaterialState *) source : NULL;
	}
}

bool
shuttle_write_source_asks_again(const ModifyTableState *node)
{
	PlanState  *source = outerPlanState(node);

	if (source == NULL)
		return false;
	return (shuttle_write_source_kept(source) != NULL &&
			shuttle_plan_any_node(source, looks_ahead) && shuttle_plan_any_node(source, reads_node)) ||
		(!is_left_to_nodes(node) && shuttle_plan_any_node(source, asks_for_written));
}

/* The same of a node's other expressions. */
static bool
own_expressions_have(const Plan *plan, int facts)
{
	ListCell   *lc;

	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return shuttle_expression_has(((const ForeignScan *) plan)->fdw_exprs, facts);
		case T_ValuesScan:
			return shuttle_expression_has(((const ValuesScan *) plan)->values_lists, facts);
		case T_FunctionScan:
			foreach(lc, ((const FunctionScan *) plan)->functions)
			{
				if (shuttle_expression_has(((RangeTblFunction *) lfirst(lc))->funcexpr, facts))
					return true;
			}
			return false;
		case T_HashJoin:
			return shuttle_expression_has(((const HashJoin *) plan)->hashclauses, facts) ||
				shuttle_expression_has(((const Join *) plan)->joinqual, facts);
		case T_NestLoop:
		case T_MergeJoin:
			return shuttle_expression_has(((const Join *) plan)->joinqual, facts);
		default:
			return false;
	}
}

static bool
node_has(PlanState *node, int facts)
{
	return shuttle_expression_has(node->plan->targetlist, facts) ||
		shuttle_expression_has(node->plan->qual, facts) ||
		own_expressions_have(node->plan, facts);
}

/* PostgreSQL's own functions do not read tables that users write. */
static bool
node_calls_stable(PlanState *node)
{
	return node_has(node, SHUTTLE_HAS_USERS_STABLE_FUNCTION);
}

/* A function of a user, or one that it calls, may have a block with EXCEPTION. */
static bool
node_calls_written_by_users(PlanState *node)
{
	return node_has(node, SHUTTLE_HAS_USERS_CODE);
}

bool
shuttle_write_source_sees_snapshot(PlanState *source)
{
	/* a single row is computed completely before it is written */
	return !(IsA(source, ResultState) && outerPlanState(source) == NULL) &&
		shuttle_plan_any_node(source, node_calls_stable) && !shuttle_outer_shows_effects(source);
}

void
shuttle_write_source_evaluate_stable(ModifyTableState *node)
{
	ParamExecData *params = node->ps.state->es_param_exec_vals;
	ListCell   *cell;

	foreach(cell, node->ps.initPlan)
	{
		SubPlanState *init = lfirst_node(SubPlanState, cell);
		const List *set = init->subplan->setParam;

		if (init->subplan->subLinkType != CTE_SUBLINK && params[linitial_int(set)].execPlan != NULL &&
			shuttle_plan_any_node(init->planstate, node_calls_stable))
			ExecSetParamPlan(init, node->ps.ps_ExprContext);
	}
}

bool
shuttle_write_source_calls_users_code(PlanState *source)
{
	return shuttle_plan_any_node(source, node_calls_written_by_users);
}
