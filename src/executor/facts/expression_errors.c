/*-------------------------------------------------------------------------
 * expression_errors.c
 *	  What evaluating an expression may raise.
 *
 * Reading, comparing, testing and choosing values raises no errors. Built-in
 * functions on ordinary types may raise errors, but hold no resources and have
 * no effects: their errors are caught without a subtransaction. All other
 * functions may run statements, hold locks or have opened something.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/subscripting.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "executor/facts/outer_side.h"
#include "executor/join/join.h"

typedef struct ErrorsContext
{
	PlanState  *node;			/* which evaluates the expression */
	ShuttleErrorsQuestion question;
	ShuttleOuterErrors errors;
} ErrorsContext;

/* ---- types and functions */

static bool
is_time(Oid type)
{
	return type == DATEOID || type == TIMEOID || type == TIMETZOID ||
		type == TIMESTAMPOID || type == TIMESTAMPTZOID || type == INTERVALOID;
}

/* Types whose functions depend only on the values. */
static bool
is_ordinary(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case CHAROID:
		case NAMEOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case OIDOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case BYTEAOID:
		case UUIDOID:
			return true;
		default:
			return is_time(type);
	}
}

static bool
is_ordinary_or_array(Oid type)
{
	Oid			element = get_element_type(type);

	return is_ordinary(OidIsValid(element) ? element : type);
}

static bool
are_ordinary(List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		if (!is_ordinary_or_array(exprType((Node *) lfirst(lc))))
			return false;
	}
	return true;
}

static bool
any_is_time(List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		if (is_time(exprType((Node *) lfirst(lc))))
			return true;
	}
	return false;
}

/* True for built-in C functions that depend only on their arguments, or,
 * with_times, on settings such as TimeZone. */
static bool
is_plain_function(Oid function, bool with_times)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	bool		plain;

	if (function >= FirstGenbkiObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	plain = form->prolang == INTERNALlanguageId &&
		(form->provolatile == PROVOLATILE_IMMUTABLE ||
		 (with_times && form->provolatile == PROVOLATILE_STABLE));
	ReleaseSysCache(tuple);
	return plain;
}

static ShuttleOuterErrors
function_errors(Oid function, List *args, Oid result)
{
	if (are_ordinary(args) && is_ordinary_or_array(result) &&
		is_plain_function(function, is_time(result) || any_is_time(args)))
		return SHUTTLE_RAISES_VALUES;
	return SHUTTLE_RAISES_ANYTHING;
}

/* Casts to wider types, and the like. */
static bool
is_harmless_function(Oid function)
{
	switch (function)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_LENGTH_TEXT:
		case F_LOWER_TEXT:
		case F_UPPER_TEXT:
			return true;
		default:
			return false;
	}
}

/* Comparisons of ordinary types never fail. */
static bool
is_comparison(Oid operator, Oid function, List *args)
{
	ListCell   *lc;

	if (function >= FirstGenbkiObjectId)
		return false;
	foreach(lc, args)
	{
		if (!is_ordinary_or_array(exprType((Node *) lfirst(lc))))
			return false;
	}
	switch (get_oprrest(operator))
	{
		case F_EQSEL:
		case F_NEQSEL:
		case F_SCALARLTSEL:
		case F_SCALARLESEL:
		case F_SCALARGTSEL:
		case F_SCALARGESEL:
			return true;
		default:
			return false;
	}
}

static ShuttleOuterErrors
operator_errors(Oid operator, Oid function, List *args, Oid result)
{
	if (!OidIsValid(function))
		function = get_opcode(operator);
	if (is_comparison(operator, function, args))
		return SHUTTLE_RAISES_NOTHING;
	return function_errors(function, args, result);
}

/* ---- aggregates, subqueries and parameters */

static ShuttleOuterErrors
aggregate_errors(const Aggref *aggregate)
{
	ListCell   *lc;

	if (aggregate->aggfnoid == F_COUNT_ || aggregate->aggfnoid == F_COUNT_ANY)
		return SHUTTLE_RAISES_NOTHING;
	foreach(lc, aggregate->aggargtypes)
	{
		if (!is_ordinary(lfirst_oid(lc)))
			return SHUTTLE_RAISES_ANYTHING;
	}
	if (aggregate->aggfnoid >= FirstGenbkiObjectId)
		return SHUTTLE_RAISES_ANYTHING;
	return SHUTTLE_RAISES_VALUES;
}

/* A SubPlan is rescanned for each evaluation. But its hash table, if an error
 * left it half built, would be taken for complete. */
