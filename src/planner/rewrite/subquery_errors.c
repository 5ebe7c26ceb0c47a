/*-------------------------------------------------------------------------
 * subquery_errors.c
 *	  What a subquery computes for rows that nobody asked for.
 *
 * Conditions and values are known to be harmless function by function: what is not
 * known may raise an error. See subquery_joins.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/group/group.h"
#include "planner/rewrite/subqueries.h"

/* ---- the subquery's value */

/* Exact, so that the order of rows makes no difference, and NULL for no rows. */
static bool
is_exact_sum(const Aggref *aggregate)
{
	static const char *const names[] = {
		"avg", "stddev", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp", "variance"
	};
	Oid			type = linitial_oid(aggregate->aggargtypes);
	const char *name;

	if (type != INT2OID && type != INT4OID && type != INT8OID && type != NUMERICOID)
		return false;
	name = get_func_name(aggregate->aggfnoid);
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool
is_safe_aggregate(const Aggref *aggregate)
{
	return aggregate->agglevelsup == 0 && aggregate->aggkind == AGGKIND_NORMAL &&
		aggregate->aggfnoid < FirstUnpinnedObjectId && aggregate->aggfilter == NULL &&
		aggregate->aggdistinct == NIL && aggregate->aggorder == NIL &&
		list_length(aggregate->args) == 1 && shuttle_is_deterministic(aggregate->inputcollid) &&
		(shuttle_grouping_is_extreme(aggregate->aggfnoid) || is_exact_sum(aggregate));
}

static bool
is_known_not_zero(Node *node)
{
	const Const *value = (const Const *) eval_const_expressions(NULL, node);

	return IsA(value, Const) && value->consttype == NUMERICOID && !value->constisnull &&
		!DatumGetBool(DirectFunctionCall2(numeric_eq, value->constvalue,
										  NumericGetDatum(int64_to_numeric(0))));
}

/* Strict functions that do not fail for values of the size that tables have. */
static bool
is_safe_function(Oid function, const List *arguments)
{
	switch (function)
	{
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_UMINUS:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return true;
		case F_NUMERIC_DIV:
			return is_known_not_zero(lsecond(arguments));
		default:
			return false;
	}
}

static bool is_safe_value(Node *node, bool inside, bool *aggregated);

static bool
are_safe_values(const List *nodes, bool inside, bool *aggregated)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		if (!is_safe_value(lfirst(cell), inside, aggregated))
			return false;
	}
	return true;
}

/* True if a value is NULL if an aggregate in it is, and cannot raise an error;
 * inside: of an aggregate's argument. Sets *aggregated if there is an aggregate. */
static bool
is_safe_value(Node *node, bool inside, bool *aggregated)
{
	switch (nodeTag(node))
	{
		case T_Const:
			return true;
		case T_Var:
			return inside && ((Var *) node)->varlevelsup == 0 && ((Var *) node)->varattno > 0;
		case T_RelabelType:
			return is_safe_value((Node *) ((RelabelType *) node)->arg, inside, aggregated);
		case T_TargetEntry:
			return is_safe_value((Node *) ((TargetEntry *) node)->expr, inside, aggregated);
		case T_FuncExpr:
			return is_safe_function(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args) &&
				are_safe_values(((FuncExpr *) node)->args, inside, aggregated);
		case T_OpExpr:
			set_opfuncid((OpExpr *) node);
			return is_safe_function(((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args) &&
				are_safe_values(((OpExpr *) node)->args, inside, aggregated);
		case T_Aggref:
			*aggregated = true;
			return !inside && is_safe_aggregate((Aggref *) node) &&
				are_safe_values(((Aggref *) node)->args, true, aggregated);
		default:
			return false;
	}
}

bool
shuttle_subquery_is_null_for_no_rows(TargetEntry *entry)
{
	bool		aggregated = false;

	return is_safe_value((Node *) entry->expr, false, &aggregated) && aggregated;
}

/* ---- errors */

/* True if core computes a call while it plans. */
static bool
is_folded(Node *call)
{
	return !shuttle_expression_has(call, SHUTTLE_HAS_COLUMN | SHUTTLE_HAS_PARAM | SHUTTLE_HAS_SUBLINK) && !contain_mutable_functions(call);
}

static bool
may_call_fail(Node *call, Oid function, const List *arguments)
{
	return !is_safe_function(function, arguments) && !is_folded(call) &&
		!shuttle_safe_value_is_safe(call);
}

static bool
is_safe_anywhere(const Aggref *aggregate)
{
	return aggregate->aggfnoid == F_COUNT_ || aggregate->aggfnoid == F_COUNT_ANY ||
		is_safe_aggregate(aggregate);
}

/* True if an expression or a query may raise an error for a row; an unknown node
 * may. */
static bool
may_fail(Node *node, void *context)
{
	bool		fails;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return query_tree_walker((Query *) node, may_fail, context, 0);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			fails = get_op_index_interpretation(((OpExpr *) node)->opno) == NIL &&
				may_call_fail(node, get_opcode(((OpExpr *) node)->opno), ((OpExpr *) node)->args);
			break;
		case T_ScalarArrayOpExpr:
			fails = get_op_index_interpretation(((ScalarArrayOpExpr *) node)->opno) == NIL;
			break;
		case T_FuncExpr:
			fails = may_call_fail(node, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args);
			break;
		case T_CoerceViaIO:
			fails = !is_folded(node) && !shuttle_safe_value_is_safe(node);
			break;
		case T_Aggref:
			fails = !is_safe_anywhere((Aggref *) node);
			break;
		case T_SubLink:
			fails = ((SubLink *) node)->subLinkType != EXISTS_SUBLINK &&
				((SubLink *) node)->subLinkType != ANY_SUBLINK;
			break;
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_List:
		case T_TargetEntry:
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
		case T_SortGroupClause:
		case T_SetOperationStmt:
			fails = false;
			break;
		default:
			fails = true;
	}
	return fails || expression_tree_walker(node, may_fail, context);
}

/* A WITH query that core does not inline is read as a whole in any case. */
bool
shuttle_subquery_may_fail(const Query *query, const Query *subquery)
{
	ListCell   *cell;

	foreach(cell, subquery->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		ListCell   *other;

		if (rte->rtekind == RTE_CTE && rte->ctelevelsup != 1)
			return true;
		if (rte->rtekind != RTE_CTE)
			continue;
		foreach(other, query->cteList)
		{
			const CommonTableExpr *with = lfirst_node(CommonTableExpr, other);

			if (strcmp(with->ctename, rte->ctename) == 0 && with->cterefcount == 1 &&
				with->ctematerialized != CTEMaterializeAlways && may_fail(with->ctequery, NULL))
				return true;
		}
	}
	return may_fail((Node *) subquery, NULL);
}
