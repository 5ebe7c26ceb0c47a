/*-------------------------------------------------------------------------
 * node_joins.c
 *	  Prices joins that a node runs.
 *
 * Without remote estimates postgres_fdw charges a join for each pair of rows,
 * which keeps large joins from the node. A node joins by an equality with a
 * hash join, or looks rows up by a unique index. We reprice the joins that
 * tables were laid out for: of partitions with partitions, with reference
 * tables, in branches of a grouped UNION ALL, and those of an UPDATE or DELETE
 * with all its tables on one node.
 * Groups over them get cheaper by the same amount. The price is that of the
 * cheapest order of joins, though postgres_fdw makes paths for the first one only.
 *
 * Other joins keep postgres_fdw's price; shuttle_remote_estimate uses the
 * node's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "planner/facts/batch_cost.h"
#include "planner/facts/planning_memo.h"
#include "planner/facts/relation_facts.h"
#include "planner/facts/union_branches.h"
#include "planner/join/node_joins.h"
#include "planner/scan/remote_paths.h"

/* Our kind in planning_memo.c. */
#define PRICE_KEY (-1)

typedef struct JoinPrice
{
	Cost		on_node;		/* on the node, without transfer */
	Cost		saved;			/* how much more postgres_fdw charges */
} JoinPrice;

static JoinPrice *
find_price(PlannerInfo *root, const RelOptInfo *rel)
{
	return shuttle_planning_memo_find_set(root, NULL, PRICE_KEY, rel->relids);
}

bool
shuttle_node_join_has_equality(const List *clauses)
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

/* postgres_fdw's price of a table's scan, or our price of a join. */
static Cost
cost_on_node(PlannerInfo *root, RelOptInfo *rel)
{
	const JoinPrice *price;

	if (IS_SIMPLE_REL(rel))
		return rel->pages * seq_page_cost + rel->baserestrictcost.startup +
			rel->tuples * (cpu_tuple_cost + rel->baserestrictcost.per_tuple);
	price = find_price(root, rel);
	return price != NULL ? price->on_node : rel->rows * cpu_tuple_cost;
}

/* The foreign path without pathkeys, or NULL. */
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

/* True if an UPDATE or DELETE has no tables but those of rel. */
static bool
is_whole_change(const PlannerInfo *root, const RelOptInfo *rel)
{
	CmdType		command = root->parse->commandType;

	return (command == CMD_UPDATE || command == CMD_DELETE) &&
		bms_is_subset(root->all_baserels, rel->relids);
}

bool
shuttle_node_join_is_priced(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_OTHER_JOINREL ||
		(rel->reloptkind == RELOPT_JOINREL &&
		 (shuttle_reference_table_is_in(root, rel) || shuttle_union_is_around(root) ||
		  is_whole_change(root, rel)));
}

/* The cost of the cheapest way that a node joins by an equality. */
static Cost
cost_of_join(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner,
			 JoinType type, const List *clauses)
{
	Cost		of_outer = cost_on_node(root, outer);
	Cost		of_inner = cost_on_node(root, inner);
	Cost		cost = of_outer + of_inner +
		(outer->rows + inner->rows) * (cpu_tuple_cost + cpu_operator_cost);
	Cost		lookups;

	if (shuttle_node_lookup_cost(root, inner, clauses, outer->rows, &lookups))
		cost = Min(cost, of_outer + lookups);
	if (type == JOIN_INNER &&
		shuttle_node_lookup_cost(root, outer, clauses, inner->rows, &lookups))
		cost = Min(cost, of_inner + lookups);
	return cost + rel->rows * cpu_tuple_cost;
}

/* What the paths of a relation cost beyond their start, with the transfer of rows. */
static Cost
run_cost(PlannerInfo *root, const RelOptInfo *rel, const JoinPrice *price)
{
	return price->on_node + rel->rows * shuttle_batch_cost_of_server(root, rel->serverid).row;
}

/* Lowers the price to that of another order of joins. Returns false if it is not lower. */
static bool
lower_price(JoinPrice *price, Cost cost)
{
	if (cost >= price->on_node)
		return false;
	price->saved += price->on_node - cost;
	price->on_node = cost;
	return true;
}

/* Adds copies of the foreign paths, whose run cost has changed by this factor. */
static void
add_cheaper(RelOptInfo *rel, double factor)
{
	List	   *paths = list_copy(rel->pathlist);
	ListCell   *cell;

	foreach(cell, paths)
	{
		ForeignPath *path = lfirst(cell);
		ForeignPath *cheaper;

		if (!IsA(path, ForeignPath))
			continue;
		cheaper = shuttle_foreign_path_copy(path);
		cheaper->path.total_cost = path->path.startup_cost +
			(path->path.total_cost - path->path.startup_cost) * factor;
		add_path(rel, &cheaper->path);
	}
}

void
shuttle_node_join_price(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer,
						RelOptInfo *inner, JoinType type, const List *clauses, List *paths)
{
	ShuttleServerCost server = shuttle_batch_cost_of_server(root, rel->serverid);
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
	if (shuttle_node_join_has_equality(clauses))
		(void) lower_price(price, cost_of_join(root, rel, outer, inner, type, clauses));
	shuttle_planning_memo_add_set(root, NULL, PRICE_KEY, rel->relids, price);

	run = run_cost(root, rel, price);
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, ForeignPath))
			path->total_cost = path->startup_cost +
				(path->total_cost - path->startup_cost) * run / postgres_fdw_run;
	}
}

bool
shuttle_node_join_reprice(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer,
						  RelOptInfo *inner, JoinType type, const List *clauses)
{
	JoinPrice  *price = find_price(root, rel);
	Cost		before;

	if (price == NULL || !shuttle_node_join_has_equality(clauses))
		return false;
	before = run_cost(root, rel, price);
	if (!lower_price(price, cost_of_join(root, rel, outer, inner, type, clauses)))
		return false;
	add_cheaper(rel, run_cost(root, rel, price) / before);
	return true;
}

Cost
shuttle_node_join_saved_cost(PlannerInfo *root, const RelOptInfo *rel)
{
	const JoinPrice *price = NULL;

	/* also for a child's groups, which have the child's relids */
	if (IS_JOIN_REL(rel) || (IS_UPPER_REL(rel) && rel->relids != NULL))
		price = find_price(root, rel);
	return price != NULL ? price->saved : 0;
}
