/*-------------------------------------------------------------------------
 * node_joins.c
 *	  Prices joins that a node runs.
 *
 * Without remote estimates postgres_fdw charges a join for each pair of rows,
 * which keeps large joins from the node. A node joins by an equality with a
 * hash join or better. We reprice the joins that tables were laid out for: of
 * partitions with partitions, with reference tables, in branches of a grouped
 * UNION ALL, and those of an UPDATE or DELETE with all its tables on one node.
 * Groups over them get cheaper by the same amount.
 *
 * Other joins keep postgres_fdw's price; shuttle_remote_estimate uses the
 * node's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "planner/group/unions.h"
#include "planner/join/join.h"
#include "planner/join/node_joins.h"
#include "planner/statement/statement.h"

/* First member of our keys in planning_memo.c. */
#define PRICE_KEY (-1)

typedef struct JoinPrice
{
	Cost		on_node;		/* on the node, without transfer */
	Cost		saved;			/* how much more postgres_fdw charges */
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

/* postgres_fdw's price of a table's scan, or our price of a join. */
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

	/* also for a child's groups, which have the child's relids */
	if (IS_JOIN_REL(rel) || (IS_UPPER_REL(rel) && rel->relids != NULL))
		price = shuttle_memo_find(root, NULL, price_key(rel->relids));
	return price != NULL ? price->saved : 0;
}
