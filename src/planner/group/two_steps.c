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
 * whose subquery nodes can compute (partial_aggregates.c), and the cheaper plan is taken:
 * the groups of the first step may be as many as rows. Without grouping sets, and if all
 * aggregates are DISTINCT, partial_aggregates.c does it at once.
 *
 * The other aggregates are those whose results can be combined to exactly their own one; sums
 * of floats are rounded differently in the last digit, as with the order of rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "planner/group/unions.h"
#include "planner/statement/statement.h"

/* A query with aggregates, and its first step. */
typedef struct Steps
{
	Query	   *query;
	Index		grouping;		/* entry of the groups' columns, since 18; or
								 * 0 */
	List	   *groups;			/* expressions that the first step groups by */
	List	   *clauses;		/* their SortGroupClauses */
	int			ngroups;		/* of these that the query groups by; values
								 * of DISTINCT aggregates follow */
	List	   *partials;		/* Aggrefs that it computes */
	Index		first;			/* its entry in the query */
	bool		failed;			/* something cannot be computed in two steps */
} Steps;

/* ---- which queries */

static bool
returns_rows(const Query *query)
{
	return !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
		query->distinctClause == NIL && query->limitCount == NULL;
}

/* True if the query's rows are those of tables on nodes, not of groups of them. */
static bool
reads_rows_of_nodes(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (shuttle_is_on_nodes(rte) ||
			(rte->rtekind == RTE_SUBQUERY && returns_rows(rte->subquery) &&
			 reads_rows_of_nodes(rte->subquery)))
			return true;
	}
	return false;
}

/* Which aggregates an expression has. */
typedef struct Kinds
{
	bool		distinct;
	bool		other;
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
		kinds->distinct = true;
	else
		kinds->other = true;
	return false;
}

/* True of a query that core and partial_aggregates.c cannot compute in part. */
static bool
needs_steps(const Query *query)
{
	Kinds		kinds = {0};

	if (query->groupingSets != NIL)
		return query->groupClause != NIL;
	if (!query->hasAggs)
		return false;
	(void) add_kinds((Node *) query->targetList, &kinds);
	(void) add_kinds(query->havingQual, &kinds);
	return kinds.distinct && kinds.other;
}

static bool
may_have_steps(Query *query)
{
	return query->commandType == CMD_SELECT && needs_steps(query) && query->rowMarks == NIL &&
		!query->hasTargetSRFs && !query->hasModifyingCTE && reads_rows_of_nodes(query) &&
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
	return may_have_steps(query) ||
		shuttle_walk_queries_below(query, any_may_have_steps, context);
}

/* ---- columns of the first step */

static Var *
column_of_first(const Steps *steps, int number, const Node *value)
{
	return makeVar(steps->first, number, exprType(value), exprTypmod(value),
				   exprCollation(value), 0);
}

/* The column of one of the first n groups; NULL: it is none of them. */
static Var *
group_column(const Steps *steps, int n, Node *group)
{
	for (int i = 0; i < n; i++)
	{
		if (equal(list_nth(steps->groups, i), group))
			return column_of_first(steps, i + 1, group);
	}
	return NULL;
}

static Var *
partial_column(Steps *steps, Aggref *partial)
{
	int			number = list_length(steps->groups) + 1;
	ListCell   *cell;

	foreach(cell, steps->partials)
	{
		if (equal(lfirst(cell), partial))
			return column_of_first(steps, number, (Node *) partial);
		number++;
	}
	steps->partials = lappend(steps->partials, partial);
	return column_of_first(steps, number, (Node *) partial);
}

/* ---- aggregates */

/* The aggregate with another function. */
static Aggref *
with_function(const Aggref *aggregate, Oid function, Oid type)
{
	Aggref	   *other = copyObject((Aggref *) aggregate);

	other->aggfnoid = function;
	other->aggtype = type;
	return other;
}

