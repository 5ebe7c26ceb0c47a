/*-------------------------------------------------------------------------
 * needed_params.c
 *	  Which parameters the first row of a plan node needs in any case.
 *
 * An initplan may be started before its value is asked for if the value will
 * be: an expression that is always evaluated reads it, or pruning at run time
 * does.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat_executor.h"
#include "executor/facts/plan_facts.h"

/* The walker of shuttle_needed_param_is_read(). */
static bool
evaluates_param(Node *node, int *param)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Param:
			return ((Param *) node)->paramkind == PARAM_EXEC &&
				((Param *) node)->paramid == *param;
		case T_BoolExpr:

			/* AND and OR evaluate their first argument in any case. */
			return evaluates_param(linitial(((BoolExpr *) node)->args), param);
		case T_CoalesceExpr:
			return evaluates_param(linitial(((CoalesceExpr *) node)->args), param);
		case T_CaseExpr:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return false;
		default:
			return expression_tree_walker(node, evaluates_param, param);
	}
}

bool
shuttle_needed_param_is_read(Node *expression, int param)
{
	return evaluates_param(expression, &param);
}

/* The input that a node reads first; NULL if it might read none. */
static PlanState *
first_input(PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_AppendState:
			{
				AppendState *append = (AppendState *) node;

				return append->as_nplans > 0 && !shuttle_prunes_at_run_time(append->as_prune_state) ?
					append->appendplans[0] : NULL;
			}
		case T_MergeAppendState:
			{
				MergeAppendState *append = (MergeAppendState *) node;

				return append->ms_nplans > 0 && !shuttle_prunes_at_run_time(append->ms_prune_state) ?
					append->mergeplans[0] : NULL;
			}
		case T_SubqueryScanState:
			return ((SubqueryScanState *) node)->subplan;
		case T_ResultState:
			return ((Result *) node->plan)->resconstantqual == NULL ?
				outerPlanState(node) : NULL;
		case T_LimitState:
			return shuttle_limit_is_zero((LimitState *) node) ? NULL : outerPlanState(node);
		default:
			return outerPlanState(node);
	}
}

bool
shuttle_prunes_at_run_time(const PartitionPruneState *state)
{
	return state != NULL && state->do_exec_prune;
}

/* With several levels of partitions, the lower ones may not be looked at. */
static bool
is_pruned_by(const PartitionPruneState *state, int param)
{
	return shuttle_prunes_at_run_time(state) && bms_is_member(param, state->execparamids) &&
		state->num_partprunedata == 1 &&
		state->partprunedata[0]->num_partrelprunedata == 1;
}

bool
shuttle_needed_param_is_needed(PlanState *node, int param)
{
	Plan	   *plan;

	for (; node != NULL; node = first_input(node))
	{
		plan = node->plan;
		if (shuttle_needed_param_is_read((Node *) plan->targetlist, param) ||
			(plan->qual != NIL &&
			 shuttle_needed_param_is_read(linitial(plan->qual), param)))
			return true;
		if (IsA(plan, ForeignScan) &&
			shuttle_needed_param_is_read((Node *) ((ForeignScan *) plan)->fdw_exprs, param))
			return true;
		if (IsA(plan, Result) && ((Result *) plan)->resconstantqual != NULL &&
			shuttle_needed_param_is_read(linitial((List *) ((Result *) plan)->resconstantqual), param))
			return true;
		if ((IsA(node, AppendState) &&
			 is_pruned_by(((AppendState *) node)->as_prune_state, param)) ||
			(IsA(node, MergeAppendState) &&
			 is_pruned_by(((MergeAppendState *) node)->ms_prune_state, param)))
			return true;
	}
	return false;
}

bool
shuttle_limit_is_zero(LimitState *limit)
{
	Node	   *count = ((Limit *) limit->ps.plan)->limitCount;
	bool		is_null;
	Datum		value;

	if (count == NULL)
		return false;

	/* Only what cannot fail or change may be evaluated before its time. */
	if (!IsA(count, Const) &&
		(!IsA(count, Param) || ((Param *) count)->paramkind != PARAM_EXTERN))
		return false;
	value = ExecEvalExprSwitchContext(limit->limitCount,
									  limit->ps.ps_ExprContext, &is_null);
	return !is_null && DatumGetInt64(value) == 0;
}
