/*-------------------------------------------------------------------------
 * partition_orders.c
 *	  Keeps core from planning other orders of joins that nodes do.
 *
 * Core plans the joins of each pair of partitions again for each order in which the
 * tables can be joined, and computes selectivities anew each time. For three tables of
 * facts with their dimensions that was three quarters of planning. If the first order
 * has shown that nodes join all pairs, local joins of pairs are of no use: core's joins
 * of the whole tables are the alternative.
 *
 * So the partitions of one side are hidden from core when it has planned another order of
 * the whole tables: core leaves out pairs with a side that is pruned. They are shown
 * again when the next join is planned, or the search ends. Nodes order their joins
 * themselves; the price of another order is compared here. Partitions differ in little
 * but the number of their rows: if an order is not cheaper for one pair, it is tried for
 * no other.
 *
 * Source: populate_joinrel_with_paths() and try_partitionwise_join() in
 * src/backend/optimizer/path/joinrels.c get the same list of clauses; the latter skips empty
 * pairs. build_joinrel_partition_info() does not look at part_rels.
 *
 * Memory: root->planner_cxt.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "planner/facts/planning_memo.h"
#include "planner/join/node_joins.h"

/* Our kind in planning_memo.c. */
#define ORDER_KEY (-4)

/* The clauses of the latest order of a join. */
typedef struct LatestOrder
{
	const List *clauses;
} LatestOrder;

static ShuttleHiddenPartitions hidden;

bool
shuttle_partition_join_is_on_node(const RelOptInfo *rel)
{
	ListCell   *lc;

	if (!OidIsValid(rel->serverid))
		return false;
	foreach(lc, rel->pathlist)
	{
		if (IsA(lfirst(lc), ForeignPath))
			return true;
	}
	return false;
}

/* True if an earlier order has shown that a node joins each pair of partitions. */
static bool
is_done_by_nodes(const RelOptInfo *joinrel)
{
	int			i = -1;

	if (joinrel->reloptkind != RELOPT_JOINREL || joinrel->part_scheme == NULL ||
		joinrel->part_rels == NULL || bms_is_empty(joinrel->live_parts))
		return false;
	while ((i = bms_next_member(joinrel->live_parts, i)) >= 0)
	{
		if (joinrel->part_rels[i] == NULL || !shuttle_partition_join_is_on_node(joinrel->part_rels[i]))
			return false;
	}
	return true;
}

/* True if core has used the clauses for the whole tables in both directions. */
static bool
is_second_direction(PlannerInfo *root, RelOptInfo *joinrel, JoinType type, const List *clauses)
{
	LatestOrder *latest;

	if (type == JOIN_RIGHT)
		return true;
	if (type != JOIN_INNER)
		return false;
	latest = shuttle_planning_memo_find_set(root, joinrel, ORDER_KEY, NULL);
	if (latest == NULL)
	{
		latest = MemoryContextAllocZero(root->planner_cxt, sizeof(LatestOrder));
		shuttle_planning_memo_add_set(root, joinrel, ORDER_KEY, NULL, latest);
	}
	if (latest->clauses == clauses)
		return true;
	latest->clauses = clauses;
	return false;
}

/* Prices another order of the joins that nodes do. */
static void
price_order(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
			JoinType type, const List *clauses)
{
	int			i = -1;

	while ((i = bms_next_member(joinrel->live_parts, i)) >= 0)
	{
		ShuttlePair pair;

		if (outer->part_rels[i] == NULL || inner->part_rels[i] == NULL)
			continue;
		shuttle_partition_pair_make(root, outer->part_rels[i], inner->part_rels[i], clauses, &pair);
		if (!shuttle_node_join_reprice(root, joinrel->part_rels[i], pair.outer, pair.inner,
									   type, pair.clauses))
			break;
	}
}

static void
hide(PlannerInfo *root, RelOptInfo *rel)
{
	hidden.rel = rel;
	hidden.part_rels = rel->part_rels;
	rel->part_rels = MemoryContextAllocZero(root->planner_cxt,
											rel->nparts * sizeof(RelOptInfo *));
}

void
shuttle_partition_orders_show(void)
{
	if (hidden.rel != NULL)
		hidden.rel->part_rels = hidden.part_rels;
	hidden.rel = NULL;
}

ShuttleHiddenPartitions
shuttle_partition_orders_begin(bool may_hide)
{
	ShuttleHiddenPartitions outer = hidden;

	hidden.may_hide = may_hide;
	hidden.rel = NULL;
	return outer;
}

void
shuttle_partition_orders_end(ShuttleHiddenPartitions outer)
{
	hidden = outer;
}

/* True if core joins their partitions of equal numbers. */
static bool
are_alike(const RelOptInfo *joinrel, const RelOptInfo *side)
{
	return side->part_scheme == joinrel->part_scheme && side->part_rels != NULL &&
		side->nparts == joinrel->nparts;
}

void
shuttle_partition_orders_consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
								  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (!hidden.may_hide || !is_done_by_nodes(joinrel) || joinrel->partbounds_merged ||
		!are_alike(joinrel, outer) || !are_alike(joinrel, inner) ||
		!is_second_direction(root, joinrel, type, extra->restrictlist))
		return;
	ereport(DEBUG1,
			(errmsg_internal("core plans no local joins of partitions for another order of their join")));

	/* in the second direction core's outer side is the inner one */
	price_order(root, joinrel, inner, outer, type == JOIN_RIGHT ? JOIN_LEFT : type,
				extra->restrictlist);
	hide(root, inner);
}
