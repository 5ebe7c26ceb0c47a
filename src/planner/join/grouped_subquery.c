/*-------------------------------------------------------------------------
 * grouped_subquery.c
 *	  Subqueries with GROUP BY or DISTINCT, and moving join clauses into
 *	  them.
 *
 * A clause that compares a grouping column with outer values keeps or drops
 * whole groups, so it may be tested below the grouping. The outer values
 * become lateral references. The clause is also checked above, so the copy may
 * only return too many groups, never too few.
 *
 * Core has by then pushed quals of the upper query into its own copy, without
 * recording which. We look for them again, and compare the result with core's
 * copy after both are planned.
 */
#include "postgres.h"

#include <limits.h>

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "planner/join/inner_side.h"

/* State of moving an expression of the upper query into a subquery. */
typedef struct Moving
{
	Index		relid;			/* of the subquery */
	const List *targetlist;
} Moving;

/* Quals in the join tree that use one relation only. */
typedef struct Conditions
{
	Index		relid;
	bool		closed;			/* further quals are checked above an outer
								 * join */
	List	   *found;
} Conditions;

/* ---- which subqueries */

/*
 * True of a query that must not be planned a second time, since it could appear
 * twice in the finished plan or answer differently: with sublinks, WITH, row
 * marks, samples.
 */
static bool
stays_as_it_is_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		return query->hasSubLinks || query->cteList != NIL || query->rowMarks != NIL ||
			query_tree_walker(query, stays_as_it_is_walker, context,
							  QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, stays_as_it_is_walker, context);
}

bool
shuttle_grouped_subquery_is_plain(const RangeTblEntry *rte)
{
	Query	   *query = rte->subquery;

	if (rte->rtekind != RTE_SUBQUERY || rte->inh || query->commandType != CMD_SELECT)
		return false;
	if (query->groupClause == NIL &&
		(query->distinctClause == NIL || query->hasAggs || query->havingQual != NULL))
		return false;
	return query->groupingSets == NIL && query->setOperations == NULL &&
		query->limitCount == NULL && query->limitOffset == NULL &&
		!query->hasWindowFuncs && !query->hasTargetSRFs &&
		!contain_volatile_functions((Node *) query) &&
		!stays_as_it_is_walker((Node *) query, NULL);
}

/* ---- which clauses */

/* True if an operator treats values of one group alike. */
static bool
respects_groups(Oid operator, const SortGroupClause *group)
{
	ListCell   *lc;

	foreach(lc, get_mergejoin_opfamilies(group->eqop))
	{
		if (op_in_opfamily(operator, lfirst_oid(lc)))
			return true;
	}
	return false;
}

/* The SortGroupClause for a column in a list, or NULL. */
static const SortGroupClause *
find_group(const TargetEntry *column, List *clauses)
{
	if (column->ressortgroupref == 0)
		return NULL;
	return get_sortgroupref_clause_noerr(column->ressortgroupref, clauses);
}

/* True if a clause on a column can be tested below a grouping (NIL: none). */
static bool
can_go_below(const OpExpr *clause, const TargetEntry *column, List *grouping)
{
	const SortGroupClause *group;

	if (grouping == NIL)
		return true;
	group = find_group(column, grouping);
	return group != NULL && respects_groups(clause->opno, group);
}

/* The subquery's column that a clause compares with an expression of other
 * relations; or 0. */
static AttrNumber
compared_column(const RelOptInfo *rel, const RestrictInfo *clause)
{
	OpExpr	   *op = (OpExpr *) clause->clause;
	Node	   *side;

	if (!is_opclause(op) || list_length(op->args) != 2)
		return 0;
	if (bms_equal(clause->left_relids, rel->relids) &&
		!bms_overlap(clause->right_relids, rel->relids))
		side = get_leftop(op);
	else if (bms_equal(clause->right_relids, rel->relids) &&
			 !bms_overlap(clause->left_relids, rel->relids))
		side = get_rightop(op);
	else
		return 0;
	while (IsA(side, RelabelType))
		side = (Node *) ((RelabelType *) side)->arg;
	return IsA(side, Var) ? ((Var *) side)->varattno : 0;
}

