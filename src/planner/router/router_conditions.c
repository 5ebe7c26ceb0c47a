/*-------------------------------------------------------------------------
 * router_conditions.c
 *	  The conditions "left = right", and "left is one of these constants", that all
 *	  rows of a query meet.
 *
 * The condition of an outer join restricts its nullable side only; and
 * conditions inside a nullable side restrict only that side. MERGE is an outer
 * join, too.
 *
 * Rule: equality is the operator's of a built-in type, with a deterministic
 * collation, so that equal values have equal hashes.
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_expressions.h"
#include "planner/router/router.h"

/* Longer lists are hardly ever of one node. */
#define MOST_CONSTANTS 64

static bool
is_equality(Oid operator, const List *args, Oid collation)
{
	return list_length(args) == 2 && operator < FirstGenbkiObjectId &&
		op_mergejoinable(operator, exprType(linitial(args))) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

static bool
is_equality_operator(const Node *node)
{
	const OpExpr *operator = (const OpExpr *) node;

	return IsA(node, OpExpr) &&
		is_equality(operator->opno, operator->args, operator->inputcollid);
}

static void
add_equality(List **equalities, Node *left, Node *right, Relids restricts)
{
	ShuttleEquality *equality = palloc_object(ShuttleEquality);

	equality->left = left;
	equality->right = right;
	equality->restricts = restricts;
	*equalities = lappend(*equalities, equality);
}

/* ---- one of several constants */

/* The elements of an array constant that are not NULL; NIL: there are none, or too many. */
static List *
elements_of(const Const *array)
{
	ArrayType  *values = array->constisnull ? NULL : DatumGetArrayTypeP(array->constvalue);
	List	   *elements = NIL;
	Datum	   *datums;
	bool	   *nulls;
	int			nvalues;
	int16		length;
	bool		by_value;
	char		align;

	if (values == NULL ||
		ArrayGetNItems(ARR_NDIM(values), ARR_DIMS(values)) > MOST_CONSTANTS)
		return NIL;
	get_typlenbyvalalign(ARR_ELEMTYPE(values), &length, &by_value, &align);
	deconstruct_array(values, ARR_ELEMTYPE(values), length, by_value, align, &datums, &nulls,
					  &nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		if (!nulls[i])
			elements = lappend(elements, makeConst(ARR_ELEMTYPE(values), -1, array->constcollid,
												   length, datums[i], false, by_value));
	}
	return elements;
}

/* True of anything but constants and casts that cannot fail. */
static bool
is_computed(Node *node, void *context)
{
	if (node == NULL || IsA(node, Const))
		return false;
	if (IsA(node, FuncExpr) ? ((FuncExpr *) node)->funcformat != COERCE_IMPLICIT_CAST &&
		!get_func_leakproof(((FuncExpr *) node)->funcid) :
		!IsA(node, List) && !IsA(node, RelabelType) && !IsA(node, ArrayExpr) &&
		!IsA(node, ArrayCoerceExpr) && !IsA(node, CaseTestExpr))
		return true;
	return expression_tree_walker(node, is_computed, context);
}

bool
shuttle_router_may_fail(Node *value)
{
	return !IsA(value, List) && is_computed(value, NULL) && !shuttle_expression_has(value, SHUTTLE_HAS_PARAM) &&
		!contain_mutable_functions(value);
}

/* Nothing else is computed here, since that may fail where core would not compute it:
 * beside a condition that is false, or in a CTE that nobody reads. */
static Node *
fold(Node *value)
{
	return is_computed(value, NULL) ? value : eval_const_expressions(NULL, value);
}

/* Adds a constant to a list; false if it is none. No row equals NULL. */
static bool
add_constant(List **constants, Node *value)
{
	value = fold(value);
	if (!IsA(value, Const) || list_length(*constants) == MOST_CONSTANTS)
		return false;
	if (!((Const *) value)->constisnull)
		*constants = lappend(*constants, value);
	return true;
}

/* The constants of "left = ANY (constants)"; NIL: it is something else. */
static List *
constants_of_any(const ScalarArrayOpExpr *any)
{
	Node	   *array = lsecond(any->args);

	if (!any->useOr || !is_equality(any->opno, any->args, any->inputcollid))
		return NIL;
	array = fold(array);
	return IsA(array, Const) ? elements_of((Const *) array) : NIL;
}

/* The constants of "left = c1 OR left = c2"; NIL: it is something else. */
static List *
constants_of_or(const BoolExpr *clause, Node **left)
{
	List	   *constants = NIL;
	ListCell   *lc;

	*left = NULL;
	foreach(lc, clause->args)
	{
		const OpExpr *operator = lfirst(lc);

		if (!is_equality_operator((Node *) operator) ||
			(*left != NULL && !equal(linitial(operator->args), *left)) ||
			!add_constant(&constants, lsecond(operator->args)))
			return NIL;
		*left = linitial(operator->args);
	}
	return constants;
}

/* ---- collecting */

static bool
is_false(const Node *condition)
{
	const Const *value = (const Const *) condition;

	return IsA(value, Const) && !value->constisnull && !DatumGetBool(value->constvalue);
}

/* Collects equalities among AND-ed conditions. Core does not compute what is behind one
 * that is false. */
static void
add_conditions(List **equalities, Node *condition, Relids restricts)
{
	List	   *constants = NIL;
	Node	   *left = NULL;
	ListCell   *lc;

	if (condition == NULL)
		return;
	if (is_andclause(condition))
	{
		foreach(lc, ((BoolExpr *) condition)->args)
		{
			if (is_false(lfirst(lc)))
				break;
			add_conditions(equalities, lfirst(lc), restricts);
		}
	}
	else if (is_equality_operator(condition))
		add_equality(equalities, linitial(((OpExpr *) condition)->args),
					 lsecond(((OpExpr *) condition)->args), restricts);
	else if (IsA(condition, ScalarArrayOpExpr))
	{
		left = linitial(((ScalarArrayOpExpr *) condition)->args);
		constants = constants_of_any((ScalarArrayOpExpr *) condition);
	}
	else if (is_orclause(condition))
		constants = constants_of_or((BoolExpr *) condition, &left);
	if (constants != NIL)
		add_equality(equalities, left, (Node *) constants, restricts);
}

static Relids
both(Relids a, Relids b)
{
	return a == NULL ? b : bms_intersect(a, b);
}

/* Collects the conditions of a join tree. restricts: what they may restrict;
 * NULL: all. */
static void
add_join_tree(List **equalities, Node *node, Relids restricts)
{
	JoinExpr   *join = (JoinExpr *) node;
	Relids		left = restricts;
	Relids		right = restricts;
	ListCell   *lc;

	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			add_join_tree(equalities, lfirst(lc), restricts);
		add_conditions(equalities, ((FromExpr *) node)->quals, restricts);
		return;
	}
	if (!IsA(node, JoinExpr))
		return;
	if (join->jointype != JOIN_INNER && join->jointype != JOIN_LEFT)
		left = both(restricts, shuttle_tables_below(join->larg));
	if (join->jointype != JOIN_INNER && join->jointype != JOIN_RIGHT)
		right = both(restricts, shuttle_tables_below(join->rarg));
	add_join_tree(equalities, join->larg, left);
	add_join_tree(equalities, join->rarg, right);
	if (join->jointype == JOIN_INNER)
		add_conditions(equalities, join->quals, restricts);
	else if (join->jointype == JOIN_LEFT)
		add_conditions(equalities, join->quals, right);
	else if (join->jointype == JOIN_RIGHT)
		add_conditions(equalities, join->quals, left);
}