static ShuttleOuterErrors
subplan_errors(const SubPlan *subplan, const ErrorsContext *context)
{
	PlanState  *plan = list_nth(context->node->state->es_subplanstates,
								subplan->plan_id - 1);
	ShuttleOuterErrors errors = shuttle_outer_errors_of_plan(plan, context->question);

	if (errors == SHUTTLE_RAISES_NOTHING)
	{
		/* more than one row is an error */
		return subplan->subLinkType == EXPR_SUBLINK ||
			subplan->subLinkType == ROWCOMPARE_SUBLINK ?
			SHUTTLE_RAISES_VALUES : SHUTTLE_RAISES_NOTHING;
	}
	if (errors == SHUTTLE_RAISES_VALUES && !subplan->useHashTable && context->question.once)
		return errors;
	return SHUTTLE_RAISES_ANYTHING;
}

/* An initplan that an error has stopped would continue where it was when
 * another expression needs it. */
static ShuttleOuterErrors
param_errors(const Param *param, const ErrorsContext *context)
{
	const ParamExecData *params = context->node->state->es_param_exec_vals;
	const SubPlanState *initplan;
	ShuttleErrorsQuestion again = context->question;

	again.once = false;
	if (param->paramkind != PARAM_EXEC)
		return SHUTTLE_RAISES_NOTHING;
	initplan = (const SubPlanState *) params[param->paramid].execPlan;
	if (initplan == NULL ||
		(initplan->subplan->subLinkType == EXISTS_SUBLINK &&
		 shuttle_outer_errors_of_plan(initplan->planstate, again) == SHUTTLE_RAISES_NOTHING))
		return SHUTTLE_RAISES_NOTHING;
	return SHUTTLE_RAISES_ANYTHING;
}

/* ---- expressions */

/* What an expression node itself may raise, apart from its arguments. */
static ShuttleOuterErrors
own_errors(Node *node, const ErrorsContext *context)
{
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_TargetEntry:
		case T_List:
		case T_NullTest:
		case T_BooleanTest:
		case T_BoolExpr:
		case T_RelabelType:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_RowExpr:
		case T_SQLValueFunction:
		case T_GroupingFunc:
		case T_RangeTblFunction:
			return SHUTTLE_RAISES_NOTHING;
		case T_MinMaxExpr:
			return are_ordinary(((MinMaxExpr *) node)->args) ?
				SHUTTLE_RAISES_NOTHING : SHUTTLE_RAISES_ANYTHING;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return operator_errors(((OpExpr *) node)->opno,
								   ((OpExpr *) node)->opfuncid,
								   ((OpExpr *) node)->args, exprType(node));
		case T_ScalarArrayOpExpr:
			return operator_errors(((ScalarArrayOpExpr *) node)->opno,
								   ((ScalarArrayOpExpr *) node)->opfuncid,
								   ((ScalarArrayOpExpr *) node)->args, BOOLOID);
		case T_FuncExpr:
			if (is_harmless_function(((FuncExpr *) node)->funcid))
				return SHUTTLE_RAISES_NOTHING;
			return function_errors(((FuncExpr *) node)->funcid,
								   ((FuncExpr *) node)->args, exprType(node));
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ArrayExpr:
			return is_ordinary_or_array(exprType(node)) ?
				SHUTTLE_RAISES_VALUES : SHUTTLE_RAISES_ANYTHING;
		case T_SubscriptingRef:
			return is_ordinary(((SubscriptingRef *) node)->refelemtype) ?
				SHUTTLE_RAISES_VALUES : SHUTTLE_RAISES_ANYTHING;
		case T_Aggref:
			return aggregate_errors((Aggref *) node);
		case T_WindowFunc:
			return ((WindowFunc *) node)->winfnoid < FirstGenbkiObjectId &&
				are_ordinary(((WindowFunc *) node)->args) ?
				SHUTTLE_RAISES_VALUES : SHUTTLE_RAISES_ANYTHING;
		case T_SubPlan:
			return subplan_errors((SubPlan *) node, context);
		case T_Param:
			return param_errors((Param *) node, context);
		default:
			return SHUTTLE_RAISES_ANYTHING;
	}
}

/* True for a cast through the text of a type that is not ordinary. */
static bool
reads_texts(const Node *node)
{
	return IsA(node, CoerceViaIO) &&
		!is_ordinary_or_array(exprType((Node *) ((const CoerceViaIO *) node)->arg));
}

static bool
errors_walker(Node *node, ErrorsContext *context)
{
	ShuttleOuterErrors errors;

	if (node == NULL)
		return false;
	errors = reads_texts(node) ? SHUTTLE_RAISES_ANYTHING : own_errors(node, context);
	context->errors = Max(context->errors, errors);
	if (context->errors == SHUTTLE_RAISES_ANYTHING)
		return true;
	return expression_tree_walker(node, errors_walker, context);
}

ShuttleOuterErrors
shuttle_expression_errors(Node *expression, PlanState *node,
						  ShuttleErrorsQuestion question)
{
	ErrorsContext context = {.node = node,.question = question};

	(void) errors_walker(expression, &context);
	return context.errors;
}
