/*-------------------------------------------------------------------------
 * subquery_joins.c
 *	  Scalar subqueries of WHERE that compute an aggregate for each row, as joins.
 *
 * In
 *		SELECT .. FROM t WHERE t.x > (SELECT avg(u.y) FROM u WHERE u.k = t.k)
 * core evaluates the subquery row by row. If u is on nodes, that is a request
 * for each row, or for each batch of rows at best. The same answer has
 *		SELECT .. FROM t, (SELECT u.k, avg(u.y) AS y FROM u GROUP BY u.k) g
 *		WHERE t.k = g.k AND t.x > g.y
 * Core chooses the order of joins, nodes compute the groups, and batched joins
 * ask for the groups of a batch of keys (inner_groups.c). In an UPDATE or DELETE
 * the rows that match are then sent to the node by key (keyed_writes.c), and no
 * others are locked.
 *
 * The answers are equal if
 * - the subquery gives NULL for no rows, and the comparison is strict: a row
 *	 without a group is not in the answer in either form. So count() stays.
 * - its value does not depend on the order of rows, as sums of floats do
 * - grouping and correlation agree about which keys are equal, so that a row has
 *	 one group at most
 * - the groups that no row asks for cannot raise an error that the statement
 *	 would not raise otherwise
 *
 * Source: W. Kim, "On optimizing an SQL-like nested query", ACM TODS 7(3), 1982,
 * type JA; without its fault about count(), for which see above.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "planner/facts/node_reads.h"
#include "planner/rewrite/rewrite.h"
#include "planner/rewrite/subqueries.h"

/* A comparison with a subquery. */
typedef struct Compared
{
	OpExpr	   *comparison;
	int			argument;		/* number of the subquery's side */
	Query	   *subquery;
	List	   *conditions;		/* of the subquery's WHERE, without .. */
	List	   *correlations;	/* .. these, an equality of a column each */
} Compared;

/* ---- correlation */

static bool
is_column(Node *node, Index level)
{
	if (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var) && ((Var *) node)->varlevelsup == level && ((Var *) node)->varattno > 0;
}

/* The number of the subquery's column in column = column of the query above; -1:
 * another condition. */
static int
find_own_side(const OpExpr *condition)
{
	if (!IsA(condition, OpExpr) || list_length(condition->args) != 2)
		return -1;
	for (int i = 0; i < 2; i++)
	{
		if (is_column(list_nth(condition->args, i), 0) &&
			is_column(list_nth(condition->args, 1 - i), 1))
			return i;
	}
	return -1;
}

/* True if the operator finds equal what GROUP BY of its argument own does. */
static bool
equals_as_groups(const OpExpr *condition, int own)
{
	Node	   *column = list_nth(condition->args, own);
	Oid			equal;
	ListCell   *cell;

	if (!op_mergejoinable(condition->opno, exprType(linitial(condition->args))) ||
		!op_strict(condition->opno) || !shuttle_is_deterministic(condition->inputcollid) ||
		!shuttle_is_deterministic(exprCollation(column)))
		return false;
	get_sort_group_operators(exprType(column), false, false, false, NULL, &equal, NULL, NULL);
	foreach(cell, get_mergejoin_opfamilies(condition->opno))
	{
		if (OidIsValid(equal) && op_in_opfamily(equal, lfirst_oid(cell)))
			return true;
	}
	return false;
}

static List *
add_conjuncts(List *conjuncts, Node *condition)
{
	ListCell   *cell;

	if (condition == NULL)
		return conjuncts;
	if (!is_andclause(condition))
		return lappend(conjuncts, condition);
	foreach(cell, ((BoolExpr *) condition)->args)
		conjuncts = add_conjuncts(conjuncts, lfirst(cell));
	return conjuncts;
}

/* Sorts the subquery's conditions into both lists. Returns false if it depends on
 * the query above in another way. */
static bool
take_conditions_apart(Compared *compared)
{
	Query	   *subquery = compared->subquery;
	Node	   *where = subquery->jointree->quals;
	bool		depends;
	ListCell   *cell;

	foreach(cell, add_conjuncts(NIL, where))
	{
		OpExpr	   *condition = lfirst(cell);
		int			own = find_own_side(condition);

		if (own >= 0 && equals_as_groups(condition, own))
			compared->correlations = lappend(compared->correlations, condition);
		else if (contain_vars_of_level((Node *) condition, 1))
			return false;
		else
			compared->conditions = lappend(compared->conditions, condition);
	}
	subquery->jointree->quals = NULL;
	depends = contain_vars_of_level((Node *) subquery, 1);
	subquery->jointree->quals = where;
	return !depends && compared->correlations != NIL;
}

/* ---- which comparisons */

static bool
reads_nodes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return shuttle_node_has_table((RangeTblEntry *) node);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_nodes, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads_nodes, context);
}

/* True of a subquery whose rows are secured, so that the order matters in which
 * conditions are looked at; and of one that locks rows. */
static bool
is_secured(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->securityQuals != NIL ||
			((RangeTblEntry *) node)->security_barrier;
	if (IsA(node, Query))
		return ((Query *) node)->rowMarks != NIL ||
			query_tree_walker((Query *) node, is_secured, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, is_secured, context);
}

static bool
reads_with_queries(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_CTE)
			return true;
	}
	return false;
}

/* True of SELECT of one value of all rows FROM .. WHERE .. */
static bool
is_plain_aggregate(const Query *query)
{
	return query->commandType == CMD_SELECT && query->hasAggs && query->cteList == NIL &&
		query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == NULL &&
		!query->hasWindowFuncs && !query->hasTargetSRFs && query->distinctClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL &&
		query->setOperations == NULL && list_length(query->targetList) == 1 &&
		shuttle_subquery_is_null_for_no_rows(linitial(query->targetList));
}

