/*-------------------------------------------------------------------------
 * inner_groups.c
 *	  The inner side of a batched join over groups: a subquery with GROUP BY
 *	  or DISTINCT is planned a second time, with the join clauses below its
 *	  grouping.
 *
 * The copy is planned like a LATERAL subquery, once for each set of join
 * clauses, and its scans are priced as keys of a batch. Core creates a
 * subquery's plan from the subroot of its RelOptInfo. If a join with the copy
 * is chosen, the copy's subroot replaces the original's when the plan is made;
 * a plan scans a relation once, so never both.
 *
 * Memory: root->planner_cxt.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_paths.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/planning_memo.h"
#include "planner/facts/written_tables.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/join/inner_side.h"
#include "planner/join/join.h"
#include "planner/shown/shown.h"

/* The table of a scan in which the key is looked up. */
typedef struct KeyedTable
{
	RelOptInfo *rel;			/* NULL: no qual uses outer values */
	List	   *clauses;		/* its quals with outer values */
	double		rows;			/* rows found for a key */
} KeyedTable;

struct ShuttleGroups
{
	RelOptInfo *rel;			/* of the subquery in the upper query */
	PlannerInfo *subroot;
	List	   *subplan_params;
	Path	   *path;			/* NULL: cannot be asked by key */
	List	   *scans;			/* of ShuttleSubqueryScan */
	KeyedTable *driving;		/* one for each of scans */
	bool		in_order;		/* all driving tables are physically ordered
								 * by the key */
	Bitmapset  *params;			/* parameters with outer values */
	bool		may_fail;
};

/* ---- scans */

static bool
is_remote(const ShuttleSubqueryScan *scan)
{
	const RelOptInfo *rel = scan->path->parent;

	return rel->fdwroutine != NULL &&
		shuttle_server_can_look_ahead(rel->fdwroutine, rel->serverid);
}

static const ShuttleSubqueryScan *
first_remote(const List *scans)
{
	ListCell   *lc;

	foreach(lc, scans)
	{
		if (is_remote(lfirst(lc)))
			return lfirst(lc);
	}
	return NULL;
}

/* NULL for a subquery that is proven to be empty. */
static Path *
cheapest_path(PlannerInfo *subroot)
{
	RelOptInfo *final = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);

	return IS_DUMMY_REL(final) ? NULL : final->cheapest_total_path;
}

static Oid
find_server(PlannerInfo *root, const RelOptInfo *rel)
{
	Path	   *path = cheapest_path(rel->subroot);
	const ShuttleSubqueryScan *scan;

	if (path == NULL)
		return InvalidOid;
	scan = first_remote(shuttle_subquery_scans(rel->subroot, path));
	if (scan == NULL || !shuttle_grouped_subquery_is_plain(planner_rt_fetch(rel->relid, root)))
		return InvalidOid;
	return scan->path->parent->serverid;
}

/* Called for each relation that the subquery is joined with, so remembered. */
Oid
shuttle_inner_groups_server(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *key = list_make1_int(T_SubqueryScan);
	Oid		   *serverid = shuttle_planning_memo_find(root, rel, key);

	if (serverid == NULL)
	{
		serverid = MemoryContextAlloc(root->planner_cxt, sizeof(Oid));
		*serverid = find_server(root, rel);
		shuttle_planning_memo_add(root, rel, key, serverid);
	}
	list_free(key);
	return *serverid;
}

/* ---- what a key finds */

/* Quals of a table with outer values, also inside stable values, which are
 * replaced by stand-ins at that point. */
static List *
key_clauses(PlannerInfo *root, const RelOptInfo *table, const Bitmapset *params)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, table->baserestrictinfo)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (shuttle_plan_uses_params(shuttle_stable_put_back(root, (Node *) clause->clause),
									 params))
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

/* Of the tables that a node joins, the one in which a key finds the fewest
 * rows. */
