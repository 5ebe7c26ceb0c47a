/*-------------------------------------------------------------------------
 * step_aggregates.c
 *	  Aggregates of all rows, made of aggregates of a first step (two_steps.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "planner/group/unions.h"
#include "planner/rewrite/two_steps.h"

/* ---- columns of the first step */

static Var *
column_of_first(const ShuttleSteps *steps, int number, const Node *value)
{
	return makeVar(steps->first, number, exprType(value), exprTypmod(value),
				   exprCollation(value), 0);
}

Var *
shuttle_step_group(const ShuttleSteps *steps, int n, Node *group)
{
	for (int i = 0; i < n; i++)
	{
		if (equal(list_nth(steps->groups, i), group))
			return column_of_first(steps, i + 1, group);
	}
	return NULL;
}

static Var *
partial_column(ShuttleSteps *steps, Aggref *partial)
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
over_partial(ShuttleSteps *steps, Aggref *partial, Oid function, Oid type)
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
sum_of_integers(ShuttleSteps *steps, Aggref *partial)
{
	return over_partial(steps, partial, F_SUM_INT8, NUMERICOID);
}

static Node *
combine_count(ShuttleSteps *steps, Aggref *aggregate)
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

/* As the final functions of core's averages do. The average of floats is left out: theirs
 * divides without looking for an underflow, as no operator does. */
static Node *
combine_average(ShuttleSteps *steps, const Aggref *aggregate)
{
	Node	   *number = sum_of_integers(steps, with_function(aggregate, F_COUNT_ANY, INT8OID));
	Node	   *sum;

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
		default:
			sum = over_partial(steps, with_function(aggregate, F_SUM_NUMERIC, NUMERICOID),
							   F_SUM_NUMERIC, NUMERICOID);
			break;
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

/* A DISTINCT aggregate of values that the first step groups by, too; NULL: impossible. Its
 * columns are numbered before those of aggregates. */
static Node *
keep_distinct(ShuttleSteps *steps, const Aggref *aggregate)
{
	Aggref	   *kept;
	Node	   *value;
	SortGroupClause *clause;

	if (list_length(aggregate->args) != 1 || aggregate->aggfilter != NULL)
		return NULL;
	value = (Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	if (!contain_vars_of_level(value, 0))
		return NULL;
	if (shuttle_step_group(steps, list_length(steps->groups), value) == NULL)
	{
		clause = copyObject(linitial_node(SortGroupClause, aggregate->aggdistinct));
		clause->tleSortGroupRef = shuttle_grouping_next_reference(NIL, steps->clauses);
		steps->clauses = lappend(steps->clauses, clause);
		steps->groups = lappend(steps->groups, value);
	}
	kept = copyObject((Aggref *) aggregate);
	linitial_node(TargetEntry, kept->args)->expr = (Expr *)
		shuttle_step_group(steps, list_length(steps->groups), value);
	return (Node *) kept;
}

bool
shuttle_step_add_distinct(Node *node, void *context)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, shuttle_step_add_distinct, context);
	if (aggregate->aggdistinct != NIL && aggregate->agglevelsup == 0)
		(void) keep_distinct(context, aggregate);
	return false;
}

/* The aggregate of all rows, made of what the first step returns; NULL: impossible. */
static Node *
combine(ShuttleSteps *steps, Aggref *aggregate)
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
			return combine_average(steps, aggregate);
		default:
			if (!repeats(aggregate))
				return NULL;
			return over_partial(steps, copyObject(aggregate), aggregate->aggfnoid,
								aggregate->aggtype);
	}
}

Node *
shuttle_step_replace(Node *node, void *context)
{
	ShuttleSteps *steps = context;
	Node	   *replaced;

	if (node == NULL || steps->failed)
		return node;
	replaced = (Node *) shuttle_step_group(steps, steps->ngroups, node);
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
	return expression_tree_mutator(node, shuttle_step_replace, context);
}
