/*-------------------------------------------------------------------------
 * foreign_direct.c
 *	  UPDATE and DELETE that run wholly on a storage node.
 *
 * The statement is sent when ModifyTable first asks for a row, together with
 * those of the other partitions below the same Append: k nodes cost one round
 * trip. Without RETURNING only their counts matter; with it, ModifyTable
 * evaluates the list on the slots that it gets here, one for each row that the
 * node returns.
 *
 * Rule: no expression of the statement is evaluated once its first request is
 * sent, since a subquery must not see what is written.
 * Memory: the state lives in the query's context, which also owns the request;
 * row_cxt holds the row returned last.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/parameters.h"
#include "executor/facts/scan_facts.h"
#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/outbox.h"
#include "executor/scan/remote_values.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

typedef struct RemoteDirect
{
	ShuttleNode *node;
	ShuttlePostgresFdwDirect postgres_fdw;
	ShuttleParameters *parameters;
	const char *const *values;	/* of the parameters, once evaluated */
	ShuttleDecoder *decoder;	/* NULL: nothing is returned */
	ShuttleRequest *request;	/* NULL: not sent */
	const AppendState *append;	/* parent of all that are sent together; NULL:
								 * sent alone */
	bool		counted;		/* without a decoder: the count was read */
	uint64		nrows_left;		/* rows counted, but not reported yet */
	MemoryContext row_cxt;
	ShuttleAsked *asked;		/* for EXPLAIN; NULL: nothing */
	ShuttleCounters counters;

	/* For joins: the target's row is extracted from the returned row. */
	bool		is_join;
	AttrNumber *columns;		/* column of each target attribute; 0: NULL */
	AttrNumber	ctid_column;	/* 0: not returned */
} RemoteDirect;

static void begin_direct_modify(ForeignScanState *scan, int eflags);
static TupleTableSlot *iterate_direct_modify(ForeignScanState *scan);
static void end_direct_modify(ForeignScanState *scan);
static void explain_direct_modify(ForeignScanState *scan, ExplainState *es);
static void map_target_columns(RemoteDirect *direct, ForeignScan *plan,
							   Relation target, Index rtindex);
static void send_together(ForeignScanState *scan);
static void evaluate_parameters(ForeignScanState *scan);
static void send_statement(ForeignScanState *scan);
static void count_rows(RemoteDirect *direct);
static bool next_returned_row(ForeignScanState *scan);
static TupleTableSlot *cut_out_target(ForeignScanState *scan);

void
shuttle_foreign_direct_fill(FdwRoutine *routine)
{
	routine->BeginDirectModify = begin_direct_modify;
	routine->IterateDirectModify = iterate_direct_modify;
	routine->EndDirectModify = end_direct_modify;
	routine->ExplainDirectModify = explain_direct_modify;
}

static void
begin_direct_modify(ForeignScanState *scan, int eflags)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	Index		rtindex = scan->resultRelInfo->ri_RangeTableIndex;
	RemoteDirect *direct;

	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	direct = palloc0_object(RemoteDirect);
	if (!shuttle_postgres_fdw_read_direct(plan, &direct->postgres_fdw))
		elog(ERROR, "unexpected plan of a direct modification");
	direct->node = shuttle_scan_node(scan);
	direct->is_join = plan->scan.scanrelid == 0;
	direct->row_cxt = AllocSetContextCreate(estate->es_query_cxt,
											"shuttle returned row",
											ALLOCSET_SMALL_SIZES);
	direct->parameters = shuttle_parameters_create(plan->fdw_exprs,
												   (PlanState *) scan);
	if (direct->postgres_fdw.has_returning)
	{
		direct->decoder = shuttle_scan_decoder_create(scan,
													  direct->postgres_fdw.attributes, 0,
													  estate->es_query_cxt);
		if (direct->is_join)
			map_target_columns(direct, plan,
							   ExecOpenScanRelation(estate, rtindex, eflags),
							   rtindex);
	}
	scan->fdw_state = direct;
}

