/*-------------------------------------------------------------------------
 * scan_facts.c
 *	  What a foreign scan's plan says: its node, what its SELECT does there,
 *	  the pages it is read in, its row type and its snapshot.
 *
 * Nothing here depends on whether the scan was sent, so it holds for scans
 * that a Look Ahead serves and for direct modification as well.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

ShuttleNode *
shuttle_scan_node(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;

	/* a shipped join has one server and one user */
	return shuttle_connection_get(plan->fs_server,
								  shuttle_scan_user(plan, scan->ss.ps.state));
}

bool
shuttle_scan_locks_late(const EState *estate, Index rtindex)
{
	const ExecRowMark *mark = estate->es_rowmarks == NULL ? NULL : estate->es_rowmarks[rtindex - 1];

	return mark != NULL && RowMarkRequiresRowShareLock(mark->markType) && mark->relation != NULL &&
		mark->relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
}

ShuttleEffect
shuttle_scan_effect(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	const char *sql = shuttle_postgres_fdw_scan_sql(plan);
	int			rtindex = -1;

	if (sql != NULL && shuttle_remote_sql_locks(sql))
		return SHUTTLE_LOCKS;

	while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		RangeTblEntry *rte = exec_rt_fetch(rtindex, estate);

		if (shuttle_scan_locks_late(estate, rtindex))
			return SHUTTLE_READS_TO_LOCK;

		if (rte->rtekind == RTE_RELATION &&
			shuttle_remote_option_bool(shuttle_remote_options(rte->relid),
									   "shuttle_volatile", false))
			return SHUTTLE_MAY_WRITE;
	}
	return SHUTTLE_READS;
}

ShuttlePageLimits
shuttle_scan_page_limits(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	ShuttlePageLimits limits = {0};
	int			rtindex = -1;

	while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		RangeTblEntry *rte = exec_rt_fetch(rtindex, scan->ss.ps.state);
		const List *options;
		int			rows;

		if (rte->rtekind != RTE_RELATION)
			continue;
		options = shuttle_remote_options(rte->relid);
		rows = shuttle_remote_option_int(options, "shuttle_fetch_limit",
										 shuttle_remote_option_int(options, "fetch_size", 0));
		limits.fetch_limit = Max(limits.fetch_limit, rows);
		limits.fetch_size_limit_kb =
			Max(limits.fetch_size_limit_kb,
				shuttle_remote_option_kb(options, "shuttle_fetch_size_limit", 0));
		limits.fetch_ahead_kb =
			Max(limits.fetch_ahead_kb,
				shuttle_remote_option_kb(options, "shuttle_fetch_ahead", 0));
	}
	if (limits.fetch_limit == 0)
		limits.fetch_limit = shuttle_settings.fetch_limit;
	return limits;
}

TupleDesc
shuttle_scan_desc(ForeignScanState *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	TupleDesc	desc;
	ListCell   *cell;

	if (plan->scan.scanrelid > 0)
		return RelationGetDescr(scan->ss.ss_currentRelation);

	/*
	 * The plan may type a whole-row column as RECORD, which has no input
	 * function.
	 */
	desc = CreateTupleDescCopy(scan->ss.ss_ScanTupleSlot->tts_tupleDescriptor);
	foreach(cell, plan->fdw_scan_tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, cell)->expr;
		Form_pg_attribute column = TupleDescAttr(desc, foreach_current_index(cell));
		RangeTblEntry *rte;
		Oid			row_type;

		if (column->atttypid != RECORDOID || column->atttypmod >= 0 ||
			!IsA(var, Var) || var->varattno != 0)
			continue;
		rte = exec_rt_fetch(var->varno, scan->ss.ps.state);
		if (rte->rtekind != RTE_RELATION)
			continue;
		row_type = get_rel_type_id(rte->relid);
		if (OidIsValid(row_type))
			column->atttypid = row_type;
	}
	return desc;
}

bool
shuttle_scan_reads_written_table(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;

	SHUTTLE_EACH_WRITTEN(target, estate->es_plannedstmt)
	{
		Oid			written = exec_rt_fetch(target, estate)->relid;
		int			rtindex = -1;

		while ((rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
		{
			const RangeTblEntry *rte = exec_rt_fetch(rtindex, estate);

			if (rte->rtekind == RTE_RELATION && shuttle_remote_write_reaches(written, rte->relid))
				return true;
		}
	}
	return false;
}

bool
shuttle_scan_may_read_behind_write(const ForeignScanState *scan, int eflags)
{
	const PlannedStmt *statement = scan->ss.ps.state->es_plannedstmt;

	return (statement->hasModifyingCTE || statement->subplans != NIL ||
			(eflags & EXEC_FLAG_REWIND) != 0) && shuttle_scan_reads_written_table(scan);
}

uint64
shuttle_scan_snapshot(EState *estate)
{
	Snapshot	snapshot = estate->es_snapshot;

	if (snapshot == InvalidSnapshot)	/* COPY */
		snapshot = GetActiveSnapshot();
	return shuttle_snapshot_number(snapshot);
}
