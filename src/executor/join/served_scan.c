/*-------------------------------------------------------------------------
 * served_scan.c
 *	  A foreign scan whose rows come from the batches of a Look Ahead.
 *
 * The scan node stays core's, and its state the wrapper's; only the table of
 * callbacks of this one node is replaced. A rescan takes the rows of its key
 * from the current batch, or asks for that key alone: a guess is only a hint.
 * Memory: the scan's slot points into a batch; Look Ahead clears it before it
 * frees the batch.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execAsync.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_expressions.h"
#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "executor/executor_types.h"
#include "executor/facts/look_ahead_params.h"
#include "executor/facts/parameters.h"
#include "executor/facts/safe_values.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

static TupleTableSlot *iterate_served_scan(ForeignScanState *node);
static void rescan_served_scan(ForeignScanState *node);
static void end_served_scan(ForeignScanState *node);
static void explain_served_scan(ForeignScanState *node, ExplainState *es);
static void request_served_scan(AsyncRequest *areq);

/* Argument of without_mutator(): the value to replace by NULL. */
typedef struct WithoutContext
{
	const Node *value;
	int			nfound;
} WithoutContext;

static Node *
without_mutator(Node *node, WithoutContext *context)
{
	if (node == NULL)
		return NULL;
	if (equal(node, context->value))
	{
		context->nfound++;
		return (Node *) makeNullConst(exprType(node), exprTypmod(node),
									  exprCollation(node));
	}
	return expression_tree_mutator(node, without_mutator, context);
}

/* True if a NULL for this value leaves the scan without rows: a shipped
 * condition uses it, and has only strict functions, so that it is NULL. */
static bool
null_is_empty(const ForeignScan *plan, const Node *value)
{
	ListCell   *lc;

	if (plan->scan.scanrelid == 0)
		return false;
	foreach(lc, plan->fdw_recheck_quals)
	{
		WithoutContext context = {.value = value};
		Node	   *rest = without_mutator((Node *) lfirst(lc), &context);

		if (context.nfound > 0 && !contain_nonstrict_functions(rest))
			return true;
	}
	return false;
}

/* Describes one column of a scan's key. */
static void
describe_column(ShuttleServedScan *scan, int i, Node *key)
{
	ShuttleKeyColumn *column = &scan->key.columns[i];
	Oid			function;
	Oid			sent_as;
	bool		is_varlena;

	shuttle_key_shape_describe(&scan->key, i, (Expr *) key,
							   &scan->node->ss.ps);
	column->scalar = !shuttle_look_ahead_binds(scan->look, key);
	scan->look->may_fail = scan->look->may_fail || shuttle_computes_value(key);

	/* unnest() would expand the elements of an array of rows */
	column->as_text = !OidIsValid(get_array_type(column->type)) ||
		type_is_rowtype(column->type);
	column->null_is_empty = null_is_empty((ForeignScan *) scan->node->ss.ps.plan,
										  key);
	sent_as = column->scalar || column->as_text ? column->type :
		get_array_type(column->type);
	getTypeOutputInfo(sent_as, &function, &is_varlena);
	fmgr_info(function, &column->output);
}

/* Describes the columns of a scan's key. */
static void
describe_keys(ShuttleServedScan *scan, const ForeignScan *plan)
{
	ListCell   *lc;
	int			i = 0;

	shuttle_key_shape_init(&scan->key, list_length(plan->fdw_exprs),
						   scan->node->ss.ps.state);
	foreach(lc, plan->fdw_exprs)
		describe_column(scan, i++, (Node *) lfirst(lc));
}