/* Finds the target's attributes among the columns of a join's RETURNING. */
static void
map_target_columns(RemoteDirect *direct, ForeignScan *plan, Relation target,
				   Index rtindex)
{
	ListCell   *cell;

	direct->columns = palloc0_array(AttrNumber, RelationGetNumberOfAttributes(target));
	foreach(cell, plan->fdw_scan_tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, cell)->expr;
		int			column = foreach_current_index(cell) + 1;

		if (!IsA(var, Var) || var->varno != rtindex ||
			!list_member_int(direct->postgres_fdw.attributes, column))
			continue;
		if (var->varattno > 0)
			direct->columns[var->varattno - 1] = column;
		else if (var->varattno == SelfItemPointerAttributeNumber)
			direct->ctid_column = column;
	}
}

static TupleTableSlot *
iterate_direct_modify(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;
	ResultRelInfo *target = scan->resultRelInfo;
	EState	   *estate = scan->ss.ps.state;
	TupleTableSlot *slot = scan->ss.ss_ScanTupleSlot;
	TupleTableSlot *returned;

	ExecClearTuple(slot);		/* it points into row_cxt */
	if (direct->request == NULL)
		send_together(scan);
	if (direct->decoder == NULL && !direct->counted)
		count_rows(direct);

	if (target->ri_projectReturning == NULL)
	{
		uint64		nrows = direct->nrows_left;

		direct->nrows_left = 0;
		if (direct->postgres_fdw.set_processed)
			estate->es_processed += nrows;
		if (scan->ss.ps.instrument)
			scan->ss.ps.instrument->tuplecount += nrows;
		return slot;
	}

	if (!next_returned_row(scan))
		return slot;
	if (direct->postgres_fdw.set_processed)
		estate->es_processed++;
	returned = direct->is_join && direct->decoder != NULL ? cut_out_target(scan) : slot;

	/* core sets it up to version 17 only */
	returned->tts_tableOid = RelationGetRelid(target->ri_RelationDesc);
	target->ri_projectReturning->pi_exprContext->ecxt_scantuple = returned;
	return slot;
}

/*
 * The state of one of our direct modifications that is being executed; or NULL.
 */
static RemoteDirect *
find_direct(PlanState *node)
{
	ForeignScanState *scan = (ForeignScanState *) node;

	if (!IsA(node, ForeignScanState) ||
		((ForeignScan *) node->plan)->operation == CMD_SELECT ||
		!shuttle_server_routine_is_ours(scan->fdwroutine))
		return NULL;
	return scan->fdw_state;
}

void
shuttle_foreign_direct_join(ModifyTableState *node)
{
	PlanState  *source = outerPlanState(node);
	AppendState *append;

	/* A one-time filter may be above the Append. */
	if (source != NULL && IsA(source, ResultState))
		source = outerPlanState(source);
	if (source == NULL || !IsA(source, AppendState) ||
		!shuttle_settings.enable_early_start)
		return;
	append = (AppendState *) source;
	for (int i = 0; i < append->as_nplans; i++)
	{
		RemoteDirect *direct = find_direct(append->appendplans[i]);

		if (direct != NULL)
			direct->append = append;
	}
}

/* Calls act for each child that will be executed and was not sent yet. */
static void
for_all(const AppendState *append, void (*act) (ForeignScanState *scan))
{
	for (int i = -1; (i = bms_next_member(append->as_valid_subplans, i)) >= 0;)
	{
		RemoteDirect *direct = find_direct(append->appendplans[i]);

		if (direct != NULL && direct->request == NULL)
			act((ForeignScanState *) append->appendplans[i]);
	}
}

/* The plan has reached one of the tables. */
static void
send_together(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;

	if (direct->append != NULL)
	{
		for_all(direct->append, evaluate_parameters);
		for_all(direct->append, send_statement);
		return;
	}
	evaluate_parameters(scan);
	send_statement(scan);
}

static void
evaluate_parameters(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;

	direct->values = shuttle_parameters_evaluate(direct->parameters,
												 scan->ss.ps.ps_ExprContext);
}