static KeyedTable
find_driving_table(const ShuttleSubqueryScan *scan, const Bitmapset *params)
{
	KeyedTable	driving = {0};
	ListCell   *lc;

	foreach(lc, shuttle_subquery_scan_tables(scan))
	{
		KeyedTable	table = {.rel = lfirst(lc)};

		table.clauses = key_clauses(scan->root, table.rel, params);
		if (table.clauses == NIL)
			continue;
		table.rows = clamp_row_est(table.rel->tuples *
								   clauselist_selectivity(scan->root, table.clauses,
														  table.rel->relid,
														  JOIN_INNER, NULL));
		if (driving.rel == NULL || table.rows < driving.rows)
			driving = table;
	}
	return driving;
}

static void
find_driving_tables(ShuttleGroups *groups)
{
	ListCell   *lc;

	groups->driving = palloc_array(KeyedTable, list_length(groups->scans));
	groups->in_order = true;
	foreach(lc, groups->scans)
	{
		const ShuttleSubqueryScan *scan = lfirst(lc);
		KeyedTable	table = find_driving_table(scan, groups->params);

		groups->driving[foreach_current_index(lc)] = table;
		if (table.rel != NULL &&
			!shuttle_key_estimate_asks_ordered_column(scan->root, table.rel, table.clauses))
			groups->in_order = false;
	}
}

/* ---- planning */

static Bitmapset *
ids_of(const List *params)
{
	Bitmapset  *ids = NULL;
	ListCell   *lc;

	foreach(lc, params)
		ids = bms_add_member(ids, lfirst_node(PlannerParamItem, lc)->paramId);
	return ids;
}

/* True if a remote scan uses the outer values and can be asked for batches. */
static bool
takes_keys(ShuttleGroups *groups, const ShuttleSubqueryScan *scan)
{
	const ForeignScan *plan;

	if (!is_remote(scan) || shuttle_written_is_beside(scan->root, shuttle_subquery_scan_tables(scan)))
		return false;
	if (scan->is_alike)
		return true;
	plan = shuttle_remote_estimate_dry_run(scan->root, (ForeignPath *) scan->path, NIL);
	if (!shuttle_look_ahead_scan_can_batch(plan) ||
		!shuttle_plan_uses_params((Node *) plan->fdw_exprs, groups->params))
		return false;
	groups->may_fail = groups->may_fail ||
		(!shuttle_server_is_ours(scan->path->parent->serverid) &&
		 shuttle_look_ahead_scan_may_fail(plan));
	return true;
}

static bool
all_take_keys(ShuttleGroups *groups)
{
	ListCell   *lc;

	foreach(lc, groups->scans)
	{
		const ShuttleSubqueryScan *scan = lfirst(lc);

		if (IsA(scan->path, ForeignPath) && !takes_keys(groups, scan))
			return false;
	}
	return first_remote(groups->scans) != NULL;
}

/* Plans the copy. Lateral references that the subquery has itself keep their
 * parameters. */
static void
plan_copy(PlannerInfo *root, ShuttleGroups *groups, const List *clauses)
{
	RelOptInfo *rel = groups->rel;
	Query	   *query = shuttle_grouped_subquery_with_clauses(root, rel, clauses);

	Assert(root->plan_params == NIL);
	root->plan_params = list_copy(rel->subplan_params);
	groups->subroot = shuttle_subquery_planner(root, query);
	groups->subplan_params = root->plan_params;
	root->plan_params = NIL;
	groups->params = ids_of(groups->subplan_params);
}

static ShuttleGroups *
make_groups(PlannerInfo *root, RelOptInfo *rel, const List *clauses)
{
	ShuttleGroups *groups = palloc0_object(ShuttleGroups);
	Path	   *path;

	groups->rel = rel;
	plan_copy(root, groups, clauses);
	if (!shuttle_grouped_subquery_checks_same(groups->subroot->parse, rel->subroot->parse,
											  list_length(clauses)))
		return groups;
	path = cheapest_path(groups->subroot);
	if (path == NULL)
		return groups;
	groups->scans = shuttle_subquery_scans(groups->subroot, path);
	if (!all_take_keys(groups))
		return groups;
	find_driving_tables(groups);
	groups->path = path;
	return groups;
}

