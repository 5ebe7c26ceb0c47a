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
#include "executor/executor_types.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

struct ShuttleParameters
{
	int			n;
	ExprState **exprs;
	FmgrInfo   *output;
	const char **values;
	ShuttlePrintNeed need;		/* settings needed to print them */
};

static bool collect_exec_params(Node *node, Bitmapset **params);
static bool aggregates_values(Node *node, void *context);

ShuttleParameters *
shuttle_parameters_create(List *expressions, PlanState *parent)
{
	ShuttleParameters *parameters;
	ListCell   *cell;
	int			n = list_length(expressions);

	if (n == 0)
		return NULL;

	parameters = palloc0_object(ShuttleParameters);
	parameters->n = n;
	parameters->exprs = palloc_array(ExprState *, n);
	parameters->output = palloc0_array(FmgrInfo, n);
	parameters->values = palloc0_array(const char *, n);
	foreach(cell, expressions)
	{
		Expr	   *expr = lfirst(cell);
		int			i = foreach_current_index(cell);
		Oid			function;
		bool		is_varlena;

		parameters->exprs[i] = ExecInitExpr(expr, parent);
		parameters->need = Max(parameters->need,
							   shuttle_print_need(exprType((Node *) expr)));
		getTypeOutputInfo(exprType((Node *) expr), &function, &is_varlena);
		fmgr_info(function, &parameters->output[i]);
	}
	return parameters;
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
		values[i] = ExecEvalExpr(parameters->exprs[i], econtext, &nulls[i]);

	/* only now: expressions are evaluated under the user's settings */
	nestlevel = shuttle_transmission_begin(parameters->need);
	for (int i = 0; i < parameters->n; i++)
		parameters->values[i] = nulls[i] ? NULL :
			OutputFunctionCall(&parameters->output[i], values[i]);
	shuttle_transmission_end(nestlevel);
	MemoryContextSwitchTo(old_cxt);
	return parameters->values;
}

bool
shuttle_has_literals(const ForeignScan *scan)
{
	ListCell   *lc;

	foreach(lc, scan->fdw_exprs)
	{
		if (IsA(lfirst(lc), Const))
			return true;
	}
	return false;
}

Bitmapset *
shuttle_exec_params(List *expressions)
{
	Bitmapset  *params = NULL;

	(void) collect_exec_params((Node *) expressions, &params);
	return params;
}

static bool
collect_exec_params(Node *node, Bitmapset **params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*params = bms_add_member(*params, ((Param *) node)->paramid);
	return expression_tree_walker(node, collect_exec_params, params);
}

bool
shuttle_aggregates_values(Node *expression)
{
	return aggregates_values(expression, NULL);
}

static bool
aggregates_values(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return shuttle_exec_params(list_make1(node)) != NULL &&
			!contain_var_clause(node);
	return expression_tree_walker(node, aggregates_values, context);
}
