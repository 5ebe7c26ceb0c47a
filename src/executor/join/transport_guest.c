/*-------------------------------------------------------------------------
 * transport_guest.c
 *	  Batches of keys over the connections of stock postgres_fdw.
 *
 * A batch is an ordinary foreign scan with arrays as parameters, in an
 * executor state of its own, run by postgres_fdw: so it uses the query's
 * connection, snapshot, rights and uncommitted writes. A request costs three
 * round trips, and none is in flight: send only remembers the keys, and the
 * scan runs when its first row is read. One answer of a channel is read at a
 * time.
 *
 * An error would abort postgres_fdw's transaction on the node, perhaps for a
 * key that the join never reaches. So if the SELECT may fail, a request for
 * several keys runs in a subtransaction, two round trips more, and its answer
 * is read to the end there; if no subtransaction is possible, keys are asked
 * for one by one. Memory: the private executor state lives as long as the
 * query; run_cxt holds the arrays of the current request.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "executor/nodeForeignscan.h"
#include "foreign/foreign.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "portability/instr_time.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/safe_values.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/join/key_set.h"
#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "storage/shuttle_storage.h"

struct ShuttleChannel
{
	ShuttleServedScan *scan;
	EState	   *estate;			/* NULL until the first request */
	ForeignScanState *array_scan;
	MemoryContext run_cxt;
	bool		fenced;			/* its SELECT is fenced */
	ShuttleAnswer *running;		/* the answer that is being read */
	Tuplestorestate *rows;		/* rows of an answer read in a subtransaction;
								 * or NULL */
	TupleTableSlot *row;		/* slot for them */
	bool		one_by_one;		/* no subtransactions: the connection might be
								 * busy */
	int			ntrips;			/* round trips until the next request's first
								 * row */
	int			nattributes;
	AttrNumber *attributes;
	Datum	   *values;			/* room for one row of the scan */
	bool	   *nulls;
};

struct ShuttleAnswer
{
	ShuttleChannel *channel;
	ShuttleKeySet *set;
	int			first;
	int			nkeys;
	bool		fenced;
	bool		speculative;	/* read in a subtransaction: its error may not
								 * matter */
};

static void run_answer(ShuttleAnswer *answer);
static bool read_speculatively(ShuttleAnswer *answer);
static ForeignScan *make_plan(ShuttleChannel *channel, bool fenced);
static void make_array_scan(ShuttleChannel *channel);
static void end_array_scan(ShuttleChannel *channel);

static bool
is_async(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "async_capable") == 0)
			return defGetBoolean(option);
	}
	return false;
}

/* True if postgres_fdw may have asynchronous requests under way. */
static bool
any_scan_is_async(const EState *estate)
{
	ListCell   *lc;

	foreach(lc, estate->es_range_table)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		ForeignTable *table;

		if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_FOREIGN_TABLE)
			continue;
		table = GetForeignTable(entry->relid);
		if (is_async(table->options) ||
			is_async(GetForeignServer(table->serverid)->options))
			return true;
	}
	return false;
}

static ShuttleChannel *
open_channel(ShuttleServedScan *scan)
{
	ShuttleChannel *channel = palloc0(sizeof(ShuttleChannel));
	TupleDesc	desc = scan->node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	ListCell   *lc;

	channel->scan = scan;
	channel->ntrips = 2;
	channel->one_by_one = scan->may_fail && any_scan_is_async(scan->node->ss.ps.state);
	channel->attributes = palloc(sizeof(AttrNumber) *
								 (list_length(scan->attributes) + 1));
	foreach(lc, scan->attributes)
		channel->attributes[channel->nattributes++] = lfirst_int(lc);
	channel->values = palloc0(sizeof(Datum) * (desc->natts + 1));
	channel->nulls = palloc0(sizeof(bool) * (desc->natts + 1));
	return channel;
}

static ShuttleAnswer *
send_keys(ShuttleChannel *channel, ShuttleKeySet *set, int first, int nkeys,
		  bool speculative)
{
	ShuttleAnswer *answer = palloc(sizeof(ShuttleAnswer));

	answer->channel = channel;
	answer->set = set;
	answer->first = first;
	answer->nkeys = nkeys;
	answer->fenced = channel->scan->may_fail &&
		shuttle_served_scan_fences(channel->scan, nkeys);
	answer->speculative = speculative && channel->scan->may_fail;
	return answer;
}

