/*-------------------------------------------------------------------------
 * safe_values.c
 *	  Expressions without columns that can be computed before they are
 *	  needed.
 *
 * A value that may not be needed must not raise an error, nor run a user's
 * function. Safe are: the statement's time, names of the session, settings
 * read with missing_ok, and arithmetic on times, which overflows only with
 * intervals of thousands of years.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "executor/shuttle_executor.h"

static bool
is_safe_function(Oid function)
{
	switch (function)
	{
		case F_NOW:
		case F_TRANSACTION_TIMESTAMP:
		case F_STATEMENT_TIMESTAMP:
		case F_CURRENT_DATABASE:
		case F_CURRENT_SCHEMA:
		case F_TEXT_NAME:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
		case F_TIMESTAMPTZ_MI:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMP_MI:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_DATE_MI:
		case F_INTERVAL_PL:
		case F_INTERVAL_MUL:
		case F_DATE_TIMESTAMPTZ:
		case F_DATE_TIMESTAMP:
		case F_TIMESTAMP_DATE:
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_DATE:
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_TIME_TIMESTAMPTZ:
			return true;
		default:
			return false;
	}
}

/* Functions that refuse some texts: safe if the text is a constant. */
static bool
is_safe_of_constant(Oid function)
{
	switch (function)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
		case F_TIMEZONE_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_DATE:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_DATE:
			return true;
		default:
			return false;
	}
}

/* current_setting(name, true): NULL if there is no such setting. */
static bool
is_setting_that_may_miss(Oid function, const List *args)
{
	const Const *missing_ok;

	if (function != F_CURRENT_SETTING_TEXT_BOOL)
		return false;
	missing_ok = (const Const *) lsecond(args);
	return IsA(linitial(args), Const) && IsA(missing_ok, Const) &&
		!missing_ok->constisnull && DatumGetBool(missing_ok->constvalue);
}

static bool
is_safe_call(Oid function, const List *args)
{
	return is_safe_function(function) || is_setting_that_may_miss(function, args) ||
		(is_safe_of_constant(function) && IsA(linitial(args), Const));
}

static bool
is_safe_time(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID ||
		type == INTERVALOID;
}

static bool
unsafe_walker(Node *node, void *context)
{
	bool		sure;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_SQLValueFunction:
		case T_ArrayExpr:
			sure = true;
			break;
		case T_FuncExpr:
			sure = is_safe_call(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
			break;
		case T_OpExpr:
			sure = is_safe_call(get_opcode(((OpExpr *) node)->opno),
								((OpExpr *) node)->args);
			break;
		case T_CoerceViaIO:
			sure = ((CoerceViaIO *) node)->resulttype == TEXTOID &&
				is_safe_time(exprType((Node *) ((CoerceViaIO *) node)->arg));
			break;
		default:
			sure = false;
	}
	return !sure || expression_tree_walker(node, unsafe_walker, context);
}

bool
shuttle_safe_value_is_safe(Node *expression)
{
	return !unsafe_walker(expression, NULL);
}