static void
send_statement(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;
	EState	   *estate = scan->ss.ps.state;
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;

	/* A prepared statement with RETURNING fails after its table is altered. */
	ShuttleStatement statement = {
		.sql = direct->postgres_fdw.sql,
		.nparams = shuttle_parameters_count(direct->parameters),
		.values = direct->values,
		.effect = SHUTTLE_WRITES,
		.types_hash = shuttle_row_decoder_types_hash(direct->decoder),
		.looks = true,
		.custom_plan = (direct->postgres_fdw.has_returning || plan->scan.plan.plan_rows > 1) &&
		shuttle_parameters_are_literals(plan),
		.snapshot = shuttle_scan_snapshot(estate),
		.counters = &direct->counters,
	};

	shuttle_outbox_before_write(direct->node, estate);
	shuttle_explain_remote_note(&direct->asked, &statement, estate);
	direct->request = shuttle_request_send(direct->node, &statement,
										   estate->es_query_cxt);
}

/*
 * Also for RETURNING 1, which needs no rows from the node, only their number.
 */
static void
count_rows(RemoteDirect *direct)
{
	direct->nrows_left = shuttle_request_finish(direct->request);
	direct->counted = true;
	shuttle_count(&direct->counters, SHUTTLE_WRITE_REQUESTS, direct->nrows_left);
}

/* Puts the next row returned into the scan's slot; false at the end. */
static bool
next_returned_row(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;
	TupleTableSlot *slot = scan->ss.ss_ScanTupleSlot;
	MemoryContext old_cxt;
	ShuttleRow	row;

	if (direct->decoder == NULL)
	{
		if (direct->nrows_left == 0)
			return false;
		direct->nrows_left--;
		shuttle_write_store_nothing(slot);
		return true;
	}

	if (shuttle_request_fetch(direct->request, true, &row) != SHUTTLE_ROW)
		return false;
	shuttle_count(&direct->counters, SHUTTLE_WRITE_REQUESTS, 1);
	MemoryContextReset(direct->row_cxt);
	old_cxt = MemoryContextSwitchTo(direct->row_cxt);
	ExecStoreHeapTuple(shuttle_row_decoder_tuple(direct->decoder, &row), slot, false);
	MemoryContextSwitchTo(old_cxt);
	return true;
}

/* Extracts the target's row from the join's row in the scan's slot. */
static TupleTableSlot *
cut_out_target(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;
	ResultRelInfo *target = scan->resultRelInfo;
	TupleTableSlot *from = scan->ss.ss_ScanTupleSlot;
	TupleTableSlot *slot = ExecGetReturningSlot(scan->ss.ps.state, target);

	slot_getallattrs(from);
	ExecClearTuple(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		AttrNumber	column = direct->columns[i];

		slot->tts_isnull[i] = column == 0 || from->tts_isnull[column - 1];
		slot->tts_values[i] = slot->tts_isnull[i] ? (Datum) 0 :
			from->tts_values[column - 1];
	}
	ExecStoreVirtualTuple(slot);

	if (direct->ctid_column > 0)
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, NULL);
		Datum		ctid = from->tts_values[direct->ctid_column - 1];

		/* System columns are read from the tuple header. */
		tuple->t_self = *((ItemPointer) DatumGetPointer(ctid));
		HeapTupleHeaderSetXmin(tuple->t_data, InvalidTransactionId);
		HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
		HeapTupleHeaderSetCmin(tuple->t_data, InvalidTransactionId);
	}
	return slot;
}

static void
end_direct_modify(ForeignScanState *scan)
{
	RemoteDirect *direct = scan->fdw_state;

	if (direct == NULL || direct->request == NULL)
		return;
	shuttle_request_close(direct->request);
	direct->request = NULL;
}

static void
explain_direct_modify(ForeignScanState *scan, ExplainState *es)
{
	RemoteDirect *direct = scan->fdw_state;
	ShuttleExplainNumbers numbers = {.writes = true,.looks = true,.engine = true};

	shuttle_postgres_fdw_routine->ExplainDirectModify(scan, es);
	if (direct == NULL)
		return;

	numbers.counters = &direct->counters;
	numbers.node_name = shuttle_node_name(direct->node);
	shuttle_explain_counters(es, &numbers);
	shuttle_explain_remote_asked(direct->asked, direct->node, NULL, es);
	shuttle_modify_explain_commit(es);
}