ShuttleServedScan *
shuttle_served_scan_create(ForeignScanState *node, LookAheadState *look,
						   const ShuttleTransport *transport, bool one_row)
{
	EState	   *estate = node->ss.ps.state;
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	ShuttleServedScan *scan = palloc0(sizeof(ShuttleServedScan));

	scan->original = node->fdwroutine;
	scan->routine = *node->fdwroutine;
	scan->routine.IterateForeignScan = iterate_served_scan;
	scan->routine.ReScanForeignScan = rescan_served_scan;
	scan->routine.EndForeignScan = end_served_scan;
	scan->routine.ExplainForeignScan = explain_served_scan;
	scan->routine.ForeignAsyncRequest = request_served_scan;
	scan->node = node;
	scan->look = look;
	scan->index = look->nscans;
	scan->transport = transport;
	scan->most_rows = one_row ? 1 : 0;

	/* our scan's SQL has what postgres_fdw drops, such as SKIP LOCKED */
	scan->sql = transport->is_engine ?
		shuttle_foreign_sample_sql(shuttle_foreign_scan_sql(node)) :
		shuttle_postgres_fdw_scan_sql(plan);
	scan->locks = shuttle_remote_sql_locks(scan->sql);
	scan->repeatable = !scan->locks &&
		(!transport->is_engine ||
		 shuttle_scan_effect(node) == SHUTTLE_READS);
	scan->may_fail = shuttle_remote_sql_may_fail(scan->sql);
	scan->attributes = shuttle_postgres_fdw_scan_attributes(plan);
	if (transport->is_engine)
		scan->target = shuttle_target_scan_create(node, scan->sql, scan->attributes);
	if (scan->target != NULL)
	{
		scan->sql = scan->target->sql;
		scan->attributes = scan->target->attributes;
	}
	scan->request_limit = shuttle_option_get_int(plan->fs_server, InvalidOid,
												 "shuttle_request_limit",
												 shuttle_settings.request_limit);
	scan->rows_per_key = Max(plan->scan.plan.plan_rows, 1);
	scan->alone_cxt = AllocSetContextCreate(estate->es_query_cxt,
											"shuttle lone key",
											ALLOCSET_DEFAULT_SIZES);
	scan->params = shuttle_expression_params(plan->fdw_exprs);
	describe_keys(scan, plan);
	scan->channel = transport->open(scan);
	node->fdwroutine = &scan->routine;
	return scan;
}

bool
shuttle_served_scan_is_served(const ForeignScanState *node)
{
	return node->fdwroutine->IterateForeignScan == iterate_served_scan;
}

bool
shuttle_served_scan_can_share(const ForeignScanState *node,
							  const LookAheadState *look)
{
	const ShuttleServedScan *scan = (const ShuttleServedScan *) node->fdwroutine;
	ListCell   *lc;
	int			i = 0;

	if (scan->look == look)
		return false;
	foreach(lc, ((ForeignScan *) node->ss.ps.plan)->fdw_exprs)
	{
		if (scan->key.columns[i++].scalar ==
			shuttle_look_ahead_binds(look, (Node *) lfirst(lc)))
			return false;
	}
	return true;
}

void
shuttle_served_scan_set_max_rows(ForeignScanState *node, double rows)
{
	ShuttleServedScan *scan = (ShuttleServedScan *) node->fdwroutine;

	/* rows that a filter drops here do not count, and others are not locked */
	if (scan->most_rows == 0 && rows <= SHUTTLE_MAX_SHIPPED_LIMIT &&
		node->ss.ps.qual == NULL && !scan->locks)
		scan->most_rows = rows;
}

ShuttleServedScan *
shuttle_served_scan_share(ForeignScanState *node, LookAheadState *look)
{
	ShuttleServedScan *scan = (ShuttleServedScan *) node->fdwroutine;

	scan->look->shares = look->shares = true;
	look->may_fail = look->may_fail || scan->look->may_fail;
	return scan;
}

void
shuttle_served_scan_take(ShuttleServedScan *scan, LookAheadState *look, int index)
{
	if (scan->look == look)
		return;
	ExecClearTuple(scan->node->ss.ss_ScanTupleSlot);
	shuttle_served_scan_forget(scan);
	scan->look = look;
	scan->index = index;
}

/* True if the next row of a Look Ahead surely needs an initplan. */
static bool
is_certain_param(const LookAheadState *look, int param)
{
	for (int i = 0; i < look->nscans; i++)
	{
		if (!look->scans[i]->conditional &&
			bms_is_member(param, look->scans[i]->params))
			return true;
	}
	return false;
}