/* A function of the results of an aggregate in the first step. */
static Node *
over_partial(Steps *steps, Aggref *partial, Oid function, Oid type)
{
	Aggref	   *combined = with_function(partial, function, type);
	Var		   *column = partial_column(steps, partial);

	combined->args = list_make1(makeTargetEntry((Expr *) column, 1, NULL, false));
	combined->aggargtypes = list_make1_oid(column->vartype);
	combined->aggfilter = NULL;
	combined->aggstar = false;
	return (Node *) combined;
}

static Node *
call(Oid function, Oid type, List *arguments)
{
	return (Node *) makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* sum() of bigint is a numeric. */
static Node *
sum_of_integers(Steps *steps, Aggref *partial)
{
	return over_partial(steps, partial, F_SUM_INT8, NUMERICOID);
}

static Node *
combine_count(Steps *steps, Aggref *aggregate)
{
	CoalesceExpr *count = makeNode(CoalesceExpr);
	Node	   *sum = sum_of_integers(steps, copyObject(aggregate));

	/* a set without columns has a group even of no rows */
	count->coalescetype = INT8OID;
	count->args = list_make2(call(F_INT8_NUMERIC, INT8OID, list_make1(sum)),
							 makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
									   Int64GetDatum(0), false, true));
	count->location = -1;
	return (Node *) count;
}

/* As the final functions of core's averages do. */
static Node *
combine_average(Steps *steps, const Aggref *aggregate)
{
	Aggref	   *count = with_function(aggregate, F_COUNT_ANY, INT8OID);
	Node	   *sum;
	Node	   *number = sum_of_integers(steps, count);

	switch (aggregate->aggfnoid)
	{
		case F_AVG_INT2:
			sum = sum_of_integers(steps, with_function(aggregate, F_SUM_INT2, INT8OID));
			break;
		case F_AVG_INT4:
			sum = sum_of_integers(steps, with_function(aggregate, F_SUM_INT4, INT8OID));
			break;
		case F_AVG_INT8:
			sum = over_partial(steps, with_function(aggregate, F_SUM_INT8, NUMERICOID),
							   F_SUM_NUMERIC, NUMERICOID);
			break;
		case F_AVG_NUMERIC:
			sum = over_partial(steps, with_function(aggregate, F_SUM_NUMERIC, NUMERICOID),
							   F_SUM_NUMERIC, NUMERICOID);
			break;
		default:
			sum = over_partial(steps, with_function(aggregate, F_SUM_FLOAT8, FLOAT8OID),
							   F_SUM_FLOAT8, FLOAT8OID);
			return call(F_FLOAT8DIV, FLOAT8OID,
						list_make2(sum, call(F_FLOAT8_NUMERIC, FLOAT8OID, list_make1(number))));
	}
	return call(F_NUMERIC_DIV, NUMERICOID, list_make2(sum, number));
}

/* True of min() and the like: the result is a state, and states are combined as values
 * are added. */
static bool
repeats(const Aggref *aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Form_pg_aggregate form;
	bool		no_start;
	bool		answer;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	(void) SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &no_start);
	answer = no_start && !OidIsValid(form->aggfinalfn) &&
		form->aggcombinefn == form->aggtransfn && list_length(aggregate->args) == 1 &&
		exprType((Node *) linitial_node(TargetEntry, aggregate->args)->expr) == aggregate->aggtype;
	ReleaseSysCache(tuple);
	return answer;
}

/* An unused ressortgroupref. */
static Index
next_reference(const Steps *steps)
{
	Index		largest = 0;
	ListCell   *cell;

	foreach(cell, steps->clauses)
		largest = Max(largest, lfirst_node(SortGroupClause, cell)->tleSortGroupRef);
	return largest + 1;
}

/* A DISTINCT aggregate of values that the first step groups by, too; NULL: impossible. Its
 * columns are numbered before those of aggregates. */
