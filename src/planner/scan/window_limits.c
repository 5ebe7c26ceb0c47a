/*-------------------------------------------------------------------------
 * window_limits.c
 *	  The first rows of each partition of a window, chosen by nodes.
 *
 * For SELECT ... FROM (SELECT ..., row_number() OVER (PARTITION BY p ORDER BY
 * o) AS rn FROM t) s WHERE rn <= n, each scan gets another path by which its node
 * numbers its own rows and returns those up to n, in the window's order. The
 * same for rank() and dense_rank().
 *
 * Core numbers what came anew, which is right:
 * 1. A row up to n among all rows is up to n among the rows of its node.
 * 2. So are all rows before it. None that decides its number is missing.
 * 3. A row beyond n has enough rows before it that are up to n, and stays there.
 *
 * So all functions of the query level must have the one window and depend on
 * nothing but the rows before, and only the windows may read the rows: a path
 * is made for the scan or join of the whole level, or for its children.
 *
 * Core tells the condition to the window before it plans the subquery.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_compat_window.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_window.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/partition_sample.h"
#include "planner/facts/relation_facts.h"
#include "planner/facts/written_tables.h"
#include "planner/join/node_joins.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"
#include "planner/shown/window_plan.h"

/* What postgres_fdw charges for a sort by the node. */
#define SORT_MULTIPLIER 1.2

/* The condition of a window, for all relations. */
typedef struct WindowLimit
{
	const WindowClause *window;
	const WindowFunc *function;
	bool		strict;
	Node	   *value;
} WindowLimit;

/* ---- the query level */

static bool
collect_functions(Node *node, List **functions)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
	{
		*functions = lappend(*functions, node);
		return false;
	}
	return expression_tree_walker(node, collect_functions, functions);
}

/* The window functions of a query level, if all are of one window and depend on
 * the rows before only; else NIL. */
static List *
find_functions(const PlannerInfo *root)
{
	List	   *functions = NIL;
	ListCell   *lc;

	(void) collect_functions((Node *) root->processed_tlist, &functions);
	foreach(lc, functions)
	{
		const WindowFunc *function = lfirst_node(WindowFunc, lc);

		if (shuttle_window_function_name(function) == NULL ||
			function->winref != linitial_node(WindowFunc, functions)->winref)
			return NIL;
	}
	return functions;
}

static const WindowClause *
find_window(const Query *query, Index winref)
{
	ListCell   *lc;

	foreach(lc, query->windowClause)
	{
		if (lfirst_node(WindowClause, lc)->winref == winref)
			return lfirst(lc);
	}
	return NULL;
}

