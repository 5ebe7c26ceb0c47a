/*-------------------------------------------------------------------------
 * lock_ahead.c
 *	  Lock Ahead: has rows locked before core's LockRows asks for them one by one.
 *
 * It reads as many rows as the plan above is sure to take, and sends each node one request
 * for those of each of its tablets. With SKIP LOCKED and NOWAIT all nodes are asked at once,
 * since nobody waits for a lock. Other locks are taken in the plan's order, as two sessions
 * could otherwise wait for each other where they do not on one server: only rows of one
 * tablet that follow each other are locked at once.
 *
 * Memory: rows that are held live in a context that is reset with each batch.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "executor/facts/node_names.h"
#include "executor/facts/scan_facts.h"
#include "executor/scan/late_locks.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_late_locks.h"
#include "explain/shuttle_explain.h"

/* More rows are locked by several requests. */
#define MOST_ROWS 1000

enum PlanField
{
	FIELD_COLUMNS,				/* of ctid and tableoid; empty: rows are not
								 * locked ahead */
	FIELD_TABLES,				/* range table indexes of tablets */
	NFIELDS
};

/* A row that was read, and is to be locked. */
typedef struct HeldRow
{
	MinimalTuple tuple;
	ExecRowMark *mark;			/* NULL: of a table that is not locked late */
	ItemPointerData tid;
} HeldRow;

typedef struct LockAhead
{
	CustomScanState css;
	ShuttleRowNeed *need;
	int			row_column;		/* 0: rows are not locked ahead */
	int			table_column;
	List	   *marks;			/* ExecRowMark */
	MemoryContext cxt;
	HeldRow    *rows;
	int			nrows;
	int			next;
	TupleTableSlot *slot;		/* of held rows */
	bool		is_at_end;
	ShuttleCounters counters;	/* of requests for locks */
} LockAhead;

