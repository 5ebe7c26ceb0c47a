/*-------------------------------------------------------------------------
 * cut_here.c
 *	  Local rows that are read together with those of nodes.
 *
 * The server takes a statement's local snapshot before anything of ours runs. If it
 * turns out to be older than what a node shows, a statement of READ COMMITTED that has
 * not read a row yet gets a new one. So does a REPEATABLE READ transaction, as long as
 * nothing can have been read under the first one: it belongs to the cut then from
 * the first statement on that reads a node.
 *
 * While no transaction has written here and on a node since this server started, the
 * snapshot is not copied: all that follow are invisible in it.
 *
 * Memory: copies are in TopTransactionContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "storage/transaction/cut.h"

/* Under REPEATABLE READ: something may have been read here, and the first statement that does. */
static bool was_read = false;
static const QueryDesc *first_reader = NULL;

/* Its snapshot here is another session's; those of nodes are not. */
static bool is_imported = false;

/* Plans that have started, and not ended: each has a copy of the snapshot. */
static int	nstarted = 0;

/* The parts that XidInMVCCSnapshot() reads. */
static Snapshot
copy_snapshot(Snapshot snapshot)
{
	Size		running_size = snapshot->xcnt * sizeof(TransactionId);
	Size		sub_size = snapshot->subxcnt > 0 ? snapshot->subxcnt * sizeof(TransactionId) : 0;
	char	   *memory = MemoryContextAlloc(TopTransactionContext,
											sizeof(SnapshotData) + running_size + sub_size);
	Snapshot	copy = (Snapshot) memory;

	*copy = *snapshot;
	copy->xip = (TransactionId *) (memory + sizeof(SnapshotData));
	copy->subxip = (TransactionId *) (memory + sizeof(SnapshotData) + running_size);
	if (running_size > 0)
		memcpy(copy->xip, snapshot->xip, running_size);
	if (sub_size > 0)
		memcpy(copy->subxip, snapshot->subxip, sub_size);
	return copy;
}

void
shuttle_cut_forget_here(void)
{
	was_read = is_imported = false;
	first_reader = NULL;
	nstarted = 0;
}

/* True if the plan reads rows of this server, those of catalogs, too. */
static bool
reads_rows(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION &&
			(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW ||
			 rte->relkind == RELKIND_TOASTVALUE))
			return true;
	}
	return false;
}

void
shuttle_cut_note_start(const QueryDesc *query)
{
	if (!IsolationUsesXactSnapshot())
		return;
	nstarted++;
	if (!reads_rows(query->plannedstmt))
		return;
	first_reader = was_read ? NULL : query;
	was_read = true;
}

void
shuttle_cut_note_end(void)
{
	nstarted = Max(0, nstarted - 1);
}

void
shuttle_cut_check_own(void)
{
	if (is_imported)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read storage nodes in the state of another session's snapshot"),
				 errdetail("SET TRANSACTION SNAPSHOT is for this server's rows; each session has snapshots of nodes of its own."),
				 errhint("Have one session read all (pg_dump without -j), or set shuttle.read_consistency to 'node', which promises no state over nodes.")));
}

void
shuttle_cut_note_utility(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_VariableSetStmt:
			/* SET TRANSACTION SNAPSHOT */
			if (castNode(VariableSetStmt, unconstify(Node *, statement))->kind != VAR_SET_MULTI ||
				strcmp(castNode(VariableSetStmt, unconstify(Node *, statement))->name, "TRANSACTION SNAPSHOT") != 0)
				break;
			was_read = is_imported = true;
			first_reader = NULL;
			break;
		case T_TransactionStmt:
		case T_VariableShowStmt:
		case T_PrepareStmt:
		case T_ExecuteStmt:
		case T_DeallocateStmt:
		case T_DeclareCursorStmt:
		case T_FetchStmt:
		case T_ClosePortalStmt:
		case T_ExplainStmt:
		case T_CallStmt:
		case T_DoStmt:
			break;
		default:
			was_read = true;
			first_reader = NULL;
	}
}

bool
shuttle_cut_can_move(const QueryDesc *query)
{
	return IsolationUsesXactSnapshot() && (!was_read || (query != NULL && query == first_reader)) &&
		nstarted <= 1 && !IsParallelWorker() && !XactHasExportedSnapshots();
}

