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
 * - if the transaction keeps one snapshot, which a node takes later than we do.
 *
 * Entries of global indexes are read for where rows are (planner/rewrite/index_lookups.c). They follow the rows at the
 * end of a statement, too, so while one writes to such a table, what it calls asks all tablets instead, and so does
 * what follows a cascade to such a table. In a transaction with one snapshot, that of the entries may be older than
 * that of the rows.
 *
 * On a standby, which changes nothing and may be behind the nodes, copies are always read
 * (planner/rewrite/standby_copies.c).
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
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_utility.h"
#include "executor/join/join.h"
#include "executor/shuttle_copied_entries.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_cut.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

static int	nwrites = 0;		/* running statements that change reference
								 * tables */
static int	nindexed_writes = 0;	/* those that change tables with global
									 * indexes */
static bool has_cascaded = false;	/* in this transaction, to a reference
									 * table */
static bool has_cascaded_indexed = false;	/* to a table with global indexes */

bool
shuttle_copied_joins_are_allowed(void)
{
	return RecoveryInProgress() ||
		(nwrites == 0 && !has_cascaded && !IsolationUsesXactSnapshot() && shuttle_copies_are_current());
}

/* True if the client has named the statement's portal: it may read it in pieces, with other statements
 * between them. Core names portals of SPI. */
static bool
may_stop(void)
{
	return ActivePortal != NULL && ActivePortal->name[0] != '\0' &&
		strncmp(ActivePortal->name, "<unnamed portal", strlen("<unnamed portal")) != 0;
}

bool
shuttle_copied_entries_are_allowed(void)
{
	return !may_stop() && nwrites == 0 && nindexed_writes == 0 && !has_cascaded_indexed &&
		(!IsolationUsesXactSnapshot() || shuttle_cut_is_wanted());
}

/* ---- plans */

static bool
is_of_copies(const RangeTblEntry *rte)
{
	return rte->relkind == RELKIND_FOREIGN_TABLE && shuttle_copy_table_has_oid(rte->relid);
}

static bool
is_of_entries(const RangeTblEntry *rte)
{
	return rte->relkind == RELKIND_PARTITIONED_TABLE && shuttle_global_index_has_entries(rte->relid);
}

static void
keep_query(PlannedStmt *statement, Query *query, bool (*is_of) (const RangeTblEntry *rte))
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && is_of(rte))
		{
			rte->subquery = query;
			return;
		}
	}
}

void
shuttle_copied_join_keep_query(PlannedStmt *statement, Query *query)
{
	keep_query(statement, query, is_of_copies);
}

void
shuttle_copied_entries_keep_query(PlannedStmt *statement, Query *query)
{
	keep_query(statement, query, is_of_entries);
}

/* The query of a plan that reads what must not be read now; NULL: it may be executed. */
static Query *
find_query(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->subquery != NULL &&
			!(rte->relkind == RELKIND_FOREIGN_TABLE ? shuttle_copied_joins_are_allowed() : shuttle_copied_entries_are_allowed()))
			return rte->subquery;
	}
	return NULL;
}

void
shuttle_copied_join_start(QueryDesc *query)
{
	Query	   *kept = find_query(query->plannedstmt);
	MemoryContext old_cxt;

	if (kept == NULL)
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

/* True if a statement that writes also names a table with global indexes, which may be the one that it changes. */
static bool
may_change_indexed_table(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->commandType == CMD_SELECT && !statement->hasModifyingCTE ? NIL : statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE && shuttle_global_indexes_exist(rte->relid))
			return true;
	}
	return false;
}

/* Callback for the end of the executor's context. */
static void
end_change(void *arg)
{
	(*(int *) arg)--;
}

static void
begin_change(int *nchanges, MemoryContext cxt)
{
	MemoryContextCallback *callback = MemoryContextAlloc(cxt, sizeof(MemoryContextCallback));

	callback->func = end_change;
	callback->arg = nchanges;
	MemoryContextRegisterResetCallback(cxt, callback);
	(*nchanges)++;
}

void
shuttle_copied_joins_start_change(QueryDesc *query, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	if (may_change_indexed_table(query->plannedstmt))
	{
		begin_change(&nindexed_writes, query->estate->es_query_cxt);
		has_cascaded_indexed |= (eflags & EXEC_FLAG_SKIP_TRIGGERS) != 0;
	}
	if (!changes_reference_table(query->plannedstmt))
		return;
	begin_change(&nwrites, query->estate->es_query_cxt);
	if ((eflags & EXEC_FLAG_SKIP_TRIGGERS) != 0)
		has_cascaded = true;
}

void
shuttle_copied_joins_run_change(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
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
shuttle_copied_joins_end_transaction(void)
{
	has_cascaded = has_cascaded_indexed = false;
}
