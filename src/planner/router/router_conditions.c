/*-------------------------------------------------------------------------
 * router_conditions.c
 *	  The conditions "left = right" that all rows of a query meet.
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
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "planner/router/router.h"

static bool
is_equality(const OpExpr *operator)
{
	return list_length(operator->args) == 2 &&
		operator->opno < FirstGenbkiObjectId &&
		op_mergejoinable(operator->opno, exprType(linitial(operator->args))) &&
		(!OidIsValid(operator->inputcollid) ||
		 get_collation_isdeterministic(operator->inputcollid));
}

/* Collects equalities among AND-ed conditions. */
static void
add_conditions(List **equalities, Node *condition, Relids restricts)
{
	ListCell   *lc;

	if (condition == NULL)
		return;
	if (is_andclause(condition))
	{
		foreach(lc, ((BoolExpr *) condition)->args)
			add_conditions(equalities, lfirst(lc), restricts);
	}
	else if (IsA(condition, OpExpr) && is_equality((OpExpr *) condition))
	{
		ShuttleEquality *equality = palloc_object(ShuttleEquality);

		equality->left = linitial(((OpExpr *) condition)->args);
		equality->right = lsecond(((OpExpr *) condition)->args);
		equality->restricts = restricts;
		*equalities = lappend(*equalities, equality);
	}
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
shuttle_route_equalities(const Query *query)
{
	List	   *equalities = NIL;

	if (query->commandType == CMD_MERGE)
		add_merge(&equalities, query);
	else if (query->jointree != NULL)
		add_join_tree(&equalities, (Node *) query->jointree, NULL);
	return equalities;
}
