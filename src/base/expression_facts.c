/*-------------------------------------------------------------------------
 * expression_facts.c
 *	  What an expression has in it: one walk for the questions of all rooms.
 *
 * The list of expressions is closed. What PostgreSQL adds, and nobody has looked at, counts as
 * having all that a caller is afraid of.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_meanings.h"

#define FUNCTION_FACTS \
	(SHUTTLE_HAS_ADDED_FUNCTION | SHUTTLE_HAS_VOLATILE_FUNCTION | SHUTTLE_HAS_USERS_STABLE_FUNCTION | \
	 SHUTTLE_HAS_USERS_CODE)

static int
column_facts(const Var *var)
{
	int			facts = SHUTTLE_HAS_COLUMN;

	if (var->varattno == TableOidAttributeNumber)
		facts |= SHUTTLE_HAS_TABLEOID;
	if (var->varattno == MaxTransactionIdAttributeNumber)
		facts |= SHUTTLE_HAS_XMAX;
	if (var->varattno <= MinTransactionIdAttributeNumber && var->varattno >= MaxCommandIdAttributeNumber)
		facts |= SHUTTLE_HAS_XMIN_TO_CMAX;
	return facts;
}

static int
param_facts(const Param *param)
{
	if (param->paramid < 0)
		return SHUTTLE_HAS_STAND_IN_PARAM;
	switch (param->paramkind)
	{
		case PARAM_EXTERN:
			return SHUTTLE_HAS_STATEMENT_PARAM;
		case PARAM_EXEC:
			return SHUTTLE_HAS_PLAN_PARAM;
		case PARAM_MULTIEXPR:
			return SHUTTLE_HAS_MULTIEXPR_PARAM;
		case PARAM_SUBLINK:
			break;
	}
	return SHUTTLE_HAS_SUBLINK_PARAM;
}

/* An expression that PostgreSQL added: all that is asked. */
static int
unknown_facts(const Node *node)
{
	if (shuttle_is_merge_action(node))
		return SHUTTLE_HAS_MERGE_ACTION;
	if (shuttle_is_newer_expression(node))
		return 0;
#ifdef USE_ASSERT_CHECKING
	elog(ERROR, "expression of type %d is not known", (int) nodeTag(node));
#endif
	return ~0;
}

/* What a node of an expression is, apart from its arguments. */
static int
node_facts(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_Var:
			return column_facts((const Var *) node);
		case T_Param:
			return param_facts((const Param *) node);
		case T_Query:
		case T_SubLink:
			return SHUTTLE_HAS_SUBLINK;
		case T_AlternativeSubPlan:
			return SHUTTLE_HAS_ALTERNATIVES;
		case T_Aggref:
		case T_GroupingFunc:
			return SHUTTLE_HAS_AGGREGATE;
		case T_WindowFunc:
			return SHUTTLE_HAS_WINDOW_FUNCTION;
		case T_CaseExpr:
			return SHUTTLE_HAS_CASE;
		case T_CaseTestExpr:
			return SHUTTLE_HAS_CASE_VALUE;
		case T_CoerceToDomainValue:
			return SHUTTLE_HAS_DOMAIN_VALUE;
		case T_SetToDefault:
			return SHUTTLE_HAS_DEFAULT;
		case T_CurrentOfExpr:
			return SHUTTLE_HAS_CURRENT_OF;
		case T_FieldStore:
			return SHUTTLE_HAS_ASSIGNED_PART;
		case T_SubscriptingRef:
			return ((const SubscriptingRef *) node)->refassgnexpr != NULL ? SHUTTLE_HAS_ASSIGNED_PART : 0;
		case T_ArrayCoerceExpr:
		case T_ArrayExpr:
		case T_BooleanTest:
		case T_BoolExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_CoerceToDomain:
		case T_CoerceViaIO:
		case T_CollateExpr:
		case T_Const:
		case T_ConvertRowtypeExpr:
		case T_DistinctExpr:
		case T_FieldSelect:
		case T_FromExpr:
		case T_FuncExpr:
		case T_InferenceElem:
		case T_JoinExpr:
		case T_List:
		case T_MinMaxExpr:
		case T_NamedArgExpr:
		case T_NextValueExpr:
		case T_NullIfExpr:
		case T_NullTest:
		case T_OnConflictExpr:
		case T_OpExpr:
		case T_PlaceHolderVar:
		case T_RangeTblFunction:
		case T_RangeTblRef:
		case T_RelabelType:
		case T_RestrictInfo:
		case T_RowCompareExpr:
		case T_RowExpr:
		case T_ScalarArrayOpExpr:
		case T_SetOperationStmt:
		case T_SortGroupClause:
		case T_SQLValueFunction:
		case T_SubPlan:
		case T_TableFunc:
		case T_TableSampleClause:
		case T_TargetEntry:
		case T_WindowClause:
		case T_WithCheckOption:
		case T_XmlExpr:
			return 0;
		default:
			return unknown_facts(node);
	}
}

static bool
is_users_code(Oid function)
{
	HeapTuple	tuple;
	Oid			language;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language != INTERNALlanguageId && language != ClanguageId;
}