/* With a nondeterministic collation a group has values that differ, and only
 * above the grouping is it known which of them it shows. */
static bool
collations_agree(const OpExpr *clause, const TargetEntry *column)
{
	Oid			collation = exprCollation((Node *) column->expr);

	return clause->inputcollid == collation &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

static bool
is_on_groups(PlannerInfo *root, const RelOptInfo *rel, const RestrictInfo *clause)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	const OpExpr *op = (const OpExpr *) clause->clause;
	AttrNumber	attribute = compared_column(rel, clause);
	const TargetEntry *column;

	if (attribute <= 0 || contain_subplans((Node *) op) ||
		(rte->security_barrier && contain_leaked_vars((Node *) op)))
		return false;
	column = get_tle_by_resno(rte->subquery->targetList, attribute);
	return column != NULL && collations_agree(op, column) &&
		can_go_below(op, column, rte->subquery->groupClause) &&
		can_go_below(op, column, rte->subquery->distinctClause);
}

List *
shuttle_grouped_subquery_clauses(PlannerInfo *root, RelOptInfo *rel, const List *clauses)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (is_on_groups(root, rel, clause))
			found = lappend(found, clause);
	}
	return found;
}

/* ---- moving */

/* Replaces the subquery's columns by their expressions; other Vars become
 * references one level up. */
static Node *
move_mutator(Node *node, Moving *moving)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varno == moving->relid)
			return copyObject((Node *) get_tle_by_resno((List *) moving->targetlist,
														var->varattno)->expr);
		var->varlevelsup++;
		return (Node *) var;
	}
	node = expression_tree_mutator(node, move_mutator, moving);
	if (IsA(node, PlaceHolderVar))
		((PlaceHolderVar *) node)->phlevelsup++;
	return node;
}

/* As core's pushdown does: planning moves HAVING to WHERE where possible. */
static void
move_into(Query *query, Index relid, Expr *clause)
{
	Moving		moving = {.relid = relid,.targetlist = query->targetList};
	Node	   *moved = move_mutator((Node *) clause, &moving);

	if (query->groupClause != NIL || query->havingQual != NULL)
		query->havingQual = make_and_qual(query->havingQual, moved);
	else
		query->jointree->quals = make_and_qual(query->jointree->quals, moved);
}

/* ---- conditions of the upper query */

static bool
has_placeholder(Node *condition)
{
	ListCell   *lc;

	foreach(lc, pull_var_clause(condition, PVC_INCLUDE_PLACEHOLDERS))
	{
		if (!IsA(lfirst(lc), Var))
			return true;
	}
	return false;
}

static bool
is_of_subquery_alone(PlannerInfo *root, Node *condition, Index relid)
{
	Relids		used = pull_varnos(root, condition);
	int			member;

	return bms_get_singleton_member(used, &member) && member == relid &&
		!contain_subplans(condition) && !has_placeholder(condition);
}

static void
add_conditions(PlannerInfo *root, Node *quals, Conditions *conditions)
{
	ListCell   *lc;

	if (conditions->closed)
		return;
	foreach(lc, (List *) quals)
	{
		if (is_of_subquery_alone(root, lfirst(lc), conditions->relid))
			conditions->found = lappend(conditions->found, lfirst(lc));
	}
}

static bool find_conditions(PlannerInfo *root, Node *node, Conditions *conditions);