/* Makes a tuple of the original scan's row type from a row of the answer. */
static HeapTuple
make_tuple(ShuttleChannel *channel, TupleTableSlot *row)
{
	TupleDesc	desc = channel->scan->node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	ItemPointer ctid = NULL;
	HeapTuple	tuple;

	memset(channel->nulls, true, sizeof(bool) * desc->natts);
	for (int i = 0; i < channel->nattributes; i++)
	{
		AttrNumber	attribute = channel->attributes[i];

		if (attribute > 0)
		{
			channel->values[attribute - 1] = row->tts_values[i + 1];
			channel->nulls[attribute - 1] = row->tts_isnull[i + 1];
		}
		else if (attribute == SelfItemPointerAttributeNumber &&
				 !row->tts_isnull[i + 1])
			ctid = (ItemPointer) DatumGetPointer(row->tts_values[i + 1]);
	}
	tuple = heap_form_tuple(desc, channel->values, channel->nulls);
	if (ctid != NULL)
		tuple->t_self = tuple->t_data->t_ctid = *ctid;

	/* as postgres_fdw does: no query can see leftovers in system columns */
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetXmin(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetCmin(tuple->t_data, InvalidTransactionId);
	return tuple;
}

/* Records the time of a request's first row: DECLARE and FETCH, and CLOSE of
 * the previous request. */
static void
note_round_trips(ShuttleChannel *channel, double ms)
{
	ForeignScan *plan = (ForeignScan *) channel->scan->node->ss.ps.plan;

	shuttle_round_trip_add(plan->fs_server, ms / channel->ntrips);
	channel->ntrips = 3;
}

/* The next row of the array scan, or of its stored rows. */
static TupleTableSlot *
next_of_answer(ShuttleAnswer *answer)
{
	ShuttleChannel *channel = answer->channel;
	MemoryContext old;
	TupleTableSlot *row = channel->row;

	if (answer->speculative)
	{
		/* the slot frees the row: allocate it in the query's memory */
		old = MemoryContextSwitchTo(channel->scan->node->ss.ps.state->es_query_cxt);
		if (!tuplestore_gettupleslot(channel->rows, true, false, row))
			row = NULL;
		MemoryContextSwitchTo(old);
		return row;
	}
	old = MemoryContextSwitchTo(channel->estate->es_query_cxt);
	row = ExecProcNode((PlanState *) channel->array_scan);
	MemoryContextSwitchTo(old);
	return row;
}

static ShuttleStatus
next_row(ShuttleAnswer *answer, bool wait, int *ordinal, HeapTuple *tuple)
{
	ShuttleChannel *channel = answer->channel;
	ShuttleCounters *counters = &channel->scan->counters;
	instr_time	start;
	instr_time	elapsed;
	TupleTableSlot *row;
	bool		is_first;

	INSTR_TIME_SET_CURRENT(start);
	is_first = channel->running != answer;
	if (is_first && answer->speculative && !read_speculatively(answer))
		return SHUTTLE_FAILED;
	if (is_first && !answer->speculative)
		run_answer(answer);
	row = next_of_answer(answer);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	if (is_first && !answer->speculative)
		note_round_trips(channel, INSTR_TIME_GET_MILLISEC(elapsed));
	shuttle_count(counters, SHUTTLE_READ_TIME_US,
				  INSTR_TIME_GET_MICROSEC(elapsed));
	if (TupIsNull(row))
		return SHUTTLE_END;
	shuttle_count(counters, SHUTTLE_ROWS_RETURNED, 1);
	slot_getallattrs(row);
	*ordinal = (int) DatumGetInt64(row->tts_values[0]) - 1;
	*tuple = make_tuple(channel, row);
	return SHUTTLE_ROW;
}

static void
close_answer(ShuttleAnswer *answer)
{
	if (answer->channel->running == answer)
		answer->channel->running = NULL;
	pfree(answer);
}

/* Frees the private executor, whose cursor is closed already. */
static void
drop_array_scan(ShuttleChannel *channel)
{
	ExecResetTupleTable(channel->estate->es_tupleTable, false);
	FreeExecutorState(channel->estate);
	channel->estate = NULL;
}

/* Ends the private executor, if there is one. */
static void
end_array_scan(ShuttleChannel *channel)
{
	if (channel->estate == NULL)
		return;
	ExecEndNode((PlanState *) channel->array_scan);
	drop_array_scan(channel);
}

static void
close_channel(ShuttleChannel *channel)
{
	end_array_scan(channel);
	if (channel->rows == NULL)
		return;
	tuplestore_end(channel->rows);
	channel->rows = NULL;
	ExecDropSingleTupleTableSlot(channel->row);
}

/* Reads an answer to its end, within a subtransaction. The private executor
 * starts there, so that postgres_fdw opens a savepoint on the node. */
static void
read_all(void *arg)
{
	ShuttleAnswer *answer = arg;
	ShuttleChannel *channel = answer->channel;

	run_answer(answer);
	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(channel->estate->es_query_cxt);
		TupleTableSlot *row = ExecProcNode((PlanState *) channel->array_scan);

		MemoryContextSwitchTo(old);
		if (TupIsNull(row))
			break;
		tuplestore_puttupleslot(channel->rows, row);
	}
	end_array_scan(channel);
}