/* True of a value that can be sent. */
static bool
is_value(const Node *node)
{
	Oid			type = exprType(node);

	if (type != INT2OID && type != INT4OID && type != INT8OID)
		return false;
	return (IsA(node, Const) && !((const Const *) node)->constisnull) ||
		(IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

/* Reads a condition as "function < value" or "function <= value". */
static bool
read_condition(const OpExpr *condition, WindowLimit *limit)
{
	Node	   *left = linitial(condition->args);
	Node	   *right = lsecond(condition->args);
	Oid			operator = condition->opno;
	int			strategy;

	if (!IsA(left, WindowFunc))
	{
		Node	   *swapped = left;

		left = right;
		right = swapped;
		operator = get_commutator(operator);
	}
	if (!IsA(left, WindowFunc) || !OidIsValid(operator) || !is_value(right) ||
		((const WindowFunc *) left)->winref != limit->window->winref ||
		shuttle_window_function_name((const WindowFunc *) left) == NULL)
		return false;
	strategy = get_op_opfamily_strategy(operator, INTEGER_BTREE_FAM_OID);
	if (strategy != BTLessStrategyNumber && strategy != BTLessEqualStrategyNumber)
		return false;
	limit->function = (const WindowFunc *) left;
	limit->strict = strategy == BTLessStrategyNumber;
	limit->value = right;
	return true;
}

/* True if nothing but windows reads the rows of the FROM clause, and no function with effects,
 * which a subquery may hide, is called for those that are left out. */
static bool
feeds_windows(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return query->commandType == CMD_SELECT && query->hasWindowFuncs &&
		query->groupClause == NIL && query->groupingSets == NIL && !query->hasAggs &&
		query->havingQual == NULL && !query->hasTargetSRFs &&
		query->rowMarks == NIL && root->rowMarks == NIL &&
		!contain_volatile_functions((Node *) root->processed_tlist) &&
		!contain_subplans((Node *) root->processed_tlist);
}

static bool
find_limit(const PlannerInfo *root, WindowLimit *limit)
{
	List	   *functions;
	ListCell   *lc;

	if (!feeds_windows(root))
		return false;
	functions = find_functions(root);
	if (functions == NIL)
		return false;
	limit->window = find_window(root->parse, linitial_node(WindowFunc, functions)->winref);
	if (limit->window == NULL)
		return false;
	foreach(lc, shuttle_run_conditions(limit->window, functions))
	{
		const OpExpr *condition = lfirst(lc);

		if (IsA(condition, OpExpr) && list_length(condition->args) == 2 &&
			read_condition(condition, limit))
			return true;
	}
	return false;
}

/* ---- the window's keys in a relation */

/* True if the clause sorts by the default order of a built-in type whose values are
 * the same on nodes. */
static bool
has_usual_order(const SortGroupClause *clause, Oid type)
{
	const TypeCacheEntry *cache;

	if (!shuttle_call_type_is_alike(type))
		return false;
	cache = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	return clause->eqop == cache->eq_opr &&
		(clause->sortop == cache->lt_opr || clause->sortop == cache->gt_opr);
}

static RelOptInfo *
find_top_parent(PlannerInfo *root, RelOptInfo *rel)
{
	if (rel->top_parent_relids == NULL)
		return rel;
	return IS_JOIN_REL(rel) ? find_join_rel(root, rel->top_parent_relids) :
		find_base_rel(root, bms_singleton_member(rel->top_parent_relids));
}

/* The columns of a relation that these keys are; false if one is no column, or
 * the node sorts it in another way. */
static bool
find_columns(PlannerInfo *root, RelOptInfo *rel, const List *clauses, List **columns)
{
	RelOptInfo *parent = find_top_parent(root, rel);
	ListCell   *lc;

	*columns = NIL;
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Var		   *key = (Var *) get_sortgroupclause_expr(clause, root->processed_tlist);
		Var		   *column;

		if (!IsA(key, Var))
			return false;
		column = rel == parent ? key :
			shuttle_translate_to_child(root, (Node *) key, rel, parent);
		if (!IsA(column, Var) || column->varattno <= 0 ||
			!bms_is_member(column->varno, rel->relids) ||
			column->vartype != key->vartype || column->varcollid != key->varcollid ||
			!has_usual_order(clause, column->vartype) ||
			!shuttle_text_order_type_is_alike(root, rel, column->vartype, column->varcollid))
			return false;
		*columns = lappend(*columns, column);
	}
	return true;
}

/* ---- the price */

/* The value minus what a strict condition leaves out; negative: not known. */
static double
most_rows(const WindowLimit *limit)
{
	const Const *value = (const Const *) limit->value;
	double		most;

	if (!IsA(value, Const))
		return -1;
	most = value->consttype == INT2OID ? DatumGetInt16(value->constvalue) :
		value->consttype == INT4OID ? DatumGetInt32(value->constvalue) :
		(double) DatumGetInt64(value->constvalue);
	return Max(0, limit->strict ? most - 1 : most);
}

/* The rows that a node returns of so many. */
static double
count_rows(PlannerInfo *root, const WindowLimit *limit, List *columns, double rows)
{
	List	   *partition = list_copy_head(columns,
										   list_length(limit->window->partitionClause));
	double		most = most_rows(limit);
	double		groups = 1;

	if (most < 0)
		return clamp_row_est(rows * DEFAULT_INEQ_SEL);
	if (partition != NIL)
		groups = estimate_num_groups(root, partition, rows, NULL, NULL);
	if (limit->function->winfnoid == F_DENSE_RANK_ && columns != NIL)
		most *= rows / estimate_num_groups(root, columns, rows, NULL, NULL);
	return clamp_row_est(Min(rows, groups * most));
}

/* The scan's own path in this order, without parameters; NULL: none. */
static const ForeignPath *
find_path(const RelOptInfo *rel, const List *pathkeys)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const ForeignPath *path = lfirst(lc);

		if (IsA(path, ForeignPath) && path->path.param_info == NULL &&
			path->fdw_private == NIL &&
			compare_pathkeys(path->path.pathkeys, unconstify(List *, pathkeys)) == PATHKEYS_EQUAL)
			return path;
	}
	return NULL;
}

