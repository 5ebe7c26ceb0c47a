/*-------------------------------------------------------------------------
 * two_steps.c
 *	  Aggregates in two steps: GROUPING SETS, ROLLUP and CUBE, and DISTINCT aggregates
 *	  beside others, over tables on nodes.
 *
 * Core has no partial aggregation below grouping sets, and none of DISTINCT aggregates. So
 *		SELECT a, b, avg(x), count(DISTINCT y) FROM t GROUP BY ROLLUP (a, b)
 * is planned a second time, as
 *		SELECT a, b, sum(s) / sum(n), count(DISTINCT y) FROM
 *			(SELECT a, b, y, sum(x) AS s, count(x) AS n FROM t GROUP BY a, b, y) g
 *		GROUP BY ROLLUP (a, b)
 * whose subquery nodes can compute (partial_aggregates.c), and one of the plans is taken by
 * cost: the groups of the first step may be as many as rows. Without grouping sets, and if all
 * aggregates are DISTINCT, partial_aggregates.c does it at once.
 *
 * The other aggregates are those whose results can be combined to exactly their own one; sums
 * of floats are rounded differently in the last digit, as with the order of rows
 * (step_aggregates.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/node_reads.h"
#include "planner/facts/planning_settings.h"
#include "planner/group/group.h"
#include "planner/rewrite/rewrite.h"
#include "planner/rewrite/subqueries.h"
#include "planner/rewrite/two_steps.h"
#include "planner/router/router.h"

/* Two steps are taken up to this part of the other plan's cost. In TPC-DS most costs differ
 * by less than 0.5 %: where far more rows come than were expected, as after conditions on
 * several tables, that hides what groups save, and to group in vain costs little. */
#define MAY_COST 1.02

/* Fewer rows are fetched sooner than planned again. */
#define FEW_ROWS 100

/* ---- which queries */

static bool
returns_rows(const Query *query)
{
	return !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->distinctClause == NIL && query->limitCount == NULL;
}

/* False if a table is surely not on nodes; partitions are not looked at. */
static bool
may_be_on_nodes(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION &&
		(rte->relkind == RELKIND_FOREIGN_TABLE || rte->relkind == RELKIND_PARTITIONED_TABLE);
}

typedef bool (*TableTest) (const RangeTblEntry *rte);

/* True if the query's rows are those of tables on nodes, not of groups of them. */
static bool
reads_rows_of_nodes(const Query *query, TableTest is_on_nodes)
{
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (is_on_nodes(rte) ||
			(rte->rtekind == RTE_SUBQUERY && returns_rows(rte->subquery) &&
			 reads_rows_of_nodes(rte->subquery, is_on_nodes)))
			return true;
	}
	return false;
}

/* Which aggregates an expression has. */
typedef struct Kinds
{
	List	   *values;			/* of DISTINCT ones */
	List	   *others;			/* Aggrefs */
} Kinds;

static bool
add_kinds(Node *node, void *context)
{
	const Aggref *aggregate = (const Aggref *) node;
	Kinds	   *kinds = context;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, add_kinds, context);
	if (aggregate->aggdistinct != NIL)
		kinds->values = lappend(kinds->values,
								linitial_node(TargetEntry, aggregate->args)->expr);
	else
		kinds->others = lappend(kinds->others, node);
	return false;
}

/* True of min() and the like of the values of a DISTINCT aggregate. */
static bool
is_of_values(const Kinds *kinds, const Aggref *aggregate)
{
	return list_length(aggregate->args) == 1 && aggregate->aggfilter == NULL &&
		list_member(kinds->values, linitial_node(TargetEntry, aggregate->args)->expr) &&
		shuttle_grouping_is_extreme(aggregate->aggfnoid);
}

/* True of a query that core and partial_aggregates.c cannot compute in part. */
static bool
needs_steps(const Query *query)
{
	Kinds		kinds = {0};
	ListCell   *cell;

	if (query->groupingSets != NIL)
		return query->groupClause != NIL;
	if (!query->hasAggs)
		return false;
	(void) add_kinds((Node *) query->targetList, &kinds);
	(void) add_kinds(query->havingQual, &kinds);
	if (kinds.values == NIL)
		return false;
	foreach(cell, kinds.others)
	{
		if (!is_of_values(&kinds, lfirst_node(Aggref, cell)))
			return true;
	}
	return false;
}