static Node *create_state(CustomScan *plan);
static void begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *next_row(CustomScanState *node);
static void end(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods methods = {
	.CustomName = shuttle_node_lock_ahead_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = shuttle_node_lock_ahead_name,
	.BeginCustomScan = begin,
	.ExecCustomScan = next_row,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

void
shuttle_lock_ahead_register(void)
{
	RegisterCustomScanMethods(&methods);
}

CustomScan *
shuttle_lock_ahead_make(Plan *child, List *targetlist, List *scan_targetlist, List *columns, const Bitmapset *tables)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *indexes = NIL;
	int			rtindex = -1;

	while ((rtindex = bms_next_member(tables, rtindex)) >= 0)
		indexes = lappend_int(indexes, rtindex);
	scan->methods = &methods;
	scan->custom_private = list_make2(columns, indexes);
	scan->custom_scan_tlist = scan_targetlist;
	scan->scan.plan.targetlist = targetlist;
	scan->scan.plan.lefttree = child;
	return scan;
}

static Node *
create_state(CustomScan *plan)
{
	LockAhead  *state = palloc0_object(LockAhead);

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

static void
take_plan(LockAhead *state, const CustomScan *plan, EState *estate)
{
	const List *columns = list_nth(plan->custom_private, FIELD_COLUMNS);
	ListCell   *cell;

	Assert(list_length(plan->custom_private) == NFIELDS);
	foreach(cell, (List *) list_nth(plan->custom_private, FIELD_TABLES))
	{
		ExecRowMark *mark = estate->es_rowmarks[lfirst_int(cell) - 1];

		if (!shuttle_scan_locks_late(estate, lfirst_int(cell)))
			continue;
		state->marks = lappend(state->marks, mark);
		shuttle_late_lock_count(mark, &state->counters);
	}
	if (columns == NIL)
		return;
	state->row_column = linitial_int(columns);
	state->table_column = lsecond_int(columns);
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	LockAhead  *state = (LockAhead *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);

	/* rows come in the child's slots, or in ours */
	node->ss.ps.resultops = &TTSOpsVirtual;
	node->ss.ps.resultopsfixed = false;
	node->ss.ps.resultopsset = true;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || estate->es_epq_active != NULL)
		return;
	take_plan(state, plan, estate);
	state->slot = ExecInitExtraTupleSlot(estate, ExecGetResultType(outerPlanState(node)), &TTSOpsMinimalTuple);
	state->cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle lock ahead", ALLOCSET_DEFAULT_SIZES);
}

void
shuttle_lock_ahead_set_need(PlanState *node, const ShuttleNeedStep *need)
{
	LockAhead  *state = (LockAhead *) node;

	state->need = shuttle_row_need_copy(state->need, need, node->state);
}

/* ---- batches */

static ExecRowMark *
find_mark(const LockAhead *state, Oid relid)
{
	ListCell   *cell;

	foreach(cell, state->marks)
	{
		ExecRowMark *mark = lfirst(cell);

		if (mark->relid == relid)
			return mark;
	}
	return NULL;
}

static void
hold_row(LockAhead *state, TupleTableSlot *slot)
{
	HeldRow    *held = &state->rows[state->nrows++];
	bool		row_is_null;
	bool		table_is_null;
	Datum		row = slot_getattr(slot, state->row_column, &row_is_null);
	Datum		table = slot_getattr(slot, state->table_column, &table_is_null);

	held->tuple = ExecCopySlotMinimalTuple(slot);
	held->mark = row_is_null || table_is_null ? NULL : find_mark(state, DatumGetObjectId(table));
	if (held->mark != NULL)
		held->tid = *(ItemPointer) DatumGetPointer(row);
}

/* Reads the rows that will surely be locked. */
static void
read_batch(LockAhead *state)
{
	double		wanted = Min(shuttle_row_need_count(state->need), MOST_ROWS);

	MemoryContextReset(state->cxt);
	state->nrows = state->next = 0;
	state->rows = MemoryContextAlloc(state->cxt, sizeof(HeldRow) * (int) wanted);
	while (state->nrows < wanted && !state->is_at_end)
	{
		TupleTableSlot *slot = ExecProcNode(outerPlanState(&state->css));
		MemoryContext old_cxt = MemoryContextSwitchTo(state->cxt);

		if (TupIsNull(slot))
			state->is_at_end = true;
		else
			hold_row(state, slot);
		MemoryContextSwitchTo(old_cxt);
	}
}

/* Sends the locks of a table for rows from first on. may_skip: rows of others may be in between. */
static void
send_locks(LockAhead *state, ExecRowMark *mark, int first, bool may_skip)
{
	ItemPointerData *tids = palloc_array(ItemPointerData, state->nrows - first);
	int			ntids = 0;

	for (int i = first; i < state->nrows; i++)
	{
		if (state->rows[i].mark == mark)
			tids[ntids++] = state->rows[i].tid;
		else if (!may_skip)
			break;
	}
	if (ntids > 0)
		shuttle_late_lock_send(mark, tids, ntids);
	pfree(tids);
}

static bool
waits(const ExecRowMark *mark)
{
	return mark->waitPolicy == LockWaitBlock;
}

static void
send_all(LockAhead *state)
{
	ListCell   *cell;

	foreach(cell, state->marks)
	{
		if (!waits(lfirst(cell)))
			send_locks(state, lfirst(cell), 0, true);
	}
}

/* Before a row is returned that has not been asked for. */
static void
send_from(LockAhead *state, int row)
{
	ExecRowMark *mark = state->rows[row].mark;

	if (mark != NULL && waits(mark) && (row == 0 || state->rows[row - 1].mark != mark))
		send_locks(state, mark, row, false);
}

static TupleTableSlot *
next_row(CustomScanState *node)
{
	LockAhead  *state = (LockAhead *) node;

	if (state->row_column == 0)
		return ExecProcNode(outerPlanState(node));
	if (state->next == state->nrows && !state->is_at_end)
	{
		read_batch(state);
		send_all(state);
	}
	if (state->next == state->nrows)
		return NULL;
	send_from(state, state->next);
	return ExecStoreMinimalTuple(state->rows[state->next++].tuple, state->slot, false);
}

static void
rescan(CustomScanState *node)
{
	LockAhead  *state = (LockAhead *) node;

	state->nrows = state->next = 0;
	state->is_at_end = false;
	if (state->slot != NULL)
		ExecClearTuple(state->slot);
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ShuttleExplainNumbers numbers = {
		.counters = &((LockAhead *) node)->counters,
		.reads = true,
		.engine = true,
	};

	shuttle_explain_counters(es, &numbers);
}
