/*-------------------------------------------------------------------------
 * parameters.c
 *	  Expressions that are sent to a storage node as $1, $2, ...
 *
 * Rule: values are printed under the transmission settings, never under the
 * user's (trap 5).
 *
 * Memory: the struct lives in the context it was created in (the query's), the
 * texts in the expression context's per-tuple memory.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_expressions.h"
#include "executor/executor_types.h"
#include "executor/facts/parameters.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

struct ShuttleParameters
{
	int			n;
	const Expr **expressions;
	ExprState **states;
	FmgrInfo   *output;
	const char **values;
	ShuttlePrintNeed need;		/* settings needed to print them */
};

static bool aggregates_values(Node *node, void *context);

ShuttleParameters *
shuttle_parameters_describe(const List *expressions)
{
	ShuttleParameters *parameters;
	const ListCell *cell;
	int			n = list_length(expressions);

	if (n == 0)
		return NULL;

	parameters = palloc0_object(ShuttleParameters);
	parameters->n = n;
	parameters->expressions = palloc0_array(const Expr *, n);
	parameters->states = palloc0_array(ExprState *, n);
	parameters->output = palloc0_array(FmgrInfo, n);
	parameters->values = palloc0_array(const char *, n);
	foreach(cell, expressions)
	{
		Oid			type = exprType(lfirst(cell));
		Oid			function;
		bool		is_varlena;

		parameters->need = Max(parameters->need, shuttle_row_print_need(type));
		getTypeOutputInfo(type, &function, &is_varlena);
		fmgr_info(function, &parameters->output[foreach_current_index(cell)]);
	}
	return parameters;
}

void
shuttle_parameters_bind(ShuttleParameters *parameters, const List *expressions, PlanState *parent)
{
	const ListCell *cell;

	foreach(cell, expressions)
	{
		int			i = foreach_current_index(cell);

		parameters->expressions[i] = lfirst(cell);
		parameters->states[i] = shuttle_parameters_prepare(lfirst(cell), parent);
	}
}

ShuttleParameters *
shuttle_parameters_create(List *expressions, PlanState *parent)
{
	ShuttleParameters *parameters = shuttle_parameters_describe(expressions);
	ListCell   *cell;

	foreach(cell, expressions)
		parameters->states[foreach_current_index(cell)] = ExecInitExpr(lfirst(cell), parent);
	return parameters;
}

/* A parameter of the statement is there, unless somebody (as PL/pgSQL) computes it. */
static const ParamExternData *
find_value(const Expr *expression, const ParamListInfo params)
{
	const Param *param = (const Param *) expression;

	if (!IsA(param, Param) || param->paramkind != PARAM_EXTERN || params == NULL || params->paramFetch != NULL ||
		params->paramCompile != NULL || param->paramid <= 0 || param->paramid > params->numParams ||
		params->params[param->paramid - 1].ptype != param->paramtype)
		return NULL;
	return &params->params[param->paramid - 1];
}

ExprState *
shuttle_parameters_prepare(Expr *expression, PlanState *parent)
{
	if (IsA(expression, Const) || find_value(expression, parent->state->es_param_list_info) != NULL)
		return NULL;
	return ExecInitExpr(expression, parent);
}

Datum
shuttle_parameters_value(const Expr *expression, ExprState *state, ExprContext *econtext, bool *is_null)
{
	const ParamExternData *value;

	if (state != NULL)
		return ExecEvalExpr(state, econtext, is_null);
	if (IsA(expression, Const))
	{
		*is_null = ((const Const *) expression)->constisnull;
		return ((const Const *) expression)->constvalue;
	}
	value = find_value(expression, econtext->ecxt_param_list_info);
	*is_null = value->isnull;
	return value->value;
}

int
shuttle_parameters_count(const ShuttleParameters *parameters)
{
	return parameters == NULL ? 0 : parameters->n;
}

const char *const *
shuttle_parameters_evaluate(ShuttleParameters *parameters,
							ExprContext *econtext)
{
	MemoryContext old_cxt;
	Datum	   *values;
	bool	   *nulls;
	int			nestlevel;

	if (parameters == NULL)
		return NULL;

	old_cxt = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	values = palloc_array(Datum, parameters->n);
	nulls = palloc_array(bool, parameters->n);
	for (int i = 0; i < parameters->n; i++)
		values[i] = shuttle_parameters_value(parameters->expressions[i], parameters->states[i], econtext, &nulls[i]);

	/* only now: expressions are evaluated under the user's settings */
	nestlevel = shuttle_row_transmission_begin(parameters->need);
	for (int i = 0; i < parameters->n; i++)
		parameters->values[i] = nulls[i] ? NULL :
			OutputFunctionCall(&parameters->output[i], values[i]);
	shuttle_row_transmission_end(nestlevel);
	MemoryContextSwitchTo(old_cxt);
	return parameters->values;
}

bool
shuttle_parameters_are_literals(const ForeignScan *scan)
{
	ListCell   *lc;

	foreach(lc, scan->fdw_exprs)
	{
		if (IsA(lfirst(lc), Const))
			return true;
	}
	return false;
}

bool
shuttle_parameters_are_aggregated(Node *expression)
{
	return aggregates_values(expression, NULL);
}

static bool
aggregates_values(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return shuttle_expression_has(node, SHUTTLE_HAS_PLAN_PARAM) &&
			!contain_var_clause(node);
	return expression_tree_walker(node, aggregates_values, context);
}