/* True of a subquery that would stay behind, without what it refers to. */
static bool
keeps_subqueries(const Query *query)
{
	return query->hasSubLinks && (checkExprHasSubLink(query->limitCount) ||
								  checkExprHasSubLink(query->limitOffset) ||
								  checkExprHasSubLink((Node *) query->windowClause));
}

static bool
may_have_steps(Query *query, TableTest is_on_nodes)
{
	return query->commandType == CMD_SELECT && needs_steps(query) && query->rowMarks == NIL &&
		!query->hasTargetSRFs && !query->hasModifyingCTE && !keeps_subqueries(query) &&
		reads_rows_of_nodes(query, is_on_nodes) &&
		!contain_volatile_functions((Node *) query);
}

static bool
any_may_have_steps(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, any_may_have_steps, context);
	return may_have_steps(query, may_be_on_nodes) ||
		shuttle_walk_queries_below(query, any_may_have_steps, context);
}

/* ---- the two steps */

static void
find_grouping(ShuttleSteps *steps)
{
	ListCell   *cell;

	foreach(cell, steps->query->rtable)
	{
		if (shuttle_is_grouping(lfirst_node(RangeTblEntry, cell)))
			steps->grouping = foreach_current_index(cell) + 1;
	}
}

/* The columns behind the entry of the groups' columns; NIL: there is none. */
static List *
grouping_columns(const ShuttleSteps *steps)
{
	return steps->grouping == 0 ? NIL :
		shuttle_group_columns(rt_fetch(steps->grouping, steps->query->rtable));
}

/* Returns false if a group is a constant, which core does not tell from others. */
static bool
find_groups(ShuttleSteps *steps)
{
	ListCell   *cell;

	steps->clauses = copyObject(steps->query->groupClause);
	foreach(cell, steps->query->groupClause)
	{
		Node	   *group = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell),
													 steps->query->targetList);

		if (IsA(group, Var) && ((Var *) group)->varlevelsup == 0 &&
			((Var *) group)->varno == steps->grouping)
			group = list_nth(grouping_columns(steps), ((Var *) group)->varattno - 1);
		if (!contain_vars_of_level(group, 0))
			return false;
		steps->groups = lappend(steps->groups, group);
	}
	steps->ngroups = list_length(steps->groups);
	return true;
}

/* An entry that nothing refers to. */
static RangeTblEntry *
make_unused_entry(void)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RESULT;
	rte->eref = makeAlias("unused", NIL);
	return rte;
}

/* Makes the first step of a copy of the query. */
static void
make_first_step(const ShuttleSteps *steps, Query *first)
{
	ListCell   *cell;

	first->groupClause = steps->clauses;
	first->targetList = NIL;
	foreach(cell, steps->groups)
	{
		AttrNumber	number = foreach_current_index(cell) + 1;
		TargetEntry *entry = makeTargetEntry(copyObject(lfirst(cell)), number,
											 psprintf("group%d", number), false);

		entry->ressortgroupref =
			list_nth_node(SortGroupClause, steps->clauses, number - 1)->tleSortGroupRef;
		first->targetList = lappend(first->targetList, entry);
	}
	foreach(cell, steps->partials)
	{
		AttrNumber	number = list_length(first->targetList) + 1;

		first->targetList = lappend(first->targetList,
									makeTargetEntry(copyObject(lfirst(cell)), number,
													psprintf("part%d", number), false));
	}
	if (steps->grouping != 0)
		lfirst(list_nth_cell(first->rtable, steps->grouping - 1)) = make_unused_entry();
	shuttle_forget_grouping(first);
	first->hasAggs = steps->partials != NIL;
	first->groupingSets = first->windowClause = first->distinctClause = first->sortClause = NIL;
	first->groupDistinct = first->hasWindowFuncs = first->hasDistinctOn = false;
	first->havingQual = first->limitOffset = first->limitCount = NULL;
	IncrementVarSublevelsUp((Node *) first, 1, 1);

	/* what grouping sets prevented */
	if (shuttle_planning_copies())
		shuttle_union_joins_move(first);
}

