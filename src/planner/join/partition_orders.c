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
 * So the clauses of later orders are marked as unfit for hash and merge joins. Core has
 * used them for the whole tables by then, and now plans only nested loops of the pairs,
 * which are cheap to price. Nodes order their joins themselves, and node_joins.c prices
 * the orders as before.
 *
 * Source: populate_joinrel_with_paths() and try_partitionwise_join() in
 * src/backend/optimizer/path/joinrels.c get the same list of clauses.
 *
 * Memory: root->planner_cxt; marked clauses live as long as the list.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "planner/join/node_joins.h"
#include "planner/statement/statement.h"

/* First member of our keys in planning_memo.c. */
#define ORDER_KEY (-4)

/* The clauses of the latest order of a join. */
typedef struct LatestOrder
{
	const List *clauses;
} LatestOrder;

bool
shuttle_is_on_node(const RelOptInfo *rel)
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
		if (joinrel->part_rels[i] == NULL || !shuttle_is_on_node(joinrel->part_rels[i]))
			return false;
	}
	return true;
}

/* True if core has used the clauses for the whole tables in both directions. */
static bool
is_second_direction(PlannerInfo *root, RelOptInfo *joinrel, JoinType type, const List *clauses)
{
	List	   *key;
	LatestOrder *latest;

	if (type == JOIN_RIGHT)
		return true;
	if (type != JOIN_INNER)
		return false;
	key = list_make1_int(ORDER_KEY);
	latest = shuttle_memo_find(root, joinrel, key);
	if (latest == NULL)
	{
		latest = MemoryContextAllocZero(root->planner_cxt, sizeof(LatestOrder));
		shuttle_memo_add(root, joinrel, key, latest);
	}
	if (latest->clauses == clauses)
		return true;
	latest->clauses = clauses;
	return false;
}

void
shuttle_partition_orders_consider(PlannerInfo *root, RelOptInfo *joinrel, JoinType type,
								  JoinPathExtraData *extra)
{
	ListCell   *lc;

	if (!is_done_by_nodes(joinrel) ||
		!is_second_direction(root, joinrel, type, extra->restrictlist))
		return;
	ereport(DEBUG1,
			(errmsg_internal("core plans no local joins of partitions for another order of their join")));
	foreach(lc, extra->restrictlist)
	{
		RestrictInfo *marked = makeNode(RestrictInfo);

		/* the clause itself is used for other joins, too */
		*marked = *lfirst_node(RestrictInfo, lc);
		marked->can_join = false;
		lfirst(lc) = marked;
	}
}
