/*-------------------------------------------------------------------------
 * shuttle_compat_expressions.h
 *	  Version differences: nodes of expressions.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMPAT_EXPRESSIONS_H
#define SHUTTLE_COMPAT_EXPRESSIONS_H

#include "nodes/parsenodes.h"
#include "parser/parse_func.h"

/* True of JSON_VALUE() and the like, new in 17. */
static inline bool
shuttle_is_json_query(const Node *node)
{
#if PG_VERSION_NUM >= 170000
	return IsA(node, JsonExpr);
#else
	return false;
#endif
}

/* The values that JSON_OBJECT() and its like write as text, new in 16; NIL: it is something else. */
static inline List *
shuttle_json_arguments(const Node *node)
{
#if PG_VERSION_NUM >= 160000
	return IsA(node, JsonConstructorExpr) ? ((const JsonConstructorExpr *) node)->args : NIL;
#else
	return NIL;
#endif
}

/* True of what JSON's expressions have that is no expression itself, new in 16: core's mutators
 * go there, and its walkers know it not. */
static inline bool
shuttle_is_json_part(const Node *node)
{
#if PG_VERSION_NUM >= 160000
	return IsA(node, JsonFormat) || IsA(node, JsonReturning);
#else
	return false;
#endif
}

/* True of merge_action(), new in 17. */
static inline bool
shuttle_is_merge_action(const Node *node)
{
#if PG_VERSION_NUM >= 170000
	return IsA(node, MergeSupportFunc);
#else
	return false;
#endif
}

/* True of other expressions that 15 has not: JSON's of 16 and 17, the conditions that end
 * window functions early of 17, and OLD and NEW of 18. */
static inline bool
shuttle_is_newer_expression(const Node *node)
{
	switch (nodeTag(node))
	{
#if PG_VERSION_NUM >= 160000
		case T_JsonValueExpr:
		case T_JsonConstructorExpr:
		case T_JsonIsPredicate:
#endif
#if PG_VERSION_NUM >= 170000
		case T_JsonExpr:
		case T_JsonBehavior:
		case T_WindowFuncRunCondition:
#endif
#if PG_VERSION_NUM >= 180000
		case T_ReturningExpr:
#endif
			return true;
		default:
			return false;
	}
}

/* OLD and NEW of RETURNING are new in 18: true of a column of one of them, and of what is computed of it. */
static inline bool
shuttle_is_old_or_new(const Node *node)
{
#if PG_VERSION_NUM >= 180000
	return IsA(node, ReturningExpr) ||
		(IsA(node, Var) && ((const Var *) node)->varreturningtype != VAR_RETURNING_DEFAULT);
#else
	return false;
#endif
}

static inline bool
shuttle_is_of_old(const Var *var)
{
#if PG_VERSION_NUM >= 180000
	return var->varreturningtype == VAR_RETURNING_OLD;
#else
	return false;
#endif
}

/* The function or aggregate that the parser finds for arguments of types; InvalidOid: none, or a cast.
 * *declared gets the types that it has for them. */
static inline Oid
shuttle_find_function(List *name, List *args, Oid *types, bool expands_variadic, Oid **declared)
{
	FuncDetailCode code;
	Oid			function;
	Oid			result;
	bool		is_set;
	int			nvariadic;
	Oid			variadic;
	List	   *defaults;
#if PG_VERSION_NUM >= 190000
	int			flags;

	code = func_get_detail(name, args, NIL, list_length(args), types, expands_variadic, true, false, &flags,
						   &function, &result, &is_set, &nvariadic, &variadic, declared, &defaults);
#else

	code = func_get_detail(name, args, NIL, list_length(args), types, expands_variadic, true, false,
						   &function, &result, &is_set, &nvariadic, &variadic, declared, &defaults);
#endif
	return code == FUNCDETAIL_NORMAL || code == FUNCDETAIL_AGGREGATE ? function : InvalidOid;
}

#endif							/* SHUTTLE_COMPAT_EXPRESSIONS_H */