/* Lets the query select from its first step. */
static void
select_from(const ShuttleSteps *steps, Query *first)
{
	Query	   *query = steps->query;
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *reference = makeNode(RangeTblRef);
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		if (!shuttle_is_grouping(lfirst_node(RangeTblEntry, cell)))
			lfirst(cell) = make_unused_entry();
	}
	foreach(cell, grouping_columns(steps))
		lfirst(cell) = shuttle_step_group(steps, steps->ngroups, lfirst(cell));
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = first;
	rte->alias = makeAlias("all_groups", NIL);
	rte->eref = makeAlias("all_groups", NIL);
	foreach(cell, first->targetList)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(lfirst_node(TargetEntry, cell)->resname));
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	Assert(list_length(query->rtable) == steps->first);
	reference->rtindex = steps->first;
	query->jointree = makeFromExpr(list_make1(reference), NULL);
	query->cteList = NIL;		/* nothing else refers to them */
	query->hasSubLinks = query->hasRecursive = false;
}

/* Divides a query into two steps. Returns false if that is impossible. */
static bool
divide(Query *query)
{
	ShuttleSteps steps = {.query = query,.first = list_length(query->rtable) + 1};
	Query	   *first = copyObject(query);
	Node	   *targets;
	Node	   *having;

	find_grouping(&steps);
	if (!find_groups(&steps))
		return false;
	(void) shuttle_step_add_distinct((Node *) query->targetList, &steps);
	(void) shuttle_step_add_distinct(query->havingQual, &steps);
	targets = shuttle_step_replace((Node *) query->targetList, &steps);
	having = shuttle_step_replace(query->havingQual, &steps);
	if (steps.failed)
		return false;
	make_first_step(&steps, first);
	query->targetList = (List *) targets;
	query->havingQual = having;
	select_from(&steps, first);
	return true;
}

static bool
divide_on_all_levels(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, divide_on_all_levels, context);
	(void) shuttle_walk_queries_below(query, divide_on_all_levels, context);
	if (may_have_steps(query, shuttle_node_has_table))
		*((bool *) context) |= divide(query);
	return false;
}

/* ---- the plans */

/* The most rows that a plan is expected to aggregate. */
static double
most_aggregated(Plan *plan)
{
	double		most = 0;
	Plan	  **child;

	if (plan == NULL)
		return 0;
	if (IsA(plan, Agg))
		most = outerPlan(plan)->plan_rows;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		most = Max(most, most_aggregated(*child));
	return most;
}

static bool
aggregates_few(const PlannedStmt *statement)
{
	double		most = most_aggregated(statement->planTree);
	ListCell   *cell;

	foreach(cell, statement->subplans)
		most = Max(most, most_aggregated(lfirst(cell)));
	return most < FEW_ROWS;
}

static bool
scans_nodes(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

PlannedStmt *
shuttle_two_steps_plan(Query *query, ShuttlePlanCall call)
{
	bool		divided = false;
	Query	   *other;
	PlannedStmt *at_once;
	PlannedStmt *in_steps;

	if (query->commandType != CMD_SELECT || !shuttle_settings.enable_storage_aggregate ||
		!any_may_have_steps((Node *) query, NULL))
		return shuttle_plan_rest(query, call);
	other = copyObject(query);
	at_once = shuttle_plan_rest(query, call);
	if (!scans_nodes(at_once) || aggregates_few(at_once))
		return at_once;
	(void) divide_on_all_levels((Node *) other, &divided);
	if (!divided)
		return at_once;
	in_steps = shuttle_plan_rest(other, call);
	ereport(DEBUG1,
			(errmsg_internal("aggregates cost %.0f in two steps, %.0f at once",
							 in_steps->planTree->total_cost, at_once->planTree->total_cost)));
	return in_steps->planTree->total_cost < MAY_COST * at_once->planTree->total_cost ?
		in_steps : at_once;
}
