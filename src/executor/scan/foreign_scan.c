/*-------------------------------------------------------------------------
 * foreign_scan.c
 *	  Scans of foreign tables, joins and aggregates on a storage node.
 *
 * A scan sends postgres_fdw's SELECT when it is first read, or earlier by
 * early start (remote_scan.c), and decodes one row at a time.
 *
 * 	BEGUN --send--> SENT --last row--> ENDED
 * 	SENT, ENDED --rescan, parameters of the SELECT changed--> BEGUN
 * 	SENT, ENDED --rescan, else--> SENT (rewound), or BEGUN
 *
 * Memory: the state lives in the query's context; request_cxt owns the request
 * and is reset with each new one, row_cxt holds the current row.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_expressions.h"
#include "executor/early/early.h"
#include "executor/facts/parameters.h"
#include "executor/facts/safe_values.h"
#include "executor/facts/scan_facts.h"
#include "executor/join/join.h"
#include "executor/outbox.h"
#include "executor/scan/late_locks.h"
#include "executor/scan/remote_scan.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

static void begin_foreign_scan(ForeignScanState *scan, int eflags);
static TupleTableSlot *iterate_foreign_scan(ForeignScanState *scan);
static void rescan_foreign_scan(ForeignScanState *scan);
static void end_foreign_scan(ForeignScanState *scan);
static void explain_foreign_scan(ForeignScanState *scan, ExplainState *es);
static void store_tuple(ShuttleRemoteScan *remote, const ShuttleRow *row,
						TupleTableSlot *slot);
static void drop_request(ShuttleRemoteScan *remote);
static void ask_again(ForeignScanState *scan);

void
shuttle_foreign_scan_fill(FdwRoutine *routine)
{
	routine->BeginForeignScan = begin_foreign_scan;
	routine->IterateForeignScan = iterate_foreign_scan;
	routine->ReScanForeignScan = rescan_foreign_scan;
	routine->EndForeignScan = end_foreign_scan;
	routine->ShutdownForeignScan = NULL;
	routine->ExplainForeignScan = explain_foreign_scan;

	/* a connection belongs to one process */
	routine->IsForeignScanParallelSafe = NULL;
}

static void
begin_foreign_scan(ForeignScanState *scan, int eflags)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	ShuttleRemoteScan *remote;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	remote = palloc0_object(ShuttleRemoteScan);
	remote->exec_params = shuttle_expression_params(plan->fdw_exprs);
	remote->eflags = eflags;
	scan->fdw_state = remote;

	/* EvalPlanQual rechecks given rows and rarely scans */
	if (scan->ss.ps.state->es_epq_active != NULL)
		return;

	/* starts connecting, so that several nodes connect at the same time */
	remote->node = shuttle_scan_node(scan);
	shuttle_late_lock_begin(scan);
	if (bms_is_empty(remote->exec_params) && shuttle_remote_scan_has_safe_values(plan))
		shuttle_remote_scan_list(scan);
}

/* Sends buffered writes first, since a function sees its caller's writes. */
static void
send_when_needed(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	ListCell   *cell;

	if (remote->request != NULL)
		return;
	shuttle_early_start_params(scan->ss.ps.state, remote->exec_params);
	shuttle_outbox_before_read(remote->node, scan->ss.ps.state);
	shuttle_remote_scan_send(scan, 0, false);
	if (remote->later != NULL)
		shuttle_late_start_run(remote->later);
	if (remote->effect != SHUTTLE_LOCKS)
		return;
	foreach(cell, remote->together)
	{
		ForeignScanState *other = lfirst_node(ForeignScanState, cell);

		if (shuttle_remote_scan_is_plain(other) && ((ShuttleRemoteScan *) other->fdw_state)->unsent.item.listed)
		{
			shuttle_outbox_before_read(shuttle_scan_node(other), other->ss.ps.state);
			shuttle_remote_scan_send(other, 0, false);
		}
	}
}

TupleTableSlot *
shuttle_foreign_scan_try(ForeignScanState *scan, bool *pending)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	PlanState  *node = &scan->ss.ps;
	TupleTableSlot *slot = NULL;

	send_when_needed(scan);
	remote->pending = !remote->awaited;
	remote->awaited = true;
	if (!remote->pending)
	{
		remote->no_wait = true;
		slot = node->ExecProcNodeReal(node);
		remote->no_wait = false;
	}
	*pending = remote->pending;
	return slot;
}

ShuttleRequest *
shuttle_foreign_scan_request(ForeignScanState *scan)
{
	return ((ShuttleRemoteScan *) scan->fdw_state)->request;
}

/* If the scan must wait for its next page, makes merged scans ask now, too. */
static void
ask_beside(ShuttleRemoteScan *remote)
{
	ListCell   *cell;

	if (!shuttle_request_is_used_up(remote->request))
		return;
	foreach(cell, remote->beside)
	{
		ForeignScanState *other = lfirst_node(ForeignScanState, cell);
		ShuttleRemoteScan *other_remote = other->fdw_state;

		if (shuttle_remote_scan_is_plain(other) && other_remote != remote && other_remote->request != NULL)
			shuttle_request_ask_soon(other_remote->request);
	}
}

