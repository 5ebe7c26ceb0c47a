/*-------------------------------------------------------------------------
 * colocated.c
 *	  Partitionwise joins for statements with several distributed tables.
 *
 * Tablets of one group with equal keys are on one node, so joins of them can be
 * left to the nodes. Core considers that only if enable_partitionwise_join is
 * on, which is off by default, as it costs planning time for others.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"

#include "planner/statement/statement.h"
#include "tablets/shuttle_tablets.h"

/* Counts distributed tables of all levels; true from the second on. */
static bool
has_two_tables(Node *node, void *arg)
{
	int		   *ntables = arg;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE &&
			shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED)
			(*ntables)++;
		return *ntables > 1;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_two_tables, arg, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, has_two_tables, arg);
}

PlannedStmt *
shuttle_colocated_plan(Query *query, ShuttlePlanCall call)
{
	bool		before = enable_partitionwise_join;
	int			ntables = 0;
	PlannedStmt *statement;

	if (before || !has_two_tables((Node *) query, &ntables))
		return shuttle_plan_rest(query, call);
	PG_TRY();					/* the setting outlives an error */
	{
		enable_partitionwise_join = true;
		statement = shuttle_plan_rest(query, call);
	}
	PG_FINALLY();
	{
		enable_partitionwise_join = before;
	}
	PG_END_TRY();
	return statement;
}
