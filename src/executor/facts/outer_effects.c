/*-------------------------------------------------------------------------
 * outer_effects.c
 *	  What reading the rows of an outer side ahead of time would show.
 *
 * Stock PostgreSQL reads an outer row when the join is done with the one
 * before. Rows may be read sooner if nobody can see it: no volatile function
 * is called, no row is locked or written. Unknown types of nodes count as
 * having effects. The plans of scanned CTEs, and of initplans that run on the
 * way, are part of what is read.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "base/shuttle_expressions.h"
#include "executor/facts/node_names.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/plan_facts.h"
#include "executor/facts/scan_facts.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

/* ---- expressions */

static bool
volatile_aggregate_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && shuttle_expression_aggregate_is_volatile(((Aggref *) node)->aggfnoid))
		return true;
	if (IsA(node, WindowFunc) && ((WindowFunc *) node)->winagg &&
		shuttle_expression_aggregate_is_volatile(((WindowFunc *) node)->winfnoid))
		return true;
	return expression_tree_walker(node, volatile_aggregate_walker, context);
}

static bool
expression_shows(Node *expression)
{
	return expression != NULL &&
		(contain_volatile_functions(expression) ||
		 volatile_aggregate_walker(expression, NULL));
}

/* ---- nodes */

/* Functions in FROM. */
static bool
functions_show(const FunctionScan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->functions)
	{
		if (expression_shows(((RangeTblFunction *) lfirst(lc))->funcexpr))
			return true;
	}
	return false;
}

/* A foreign scan, perhaps of a remote view that calls functions which write. */
static bool
foreign_scan_shows(ForeignScanState *node)
{
	const ForeignScan *plan = (const ForeignScan *) node->ss.ps.plan;

	return plan->operation != CMD_SELECT ||
		expression_shows((Node *) plan->fdw_exprs) ||
		(shuttle_server_routine_is_ours(node->fdwroutine) &&
		 shuttle_scan_effect(node) == SHUTTLE_MAY_WRITE);
}

/*
 * A data-modifying WITH query: all its rows are written in any case, and the
 * statement's snapshot sees none; but triggers might show. The triggers of
 * partitions that rows are routed to are not known yet.
 */
static bool
writes_show(const ModifyTableState *node)
{
	const ModifyTable *plan = (const ModifyTable *) node->ps.plan;

	for (int i = 0; i < node->mt_nrels; i++)
	{
		const ResultRelInfo *table = &node->resultRelInfo[i];

		if (table->ri_TrigDesc != NULL ||
			table->ri_RelationDesc->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			return true;
	}
	return expression_shows((Node *) plan->returningLists) ||
		expression_shows((Node *) plan->withCheckOptionLists) ||
		expression_shows((Node *) plan->onConflictSet) ||
		expression_shows(plan->onConflictWhere) ||
		plan->mergeActionLists != NIL;
}

/* True if a node has effects apart from its target list and conditions, or is
 * of an unknown type. */
static bool
own_work_shows(PlanState *node)
{
	Plan	   *plan = node->plan;

	if ((shuttle_plan_facts(plan) & SHUTTLE_ONLY_COMPUTES) != 0)
		return false;
	switch (nodeTag(plan))
	{
		case T_SampleScan:
			return expression_shows((Node *) ((SampleScan *) plan)->tablesample);
		case T_FunctionScan:
			return functions_show((FunctionScan *) plan);
		case T_ValuesScan:
			return expression_shows((Node *) ((ValuesScan *) plan)->values_lists);
		case T_ForeignScan:
			return foreign_scan_shows((ForeignScanState *) node);
		case T_CustomScan:
			return !shuttle_node_is_look_ahead(node) && !shuttle_node_is_routed_append(node);
		case T_Result:
			return expression_shows(((Result *) plan)->resconstantqual);
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
			return expression_shows((Node *) ((Join *) plan)->joinqual);
		case T_ModifyTable:
			return writes_show((ModifyTableState *) node);
		case T_WindowAgg:
			return expression_shows(((WindowAgg *) plan)->startOffset) ||
				expression_shows(((WindowAgg *) plan)->endOffset) ||
				expression_shows((Node *) ((WindowAgg *) plan)->runCondition);
		case T_Limit:
			return expression_shows(((Limit *) plan)->limitOffset) ||
				expression_shows(((Limit *) plan)->limitCount);
		default:
			return true;
	}
}

static bool
node_shows(PlanState *node)
{
	return expression_shows((Node *) node->plan->targetlist) ||
		expression_shows((Node *) node->plan->qual) || own_work_shows(node);
}

/* An initplan of a node above runs when an expression first needs it; perhaps
 * one below outer. */
static bool
initplans_show(PlanState *outer)
{
	const ParamExecData *params = outer->state->es_param_exec_vals;
	int			id = -1;

	while ((id = bms_next_member(outer->plan->extParam, id)) >= 0)
	{
		const SubPlanState *initplan = (const SubPlanState *) params[id].execPlan;

		if (initplan != NULL &&
			shuttle_outer_shows_effects(initplan->planstate))
			return true;
	}
	return false;
}

bool
shuttle_outer_shows_effects(PlanState *outer)
{
	return shuttle_plan_any_node(outer, node_shows) || initplans_show(outer);
}