static bool
find_conditions_in_join(PlannerInfo *root, const JoinExpr *join, Conditions *conditions)
{
	bool		left = find_conditions(root, join->larg, conditions);
	bool		right = find_conditions(root, join->rarg, conditions);
	bool		filters_left = join->jointype == JOIN_INNER || join->jointype == JOIN_SEMI;

	if (!left && !right)
		return false;
	if (join->jointype != JOIN_FULL && (right || filters_left))
		add_conditions(root, join->quals, conditions);
	if (join->jointype == JOIN_FULL || (right && join->jointype == JOIN_LEFT))
		conditions->closed = true;
	return true;
}

/* Collects quals that are checked before the relation is joined; false if the
 * relation is not below the node. */
static bool
find_conditions(PlannerInfo *root, Node *node, Conditions *conditions)
{
	bool		found = false;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return ((RangeTblRef *) node)->rtindex == conditions->relid;
	if (IsA(node, JoinExpr))
		return find_conditions_in_join(root, (JoinExpr *) node, conditions);
	foreach(lc, castNode(FromExpr, node)->fromlist)
		found = find_conditions(root, lfirst(lc), conditions) || found;
	if (found)
		add_conditions(root, ((FromExpr *) node)->quals, conditions);
	return found;
}

static bool
stays_above(const RelOptInfo *rel, const Node *condition)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (equal(lfirst_node(RestrictInfo, lc)->clause, condition))
			return true;
	}
	return false;
}

/* The quals that core has probably pushed into the subquery; NIL if it had none
 * to push. */
static List *
find_moved(PlannerInfo *root, const RelOptInfo *rel)
{
	Conditions	conditions = {.relid = rel->relid};
	List	   *moved = NIL;
	ListCell   *lc;

	if (rel->baserestrict_min_security == UINT_MAX)
		return NIL;
	(void) find_conditions(root, (Node *) root->parse->jointree, &conditions);
	foreach(lc, conditions.found)
	{
		if (!stays_above(rel, lfirst(lc)))
			moved = lappend(moved, lfirst(lc));
	}
	return moved;
}

/* ---- the copy */

/* As remove_unused_subquery_outputs() does. */
static void
drop_unused_columns(Query *query, const RelOptInfo *rel)
{
	Bitmapset  *used = NULL;
	ListCell   *lc;

	if (query->distinctClause != NIL && !query->hasDistinctOn)
		return;
	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &used);
	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause, rel->relid, &used);
	if (bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, used))
		return;					/* whole-row reference */
	foreach(lc, query->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Node	   *value = (Node *) entry->expr;

		if (entry->ressortgroupref == 0 && !entry->resjunk &&
			!bms_is_member(entry->resno - FirstLowInvalidHeapAttributeNumber, used))
			entry->expr = (Expr *) makeNullConst(exprType(value), exprTypmod(value),
												 exprCollation(value));
	}
}

Query *
shuttle_grouped_subquery_with_clauses(PlannerInfo *root, const RelOptInfo *rel,
									  const List *clauses)
{
	Query	   *query = copyObject(planner_rt_fetch(rel->relid, root)->subquery);
	ListCell   *lc;

	foreach(lc, find_moved(root, rel))
		move_into(query, rel->relid, lfirst(lc));
	foreach(lc, clauses)
		move_into(query, rel->relid, lfirst_node(RestrictInfo, lc)->clause);
	drop_unused_columns(query, rel);
	return query;
}

static bool
has_all(const List *conditions, const List *of)
{
	ListCell   *lc;

	foreach(lc, of)
	{
		if (!list_member(conditions, lfirst(lc)))
			return false;
	}
	return true;
}

bool
shuttle_grouped_subquery_checks_same(const Query *planned, const Query *by_core, int nclauses)
{
	const List *where = (const List *) planned->jointree->quals;
	const List *having = (const List *) planned->havingQual;
	const List *core_where = (const List *) by_core->jointree->quals;
	const List *core_having = (const List *) by_core->havingQual;

	return list_length(where) == list_length(core_where) + nclauses &&
		list_length(having) == list_length(core_having) &&
		has_all(where, core_where) && has_all(having, core_having);
}
