/*-------------------------------------------------------------------------
 * window_plan.c
 *	  GetForeignPlan for scans whose nodes return the first rows of windows
 *	  (window_limits.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "executor/shuttle_window.h"
#include "planner/shown/shown.h"
#include "planner/shown/window_plan.h"

const char *
shuttle_window_function_name(const WindowFunc *function)
{
	switch (function->winfnoid)
	{
		case F_ROW_NUMBER:
			return "row_number";
		case F_RANK_:
			return "rank";
		case F_DENSE_RANK_:
			return "dense_rank";
		default:
			return NULL;
	}
}

bool
shuttle_window_plan_is_for(const ForeignPath *path)
{
	return path->fdw_private != NIL && linitial(path->fdw_private) != NULL &&
		IsA(linitial(path->fdw_private), WindowFunc);
}

/* What follows the number in the node's condition. A parameter is appended to the
 * scan's. */
static char *
write_condition(ForeignScan *scan, const List *private)
{
	const char *operator = intVal(list_nth(private, LIMIT_IS_STRICT)) != 0 ? "<" : "<=";
	Node	   *value = list_nth(private, LIMIT_VALUE);

	if (IsA(value, Const))
	{
		const Const *constant = (const Const *) value;
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(constant->consttype, &output, &is_varlena);
		return psprintf("%s '%s'::bigint", operator,
						OidOutputFunctionCall(output, constant->constvalue));
	}
	scan->fdw_exprs = lappend(list_copy(scan->fdw_exprs), copyObject(value));
	return psprintf("%s $%d::%s", operator, list_length(scan->fdw_exprs),
					format_type_be(exprType(value)));
}

ForeignScan *
shuttle_window_plan_make(PlannerInfo *root, RelOptInfo *rel, Oid relid,
						 const ForeignPath *path, List *targetlist, List *clauses,
						 Plan *outer)
{
	const List *private = path->fdw_private;
	const List *columns = list_nth(private, LIMIT_COLUMNS);
	ShuttleWindowLimit limit = {.nkeys = list_length(columns)};
	ForeignPath plain = *path;
	ForeignScan *scan;

	plain.fdw_private = NIL;
	plain.path.pathkeys = NIL;
	scan = shuttle_outer_values_plan_scan(root, rel, relid, &plain, targetlist, clauses, outer);
	limit.keys = palloc0(limit.nkeys * sizeof(ShuttleWindowKey));
	for (int i = 0; i < limit.nkeys; i++)
	{
		const SortGroupClause *clause = list_nth(list_nth(private, LIMIT_CLAUSES), i);
		const Var  *column = list_nth(columns, i);
		ShuttleWindowKey *key = &limit.keys[i];

		key->column = shuttle_window_sql_find_column(scan, column);
		if (key->column == 0)
			elog(ERROR, "a key of a window is not asked for");
		key->descending = clause->sortop ==
			lookup_type_cache(column->vartype, TYPECACHE_GT_OPR)->gt_opr;
		key->nulls_first = clause->nulls_first;
	}
	limit.function = shuttle_window_function_name(list_nth(private, LIMIT_FUNCTION));
	limit.npartition = intVal(list_nth(private, LIMIT_NPARTITION));
	limit.condition = write_condition(scan, private);
	return shuttle_window_sql_limit_scan(scan, &limit);
}
