/*-------------------------------------------------------------------------
 * node_joins.c
 *	  What joins of partitions, and with reference tables, cost on a node.
 *
 * postgres_fdw knows no way of joining: without remote estimates it charges for
 * each pair of rows, and so keeps from the node every join of large tables.  A
 * node that joins by an equality hashes, or does better.  Partitions are joined
 * with those of another table because they lie together: their joins are priced
 * for that, and their groups are as much cheaper; so are joins with reference
 * tables, which are copied to all nodes for that, and joins in branches of a UNION
 * ALL that is grouped, which have their tables where a partition would have its rows;
 * and those of an UPDATE or DELETE that has all its tables on one node, which need
 * not travel at all.
 * Joins of other tables keep postgres_fdw's price, which shuttle_remote_estimate
 * replaces by the node's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"

#include "base/shuttle_compat.h"
#include "planner/group/unions.h"
#include "planner/join/join.h"
#include "planner/join/node_joins.h"
#include "planner/statement/statement.h"

/* The first of a key's numbers, which tells it from other keys. */
#define PRICE_KEY (-1)

typedef struct JoinPrice
{
	Cost		on_node;		/* without the transfer of rows */
	Cost		saved;			/* what postgres_fdw charges beyond that */
} JoinPrice;

static List *
price_key(Relids relids)
{
	return lcons_int(PRICE_KEY, shuttle_memo_members(relids));
}

static bool
has_equality(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const RestrictInfo *clause = lfirst_node(RestrictInfo, lc);

		if (OidIsValid(clause->hashjoinoperator) || clause->mergeopfamilies != NIL)
			return true;
	}
	return false;
}

/* As postgres_fdw prices the scan of a table, or as its join was priced. */
static Cost
cost_on_node(PlannerInfo *root, RelOptInfo *rel)
{
	const JoinPrice *price;

	if (IS_SIMPLE_REL(rel))
		return rel->pages * seq_page_cost + rel->baserestrictcost.startup +
			rel->tuples * (cpu_tuple_cost + rel->baserestrictcost.per_tuple);
	price = shuttle_memo_find(root, NULL, price_key(rel->relids));
	return price != NULL ? price->on_node : rel->rows * cpu_tuple_cost;
}

/* The path without an order; NULL: there is none. */
static const Path *
find_plain_path(const List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);

		if (IsA(path, ForeignPath) && path->pathkeys == NIL)
			return path;
	}
	return NULL;
}

/* True of all tables of an UPDATE or DELETE. */
static bool
is_whole_change(const PlannerInfo *root, const RelOptInfo *rel)
{
	CmdType		command = root->parse->commandType;

	return (command == CMD_UPDATE || command == CMD_DELETE) &&
		bms_is_subset(root->all_baserels, rel->relids);
}

bool
shuttle_is_node_join(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_OTHER_JOINREL ||
		(rel->reloptkind == RELOPT_JOINREL &&
		 (shuttle_has_reference(root, rel) || shuttle_is_below_union(root) ||
		  is_whole_change(root, rel)));
}

void
shuttle_price_node_join(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer,
						RelOptInfo *inner, const List *clauses, List *paths)
{
	ShuttleServerCost server = shuttle_server_cost(root, rel->serverid);
	const Path *plain = find_plain_path(paths);
	JoinPrice  *price;
	Cost		postgres_fdw_run;
	Cost		run;
	ListCell   *lc;

	if (plain == NULL)
		return;
	price = MemoryContextAllocZero(root->planner_cxt, sizeof(JoinPrice));
	postgres_fdw_run = plain->total_cost - plain->startup_cost;
	price->on_node = postgres_fdw_run - plain->rows * server.postgres_fdw_row;
	run = cost_on_node(root, outer) + cost_on_node(root, inner) +
		(outer->rows + inner->rows) * (cpu_tuple_cost + cpu_operator_cost) +
		rel->rows * cpu_tuple_cost;
	if (has_equality(clauses) && run < price->on_node)
	{
		price->saved = price->on_node - run;
		price->on_node = run;
	}
	shuttle_memo_add(root, NULL, price_key(rel->relids), price);

	run = price->on_node + plain->rows * server.row;
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, ForeignPath))
			path->total_cost = path->startup_cost +
				(path->total_cost - path->startup_cost) * run / postgres_fdw_run;
	}
}

Cost
shuttle_saved_by_node_join(PlannerInfo *root, const RelOptInfo *rel)
{
	const JoinPrice *price = NULL;

	/* also of the groups of a child, which has its own members */
	if (IS_JOIN_REL(rel) || (IS_UPPER_REL(rel) && rel->relids != NULL))
		price = shuttle_memo_find(root, NULL, price_key(rel->relids));
	return price != NULL ? price->saved : 0;
}
