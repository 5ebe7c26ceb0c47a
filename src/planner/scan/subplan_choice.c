/*-------------------------------------------------------------------------
 * subplan_choice.c
 *	  The choice between the two plans of an EXISTS in a condition.
 *
 * Core keeps both until the plan is finished (AlternativeSubPlan): one that runs
 * for each row, and one that runs once and hashes its rows. It then compares what
 * they cost for the rows of the node that has the condition, which on the inner
 * side of a nested loop are those of one of its loops.
 *
 * When a query's paths are known, the first plan gets another price for a call if
 * it reads nodes: that of a key in a batch, as for a batched join, for each row of
 * all loops; with a round trip for each loop if conditions may not be moved out of
 * it (late_filters.c), or for each call if nodes cannot be asked for batches. The
 * partitions of a table choose alike. The price is read for this choice only:
 * paths have been priced before (subplan_price.c).
 *
 * Source: fix_alternative_subplan() in src/backend/optimizer/plan/setrefs.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/paths.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_paths.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/scan/scan.h"

/* Where a walk over a query's paths is. */
typedef struct Place
{
	PlannerInfo *root;
	double		loops;			/* so often the path runs */
	bool		batched;		/* rows of all loops share batches */
	double		rows;			/* of all children of the Append above; 0:
								 * none */
} Place;

/* A path's conditions, while they get their prices. */
typedef struct Priced
{
	const Place *place;
	double		rows;			/* that core counts for the node */
	double		all_rows;		/* of all nodes with the condition, in a loop */
} Priced;

static void walk(Path *path, Place place);

/* ---- the price of a call */

/* One of the tables that a scan reads; or NULL. */
static RelOptInfo *
scanned_table(PlannerInfo *root, const ForeignScan *scan)
{
	RelOptInfo *table = NULL;
	int			relid = -1;

	if (scan->scan.scanrelid > 0)
		return root->simple_rel_array[scan->scan.scanrelid];
	while (table == NULL && (relid = bms_next_member(scan->fs_base_relids, relid)) >= 0)
		table = root->simple_rel_array[relid];
	return table;
}

static Cost
price_of_key(PlannerInfo *root, const ForeignScan *scan, double ncalls)
{
	ShuttleServerCost server = shuttle_batch_cost_of_server(root, scan->fs_server);
	RelOptInfo *table = scanned_table(root, scan);
	Cost		startup;
	Cost		total;

	if (table == NULL)
		return scan->scan.plan.total_cost;
	shuttle_batch_cost_of_key(root, table, &server, scan->scan.plan.plan_rows, ncalls, &startup, &total);
	return total;
}

/* What a call costs with its keys in batches; root: the plan's query level. */
static Cost
price_of_call(PlannerInfo *root, Plan *plan, double ncalls)
{
	Cost		price = 0;
	int			nchildren = 0;
	Plan	  **child;

	if (IsA(plan, ForeignScan))
		return price_of_key(root, (ForeignScan *) plan, ncalls);
	if (IsA(plan, SubqueryScan))
		root = find_base_rel(root, ((SubqueryScan *) plan)->scan.scanrelid)->subroot;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (*child == NULL)
			continue;
		price += price_of_call(root, *child, ncalls);
		nchildren++;
	}
	if (nchildren == 0)
		return plan->total_cost;
	if (IsA(plan, Append) && shuttle_append_prunes((Append *) plan))
		price /= nchildren;
	return price;
}

/* Requests of a call beside those of batches. */
static double
own_requests(const SubPlan *subplan, Plan *plan, const Priced *priced)
{
	PlannedStmt planned = {.subplans = priced->place->root->glob->subplans};
	Bitmapset  *params = NULL;
	ListCell   *lc;

	foreach(lc, subplan->parParam)
		params = bms_add_member(params, lfirst_int(lc));
	if (!shuttle_settings.enable_batched_join ||
		shuttle_plan_find_batch_scan(plan, params, &planned) == NULL)
		return 1;
	return priced->place->batched ? 0 : 1 / Max(priced->all_rows, 1);
}

/* The cost of a request to the first node that a plan reads. */
static Cost
price_of_request(PlannerInfo *root, Plan *plan)
{
	ShuttleServerCost server;
	Plan	  **child;

	if (IsA(plan, ForeignScan))
	{
		server = shuttle_batch_cost_of_server(root, ((ForeignScan *) plan)->fs_server);
		return server.request + server.round_trip;
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (*child != NULL && shuttle_plan_reads_node(*child))
			return price_of_request(root, *child);
	}
	return 0;
}

