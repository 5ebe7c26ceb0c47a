/*-------------------------------------------------------------------------
 * colocated.c
 *	  Joins on nodes of several distributed tables, or with reference tables.
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

#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_settings.h"
#include "planner/rewrite/rewrite.h"
#include "planner/router/router.h"
#include "tablets/shuttle_tablets.h"

/* What a statement has, on all levels. */
typedef struct Tables
{
	ShuttleTableKind kind;		/* of the tables that are counted */
	char		relkind;		/* that they have */
	int			ntables;
	int			nfunctions;		/* in FROM */
	bool		only_reads;		/* and locks no rows */
} Tables;

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
	if (rte->rtekind == RTE_FUNCTION)
		tables->nfunctions++;
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
		shuttle_copied_joins_are_allowed() && !contain_volatile_functions((Node *) query);
}

/* Plans under these settings, which outlive an error. */
static PlannedStmt *
plan_with(Query *query, ShuttlePlanCall call, bool partitionwise, bool copies)
{
	bool		outer_partitionwise = enable_partitionwise_join;
	bool		outer_copies = shuttle_planning_copies();
	PlannedStmt *statement;

	if (partitionwise == outer_partitionwise && copies == outer_copies)
		return shuttle_plan_rest(query, call);
	PG_TRY();
	{
		enable_partitionwise_join = partitionwise;
		shuttle_planning_set_copies(copies);
		statement = shuttle_plan_rest(query, call);
	}
	PG_FINALLY();
	{
		enable_partitionwise_join = outer_partitionwise;
		shuttle_planning_set_copies(outer_copies);
	}
	PG_END_TRY();
	return statement;
}

/* Copies may be read by a statement with reference tables, or with functions that core
 * makes subqueries of. Without tablets the setting decides. */
static bool
may_read_copies_on_standby(Query *query, int ndistributed)
{
	Tables		references = count(query, SHUTTLE_TABLE_REFERENCE, RELKIND_RELATION);

	return (references.ntables > 0 || references.nfunctions > 0) &&
		(ndistributed > 0 || shuttle_settings.enable_reference_copies);
}

/* After a promotion the plan is made again if copies must not be read then. */
static PlannedStmt *
plan_on_standby(Query *query, ShuttlePlanCall call)
{
	Query	   *kept = copyObject(query);
	PlannerGlobal *dependencies = makeNode(PlannerGlobal);
	int			ndistributed;
	PlannedStmt *statement;

	shuttle_standby_inline_functions(query, dependencies);
	ndistributed = count(query, SHUTTLE_TABLE_DISTRIBUTED, RELKIND_PARTITIONED_TABLE).ntables;
	shuttle_standby_read_copies(query, ndistributed > 0);
	statement = plan_with(query, call, enable_partitionwise_join || ndistributed > 1, false);
	statement->invalItems = list_concat(statement->invalItems, dependencies->invalItems);
	statement->dependsOnRole |= dependencies->dependsOnRole;
	shuttle_plan_forget_unchecked(statement);
	shuttle_copied_join_keep_query(statement, kept);
	return statement;
}

PlannedStmt *
shuttle_colocated_plan(Query *query, ShuttlePlanCall call)
{
	Tables		distributed = count(query, SHUTTLE_TABLE_DISTRIBUTED, RELKIND_PARTITIONED_TABLE);
	Query	   *kept;
	PlannedStmt *statement;

	if (RecoveryInProgress() && may_read_copies_on_standby(query, distributed.ntables))
		return plan_on_standby(query, call);
	if (distributed.ntables == 0 ||
		!may_read_copies(query, distributed.only_reads, call.cursor_options))
		return plan_with(query, call, enable_partitionwise_join || distributed.ntables > 1, false);
	kept = copyObject(query);	/* it is changed while planning */
	shuttle_union_joins_move(query);
	statement = plan_with(query, call, true, true);
	shuttle_copied_join_keep_query(statement, kept);
	return statement;
}
