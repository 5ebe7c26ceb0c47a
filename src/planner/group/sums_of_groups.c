/*-------------------------------------------------------------------------
 * sums_of_groups.c
 *	  How many groups HAVING sum(x) > c leaves at most.
 *
 * Core has no statistics of sums, and expects a third of the groups, however
 * large c is. Joins above then read whole tables for a few groups. The
 * statistics of x tell the mean and the variance of a group's sum, if rows fall
 * into groups at random. By Cantelli's inequality at most var / (var + d * d)
 * of the groups are d or more away from the mean, on one side. That is far more
 * than most sums have so far out, so that groups of unequal sizes do little harm.
 * The estimate is never raised.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "base/shuttle_compat_planner.h"
#include "planner/facts/batch_cost.h"
#include "planner/group/group.h"
#include "planner/scan/remote_paths.h"

/* What a value adds to a sum; NULL adds nothing. */
typedef struct ValueMoments
{
	double		mean;
	double		square;			/* mean of the squares */
	double		share;			/* of all rows */
} ValueMoments;

/* Sets *number; false if the type is none that sum() takes. */
static bool
read_number(Datum value, Oid type, double *number)
{
	switch (type)
	{
		case INT2OID:
			*number = DatumGetInt16(value);
			break;
		case INT4OID:
			*number = DatumGetInt32(value);
			break;
		case INT8OID:
			*number = DatumGetInt64(value);
			break;
		case FLOAT4OID:
			*number = DatumGetFloat4(value);
			break;
		case FLOAT8OID:
			*number = DatumGetFloat8(value);
			break;
		case NUMERICOID:
			*number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
			break;
		default:
			return false;
	}
	return isfinite(*number);
}

/* Adds values that lie evenly between two numbers, or are equal to both. */
static void
add_values(ValueMoments *moments, double low, double high, double share)
{
	moments->mean += share * (low + high) / 2;
	moments->square += share * (low * low + low * high + high * high) / 3;
	moments->share += share;
}

static bool
add_common_values(ValueMoments *moments, HeapTuple tuple, Oid type)
{
	AttStatsSlot slot;
	bool		known = true;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return true;
	for (int i = 0; i < Min(slot.nvalues, slot.nnumbers) && known; i++)
	{
		double		value;

		known = read_number(slot.values[i], type, &value);
		if (known)
			add_values(moments, value, value, slot.numbers[i]);
	}
	free_attstatsslot(&slot);
	return known;
}

/* share: of the rows that are neither NULL nor a common value. */
static bool
add_histogram(ValueMoments *moments, HeapTuple tuple, Oid type, double share)
{
	AttStatsSlot slot;
	bool		known;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						  ATTSTATSSLOT_VALUES))
		return false;
	known = slot.nvalues > 1;
	for (int i = 1; i < slot.nvalues && known; i++)
	{
		double		low;
		double		high;

		known = read_number(slot.values[i - 1], type, &low) &&
			read_number(slot.values[i], type, &high);
		if (known)
			add_values(moments, low, high, share / (slot.nvalues - 1));
	}
	free_attstatsslot(&slot);
	return known;
}

/* Returns false without statistics of nearly all rows. */
static bool
find_moments(PlannerInfo *root, Node *column, ValueMoments *moments)
{
	VariableStatData statistics;
	Oid			type = exprType(column);
	bool		known = false;

	examine_variable(root, column, 0, &statistics);
	if (HeapTupleIsValid(statistics.statsTuple))
	{
		double		rest = 1 -
			((Form_pg_statistic) GETSTRUCT(statistics.statsTuple))->stanullfrac;

		known = add_common_values(moments, statistics.statsTuple, type);
		rest -= moments->share;
		if (known && rest > 0.01)
			known = add_histogram(moments, statistics.statsTuple, type, rest);
	}
	ReleaseVariableStats(statistics);
	return known;
}

/* The column whose plain sum an expression is, or NULL. */
static Node *
summed_column(Node *node)
{
	Aggref	   *aggregate = (Aggref *) node;
	Node	   *column;

	if (!IsA(node, Aggref) || aggregate->aggdistinct != NIL ||
		aggregate->aggfilter != NULL || list_length(aggregate->args) != 1)
		return NULL;
	switch (aggregate->aggfnoid)
	{
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_SUM_FLOAT4:
		case F_SUM_FLOAT8:
		case F_SUM_NUMERIC:
			column = (Node *) linitial_node(TargetEntry, aggregate->args)->expr;
			return IsA(column, Var) ? column : NULL;
		default:
			return NULL;
	}
}

/*
 * Reads "sum > c" and the like: returns the column, and sets *bound and *above,
 * whether sums above it are wanted. NULL if it is something else.
 */
static Node *
read_condition(Node *condition, double *bound, bool *above)
{
	OpExpr	   *op = (OpExpr *) condition;
	Node	   *other;
	Oid			estimator;

	if (!is_opclause(condition) || list_length(op->args) != 2)
		return NULL;
	other = lsecond(op->args);
	estimator = get_oprrest(op->opno);
	if (!IsA(other, Const) || ((Const *) other)->constisnull ||
		!read_number(((Const *) other)->constvalue, ((Const *) other)->consttype, bound))
		return NULL;
	*above = estimator == F_SCALARGTSEL || estimator == F_SCALARGESEL;
	if (!*above && estimator != F_SCALARLTSEL && estimator != F_SCALARLESEL)
		return NULL;
	return summed_column(linitial(op->args));
}

/* True if the rows of a table are chosen by the column, whose statistics then do
 * not fit. */
static bool
is_chosen_by(PlannerInfo *root, const RelOptInfo *table, Node *column)
{
	ListCell   *lc;

	foreach(lc, table->baserestrictinfo)
	{
		if (list_member(pull_var_clause((Node *) lfirst_node(RestrictInfo, lc)->clause, 0),
						column))
			return true;
	}
	return false;
}

/* The part of core's estimate that one condition leaves. */
static double
part_left(PlannerInfo *root, const RelOptInfo *table, Node *condition, double group_rows)
{
	ValueMoments moments = {0};
	double		bound;
	bool		above;
	Node	   *column = read_condition(condition, &bound, &above);
	Selectivity by_core;
	double		distance;
	double		variance;

	if (column == NULL || is_chosen_by(root, table, column) ||
		!find_moments(root, column, &moments))
		return 1;
	distance = bound - group_rows * moments.mean;
	if (!above)
		distance = -distance;
	variance = group_rows * moments.square;
	by_core = clause_selectivity(root, condition, 0, JOIN_INNER, NULL);
	if (!isfinite(distance) || !isfinite(variance) || distance <= 0 || variance <= 0 ||
		by_core <= 0)
		return 1;
	return Min(1, variance / (variance + distance * distance) / by_core);
}

void
shuttle_sums_of_groups_expect_few(PlannerInfo *root, RelOptInfo *table, List *having,
								  double ngroups, Path *groups)
{
	double		part = 1;
	double		rows;
	ListCell   *lc;

	if (!IS_SIMPLE_REL(table) || ngroups < 1 || shuttle_remote_paths_have_estimate(root, table))
		return;
	foreach(lc, having)
		part = Min(part, part_left(root, table, lfirst(lc), table->rows / ngroups));
	rows = clamp_row_est(groups->rows * part);
	groups->total_cost = Max(groups->startup_cost, groups->total_cost - (groups->rows - rows) *
							 shuttle_batch_cost_of_server(root, table->serverid).postgres_fdw_row);
	groups->rows = rows;
}
