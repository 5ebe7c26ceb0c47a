/*-------------------------------------------------------------------------
 * colocated.c
 *	  Statements with distributed tables: whether they are routed, else joins on
 *	  nodes of several distributed tables, or with reference tables.
 *
 * Most have one key, and go to one node (router.c).
 *
 * Tablets of one group with equal keys are on one node, so joins of them can be
 * left to the nodes. Core considers that only if enable_partitionwise_join is
 * on, which is off by default, as it costs planning time for others.
 *
 * Each node has copies of reference tables. A statement may read them if the
 * answer is the one that the tables here would give: it only reads, and calls
 * nothing that could write; it locks no rows; it is run to its end before
 * another one of its session, so it is no cursor. reference_tables.c looks at
 * each table and join; the executor's copied_joins.c has what changes between
 * planning and running.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/router/router.h"
#include "planner/statement/statement.h"
#include "tablets/shuttle_tablets.h"

/* What a statement has, on all levels. */
typedef struct Tables
{
	ShuttleTableKind kind;		/* of the tables that are counted */
	char		relkind;		/* that they have */
	int			ntables;
	bool		only_reads;		/* and locks no rows */
} Tables;

static bool with_copies = false;	/* of the innermost statement that is
									 * planned */

static bool count_tables(Node *node, void *arg);

static Tables
count(Query *query, ShuttleTableKind kind, char relkind)
{
	Tables		tables = {.kind = kind,.relkind = relkind,.only_reads = true};

	(void) count_tables((Node *) query, &tables);
	return tables;
}

static void
count_table(const RangeTblEntry *rte, Tables *tables)
{
	if (rte->rtekind == RTE_RELATION && rte->relkind == tables->relkind &&
		shuttle_table_kind(rte->relid) == tables->kind)
		tables->ntables++;
}

static bool
count_tables(Node *node, void *arg)
{
	Tables	   *tables = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ListCell   *lc;

		tables->only_reads &= query->commandType == CMD_SELECT && query->rowMarks == NIL;
		foreach(lc, query->rtable)
			count_table(lfirst_node(RangeTblEntry, lc), tables);
		return shuttle_walk_queries_below(query, count_tables, arg);
	}
	return expression_tree_walker(node, count_tables, arg);
}

/* Only what runs to its end at once may run in parallel, so cursors and loops of
 * PL/pgSQL lack that option. */
static bool
may_read_copies(Query *query, bool only_reads, int cursor_options)
{
	return shuttle_settings.enable_reference_copies && only_reads &&
		(cursor_options & CURSOR_OPT_PARALLEL_OK) != 0 &&
		count(query, SHUTTLE_TABLE_REFERENCE, RELKIND_RELATION).ntables > 0 &&
		shuttle_copies_can_be_read() && !contain_volatile_functions((Node *) query);
}

bool
shuttle_plans_with_copies(void)
{
	return with_copies;
}

/* Plans under these settings, which outlive an error. */
static PlannedStmt *
plan_with(Query *query, ShuttlePlanCall call, bool partitionwise, bool copies)
{
	bool		outer_partitionwise = enable_partitionwise_join;
	bool		outer_copies = with_copies;
	PlannedStmt *statement;

	if (partitionwise == outer_partitionwise && copies == outer_copies)
		return shuttle_plan_rest(query, call);
	PG_TRY();
	{
		enable_partitionwise_join = partitionwise;
		with_copies = copies;
		statement = shuttle_plan_rest(query, call);
	}
	PG_FINALLY();
	{
		enable_partitionwise_join = outer_partitionwise;
		with_copies = outer_copies;
	}
	PG_END_TRY();
	return statement;
}

PlannedStmt *
shuttle_colocated_plan(Query *query, ShuttlePlanCall call)
{
	Tables		distributed = count(query, SHUTTLE_TABLE_DISTRIBUTED, RELKIND_PARTITIONED_TABLE);
	Query	   *kept;
	PlannedStmt *statement;

	if (distributed.ntables > 0 && shuttle_settings.enable_router && !shuttle_routing_is_off())
	{
		statement = shuttle_router_plan(query, call);
		if (statement != NULL)
			return statement;
	}
	if (distributed.ntables == 0 ||
		!may_read_copies(query, distributed.only_reads, call.cursor_options))
		return plan_with(query, call, enable_partitionwise_join || distributed.ntables > 1, false);
	kept = copyObject(query);	/* it is changed while planning */
	shuttle_union_joins_move(query);
	statement = plan_with(query, call, true, true);
	shuttle_copied_join_keep_query(statement, kept);
	return statement;
}