bool
shuttle_served_scan_waits(ShuttleServedScan *scan, const LookAheadState *look)
{
	const ParamExecData *params = scan->node->ss.ps.state->es_param_exec_vals;
	int			id = -1;

	scan->waits = false;
	while (scan->conditional && !scan->waits &&
		   (id = bms_next_member(scan->params, id)) >= 0)
		scan->waits = params[id].execPlan != NULL && !is_certain_param(look, id);
	return scan->waits;
}

void
shuttle_served_scan_run_initplans(ShuttleServedScan *scan)
{
	if (!scan->waits)
		ExecSetParamPlanMulti(scan->params, scan->key.econtext);
}

int
shuttle_served_scan_index(const PlanState *node)
{
	const ForeignScanState *scan = (const ForeignScanState *) node;

	Assert(IsA(node, ForeignScanState) && shuttle_served_scan_is_served(scan));
	return ((const ShuttleServedScan *) scan->fdwroutine)->index;
}

/* Asks for the scan's key alone and reads its rows. */
static void
find_alone(ShuttleServedScan *scan)
{
	ShuttleKeySet *set;
	int			key;

	set = shuttle_key_set_create(&scan->key, 1, scan->alone_cxt);
	set->scan = scan;
	key = shuttle_key_set_find(set, true);
	scan->alone_set = set;
	if (key == SHUTTLE_KEY_EMPTY)
		return;
	scan->look->numbers.alone++;
	shuttle_key_ranges_create(set, 1);
	scan->range = shuttle_key_range_load(set, key);
	scan->row = set->head[key];
}

/* Frees the rows of a key that was asked for alone. */
static void
close_alone(ShuttleServedScan *scan)
{
	if (scan->alone_set == NULL)
		return;
	shuttle_key_ranges_close(scan->alone_set);
	scan->alone_set = NULL;
	MemoryContextReset(scan->alone_cxt);
}

void
shuttle_served_scan_forget(ShuttleServedScan *scan)
{
	scan->started = false;
	scan->range = NULL;
	close_alone(scan);
}

/* Evaluates the scan's key, and looks for it in the batch and its cache. */
static int
look_up_key(ShuttleServedScan *scan, ShuttleKeySet *set)
{
	int			key = shuttle_key_set_find(set, false);

	if (key == SHUTTLE_KEY_UNKNOWN && scan->cache != NULL)
		key = shuttle_key_cache_find(scan);
	return key;
}

/* The current row's key in the current batch: by position if that can be
 * trusted, else by evaluating it again. */
static int
find_key(ShuttleServedScan *scan, ShuttleBatch *batch)
{
	LookAheadState *look = scan->look;
	ShuttleKeySet *set = batch->sets[scan->index];
	int			row = look->position - 1;
	int			key = SHUTTLE_KEY_UNKNOWN;

	if (set == NULL)
		return SHUTTLE_KEY_UNKNOWN;
	if (!scan->by_position || shuttle_settings.debug_spoil_look_ahead)
		return look_up_key(scan, set);
	if (scan->append == NULL)
		key = batch->keys[row * look->ncolumns + look->columns[scan->index]];
	else
	{
		const ShuttleRoutedKey *routed =
			&batch->routed_keys[row * look->nappends + scan->append->index];

		if (routed->scan != scan->index)
			return look_up_key(scan, set);
		key = routed->key;
	}
	Assert(key == SHUTTLE_KEY_UNKNOWN || key == look_up_key(scan, set));
	return key;
}

/* Finds the rows of a key that an earlier batch has asked for. If there are
 * none, the current batch asks for it; *key is its number there. */
static bool
take_cached(ShuttleServedScan *scan, ShuttleBatch *batch, int *key)
{
	if (shuttle_key_cache_get(scan, *key, &scan->range, &scan->row))
		return true;
	shuttle_key_cache_repair(scan, batch);
	*key = find_key(scan, batch);
	return false;
}