static Node *
keep_distinct(Steps *steps, const Aggref *aggregate)
{
	Aggref	   *kept;
	Node	   *value;
	SortGroupClause *clause;

	if (list_length(aggregate->args) != 1 || aggregate->aggfilter != NULL)
		return NULL;
	value = (Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	if (!contain_vars_of_level(value, 0))
		return NULL;
	if (group_column(steps, list_length(steps->groups), value) == NULL)
	{
		clause = copyObject(linitial_node(SortGroupClause, aggregate->aggdistinct));
		clause->tleSortGroupRef = next_reference(steps);
		steps->clauses = lappend(steps->clauses, clause);
		steps->groups = lappend(steps->groups, value);
	}
	kept = copyObject((Aggref *) aggregate);
	linitial_node(TargetEntry, kept->args)->expr = (Expr *)
		group_column(steps, list_length(steps->groups), value);
	return (Node *) kept;
}

/* Adds the values of DISTINCT aggregates to the groups. */
static bool
add_distinct_values(Node *node, void *context)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, add_distinct_values, context);
	if (aggregate->aggdistinct != NIL && aggregate->agglevelsup == 0)
		(void) keep_distinct(context, aggregate);
	return false;
}

/* The aggregate of all rows, made of what the first step returns; NULL: impossible. */
static Node *
combine(Steps *steps, Aggref *aggregate)
{
	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggvariadic)
		return NULL;
	if (aggregate->aggdistinct != NIL)
		return keep_distinct(steps, aggregate);
	if (aggregate->aggorder != NIL)
		return NULL;
	switch (aggregate->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			return combine_count(steps, aggregate);
		case F_SUM_INT2:
		case F_SUM_INT4:
			return call(F_INT8_NUMERIC, INT8OID,
						list_make1(sum_of_integers(steps, copyObject(aggregate))));
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
			return over_partial(steps, copyObject(aggregate), F_SUM_NUMERIC, NUMERICOID);
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
		case F_AVG_FLOAT8:
			return combine_average(steps, aggregate);
		default:
			if (!repeats(aggregate))
				return NULL;
			return over_partial(steps, copyObject(aggregate), aggregate->aggfnoid,
								aggregate->aggtype);
	}
}

/* Replaces groups and aggregates by what is made of the first step's columns. */
static Node *
replace(Node *node, void *context)
{
	Steps	   *steps = context;
	Node	   *replaced;

	if (node == NULL || steps->failed)
		return node;
	replaced = (Node *) group_column(steps, steps->ngroups, node);
	if (replaced != NULL)
		return replaced;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		replaced = combine(steps, (Aggref *) node);
		steps->failed = replaced == NULL;
		return replaced;
	}
	if (IsA(node, SubLink) ||
		(IsA(node, Var) && ((Var *) node)->varlevelsup == 0 &&
		 ((Var *) node)->varno != steps->grouping))
		steps->failed = true;
	return expression_tree_mutator(node, replace, context);
}

/* ---- the two steps */

static void
find_grouping(Steps *steps)
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
grouping_columns(const Steps *steps)
{
	return steps->grouping == 0 ? NIL :
		shuttle_group_columns(rt_fetch(steps->grouping, steps->query->rtable));
}

/* Returns false if a group is a constant, which core does not tell from others. */
static bool
find_groups(Steps *steps)
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
make_first_step(const Steps *steps, Query *first)
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
}

/* Lets the query select from its first step. */
static void
select_from(const Steps *steps, Query *first)
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
		lfirst(cell) = group_column(steps, steps->ngroups, lfirst(cell));
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
	Steps		steps = {.query = query,.first = list_length(query->rtable) + 1};
	Query	   *first = copyObject(query);
	Node	   *targets;
	Node	   *having;

	find_grouping(&steps);
	if (!find_groups(&steps))
		return false;
	(void) add_distinct_values((Node *) query->targetList, &steps);
	(void) add_distinct_values(query->havingQual, &steps);
	targets = replace((Node *) query->targetList, &steps);
	having = replace(query->havingQual, &steps);
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
	if (may_have_steps(query))
		*((bool *) context) |= divide(query);
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
	(void) divide_on_all_levels((Node *) other, &divided);
	if (!divided)
		return shuttle_plan_rest(query, call);
	at_once = shuttle_plan_rest(query, call);
	in_steps = shuttle_plan_rest(other, call);
	return in_steps->planTree->total_cost < at_once->planTree->total_cost ? in_steps : at_once;
}