/*
 * Its xmin stays: what is below it in both is decided by the rest of them, and the server
 * keeps its snapshots in the order of xmin.
 */
static void
overwrite(Snapshot target, Snapshot latest)
{
	Snapshot	copy = copy_snapshot(latest);

	target->xmax = copy->xmax;
	target->xip = copy->xip;
	target->xcnt = copy->xcnt;
	target->subxip = copy->subxip;
	target->subxcnt = copy->subxcnt;
	target->suboverflowed = copy->suboverflowed;
}

/* Copies the local snapshot into the cut. */
static void
note_here(Cut *cut, Snapshot snapshot)
{
	if (cut->here != NULL)
		pfree(cut->here);
	cut->here = shuttle_windows != NULL &&
		(shuttle_cut_is_strict() || pg_atomic_read_u32(&shuttle_windows->any_here) != 0) ?
		copy_snapshot(snapshot) : NULL;
	cut->reads_here = true;
	cut->settled = false;
}

bool
shuttle_cut_read_here(QueryDesc *query)
{
	Snapshot	snapshot = query->estate->es_snapshot;
	Cut		   *cut;
	bool		renewed = false;

	cut = shuttle_cut_get(shuttle_snapshot_number(snapshot));
	if (!cut->reads_here)
		note_here(cut, snapshot);
	if (IsolationUsesXactSnapshot())
		shuttle_cut_begin_with_here(cut, shuttle_snapshot_number(snapshot));
	if (!cut->settled && (cut->nmembers > 0 || shuttle_cut_is_strict()))
		renewed = shuttle_cut_settle(cut, (cut->owner == query || shuttle_cut_can_move(query)) && !cut->read_here ?
									 query : NULL);
	if (first_reader == query)
		first_reader = NULL;
	cut->read_here = true;
	return renewed;
}

/* Some scans have copied the pointer when the plan was started. */
static bool
replace_in_scan(PlanState *node, void *snapshot)
{
	if (node == NULL)
		return false;
	if (IsA(node, BitmapHeapScanState) && ((BitmapHeapScanState *) node)->ss.ss_currentScanDesc != NULL)
		((BitmapHeapScanState *) node)->ss.ss_currentScanDesc->rs_snapshot = snapshot;
	else if (IsA(node, BitmapIndexScanState) && ((BitmapIndexScanState *) node)->biss_ScanDesc != NULL)
		((BitmapIndexScanState *) node)->biss_ScanDesc->xs_snapshot = snapshot;
	return planstate_tree_walker(node, replace_in_scan, snapshot);
}

void
shuttle_cut_note_here(Cut *cut)
{
	note_here(cut, GetTransactionSnapshot());
}

/* The transaction's snapshot, and the copies that running statements have. */
static void
move_snapshot(Cut *cut, QueryDesc *query)
{
	Snapshot	snapshot = GetTransactionSnapshot();
	Snapshot	latest = GetLatestSnapshot();

	overwrite(snapshot, latest);
	if (ActiveSnapshotSet())
		overwrite(GetActiveSnapshot(), latest);
	if (query != NULL)
		overwrite(query->estate->es_snapshot, latest);
	note_here(cut, snapshot);
}

bool
shuttle_cut_replace_snapshot(Cut *cut, QueryDesc *query)
{
	EState	   *estate;
	Snapshot	before;
	Snapshot	snapshot;

	cut->first = shuttle_windows_clock();
	cut->alone_here = pg_atomic_read_u64(&shuttle_windows->alone_since);
	pg_memory_barrier();
	if (IsolationUsesXactSnapshot())
	{
		move_snapshot(cut, query);
		return false;
	}
	estate = query->estate;
	before = estate->es_snapshot;
	snapshot = RegisterSnapshot(GetTransactionSnapshot());

	/* The same statement goes on: requests of nodes know it by this number. */
	snapshot->snapXactCompletionCount = before->snapXactCompletionCount;
	snapshot->curcid = before->curcid;
	estate->es_snapshot = RegisterSnapshot(snapshot);
	UnregisterSnapshot(before);
	UnregisterSnapshot(query->snapshot);
	query->snapshot = snapshot;
	(void) replace_in_scan(query->planstate, snapshot);
	note_here(cut, snapshot);
	return true;
}