/* Reads the rows of a key of the batch or cache, or asks for the key alone. */
static void
find_rows(ShuttleServedScan *scan, ShuttleBatch *batch, int key)
{
	EState	   *estate = scan->node->ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	if (key <= SHUTTLE_KEY_CACHED && take_cached(scan, batch, &key))
		scan->look->numbers.served++;
	else if (key < 0)
		find_alone(scan);
	else
	{
		scan->look->numbers.served++;
		scan->range = shuttle_key_range_load(batch->sets[scan->index], key);
		scan->row = batch->sets[scan->index]->head[key];
	}
	if (scan->range != NULL && scan->range->state == SHUTTLE_RANGE_SPOOLED)
		scan->row = 0;
	MemoryContextSwitchTo(old);
}

/* Goes to the first row of the scan's key. A pause may end it; it is called
 * again. */
static void
begin_rows(ShuttleServedScan *scan)
{
	ShuttleBatch *batch = shuttle_look_ahead_current(scan->look);
	int			key = SHUTTLE_KEY_UNKNOWN;
	ShuttleKeySet *set;

	scan->range = NULL;
	scan->row = -1;
	close_alone(scan);
	if (batch != NULL)
		key = find_key(scan, batch);
	if (key == SHUTTLE_KEY_EMPTY)
	{
		scan->look->numbers.served++;
		return;
	}

	/* usually there is one answer, which has been read */
	set = batch != NULL ? batch->sets[scan->index] : NULL;
	if (key >= 0 && set->nranges == 1 &&
		set->ranges[0]->state == SHUTTLE_RANGE_LOADED)
	{
		scan->look->numbers.served++;
		scan->range = set->ranges[0];
		scan->row = set->head[key];
		return;
	}
	find_rows(scan, batch, key);
}

/* The next row of the scan's key, or NULL. */
static HeapTuple
next_row(ShuttleServedScan *scan)
{
	ShuttleRange *range = scan->range;
	HeapTuple	tuple;

	if (range == NULL || scan->row < 0)
		return NULL;
	if (range->state == SHUTTLE_RANGE_SPOOLED)
	{
		tuple = shuttle_key_range_spooled_row(range, scan->row++);
		if (tuple == NULL)
			scan->row = -1;
		return tuple;
	}
	tuple = range->rows[scan->row];
	scan->row = range->next[scan->row];
	return tuple;
}

static TupleTableSlot *
iterate_served_scan(ForeignScanState *node)
{
	ShuttleServedScan *scan = (ShuttleServedScan *) node->fdwroutine;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	HeapTuple	tuple;

	/* the tuple may be freed before the next one is found */
	ExecClearTuple(slot);
	if (!scan->started)
	{
		begin_rows(scan);
		scan->started = true;
	}
	tuple = next_row(scan);
	if (tuple != NULL)
		ExecStoreHeapTuple(tuple, slot, false);
	return slot;
}

static void
rescan_served_scan(ForeignScanState *node)
{
	ShuttleServedScan *scan = (ShuttleServedScan *) node->fdwroutine;

	scan->started = false;
}

void
shuttle_served_scan_remove(ShuttleServedScan *scan)
{
	scan->node->fdwroutine = scan->original;
	ExecClearTuple(scan->node->ss.ss_ScanTupleSlot);
	close_alone(scan);
	scan->transport->close(scan->channel);
}

static void
end_served_scan(ForeignScanState *node)
{
	shuttle_served_scan_remove((ShuttleServedScan *) node->fdwroutine);
	node->fdwroutine->EndForeignScan(node);
}

static void
explain_served_scan(ForeignScanState *node, ExplainState *es)
{
	ShuttleServedScan *scan = (ShuttleServedScan *) node->fdwroutine;
	ShuttleExplainNumbers numbers = {
		.counters = &scan->counters,
		.reads = true,
		.engine = scan->transport->is_engine,
	};

	if (scan->transport->is_engine)
		shuttle_foreign_scan_explain(node, es);
	else
		shuttle_postgres_fdw_get_routine()->ExplainForeignScan(node, es);
	shuttle_explain_counters(es, &numbers);
	if (scan->transport->explain != NULL)
		scan->transport->explain(scan->channel, es);
}

/* Below an asynchronous Append: returns a row at once. */
static void
request_served_scan(AsyncRequest *areq)
{
	/* the caller counts the row */
	ExecAsyncRequestDone(areq, areq->requestee->ExecProcNodeReal(areq->requestee));
}
