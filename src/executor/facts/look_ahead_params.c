/*-------------------------------------------------------------------------
 * look_ahead_params.c
 *	  The parameters that are set from a Look Ahead's rows.
 *
 * Their owner, a nested loop or a node with subqueries, sets them for its
 * current row. Look Ahead sets them for later rows, evaluates keys, and
 * restores the old values. These may point to freed memory by then, but the
 * owner sets them before the next use, as it would have without us.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/facts/node_names.h"
#include "executor/join/join.h"

void
shuttle_look_ahead_bind(LookAheadState *look, int param, const Var *var)
{
	ShuttleBinding *binding;

	if (look->nbindings == 0)
		look->bindings = palloc(sizeof(ShuttleBinding));
	else
		look->bindings = repalloc(look->bindings, sizeof(ShuttleBinding) *
								  (look->nbindings + 1));
	binding = &look->bindings[look->nbindings++];
	binding->param = param;
	binding->column = var->varattno;
	binding->type = var->vartype;
}

const ShuttleBinding *
shuttle_look_ahead_binding(const LookAheadState *look, int param)
{
	for (int i = 0; i < look->nbindings; i++)
	{
		if (look->bindings[i].param == param)
			return &look->bindings[i];
	}
	return NULL;
}

bool
shuttle_look_ahead_binds(const LookAheadState *look, Node *expression)
{
	for (int i = 0; i < look->nbindings; i++)
	{
		if (shuttle_node_uses_param(expression, look->bindings[i].param))
			return true;
	}
	return false;
}

void
shuttle_look_ahead_save_params(LookAheadState *look)
{
	ParamExecData *params = look->css.ss.ps.state->es_param_exec_vals;

	for (int i = 0; i < look->nbindings; i++)
		look->saved[i] = params[look->bindings[i].param];
}

void
shuttle_look_ahead_restore_params(LookAheadState *look)
{
	ParamExecData *params = look->css.ss.ps.state->es_param_exec_vals;

	for (int i = 0; i < look->nbindings; i++)
		params[look->bindings[i].param] = look->saved[i];
}

void
shuttle_look_ahead_set_params(LookAheadState *look, TupleTableSlot *row)
{
	ParamExecData *params = look->css.ss.ps.state->es_param_exec_vals;

	for (int i = 0; i < look->nbindings; i++)
	{
		ParamExecData *param = &params[look->bindings[i].param];

		param->execPlan = NULL;
		param->value = slot_getattr(row, look->bindings[i].column,
									&param->isnull);
	}
}