static void
set_price(PlannerInfo *root, const WindowLimit *limit, List *columns, bool sorted,
		  ForeignPath *path)
{
	RelOptInfo *rel = path->path.parent;
	ShuttleServerCost server = shuttle_batch_cost_of_server(root, rel->serverid);
	double		all = path->path.rows;
	double		rows = count_rows(root, limit, columns, all);
	Cost		run = path->path.total_cost - path->path.startup_cost;
	Cost		row = server.postgres_fdw_row;

	if (shuttle_remote_paths_have_estimate(root, rel) || shuttle_node_join_is_priced(root, rel))
		row = server.row;
	if (!sorted && columns != NIL)
		run *= SORT_MULTIPLIER;
	run += all * cpu_operator_cost * (list_length(columns) + 1);
	run = Max(0, run - (all - rows) * row);
	path->path.rows = rows;
	path->path.total_cost = path->path.startup_cost + run;
}

/* ---- paths */

/* True if the relation's own plan returns the keys and leaves no condition to
 * be checked here, which would come after the numbering. */
static bool
can_wrap(PlannerInfo *root, ForeignPath *plain, const List *columns)
{
	const ForeignScan *scan = shuttle_remote_estimate_dry_run(root, plain, NIL);
	ListCell   *lc;

	if (scan->scan.plan.qual != NIL || !shuttle_window_sql_reads_columns_only(scan))
		return false;
	foreach(lc, columns)
	{
		if (shuttle_window_sql_find_column(scan, lfirst_node(Var, lc)) == 0)
			return false;
	}
	return true;
}

/* True of all that the query level selects from, or a child of it. */
static bool
is_whole(const PlannerInfo *root, const RelOptInfo *rel)
{
	return bms_equal(shuttle_top_relids(rel), shuttle_all_relids(root));
}

void
shuttle_window_limits_consider(PlannerInfo *root, RelOptInfo *rel)
{
	const ForeignPath *base;
	ForeignPath plain;
	ForeignPath *path;
	WindowLimit limit;
	List	   *clauses;
	List	   *columns;

	if (!root->parse->hasWindowFuncs || rel->fdwroutine == NULL ||
		!shuttle_settings.enable_window_limits || !shuttle_settings.enable_batched_join ||
		!is_whole(root, rel) || rel->lateral_relids != NULL ||
		!shuttle_server_can_look_ahead(rel->fdwroutine, rel->serverid) ||
		!find_limit(root, &limit))
		return;
	base = find_path(rel, root->window_pathkeys);
	if (base == NULL)
		base = find_path(rel, NIL);
	if (base == NULL || shuttle_is_locked(root, rel) ||
		shuttle_partition_is_sampled(root, rel) || shuttle_written_waits_beside(root, rel->relids, NIL))
		return;
	clauses = list_concat_copy(limit.window->partitionClause, limit.window->orderClause);
	if (!find_columns(root, rel, clauses, &columns))
		return;
	rel->fdwroutine->GetForeignPlan = shuttle_outer_values_plan_scan;
	plain = *base;
	plain.path.pathkeys = NIL;
	if (!can_wrap(root, &plain, columns))
		return;

	path = shuttle_foreign_path_copy(base);
	set_price(root, &limit, columns, base->path.pathkeys != NIL, path);
	path->path.pathkeys = root->window_pathkeys;
	path->fdw_private = list_make5(unconstify(WindowFunc *, limit.function), columns, clauses,
								   makeInteger(list_length(limit.window->partitionClause)),
								   makeInteger(limit.strict));
	path->fdw_private = lappend(path->fdw_private, limit.value);
	add_path(rel, &path->path);
}
