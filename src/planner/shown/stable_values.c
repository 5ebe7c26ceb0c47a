/*-------------------------------------------------------------------------
 * stable_values.c
 *	  Stable expressions without columns, computed here and sent as values.
 *
 * postgres_fdw ships no stable function: now() on the node would differ. But
 * without columns the expression has one value for the whole statement. In
 * quals and in expressions over groups it is replaced by a stand-in, a Param,
 * before postgres_fdw looks at them. The finished scan gets the expression
 * back: in fdw_exprs, in its target list, or in a local qual.
 *
 * The value is computed when the scan sends its request, even if no row would
 * need it. So it must not be able to raise an error, unless it is one side of
 * a qual: there PostgreSQL may also compute it early, for an index scan.
 *
 * Selectivities are estimated from the original expressions and cached in the
 * RestrictInfo first.
 *
 * Stand-ins are numbered per query level, upwards from INT_MIN; those of
 * outer_values.c count down from -1.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "base/shuttle_compat_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_memo.h"
#include "planner/shown/shown.h"

/* The number of the first stand-in. */
#define FIRST_STAND_IN INT_MIN

/* The stable values of a query level. */
typedef struct StableValues
{
	PlannerInfo *root;
	List	   *values;			/* in root->planner_cxt */
} StableValues;

/* NULL if there are none and create is false. */
static StableValues *
get_values(PlannerInfo *root, bool create)
{
	List	   *key = list_make1_int(FIRST_STAND_IN);
	StableValues *stable = shuttle_planning_memo_find(root, NULL, key);

	if (stable == NULL && create)
	{
		stable = MemoryContextAllocZero(root->planner_cxt, sizeof(StableValues));
		stable->root = root;
		shuttle_planning_memo_add(root, NULL, key, stable);
	}
	list_free(key);
	return stable;
}

/* True of an expression that has one value for the statement and that
 * postgres_fdw would not ship. */
static bool
is_stable_value(PlannerInfo *root, Node *node)
{
	return shuttle_outer_value_is_replaceable(node) && contain_mutable_functions(node) &&
		bms_is_empty(pull_varnos(root, node)) && !contain_agg_clause(node);
}

static Node *
make_stand_in(Node *node, StableValues *stable)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, stable->values)
	{
		if (equal(lfirst(lc), node))
			break;
		i++;
	}
	if (lc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(stable->root->planner_cxt);

		stable->values = lappend(stable->values, copyObject(node));
		MemoryContextSwitchTo(old);
	}
	return (Node *) shuttle_outer_value_make_stand_in(node, FIRST_STAND_IN + i);
}

/* Replaces the largest stable values that cannot raise errors by stand-ins. */
static Node *
stand_in_mutator(Node *node, StableValues *stable)
{
	if (node == NULL || shuttle_is_json_part(node))
		return node;
	if (is_stable_value(stable->root, node) && shuttle_safe_value_is_safe(node))
		return make_stand_in(node, stable);
	if (shuttle_outer_value_refers_inside(node))
		return node;
	return expression_tree_mutator(node, stand_in_mutator, stable);
}

/* The arguments of an operator qual; NULL: it is none. */
static List **
sides_of(Node *condition)
{
	if (IsA(condition, OpExpr))
		return &((OpExpr *) condition)->args;
	if (IsA(condition, ScalarArrayOpExpr))
		return &((ScalarArrayOpExpr *) condition)->args;
	return NULL;
}

/* The same for a qual, whose sides may be any stable values. */
static Node *
stand_in_condition(Node *condition, StableValues *stable)
{
	List	  **sides = sides_of(condition);
	List	   *replaced = NIL;
	ListCell   *lc;

	if (sides == NULL)
		return stand_in_mutator(condition, stable);
	foreach(lc, *sides)
	{
		Node	   *side = lfirst(lc);

		replaced = lappend(replaced, is_stable_value(stable->root, side) ?
						   make_stand_in(side, stable) :
						   stand_in_mutator(side, stable));
	}
	condition = copyObject(condition);
	*sides_of(condition) = replaced;
	return condition;
}

/* Replaces stand-ins by their expressions. */
static Node *
value_mutator(Node *node, StableValues *stable)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		int64		i = (int64) ((Param *) node)->paramid - FIRST_STAND_IN;

		if (i < list_length(stable->values))
			return copyObject(list_nth(stable->values, i));
	}
	return expression_tree_mutator(node, value_mutator, stable);
}

Node *
shuttle_stable_stand_in(PlannerInfo *root, Node *node)
{
	if (!contain_mutable_functions(node))
		return node;
	return stand_in_mutator(node, get_values(root, true));
}

Node *
shuttle_stable_put_back(PlannerInfo *root, Node *node)
{
	StableValues *stable = get_values(root, false);

	return stable == NULL ? node : value_mutator(node, stable);
}

void
shuttle_stable_in_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		Node	   *replaced = (Node *) clause->clause;

		if (!clause->pseudoconstant)
			replaced = shuttle_shown_expression(replaced, true);
		if (!clause->pseudoconstant && contain_mutable_functions(replaced))
			replaced = stand_in_condition(replaced, get_values(root, true));
		if (replaced != (Node *) clause->clause)
		{
			RestrictInfo *copy = makeNode(RestrictInfo);

			(void) clause_selectivity(root, (Node *) clause, 0, JOIN_INNER, NULL);
			*copy = *clause;
			copy->clause = (Expr *) replaced;
			copy->orclause = NULL;
			clause = copy;
		}
		clauses = lappend(clauses, clause);
	}
	rel->baserestrictinfo = clauses;
}