static void
price_calls(const AlternativeSubPlan *alternatives, const Priced *priced)
{
	PlannerInfo *root = priced->place->root;
	SubPlan    *subplan = linitial_node(SubPlan, alternatives->subplans);
	Plan	   *plan = list_nth(root->glob->subplans, subplan->plan_id - 1);
	PlannerInfo *subroot = list_nth(root->glob->subroots, subplan->plan_id - 1);
	double		ncalls = priced->place->loops * priced->all_rows;

	if (subplan->useHashTable || !shuttle_plan_reads_node(plan))
		return;
	shuttle_subplan_core_price(root, llast_node(SubPlan, alternatives->subplans));
	subplan->startup_cost = plan->startup_cost;
	subplan->per_call_cost = ncalls / priced->rows *
		(price_of_call(subroot, plan, ncalls) +
		 own_requests(subplan, plan, priced) * price_of_request(root, plan));
}

static bool
price_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		node = (Node *) ((RestrictInfo *) node)->clause;
	if (IsA(node, AlternativeSubPlan))
	{
		price_calls((AlternativeSubPlan *) node, context);
		return false;
	}
	return expression_tree_walker(node, price_walker, context);
}

static void
price_conditions(const Path *path, const List *conditions, const Place *place)
{
	Priced		priced = {.place = place,.rows = Max(path->rows, 1)};

	priced.all_rows = place->rows > 0 ? place->rows : priced.rows;
	(void) price_walker((Node *) conditions, &priced);
}

/* ---- the walk */

static void
walk_join(JoinPath *join, Place place)
{
	Place		inner = place;

	price_conditions(&join->path, join->joinrestrictinfo, &place);
	place.rows = inner.rows = 0;
	walk(join->outerjoinpath, place);

	/* a Material is filled once */
	if (IsA(join, NestPath) && !IsA(join->innerjoinpath, MaterialPath))
	{
		inner.loops *= Max(join->outerjoinpath->rows, 1);
		inner.batched = place.batched && join->jointype == JOIN_INNER &&
			!IsA(join->innerjoinpath, MemoizePath);
	}
	walk(join->innerjoinpath, inner);
}

static void
walk_children(const Path *append, const List *children, Place place)
{
	ListCell   *lc;

	place.rows = Max(append->rows, 1);
	foreach(lc, children)
		walk(lfirst(lc), place);
}

/* The only child of a path whose type begins like ProjectionPath; or NULL. */
static Path *
only_child(Path *path)
{
	switch (nodeTag(path))
	{
		case T_ProjectionPath:
		case T_ProjectSetPath:
		case T_SortPath:
		case T_IncrementalSortPath:
		case T_MaterialPath:
		case T_MemoizePath:
		case T_UniquePath:
		case T_GroupPath:
		case T_AggPath:
		case T_GroupingSetsPath:
		case T_WindowAggPath:
		case T_LimitPath:
		case T_LockRowsPath:
		case T_ModifyTablePath:
			return ((ProjectionPath *) path)->subpath;
		default:
			return IsA(path, UpperUniquePath) ? ((ProjectionPath *) path)->subpath : NULL;
	}
}

static void
walk(Path *path, Place place)
{
	Path	   *child = only_child(path);

	check_stack_depth();
	if (child != NULL)
	{
		walk(child, place);
		return;
	}
	switch (nodeTag(path))
	{
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			walk_join((JoinPath *) path, place);
			return;
		case T_AppendPath:
			walk_children(path, ((AppendPath *) path)->subpaths, place);
			return;
		case T_MergeAppendPath:
			walk_children(path, ((MergeAppendPath *) path)->subpaths, place);
			return;
		case T_CustomPath:
			if (((CustomPath *) path)->custom_paths != NIL)
				walk(linitial(((CustomPath *) path)->custom_paths), place);
			return;
		default:
			price_conditions(path, path->parent->baserestrictinfo, &place);
			if (path->param_info != NULL)
				price_conditions(path, path->param_info->ppi_clauses, &place);
			break;
	}
	if (IsA(path, SubqueryScanPath))
	{
		place.root = path->parent->subroot;
		place.rows = 0;
		walk(((SubqueryScanPath *) path)->subpath, place);
	}
}

void
shuttle_subplan_choice_consider(PlannerInfo *root, UpperRelationKind stage,
								const RelOptInfo *output)
{
	Place		place = {.root = root,.loops = 1,.batched = true};
	Path	   *cheapest = NULL;
	ListCell   *lc;

	if (stage != UPPERREL_FINAL || root->glob->subplans == NIL)
		return;
	foreach(lc, output->pathlist)
	{
		Path	   *path = lfirst(lc);

		if (cheapest == NULL || path->total_cost < cheapest->total_cost)
			cheapest = path;
	}
	if (cheapest != NULL)
		walk(cheapest, place);
}