ShuttleGroups *
shuttle_inner_groups_plan(PlannerInfo *root, RelOptInfo *rel, const List *clauses)
{
	ShuttleGroups *groups = shuttle_planning_memo_find(root, rel, (List *) clauses);
	MemoryContext old;

	if (groups == NULL)
	{
		old = MemoryContextSwitchTo(root->planner_cxt);
		groups = make_groups(root, rel, clauses);
		MemoryContextSwitchTo(old);
		shuttle_planning_memo_add(root, rel, (List *) clauses, groups);
	}
	return groups->path == NULL ? NULL : groups;
}

void
shuttle_inner_groups_adopt(const ShuttleGroups *groups)
{
	groups->rel->subroot = groups->subroot;
	groups->rel->subplan_params = groups->subplan_params;
}

/* ---- the price */

/* Cost of a key in a scan that it visits. */
static void
price_key(const ShuttleSubqueryScan *scan, const KeyedTable *driving,
		  const ShuttleKeyEstimate *estimate, Cost *startup, Cost *total)
{
	double		nkeys = estimate->outer_rows * estimate->keys_per_row * scan->share;

	if (!IsA(scan->path, ForeignPath))
	{
		*startup = scan->path->startup_cost;
		*total = scan->path->total_cost;
		return;
	}
	if (driving->rel == NULL)
	{
		*startup = *total = scan->path->total_cost;
		return;
	}
	shuttle_batch_cost_of_groups_key(scan->root, scan->path, shuttle_subquery_scan_tables(scan), &estimate->server,
									 driving->rows, nkeys, startup, total);
	*startup *= estimate->keys_per_row;
	*total = *total * estimate->keys_per_row + shuttle_batch_cost_of_doubt(driving->rel, estimate);
}

/* Cost of the subquery's local nodes for the rows of a key. */
static Cost
price_above(const ShuttleGroups *groups)
{
	Cost		cost = groups->path->total_cost;
	double		rows = 0;
	double		visited = 0;
	ListCell   *lc;

	foreach(lc, groups->scans)
	{
		const ShuttleSubqueryScan *scan = lfirst(lc);

		cost -= scan->path->total_cost;
		rows += scan->path->rows;
		visited += scan->path->rows * scan->share;
	}
	return Max(cost, 0) * visited / Max(rows, 1);
}

void
shuttle_inner_groups_price(const ShuttleGroups *groups, Path *price, ShuttleKeyEstimate *estimate)
{
	double		visited = 0;
	ListCell   *lc;

	estimate->may_fail = groups->may_fail;
	estimate->by_ordered_column = groups->in_order;
	price->startup_cost = 0;
	price->total_cost = price_above(groups);
	foreach(lc, groups->scans)
	{
		const ShuttleSubqueryScan *scan = lfirst(lc);
		Cost		startup;
		Cost		total;

		price_key(scan, &groups->driving[foreach_current_index(lc)], estimate,
				  &startup, &total);
		price->startup_cost += startup * scan->share;
		price->total_cost += total * scan->share;
		visited += scan->share;
	}
	if (shuttle_settings.debug_force_batched_join)
		price->total_cost *= SHUTTLE_FORCED_COST;
	price->startup_cost = Min(price->startup_cost, price->total_cost);

	/* a batch of many keys has keys for each partition */
	estimate->nscans = Max(1, Min(list_length(groups->scans),
								  ceil(Min(estimate->outer_rows, estimate->server.batch_size) *
									   estimate->keys_per_row * visited)));
}

Path *
shuttle_inner_groups_make(PlannerInfo *root, const ShuttleGroups *groups, const Path *price)
{
	Path	   *path;

	path = shuttle_create_subqueryscan_path(root, groups->rel, groups->path,
											price->param_info->ppi_req_outer);
	path->startup_cost = price->startup_cost;
	path->total_cost = price->total_cost;
	return path;
}
