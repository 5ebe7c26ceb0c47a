/*-------------------------------------------------------------------------
 * copied_joins.c
 *	  Plans that join tablets with copies of reference tables, and when the
 *	  table here has to be read instead.
 *
 * A reference table's changes reach its copies at the end of their statement, so
 * copies are not read
 * - while a statement that changes a reference table is being executed, by its
 *	 triggers and functions; COPY and TRUNCATE as well;
 * - after a foreign key's cascade, whose changes wait for the end of the
 *	 statement that caused it: until the transaction ends, to be simple;
 * - if the transaction keeps one snapshot, which a node takes later than we do;
 * - on a standby, whose table may be behind the copies.
 *
 * A kept plan may have been made before that. So a plan that reads copies has
 * its query with it, in the range table entry of the copies' table, where the
 * executor and plancache.c do not look. When the plan is started and copies must
 * not be read, the query is planned again; the planner asks us, too. The plan's
 * locks are those that the new one needs, as both have the query's tables.
 *
 * Memory: a statement's note is in the executor's context of that statement, and
 * goes with it; a new plan lies beside its QueryDesc.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_utility.h"
#include "executor/join/join.h"
#include "executor/shuttle_executor.h"
#include "tablets/shuttle_tablets.h"

static int	nwrites = 0;		/* running statements that change reference
								 * tables */
static bool has_cascaded = false;	/* in this transaction */

bool
shuttle_copies_can_be_read(void)
{
	return nwrites == 0 && !has_cascaded && !IsolationUsesXactSnapshot() &&
		!RecoveryInProgress() && shuttle_copies_are_current();
}

/* ---- plans */

void
shuttle_copied_join_keep_query(PlannedStmt *statement, Query *query)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE &&
			shuttle_is_copy_table(rte->relid))
		{
			rte->subquery = query;
			return;
		}
	}
}

static Query *
find_query(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->subquery != NULL)
			return rte->subquery;
	}
	return NULL;
}

void
shuttle_copied_join_start(QueryDesc *query)
{
	Query	   *kept = find_query(query->plannedstmt);
	MemoryContext old_cxt;

	if (kept == NULL || shuttle_copies_can_be_read())
		return;
	old_cxt = MemoryContextSwitchTo(GetMemoryChunkContext(query));
	PushActiveSnapshot(query->snapshot);
	query->plannedstmt = pg_plan_query(copyObject(kept), query->sourceText,
									   CURSOR_OPT_PARALLEL_OK, query->params);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old_cxt);
}

/* ---- statements that change reference tables */

static bool
changes_reference_table(const PlannedStmt *statement)
{
	SHUTTLE_EACH_WRITTEN(rtindex, statement)
	{
		Oid			relid = rt_fetch(rtindex, statement->rtable)->relid;

		if (shuttle_table_kind(relid) == SHUTTLE_TABLE_REFERENCE)
			return true;
	}
	return false;
}

/* Callback for the end of the executor's context. */
static void
end_change(void *arg)
{
	nwrites--;
}

void
shuttle_reference_change_start(QueryDesc *query, int eflags)
{
	MemoryContext cxt = query->estate->es_query_cxt;
	MemoryContextCallback *callback;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 ||
		!changes_reference_table(query->plannedstmt))
		return;
	callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));
	callback->func = end_change;
	callback->arg = NULL;
	MemoryContextRegisterResetCallback(cxt, callback);
	nwrites++;
	if ((eflags & EXEC_FLAG_SKIP_TRIGGERS) != 0)
		has_cascaded = true;
}

void
shuttle_reference_change_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	nwrites++;
	PG_TRY();					/* the number outlives the statement */
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		nwrites--;
	}
	PG_END_TRY();
}

void
shuttle_reference_change_end_transaction(void)
{
	has_cascaded = false;
}