/* Creates or clears the tuplestore for answers read in a subtransaction. */
static void
prepare_rows(ShuttleChannel *channel)
{
	MemoryContext old;

	if (channel->rows != NULL)
	{
		ExecClearTuple(channel->row);
		tuplestore_clear(channel->rows);
		return;
	}
	old = MemoryContextSwitchTo(channel->scan->node->ss.ps.state->es_query_cxt);
	channel->row = MakeSingleTupleTableSlot(ExecTypeFromTL(make_plan(channel, true)->scan.plan.targetlist),
											&TTSOpsMinimalTuple);
	channel->rows = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old);
}

/* False if the request failed, or no subtransaction is possible. */
static bool
read_speculatively(ShuttleAnswer *answer)
{
	ShuttleChannel *channel = answer->channel;

	if (channel->one_by_one)
		return false;
	end_array_scan(channel);
	prepare_rows(channel);
	if (shuttle_caught_error_try(read_all, answer))
		return true;
	if (channel->estate != NULL)
		drop_array_scan(channel);
	channel->running = NULL;
	return false;
}

/* Starts the array scan for the keys of an answer. */
static void
run_answer(ShuttleAnswer *answer)
{
	ShuttleChannel *channel = answer->channel;
	ShuttleServedScan *scan = channel->scan;
	ParamExecData *params;
	Bitmapset  *changed = NULL;
	MemoryContext old;

	if (channel->estate != NULL && channel->fenced != answer->fenced)
		end_array_scan(channel);
	if (channel->estate == NULL)
	{
		channel->fenced = answer->fenced;
		make_array_scan(channel);
	}
	params = channel->estate->es_param_exec_vals;
	MemoryContextReset(channel->run_cxt);
	old = MemoryContextSwitchTo(channel->run_cxt);
	for (int i = 0; i < scan->key.ncolumns; i++)
	{
		bool		scalar = scan->key.columns[i].scalar;

		params[i].execPlan = NULL;
		params[i].isnull = scalar && answer->set->nulls[i][answer->first];
		params[i].value = scalar ? answer->set->values[i][answer->first] :
			shuttle_key_set_array(answer->set, i, answer->first, answer->nkeys);
	}
	MemoryContextSwitchTo(channel->estate->es_query_cxt);
	changed = bms_add_range(changed, 0, scan->key.ncolumns - 1);
	channel->array_scan->ss.ps.chgParam = changed;
	ExecReScan((PlanState *) channel->array_scan);
	MemoryContextSwitchTo(old);
	channel->running = answer;
	shuttle_count(&scan->counters, SHUTTLE_READ_REQUESTS, 1);
}

/* A parameter of the array scan for each entry of the key. */
static List *
make_parameters(ShuttleServedScan *scan)
{
	ForeignScan *plan = (ForeignScan *) scan->node->ss.ps.plan;
	List	   *parameters = NIL;
	ListCell   *lc;
	int			i = 0;

	foreach(lc, plan->fdw_exprs)
	{
		ShuttleKeyColumn *column = &scan->key.columns[i];
		Param	   *param = makeNode(Param);

		param->paramkind = PARAM_EXEC;
		param->paramid = i++;
		param->paramtype = column->scalar ? column->type :
			column->as_text ? TEXTARRAYOID : get_array_type(column->type);
		param->paramtypmod = -1;
		param->paramcollid = exprCollation((Node *) lfirst(lc));
		param->location = -1;
		parameters = lappend(parameters, param);
	}
	return parameters;
}