static bool
has_function_fact(Oid function, void *context)
{
	const int  *facts = context;
	char		volatility;

	if (((*facts & SHUTTLE_HAS_ADDED_FUNCTION) && function >= FirstGenbkiObjectId) ||
		((*facts & SHUTTLE_HAS_USERS_CODE) && is_users_code(function)))
		return true;
	if (!(*facts & (SHUTTLE_HAS_VOLATILE_FUNCTION | SHUTTLE_HAS_USERS_STABLE_FUNCTION)))
		return false;
	volatility = func_volatile(function);
	return ((*facts & SHUTTLE_HAS_VOLATILE_FUNCTION) && volatility == PROVOLATILE_VOLATILE) ||
		((*facts & SHUTTLE_HAS_USERS_STABLE_FUNCTION) && volatility == PROVOLATILE_STABLE &&
		 function >= FirstNormalObjectId);
}

/* Facts that look at catalogs are looked for only if they are asked. */
static bool
has_looked_up_fact(Node *node, int facts)
{
	int			of_functions = facts & FUNCTION_FACTS;

	return (of_functions != 0 && check_functions_in_node(node, has_function_fact, &of_functions)) ||
		((facts & SHUTTLE_HAS_KNOWN_HERE_ONLY) && shuttle_meaning_is_known_here_only(node)) ||
		((facts & SHUTTLE_HAS_COMPUTED_OTHERWISE) && shuttle_meaning_is_computed_otherwise(node));
}

static bool
has_walker(Node *node, void *facts)
{
	if (node == NULL)
		return false;
	if ((node_facts(node) & *(int *) facts) || has_looked_up_fact(node, *(int *) facts))
		return true;
	switch (nodeTag(node))
	{
		case T_RestrictInfo:
			return has_walker((Node *) ((RestrictInfo *) node)->clause, facts);
		case T_CaseWhen:		/* PostgreSQL's walker knows it below CASE
								 * only */
			return has_walker((Node *) ((CaseWhen *) node)->expr, facts) ||
				has_walker((Node *) ((CaseWhen *) node)->result, facts);
		default:
			return expression_tree_walker(node, has_walker, facts);
	}
}

bool
shuttle_expression_has(const void *expression, int facts)
{
	return has_walker(unconstify(void *, expression), &facts);
}

/* ---- who may write */

static bool
is_volatile(Oid function)
{
	return OidIsValid(function) && func_volatile(function) == PROVOLATILE_VOLATILE;
}

bool
shuttle_expression_aggregate_is_volatile(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		found;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	found = is_volatile(form->aggtransfn) || is_volatile(form->aggfinalfn) ||
		is_volatile(form->aggcombinefn) || is_volatile(form->aggserialfn) ||
		is_volatile(form->aggdeserialfn) || is_volatile(form->aggmtransfn) ||
		is_volatile(form->aggminvtransfn) || is_volatile(form->aggmfinalfn);
	ReleaseSysCache(tuple);
	return found;
}

static bool
may_write(Oid function, void *arg)
{
	return function >= FirstNormalObjectId &&
		(is_volatile(function) ||
		 (get_func_prokind(function) == PROKIND_AGGREGATE && shuttle_expression_aggregate_is_volatile(function)));
}

static bool writes_walker(Node *node, void *arg);

/* The reference to a domain's checks lives as long as the memory context. */
static bool
domain_may_write(Oid domain)
{
	DomainConstraintRef *checks = palloc_object(DomainConstraintRef);
	ListCell   *cell;

	InitDomainConstraintRef(domain, checks, CurrentMemoryContext, false);
	foreach(cell, checks->constraints)
	{
		if (writes_walker((Node *) ((DomainConstraintState *) lfirst(cell))->check_expr, NULL))
			return true;
	}
	return false;
}

static bool
writes_walker(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, writes_walker, arg, 0);
	if (IsA(node, CoerceToDomain) && domain_may_write(((CoerceToDomain *) node)->resulttype))
		return true;
	return check_functions_in_node(node, may_write, arg) || expression_tree_walker(node, writes_walker, arg);
}

bool
shuttle_expression_may_write(const void *expression)
{
	return writes_walker(unconstify(void *, expression), NULL);
}

/* ---- OLD and NEW */

static bool
old_or_new_walker(Node *node, void *only_old_ctid)
{
	if (node == NULL)
		return false;
	if (*(bool *) only_old_ctid ?
		IsA(node, Var) && ((Var *) node)->varattno == SelfItemPointerAttributeNumber && shuttle_is_of_old((Var *) node) :
		shuttle_is_old_or_new(node))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, old_or_new_walker, only_old_ctid, 0);
	return expression_tree_walker(node, old_or_new_walker, only_old_ctid);
}

bool
shuttle_expression_has_old_or_new(const void *expression)
{
	bool		only_old_ctid = false;

	return old_or_new_walker(unconstify(void *, expression), &only_old_ctid);
}

bool
shuttle_expression_has_old_ctid(const void *expression)
{
	bool		only_old_ctid = true;

	return old_or_new_walker(unconstify(void *, expression), &only_old_ctid);
}

/* ---- parameters */

static bool
collect_params(Node *node, void *params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*(Bitmapset **) params = bms_add_member(*(Bitmapset **) params, ((Param *) node)->paramid);
	return expression_tree_walker(node, collect_params, params);
}

Bitmapset *
shuttle_expression_params(const void *expression)
{
	Bitmapset  *params = NULL;

	(void) collect_params(unconstify(void *, expression), &params);
	return params;
}