static TupleTableSlot *
iterate_foreign_scan(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	TupleTableSlot *slot = scan->ss.ss_ScanTupleSlot;
	ShuttleRow	row;

	/* the slot points into row_cxt or to the decoder's memory */
	ExecClearTuple(slot);
	if (remote->ended)
		return slot;
	if (remote->pauses && shuttle_caught_error_reads_ahead() &&
		(remote->request == NULL || !shuttle_request_has_rows(remote->request)))
		shuttle_caught_error_pause();

	send_when_needed(scan);
	if (remote->beside != NIL)
		ask_beside(remote);
	if (remote->need != NULL && !shuttle_request_has_rows(remote->request))
		shuttle_request_set_goal(remote->request, shuttle_remote_scan_lock_goal(remote));
	for (;;)
	{
		switch (shuttle_request_fetch(remote->request, !remote->no_wait, &row))
		{
			case SHUTTLE_ROW:
				remote->returned_row = true;
				if (remote->is_virtual)
					shuttle_row_decoder_store(remote->decoder, &row, slot);
				else
					store_tuple(remote, &row, slot);
				return slot;

			case SHUTTLE_END:
				remote->ended = true;
				return slot;

			case SHUTTLE_FAILED:
			case SHUTTLE_LOST:
				ask_again(scan);
				break;

			case SHUTTLE_PENDING:
				Assert(remote->no_wait);
				remote->pending = true;
				return slot;
		}
	}
}

static void
store_tuple(ShuttleRemoteScan *remote, const ShuttleRow *row, TupleTableSlot *slot)
{
	MemoryContext old_cxt;
	HeapTuple	tuple;

	MemoryContextReset(remote->row_cxt);
	old_cxt = MemoryContextSwitchTo(remote->row_cxt);
	tuple = shuttle_row_decoder_tuple(remote->decoder, row);
	if (remote->target != NULL)
		shuttle_target_scan_name_row(remote->target, tuple,
									 slot->tts_tupleDescriptor);
	MemoryContextSwitchTo(old_cxt);
	ExecStoreHeapTuple(tuple, slot, false);
}

/*
 * A speculative request failed: sends it again now that it is needed, so that
 * the error is raised. After the first returned row a second answer could not
 * be continued, so then an error is raised in any case.
 */
static void
ask_again(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	bool		returned_row = remote->returned_row;
	ShuttleRow	row;

	drop_request(remote);
	send_when_needed(scan);
	if (!returned_row)
		return;
	while (shuttle_request_fetch(remote->request, true, &row) == SHUTTLE_ROW)
		;
	ereport(ERROR,
			(errcode(ERRCODE_FDW_UNABLE_TO_CREATE_EXECUTION),
			 errmsg("lost the answer of storage node \"%s\"",
					shuttle_node_name(remote->node)),
			 errhint("Repeat the statement.")));
}

static void
rescan_foreign_scan(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	bool		changed;

	if (remote == NULL || remote->request == NULL)
		return;

	ExecClearTuple(scan->ss.ss_ScanTupleSlot);
	remote->ended = false;

	/*
	 * A parameter used only by a local filter does not change the answer. A
	 * SELECT that may write is repeated as often as in postgres_fdw.
	 */
	if (remote->effect == SHUTTLE_MAY_WRITE)
		changed = scan->ss.ps.chgParam != NULL;
	else
		changed = bms_overlap(scan->ss.ps.chgParam, remote->exec_params);
	if (!changed && shuttle_request_rewind(remote->request))
		remote->returned_row = false;
	else
		drop_request(remote);
}

static void
drop_request(ShuttleRemoteScan *remote)
{
	if (remote->request == NULL)
		return;
	shuttle_request_close(remote->request);
	remote->request = NULL;
	MemoryContextReset(remote->request_cxt);
}

static void
end_foreign_scan(ForeignScanState *scan)
{
	ShuttleRemoteScan *remote = scan->fdw_state;

	if (remote == NULL)
		return;
	shuttle_outbox_remove(&remote->unsent.item);
	drop_request(remote);
}

static void
explain_foreign_scan(ForeignScanState *scan, ExplainState *es)
{
	ShuttleRemoteScan *remote = scan->fdw_state;
	ShuttleExplainNumbers numbers = {.reads = true,.engine = true};

	shuttle_foreign_scan_explain(scan, es);
	if (remote == NULL || remote->node == NULL)
		return;

	numbers.counters = &remote->counters;
	numbers.node_name = shuttle_node_name(remote->node);
	shuttle_explain_counters(es, &numbers);
	shuttle_explain_remote_asked(remote->asked, remote->node, NULL, es);
}