/*
 * An expression for a column of the original scan, in the array scan: only its
 * type matters, but a whole row needs its Var so that postgres_fdw finds the
 * table's row type.
 */
static Expr *
describe_column(ShuttleServedScan *scan, int attribute)
{
	ForeignScan *plan = (ForeignScan *) scan->node->ss.ps.plan;
	TupleDesc	desc = scan->node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	Form_pg_attribute form;

	if (attribute == SelfItemPointerAttributeNumber)
		return (Expr *) makeNullConst(TIDOID, -1, InvalidOid);
	if (plan->scan.scanrelid == 0)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, plan->fdw_scan_tlist,
										   attribute - 1);

		if (IsA(entry->expr, Var) && ((Var *) entry->expr)->varattno == 0)
			return copyObject(entry->expr);
	}
	form = TupleDescAttr(desc, attribute - 1);
	return (Expr *) makeNullConst(form->atttypid, form->atttypmod,
								  form->attcollation);
}

/* Adds one column to the array scan's row type and target list. */
static void
add_column(ForeignScan *plan, Expr *expr)
{
	int			column = list_length(plan->fdw_scan_tlist) + 1;
	Var		   *var = makeVar(INDEX_VAR, column, exprType((Node *) expr),
							  exprTypmod((Node *) expr),
							  exprCollation((Node *) expr), 0);

	plan->fdw_scan_tlist = lappend(plan->fdw_scan_tlist,
								   makeTargetEntry(expr, column, NULL, false));
	plan->scan.plan.targetlist = lappend(plan->scan.plan.targetlist,
										 makeTargetEntry((Expr *) var, column,
														 NULL, false));
}

/* The plan of the array scan. */
static ForeignScan *
make_plan(ShuttleChannel *channel, bool fenced)
{
	ShuttleServedScan *scan = channel->scan;
	ForeignScan *original = (ForeignScan *) scan->node->ss.ps.plan;
	ForeignScan *plan = makeNode(ForeignScan);
	List	   *columns = list_make1_int(1);

	plan->operation = CMD_SELECT;
	plan->fs_server = original->fs_server;
	plan->fs_relids = original->fs_relids;
	shuttle_copy_scan_user(plan, original);
	add_column(plan, (Expr *) makeNullConst(INT8OID, -1, InvalidOid));
	for (int i = 0; i < channel->nattributes; i++)
	{
		add_column(plan, describe_column(scan, channel->attributes[i]));
		columns = lappend_int(columns, i + 2);
	}
	plan->fdw_exprs = make_parameters(scan);

	/*
	 * One row more than a page, so that an answer of exactly one page is
	 * known to be complete without asking again.
	 */
	plan->fdw_private = shuttle_postgres_fdw_make_scan(shuttle_batch_sql(scan, fenced, false),
													   columns, shuttle_settings.fetch_limit + 1);
	return plan;
}

/* Makes the private executor state, and the array scan in it. */
static void
make_array_scan(ShuttleChannel *channel)
{
	EState	   *outer = channel->scan->node->ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(outer->es_query_cxt);
	EState	   *estate = CreateExecutorState();

	channel->estate = estate;
	MemoryContextSwitchTo(estate->es_query_cxt);
	shuttle_share_executor_state(estate, outer);
	estate->es_param_exec_vals = palloc0(sizeof(ParamExecData) *
										 channel->scan->key.ncolumns);
	channel->run_cxt = AllocSetContextCreate(estate->es_query_cxt,
											 "shuttle guest request",
											 ALLOCSET_DEFAULT_SIZES);
	channel->array_scan = ExecInitForeignScan(make_plan(channel, channel->fenced), estate, 0);
	MemoryContextSwitchTo(old);
}

const ShuttleTransport shuttle_transport_guest = {
	.is_engine = false,
	.open = open_channel,
	.send = send_keys,
	.next = next_row,
	.close_answer = close_answer,
	.close = close_channel,
};
