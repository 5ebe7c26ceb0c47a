/*-------------------------------------------------------------------------
 * whole_table_joins.c
 *	  Keeps joins of whole tables that are cheaper than those of their partitions.
 *
 * Core makes paths of both kinds for a join of partitioned tables. But when it gives
 * the topmost join its target, it drops all paths except those by partitions, whatever
 * they cost (apply_scanjoin_target_to_paths(), until 18). Nodes then read their tablets
 * for a few rows that a batched join would have looked up.
 *
 * So the topmost join is made to look as if it had no partitions if another path is
 * clearly cheaper: nodes that join their tablets read each once, however wrong the
 * estimates are. They also cannot group the rows any more; what that would have saved
 * at most, the transfer of the rows, is taken from the price of the partitions first.
 *
 * Core's choice is left alone if a LIMIT may stop the join, for it depends on orders and
 * startup costs of paths that are not made yet; and in correlated subqueries, whose
 * scans a Look Ahead outside of them asks for many outer rows at once.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/geqo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "base/shuttle_settings.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/union_branches.h"
#include "planner/join/node_joins.h"

/* Another path is clearly cheaper at this part of the cost. In TPC-DS joins of whole
 * tables at 0.7 to 0.9 of it took up to 2.5 times as long, those below 0.6 rarely more. */
#define CLEARLY_CHEAPER 0.6

static bool
is_partitioned(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_JOINREL && rel->part_scheme != NULL &&
		rel->boundinfo != NULL && rel->nparts > 0 && rel->part_rels != NULL;
}

/* True if the query reads all rows of its topmost join. */
static bool
reads_all(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return root->tuple_fraction == 0 || query->groupClause != NIL ||
		query->groupingSets != NIL || query->hasAggs || query->hasWindowFuncs ||
		query->distinctClause != NIL;
}

static bool
is_correlated(const PlannerInfo *root)
{
	return root->parent_root != NULL && root->parent_root->plan_params != NIL;
}

/* True if nodes may group the rows of their partitions. */
static bool
may_be_grouped(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return shuttle_union_is_around(root) ||
		(shuttle_settings.enable_storage_aggregate && query->groupingSets == NIL &&
		 (query->groupClause != NIL || query->hasAggs || query->distinctClause != NIL));
}

/* The least that the join can cost by partitions; less if nodes group the rows. */
static Cost
cost_by_partitions(PlannerInfo *root, const RelOptInfo *joinrel)
{
	bool		grouped = may_be_grouped(root);
	Cost		cost = 0;
	int			i = -1;

	while ((i = bms_next_member(joinrel->live_parts, i)) >= 0)
	{
		RelOptInfo *child = joinrel->part_rels[i];

		if (child == NULL || IS_DUMMY_REL(child) || child->cheapest_total_path == NULL)
			continue;
		cost += child->cheapest_total_path->total_cost;
		if (grouped && OidIsValid(child->serverid))
			cost -= child->rows * shuttle_batch_cost_of_server(root, child->serverid).row;
	}
	return cost;
}

static bool
is_by_partitions(const Path *path)
{
	return IsA(path, AppendPath) || IsA(path, MergeAppendPath);
}

static bool
is_cheaper_whole(PlannerInfo *root, const RelOptInfo *joinrel)
{
	const Path *cheapest = joinrel->cheapest_total_path;

	return cheapest != NULL && !is_by_partitions(cheapest) &&
		cheapest->total_cost < CLEARLY_CHEAPER * cost_by_partitions(root, joinrel);
}

/* True if core's own search runs, which plans all orders of a join and keeps it. GEQO
 * does not, and other searches may not. */
static bool
plans_all_orders(int levels, join_search_hook_type previous)
{
	return previous == NULL && !(enable_geqo && levels >= geqo_threshold);
}

/* Core's search, or that of the hook before ours. */
static RelOptInfo *
search(PlannerInfo *root, int levels, List *rels, join_search_hook_type previous)
{
	if (previous != NULL)
		return previous(root, levels, rels);
	if (enable_geqo && levels >= geqo_threshold)
		return geqo(root, levels, rels);
	return standard_join_search(root, levels, rels);
}

RelOptInfo *
shuttle_whole_table_joins_search(PlannerInfo *root, int levels, List *rels, join_search_hook_type previous)
{
	ShuttleHiddenPartitions outer =
		shuttle_partition_orders_begin(plans_all_orders(levels, previous));
	RelOptInfo *volatile joinrel = NULL;

	/*
	 * functions that are evaluated while planning may catch errors of their
	 * queries
	 */
	PG_TRY();
	{
		joinrel = search(root, levels, rels, previous);
		shuttle_partition_orders_show();
	}
	PG_FINALLY();
	{
		shuttle_partition_orders_end(outer);
	}
	PG_END_TRY();

	/* the FROM list may be searched in parts */
	if (joinrel != NULL && bms_is_subset(root->all_baserels, joinrel->relids) &&
		is_partitioned(joinrel) && reads_all(root) && !is_correlated(root) &&
		is_cheaper_whole(root, joinrel))
		joinrel->nparts = 0;
	return joinrel;
}
