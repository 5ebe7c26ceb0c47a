/*-------------------------------------------------------------------------
 * aggregate_states.c
 *	  Which ordinary aggregates give the transition state of an aggregate.
 *
 * Core combines aggregates by their transition states. Without a final
 * function the result is the state. Other states are made from ordinary
 * aggregates: that of avg(x) from count(x) and sum(x). Sums and sums of
 * squares of exact types are exact, so the state is the one core would have;
 * for floats the rounding may differ in the last digit, as it does with the
 * order of rows. array_agg() and the like, which core cannot combine on all
 * versions, are combined by our own aggregates (collected_aggregates.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_planner.h"
#include "executor/shuttle_executor.h"
#include "planner/group/group.h"
#include "planner/group/unions.h"

static bool find_kind(Aggref *aggregate, ShuttleStateKind *kind);
static List *make_sources(Aggref *aggregate, ShuttleStateKind kind, bool counts_all);
static Aggref *make_source(Aggref *like, Oid function, Oid type, Expr *argument);
static Aggref *without_numbers(Aggref *aggregate);
static Aggref *make_count(Aggref *like, Expr *argument, bool counts_all);
static Expr *widen(Expr *argument, ShuttleStateKind kind);
static Oid	sum_function(Oid type);

/* Functions that return NULL for NULL arguments only. */
static bool
is_plain_arithmetic(Oid function)
{
	switch (function)
	{
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_DIV:
		case F_INT4PL:
		case F_INT4MI:
		case F_INT4MUL:
		case F_INT84PL:
		case F_INT84MI:
		case F_INT84MUL:
		case F_INT48PL:
		case F_INT48MI:
		case F_INT48MUL:
		case F_INT8PL:
		case F_INT8MI:
		case F_INT8MUL:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return true;
		default:
			return false;
	}
}

static bool
all_never_null(const RelOptInfo *input, const List *expressions)
{
	ListCell   *lc;

	foreach(lc, expressions)
	{
		const Node *node = lfirst(lc);
		const Var  *var = (const Var *) node;
		bool		never;

		if (IsA(node, Var))
			never = var->varno == input->relid &&
				shuttle_is_never_null(input, var->varattno);
		else if (IsA(node, Const))
			never = !((const Const *) node)->constisnull;
		else if (IsA(node, OpExpr))
			never = is_plain_arithmetic(((const OpExpr *) node)->opfuncid) &&
				all_never_null(input, ((const OpExpr *) node)->args);
		else
			never = IsA(node, FuncExpr) &&
				is_plain_arithmetic(((const FuncExpr *) node)->funcid) &&
				all_never_null(input, ((const FuncExpr *) node)->args);
		if (!never)
			return false;
	}
	return true;
}

/* True if an aggregate's argument is never NULL. */
static bool
counts_all_rows(const RelOptInfo *input, const Aggref *aggregate)
{
	return list_length(aggregate->args) == 1 && IS_SIMPLE_REL(input) &&
		all_never_null(input,
					   list_make1(linitial_node(TargetEntry, aggregate->args)->expr));
}

ShuttleAggregateState *
shuttle_aggregate_state(const RelOptInfo *input, Aggref *aggregate)
{
	ShuttleAggregateState *state = palloc0_object(ShuttleAggregateState);

	if (aggregate->aggkind != AGGKIND_NORMAL || aggregate->aggdistinct != NIL ||
		aggregate->aggorder != NIL ||
		!(shuttle_collected_has_kind(aggregate, &state->kind) || find_kind(aggregate, &state->kind)))
		return NULL;
	state->partial = makeNode(Aggref);
	*state->partial = *aggregate;
	mark_partial_aggref(state->partial, AGGSPLIT_INITIAL_SERIAL);
	state->sources = make_sources(aggregate, state->kind,
								  counts_all_rows(input, aggregate));
	return state->sources != NIL ? state : NULL;
}

/* Finds the kind of state by the serialization function, or without one by the
 * combine function. */
static bool
find_kind(Aggref *aggregate, ShuttleStateKind *kind)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID,
										ObjectIdGetDatum(aggregate->aggfnoid));
	Form_pg_aggregate form;
	Oid			function;
	bool		found = true;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	function = OidIsValid(form->aggserialfn) ? form->aggserialfn : form->aggcombinefn;

	/*
	 * Without a combine function there are no parts; functions that this
	 * version lacks are InvalidOid below, too.
	 */
	if (!OidIsValid(function))
	{
		ReleaseSysCache(tuple);
		return false;
	}
	switch (function)
	{
		case F_INT4_AVG_COMBINE:
			*kind = SHUTTLE_STATE_INT_AVERAGE;
			break;
		case F_FLOAT8_COMBINE:
			*kind = SHUTTLE_STATE_FLOAT_SQUARES;
			break;
		case F_INT8_AVG_SERIALIZE:
			*kind = SHUTTLE_STATE_INT_SUM;
			break;
		case F_NUMERIC_POLY_SERIALIZE:
			*kind = SHUTTLE_STATE_INT_SQUARES;
			break;
		case F_NUMERIC_AVG_SERIALIZE:
			*kind = SHUTTLE_STATE_NUMERIC_SUM;
			break;
		case F_NUMERIC_SERIALIZE:
			*kind = SHUTTLE_STATE_NUMERIC_SQUARES;
			break;
		case F_INTERVAL_COMBINE:
			*kind = SHUTTLE_STATE_INTERVAL_AVERAGE;
			break;
		case F_INTERVAL_AVG_SERIALIZE:
			*kind = SHUTTLE_STATE_INTERVAL_SUM;
			break;
		default:
			*kind = SHUTTLE_STATE_AS_IS;
			found = !OidIsValid(form->aggfinalfn);
	}
	ReleaseSysCache(tuple);
	if (*kind == SHUTTLE_STATE_AS_IS)
		return found && aggregate->aggtranstype == aggregate->aggtype;
	return list_length(aggregate->args) == 1;
}