/* Its condition restricts the target's rows; the source's, too, if those without a match
 * do not count. */
static void
add_merge(List **equalities, const Query *query)
{
	Relids		restricts = NULL;
	ListCell   *lc;

	foreach(lc, query->mergeActionList)
	{
		if (!MERGE_IS_MATCHED(lfirst_node(MergeAction, lc)))
			restricts = bms_make_singleton(query->resultRelation);
	}
	foreach(lc, query->jointree->fromlist)
		add_join_tree(equalities, lfirst(lc), NULL);
	add_conditions(equalities, MERGE_CONDITION(query), restricts);
}

List *
shuttle_router_equalities(const Query *query)
{
	List	   *equalities = NIL;

	if (query->commandType == CMD_MERGE)
		add_merge(&equalities, query);
	else if (query->jointree != NULL)
		add_join_tree(&equalities, (Node *) query->jointree, NULL);
	return equalities;
}

static Relids
nullable_below(Node *node)
{
	JoinExpr   *join = (JoinExpr *) node;
	Relids		nullable = NULL;
	ListCell   *lc;

	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			nullable = bms_join(nullable, nullable_below(lfirst(lc)));
	}
	if (!IsA(node, JoinExpr))
		return nullable;
	nullable = bms_join(nullable_below(join->larg), nullable_below(join->rarg));
	if (join->jointype != JOIN_INNER && join->jointype != JOIN_LEFT)
		nullable = bms_add_members(nullable, shuttle_tables_below(join->larg));
	if (join->jointype != JOIN_INNER && join->jointype != JOIN_RIGHT)
		nullable = bms_add_members(nullable, shuttle_tables_below(join->rarg));
	return nullable;
}

Relids
shuttle_router_nullable(const Query *query)
{
	return query->jointree == NULL ? NULL : nullable_below((Node *) query->jointree);
}