/* Looks for a subquery that can be joined on one side of a condition of WHERE. */
static bool
find_subquery(const Query *query, Node *condition, Compared *compared)
{
	OpExpr	   *comparison = (OpExpr *) condition;

	if (!IsA(condition, OpExpr) || list_length(comparison->args) != 2)
		return false;
	*compared = (Compared)
	{
		.comparison = comparison
	};
	for (int i = 0; i < 2; i++)
	{
		SubLink    *link = list_nth(comparison->args, i);

		if (!IsA(link, SubLink) || link->subLinkType != EXPR_SUBLINK)
			continue;
		compared->argument = i;
		compared->subquery = castNode(Query, link->subselect);
	}
	return compared->subquery != NULL && op_strict(comparison->opno) &&
		get_op_index_interpretation(comparison->opno) != NIL && shuttle_is_deterministic(comparison->inputcollid) &&
		is_plain_aggregate(compared->subquery) &&
		!checkExprHasSubLink(list_nth(comparison->args, 1 - compared->argument)) &&
		!contain_volatile_functions(condition) && !is_secured((Node *) compared->subquery, NULL) &&
		(reads_with_queries(compared->subquery) || reads_nodes((Node *) compared->subquery, NULL)) &&
		!shuttle_subquery_may_fail(query, compared->subquery) && take_conditions_apart(compared);
}

/* ---- the join */

/* Adds a column that is grouped by. */
static void
add_group(Query *subquery, Node *column)
{
	SortGroupClause *group = makeNode(SortGroupClause);
	AttrNumber	number = list_length(subquery->targetList) + 1;
	TargetEntry *entry = makeTargetEntry((Expr *) column, number, psprintf("key%d", number - 1),
										 false);

	group->tleSortGroupRef = entry->ressortgroupref = number;
	get_sort_group_operators(exprType(column), false, true, false, &group->sortop, &group->eqop,
							 NULL, &group->hashable);
	subquery->targetList = lappend(subquery->targetList, entry);
	subquery->groupClause = lappend(subquery->groupClause, group);
}

static Index
add_to_from(Query *query, Query *subquery)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *reference = makeNode(RangeTblRef);
	ListCell   *cell;

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = subquery;
	rte->alias = makeAlias("subquery_groups", NIL);
	rte->eref = makeAlias("subquery_groups", NIL);
	foreach(cell, subquery->targetList)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(lfirst_node(TargetEntry, cell)->resname));
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	reference->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, reference);
	return reference->rtindex;
}

static Var *
column_of(const Query *query, Index rtindex, AttrNumber number)
{
	const Query *subquery = rt_fetch(rtindex, query->rtable)->subquery;
	Node	   *value = (Node *) list_nth_node(TargetEntry, subquery->targetList, number - 1)->expr;

	return makeVar(rtindex, number, exprType(value), exprTypmod(value), exprCollation(value), 0);
}

/* Returns the conditions that replace the comparison. */
static List *
join_subquery(Query *query, Compared *compared)
{
	Query	   *subquery = compared->subquery;
	AttrNumber	number = 1;
	Index		rtindex;
	ListCell   *cell;

	linitial_node(TargetEntry, subquery->targetList)->resname = "value";
	subquery->jointree->quals = (Node *) make_ands_explicit(compared->conditions);
	foreach(cell, compared->correlations)
		add_group(subquery, list_nth(((OpExpr *) lfirst(cell))->args, find_own_side(lfirst(cell))));
	rtindex = add_to_from(query, subquery);
	lfirst(list_nth_cell(compared->comparison->args, compared->argument)) =
		column_of(query, rtindex, number);
	foreach(cell, compared->correlations)
	{
		OpExpr	   *condition = lfirst(cell);
		int			own = find_own_side(condition);

		IncrementVarSublevelsUp(list_nth(condition->args, 1 - own), -1, 1);
		lfirst(list_nth_cell(condition->args, own)) = column_of(query, rtindex, ++number);
	}
	return lappend(compared->correlations, compared->comparison);
}

/* True of a SELECT, and of UPDATE and DELETE of rows on nodes: a row that another
 * transaction changes meanwhile is compared again by the node, which has the
 * value that was computed before. Rows here would be joined again by core, with
 * the same value; without the join core would compute it anew. Asked last: it looks at
 * each partition. */
static bool
may_join(const Query *query)
{
	return query->commandType == CMD_SELECT ||
		((query->commandType == CMD_UPDATE || query->commandType == CMD_DELETE) &&
		 shuttle_node_has_table(rt_fetch(query->resultRelation, query->rtable)));
}

static void
join_subqueries(Query *query)
{
	List	   *conditions = NIL;
	bool		joined = false;
	ListCell   *cell;

	foreach(cell, add_conjuncts(NIL, query->jointree->quals))
	{
		Compared	compared;

		if (find_subquery(query, lfirst(cell), &compared) && may_join(query))
		{
			conditions = list_concat(conditions, join_subquery(query, &compared));
			joined = true;
		}
		else
			conditions = lappend(conditions, lfirst(cell));
	}
	if (joined)
		query->jointree->quals = (Node *) make_ands_explicit(conditions);
}

static bool
join_on_all_levels(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, join_on_all_levels, context);
	(void) shuttle_walk_queries_below(query, join_on_all_levels, context);
	if (query->hasSubLinks && query->rowMarks == NIL)
		join_subqueries(query);
	return false;
}

PlannedStmt *
shuttle_subquery_joins_plan(Query *query, ShuttlePlanCall call)
{
	if (shuttle_settings.enable_subquery_joins)
		(void) join_on_all_levels((Node *) query, NULL);
	return shuttle_plan_rest(query, call);
}
