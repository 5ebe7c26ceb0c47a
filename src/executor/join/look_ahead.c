/*-------------------------------------------------------------------------
 * look_ahead.c
 *	  Plan node that reads outer rows ahead and sends requests for their
 *	  keys.
 *
 * It is the outer child of a nested loop or of a node whose expressions have
 * correlated SubPlans, or has such expressions itself. It fills batches of
 * outer rows and sends their keys (look_ahead_batch.c), and returns the rows
 * one by one, in the order in which they came. Rules: without links
 * (EvalPlanQual, EXPLAIN, switched off) it only passes rows through. For local
 * index scans it prefetches pages instead (local_prefetch.c), in batches only
 * while that pays. Memory: below the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/facts/row_need.h"
#include "executor/facts/safe_values.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/prefetch/prefetch.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"

/* Outer rows of the first batch if there is only prefetching: a plan that stops
 * early should not have read many in vain. */
#define LOCAL_FIRST_BATCH 32

static uint64 nbegun = 0;		/* nodes ever started in this session */

static void begin_look_ahead(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_look_ahead(CustomScanState *node);
static void end_look_ahead(CustomScanState *node);
static void rescan_look_ahead(CustomScanState *node);
static void explain_look_ahead(CustomScanState *node, List *ancestors,
							   ExplainState *es);
static TupleTableSlot *next_outer(LookAheadState *look);
static TupleTableSlot *next_projected(LookAheadState *look);
static void store_virtual(TupleTableSlot *to, TupleTableSlot *from);
static TupleTableSlot *pass_through(LookAheadState *look);
static TupleTableSlot *pass_row(LookAheadState *look);
static bool next_batch(LookAheadState *look);

static const CustomExecMethods look_ahead_exec_methods = {
	.CustomName = shuttle_node_look_ahead_name,
	.BeginCustomScan = begin_look_ahead,
	.ExecCustomScan = exec_look_ahead,
	.EndCustomScan = end_look_ahead,
	.ReScanCustomScan = rescan_look_ahead,
	.ExplainCustomScan = explain_look_ahead,
};

Node *
shuttle_look_ahead_create_state(CustomScan *plan)
{
	LookAheadState *look = palloc0(sizeof(LookAheadState));

	NodeSetTag(look, T_CustomScanState);
	look->css.methods = &look_ahead_exec_methods;
	dlist_init(&look->batches);
	return (Node *) look;
}

uint64
shuttle_look_aheads_begun(void)
{
	return nbegun;
}

static void
begin_look_ahead(CustomScanState *node, EState *estate, int eflags)
{
	LookAheadState *look = (LookAheadState *) node;
	Plan	   *child = outerPlan(node->ss.ps.plan);
	ShuttleLookAheadPlan plan;
	const TupleTableSlotOps *ops;

	nbegun++;
	shuttle_recheck_pruning_init(estate);
	outerPlanState(node) = ExecInitNode(child, estate, eflags);
	ops = shuttle_outer_rows_init(&look->rows, outerPlanState(node));
	look->slot = ExecInitExtraTupleSlot(estate,
										ExecGetResultType(outerPlanState(node)),
										ops);
	look->fixed_slot = true;

	/* with a target list or conditions, rows are virtual tuples */
	look->projects = node->ss.ps.ps_ProjInfo != NULL || node->ss.ps.qual != NULL;
	if (look->projects)
		return;

	/* expressions above are compiled for this slot type, or for any */
	shuttle_look_ahead_unpack(((CustomScan *) node->ss.ps.plan)->custom_private,
							  &plan);
	look->fixed_slot = plan.local != SHUTTLE_LOCAL_ONLY;
	node->ss.ps.resultops = ops;
	node->ss.ps.resultopsfixed = look->fixed_slot;
	node->ss.ps.resultopsset = true;
}

static TupleTableSlot *
exec_look_ahead(CustomScanState *node)
{
	LookAheadState *look = (LookAheadState *) node;

	return look->projects ? next_projected(look) : next_outer(look);
}

/* For a node that only prefetches: true if it wants a batch now. */
static bool
wants_batch(LookAheadState *look)
{
	if (look->current != NULL)
		shuttle_look_ahead_batch_drop(look, look->current);
	return look->pace.state == SHUTTLE_PACE_PREFETCH;
}

static TupleTableSlot *
next_of_batch(LookAheadState *look)
{
	ShuttleBatch *batch = look->current;

	if (batch->locals != NULL)
		shuttle_local_advance(look, batch);
	look->rows_taken++;
	shuttle_outer_row_store(&look->rows, batch->rows[look->position++],
							look->slot);
	shuttle_local_count_row(look, look->slot);
	return look->slot;
}

void
shuttle_look_ahead_take_shared(LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
		shuttle_served_scan_take(look->scans[i], look, i);
	for (int i = 0; i < look->nappends; i++)
		shuttle_routed_append_take(look->appends[i], look, i);
}

/* The next outer row, or NULL. */
static TupleTableSlot *
next_outer(LookAheadState *look)
{
	if (!look->linked)
		return pass_through(look);
	if (look->shares)
		shuttle_look_ahead_take_shared(look);
	while (look->current == NULL || look->position >= look->current->nrows)
	{
		CHECK_FOR_INTERRUPTS();
		if (look->nscans == 0 && !wants_batch(look))
			return pass_row(look);
		if (!next_batch(look))
			return NULL;
	}
	return next_of_batch(look);
}

/* The next row that passes the node's conditions, projected. ExecScan() would
 * do so, but under EvalPlanQual it ignores our rows. */
static TupleTableSlot *
next_projected(LookAheadState *look)
{
	PlanState  *node = &look->css.ss.ps;
	ExprContext *econtext = node->ps_ExprContext;
	TupleTableSlot *scan_slot = look->css.ss.ss_ScanTupleSlot;

	for (;;)
	{
		TupleTableSlot *row = next_outer(look);

		ResetExprContext(econtext);
		if (row == NULL)
			return NULL;
		store_virtual(scan_slot, row);
		econtext->ecxt_scantuple = scan_slot;
		if (node->qual == NULL || ExecQual(node->qual, econtext))
			return node->ps_ProjInfo ? ExecProject(node->ps_ProjInfo) : scan_slot;
		InstrCountFiltered1(node, 1);
	}
}

/* Points a virtual slot at the values of a row, which must outlive it. */
static void
store_virtual(TupleTableSlot *to, TupleTableSlot *from)
{
	int			natts = to->tts_tupleDescriptor->natts;

	ExecClearTuple(to);
	slot_getallattrs(from);
	memcpy(to->tts_values, from->tts_values, sizeof(Datum) * natts);
	memcpy(to->tts_isnull, from->tts_isnull, sizeof(bool) * natts);
	ExecStoreVirtualTuple(to);
}

static TupleTableSlot *
pass_through(LookAheadState *look)
{
	TupleTableSlot *row = ExecProcNode(outerPlanState(look));

	if (TupIsNull(row))
	{
		ExecClearTuple(look->slot);
		return NULL;
	}

	/* the outer side's own slot will do if slots may vary, or are virtual */
	if (!look->fixed_slot || look->rows.as_values)
		return row;
	return ExecCopySlot(look->slot, row);
}

/* Returns the next outer row without a batch. */
static TupleTableSlot *
pass_row(LookAheadState *look)
{
	TupleTableSlot *row = look->outer_done ? NULL : pass_through(look);

	if (row == NULL)
	{
		look->outer_done = true;
		return NULL;
	}
	look->rows_pulled++;
	look->rows_taken++;
	shuttle_local_count_row(look, row);
	return row;
}

/* Frees the batch whose rows were all returned, fills as many as may be in
 * flight, and makes the oldest the current one. */
static bool
next_batch(LookAheadState *look)
{
	if (look->current != NULL)
		shuttle_look_ahead_batch_drop(look, look->current);
	if (look->nbatches == 0)
		shuttle_read_ahead_go_on(look);
	while (shuttle_look_ahead_batch_may_fill(look))
	{
		if (!shuttle_look_ahead_batch_fill(look))
			break;
	}
	if (look->siblings != NULL && look->rows_taken == 0)
		shuttle_look_ahead_siblings_begin(look);
	if (dlist_is_empty(&look->batches))
	{
		shuttle_read_ahead_raise_stopped(look);
		return false;
	}
	look->current = dlist_head_element(ShuttleBatch, link, &look->batches);
	look->position = 0;
	return true;
}

static void
drop_all_batches(LookAheadState *look)
{
	while (!dlist_is_empty(&look->batches))
		shuttle_look_ahead_batch_drop(look, dlist_head_element(ShuttleBatch, link, &look->batches));
}

/* Makes a linked node ready for its first row. */
static void
start_run(LookAheadState *look)
{
	look->outer_done = false;
	look->judged = false;
	look->errors = SHUTTLE_RAISES_NOTHING;
	look->stopped = NULL;
	look->next_size = look->batch_size;
	if (look->nscans == 0)
		look->next_size = Min(LOCAL_FIRST_BATCH, look->batch_size);
	look->rows_pulled = look->rows_taken = 0;
	look->stretch = 1;
	if (look->row_goal > 0)
		look->next_size = Max(1, Min(look->row_goal, look->next_size));
}

/* Numbers the columns of batches' keys: scans below no routed append. */
static void
number_columns(LookAheadState *look)
{
	look->columns = palloc_array(int, look->nscans + 1);
	look->ncolumns = 0;
	for (int i = 0; i < look->nscans; i++)
		look->columns[i] = look->scans[i]->append == NULL ? look->ncolumns++ : -1;
}

static bool
locks_rows(const LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
	{
		if (look->scans[i]->locks)
			return true;
	}
	return false;
}

void
shuttle_look_ahead_start(LookAheadState *look)
{
	number_columns(look);
	look->cxt = AllocSetContextCreate(look->css.ss.ps.state->es_query_cxt,
									  "shuttle look ahead",
									  ALLOCSET_SMALL_SIZES);
	look->saved = palloc(sizeof(ParamExecData) * look->nbindings);
	look->min_rows = 1;
	look->locks_late = locks_rows(look);
	start_run(look);
	if (look->nlocals > 0)
		shuttle_local_start(look);
	look->linked = true;
}

/* True unless each key is certain to lock at most one row. */
static bool
may_lock_more(const LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
	{
		ShuttleServedScan *scan = look->scans[i];

		if (scan->locks && scan->most_rows != 1 && !shuttle_row_need_scan_gives_one(scan->node))
			return true;
	}
	return false;
}

void
shuttle_look_ahead_set_goal(LookAheadState *look, double rows,
							const ShuttleNeedStep *need, double min_rows, bool once)
{
	bool		started = look->rows_pulled > 0;

	/* a later run's rows may partly come from outer rows read before */
	if (!started || isinf(min_rows))
		look->min_rows = min_rows;
	look->once = once;
	if (!isinf(look->min_rows))
		(void) shuttle_read_ahead_pause_walker(outerPlanState(look), NULL);
	look->need = shuttle_row_need_copy(look->need, need, look->css.ss.ps.state);
	look->locks_late = need != NULL && locks_rows(look);
	if (look->locks_late && !started && may_lock_more(look))
	{
		shuttle_look_ahead_unlink(look);
		return;
	}
	if (started)
	{
		/* batches continue to grow with the rows taken */
		if (rows <= 0)
			look->row_goal = 0;
		return;
	}
	look->row_goal = rows;
	start_run(look);
}

static void
rescan_look_ahead(CustomScanState *node)
{
	LookAheadState *look = (LookAheadState *) node;

	if (look->linked)
	{
		drop_all_batches(look);
		look->ran_before = true;
		start_run(look);
	}
	ExecClearTuple(look->slot);
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

/* Frees the scans' caches, to which their slots may point. */
static void
drop_caches(LookAheadState *look)
{
	for (int i = 0; i < look->nscans; i++)
	{
		ExecClearTuple(look->scans[i]->node->ss.ss_ScanTupleSlot);
		look->scans[i]->cache = NULL;
	}
	MemoryContextDelete(look->cache_cxt);
	look->cache_cxt = NULL;
	look->cache_bytes = 0;
	shuttle_look_ahead_batches_tell_memory(look);
}

static void
end_look_ahead(CustomScanState *node)
{
	LookAheadState *look = (LookAheadState *) node;

	if (look->linked)
	{
		drop_all_batches(look);
		if (look->cache_cxt != NULL)
			drop_caches(look);
	}
	look->linked = false;
	ExecEndNode(outerPlanState(node));
}

static void
explain_look_ahead(CustomScanState *node, List *ancestors, ExplainState *es)
{
	LookAheadState *look = (LookAheadState *) node;
	ShuttleLookAheadNumbers numbers = look->numbers;

	numbers.asks = look->fixed_slot;
	numbers.prefetches = look->nlocals > 0 || !numbers.asks;
	shuttle_explain_look_ahead(es, &numbers);
}