/* The aggregates that the node is asked for; NIL: impossible. */
static List *
make_sources(Aggref *aggregate, ShuttleStateKind kind, bool counts_all)
{
	Expr	   *argument;
	Aggref	   *count;
	Aggref	   *sum;
	Oid			type;
	Oid			square;

	if (kind == SHUTTLE_STATE_AS_IS)
		return list_make1(without_numbers(copyObject(aggregate)));
	if (kind == SHUTTLE_STATE_ARRAY || kind == SHUTTLE_STATE_TEXT)
		return list_make1(without_numbers(shuttle_collected_source(aggregate)));

	argument = linitial_node(TargetEntry, aggregate->args)->expr;
	count = make_count(aggregate, argument, counts_all);
	argument = widen(argument, kind);
	type = exprType((Node *) argument);
	if (!OidIsValid(sum_function(type)))
		return NIL;
	sum = make_source(aggregate, sum_function(type),
					  type == INT2OID || type == INT4OID ? INT8OID :
					  type == INT8OID ? NUMERICOID : type, argument);

	switch (kind)
	{
		case SHUTTLE_STATE_FLOAT_SQUARES:
			return list_make3(count, sum,
							  make_source(aggregate, F_VAR_POP_FLOAT8, FLOAT8OID,
										  argument));
		case SHUTTLE_STATE_INT_SQUARES:
		case SHUTTLE_STATE_NUMERIC_SQUARES:
			square = type == INT8OID ? F_INT8MUL : F_NUMERIC_MUL;
			argument = (Expr *) makeFuncExpr(square, type,
											 list_make2(argument, copyObject(argument)),
											 InvalidOid, InvalidOid,
											 COERCE_EXPLICIT_CALL);
			return list_make3(count, sum,
							  make_source(aggregate, sum_function(type), NUMERICOID,
										  argument));
		default:
			return list_make2(count, sum);
	}
}

/* An aggregate that a node computes has no number in this plan. */
static Aggref *
without_numbers(Aggref *aggregate)
{
	aggregate->aggno = -1;
	aggregate->aggtransno = -1;
	return aggregate;
}

/* The aggregate with another function and argument; the filter stays. */
static Aggref *
make_source(Aggref *like, Oid function, Oid type, Expr *argument)
{
	Aggref	   *source = copyObject(like);
	TargetEntry *entry = linitial_node(TargetEntry, source->args);

	entry->expr = copyObject(argument);
	source->aggfnoid = function;
	source->aggtype = type;
	source->aggcollid = InvalidOid;
	source->inputcollid = InvalidOid;
	source->aggtranstype = type;
	source->aggargtypes = list_make1_oid(exprType((Node *) argument));

	return without_numbers(source);
}

/*
 * count(*) instead of count(x) if x is never NULL: shared by all such columns.
 */
static Aggref *
make_count(Aggref *like, Expr *argument, bool counts_all)
{
	Aggref	   *count = make_source(like, counts_all ? F_COUNT_ : F_COUNT_ANY, INT8OID,
									argument);

	if (counts_all)
	{
		count->aggstar = true;
		count->args = NIL;
		count->aggargtypes = NIL;
	}
	return count;
}

/* Casts the argument to a type whose sum or product does not overflow where the
 * state would not. */
static Expr *
widen(Expr *argument, ShuttleStateKind kind)
{
	Oid			from = exprType((Node *) argument);
	Oid			cast = InvalidOid;
	Oid			to = INT8OID;

	if (kind == SHUTTLE_STATE_INT_SQUARES && from == INT2OID)
		cast = F_INT8_INT2;
	else if (kind == SHUTTLE_STATE_INT_SQUARES && from == INT4OID)
		cast = F_INT8_INT4;
	else if (kind == SHUTTLE_STATE_NUMERIC_SQUARES && from == INT8OID)
	{
		cast = F_NUMERIC_INT8;
		to = NUMERICOID;
	}
	else if (kind == SHUTTLE_STATE_FLOAT_SQUARES && from == FLOAT4OID)
	{
		cast = F_FLOAT8_FLOAT4;
		to = FLOAT8OID;
	}
	if (!OidIsValid(cast))
		return argument;
	return (Expr *) makeFuncExpr(cast, to, list_make1(argument), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CAST);
}

static Oid
sum_function(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return F_SUM_INT2;
		case INT4OID:
			return F_SUM_INT4;
		case INT8OID:
			return F_SUM_INT8;
		case FLOAT8OID:
			return F_SUM_FLOAT8;
		case NUMERICOID:
			return F_SUM_NUMERIC;
		case INTERVALOID:
			return F_SUM_INTERVAL;
		default:
			return InvalidOid;
	}
}
