/*-------------------------------------------------------------------------
 * scan_price.c
 *	  Prices scans of foreign tables so that joins over them compare.
 *
 * postgres_fdw's costs leave out the round trips of its pages and, before 17,
 * most of the cost of a row. A batched join is charged for both, and would
 * lose to a hash join that reads whole tables in a thousand pages. So scans of
 * joined tables are charged for them, too.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"

#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/join/inner_side.h"
#include "planner/join/node_joins.h"
#include "planner/scan/scan.h"

/* postgres_fdw's default fetch_size. */
#define USUAL_FETCH_SIZE 100

/* True if the query joins several relations. */
static bool
is_joined(PlannerInfo *root)
{
	return bms_membership(root->all_baserels) == BMS_MULTIPLE;
}

/* True if the node priced the scan (remote_estimate.c). */
static bool
is_priced(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	return shuttle_server_routine_is_ours(rel->fdwroutine) &&
		shuttle_option_cache_parsed(rel->serverid, rte->relid)->remote_estimate;
}

/* Rows of a page of stock postgres_fdw; our pages are not counted. */
static double
page_rows(const ShuttleServerCost *server, const RelOptInfo *rel,
		  const RangeTblEntry *rte)
{
	const char *text = NULL;

	if (server->guest)
		text = shuttle_option_cache_parsed(rel->serverid, rte->relid)->fetch_size;
	return text == NULL ? USUAL_FETCH_SIZE : Max(1, strtod(text, NULL));
}

/* Live partitions of the table's parent. */
static int
count_siblings(PlannerInfo *root, const RelOptInfo *rel)
{
	RelOptInfo *parent;

	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL)
		return 1;
	parent = find_base_rel(root, root->append_rel_array[rel->relid]->parent_relid);
	return Max(1, bms_num_members(parent->live_parts));
}

static void
reprice_scans(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	ShuttleServerCost server = shuttle_batch_cost_of_server(root, rel->serverid);
	double		rows = page_rows(&server, rel, rte);
	int			nsiblings = count_siblings(root, rel);
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		if (IsA(lfirst(lc), ForeignPath))
			shuttle_batch_cost_reprice_scan(&server, (Path *) lfirst(lc), rows, nsiblings);
	}
}

/* The cost that postgres_fdw leaves out of a scan below a subquery; 0 if it was
 * added there already. */
static Cost
find_missing_cost(const ShuttleSubqueryScan *scan, int nsiblings)
{
	const RelOptInfo *rel = scan->path->parent;
	List	   *tables = shuttle_subquery_scan_tables(scan);
	const RangeTblEntry *rte = planner_rt_fetch(linitial_node(RelOptInfo, tables)->relid,
												scan->root);
	ShuttleServerCost server;
	Path		path = *scan->path;

	if (!IsA(scan->path, ForeignPath) ||
		!shuttle_server_can_look_ahead(rel->fdwroutine, rel->serverid) ||
		(!IS_UPPER_REL(rel) && is_joined(scan->root)) || is_priced(rel, rte))
		return 0;
	server = shuttle_batch_cost_of_server(scan->root, rel->serverid);
	shuttle_batch_cost_reprice_scan(&server, &path, page_rows(&server, rel, rte), nsiblings);
	return path.total_cost - scan->path->total_cost;
}

/* Reprices a subquery in a join: groups from nodes come in pages, too. */
static void
reprice_subquery(RelOptInfo *rel)
{
	ListCell   *lc;
	ListCell   *scan;

	foreach(lc, rel->pathlist)
	{
		SubqueryScanPath *path = (SubqueryScanPath *) lfirst(lc);
		List	   *scans;

		if (!IsA(path, SubqueryScanPath))
			continue;
		scans = shuttle_subquery_scans(rel->subroot, path->subpath);
		foreach(scan, scans)
			path->path.total_cost += find_missing_cost(lfirst(scan), list_length(scans));
	}
}

void
shuttle_scan_price_consider(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte)
{
	if (rel->rtekind == RTE_SUBQUERY && rel->subroot != NULL && is_joined(root) &&
		rel->lateral_relids == NULL && shuttle_settings.enable_batched_join)
		reprice_subquery(rel);
	if (rel->fdwroutine == NULL || !shuttle_settings.enable_batched_join ||
		!is_joined(root) || rte->inh ||
		!shuttle_server_can_look_ahead(rel->fdwroutine, rel->serverid))
		return;
	shuttle_broken_semi_joins_drop(rel);
	if (!is_priced(rel, rte))
		reprice_scans(root, rel, rte);
}
