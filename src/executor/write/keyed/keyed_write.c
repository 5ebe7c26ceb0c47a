/*-------------------------------------------------------------------------
 * keyed_write.c
 *	  Plan node that makes storage nodes join the rows of its source with
 *	  tables that an UPDATE or DELETE changes
 *	  (planner/write/keyed_writes.c).
 *
 * The source is read to its end before anything is written, as it may read the
 * same tables. Its values are sent as arrays, each to the partition that may
 * have rows for it; all nodes are asked at once. To ModifyTable the tables
 * look directly modified: it gets a row for each that RETURNING wants, else
 * none. Rules: a row that several keys find is changed once, as by any UPDATE:
 * within one request the node ensures that. What exceeds
 * shuttle.write_buffer_size is sent in further requests; those of an UPDATE
 * exclude rows that the node's transaction has changed, which had written
 * nothing before.
 * Memory: what is sent, and the source rows that RETURNING wants, live in
 * piece_cxt, reset before the next piece; later source rows are in a
 * tuplestore.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_settings.h"
#include "executor/facts/node_names.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/scan/remote_values.h"
#include "executor/shuttle_executor.h"
#include "executor/write/keyed/keyed_write.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

static Node *create_state(CustomScan *plan);
static void begin_keyed_write(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_keyed_write(CustomScanState *node);
static void end_keyed_write(CustomScanState *node);
static void rescan_keyed_write(CustomScanState *node);
static void explain_keyed_write(CustomScanState *node, List *ancestors,
								ExplainState *es);

static const CustomScanMethods keyed_write_methods = {
	.CustomName = shuttle_node_keyed_write_name,
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods keyed_write_exec_methods = {
	.CustomName = shuttle_node_keyed_write_name,
	.BeginCustomScan = begin_keyed_write,
	.ExecCustomScan = exec_keyed_write,
	.EndCustomScan = end_keyed_write,
	.ReScanCustomScan = rescan_keyed_write,
	.ExplainCustomScan = explain_keyed_write,
};

void
shuttle_keyed_write_register(void)
{
	RegisterCustomScanMethods(&keyed_write_methods);
}

/* ---- the plan */

/*
 * relids: all relations that the node replaces. When core flattens range tables
 * of subqueries it shifts these, but not numbers in private lists; so their
 * least member is stored there as well.
 */
CustomScan *
shuttle_keyed_write_make(Plan *source, List *targetlist, List *scan_targetlist,
						 Relids relids, const ShuttleKeyedPlan *plan)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &keyed_write_methods;
	scan->custom_plans = list_make1(source);
	scan->custom_exprs = plan->values;
	scan->custom_scan_tlist = scan_targetlist;
	scan->custom_relids = relids;
	scan->custom_private = list_make3(list_make4_int(plan->operation,
													 plan->set_processed,
													 plan->names_table,
													 bms_next_member(relids, -1)),
									  plan->targets, plan->routes);
	scan->scan.plan.targetlist = targetlist;
	return scan;
}

/* Returns by how much range table indexes were shifted. */
static int
unpack_plan(const CustomScan *scan, ShuttleKeyedPlan *plan)
{
	List	   *numbers = linitial(scan->custom_private);

	plan->operation = linitial_int(numbers);
	plan->set_processed = lsecond_int(numbers) != 0;
	plan->names_table = lthird_int(numbers) != 0;
	plan->values = scan->custom_exprs;
	plan->targets = lsecond(scan->custom_private);
	plan->routes = lthird(scan->custom_private);
	return bms_next_member(scan->custom_relids, -1) - lfourth_int(numbers);
}

/* ---- begin */

static Node *
create_state(CustomScan *plan)
{
	ShuttleKeyedWriteState *state = palloc0_object(ShuttleKeyedWriteState);

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &keyed_write_exec_methods;
	return (Node *) state;
}

/* Unpacks the plan of one table. */
static void
describe_target(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target, List *plan)
{
	EState	   *estate = state->css.ss.ps.state;
	ForeignScan scan = {
		.operation = state->plan.operation,
		.fdw_private = lthird(plan),
	};
	List	   *places = lsecond(plan);
	Index		rtindex;
	ListCell   *cell;

	rtindex = linitial_int(linitial(plan)) + state->relation_offset;
	target->target = estate->es_result_relations[rtindex - 1];
	target->ntuples = lsecond_int(linitial(plan));
	if (!shuttle_postgres_fdw_read_direct(&scan, &target->postgres_fdw))
		elog(ERROR, "unexpected plan of a direct modification");
	target->nvalues = list_length(places);
	target->values = palloc_array(ShuttleKeyedValue *, target->nvalues + 1);
	foreach(cell, places)
		target->values[foreach_current_index(cell)] = &state->values[lfirst_int(cell)];
}

static void
open_target(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target)
{
	EState	   *estate = state->css.ss.ps.state;
	Relation	rel = target->target->ri_RelationDesc;
	ForeignTable *table = GetForeignTable(RelationGetRelid(rel));

	target->node = shuttle_connection_get(table->serverid,
										  ExecGetResultRelCheckAsUser(target->target, estate));
	if (!target->postgres_fdw.has_returning)
		return;
	target->decoder = shuttle_row_decoder_create(RelationGetDescr(rel),
												 target->postgres_fdw.attributes, 1, rel,
												 target->node, estate->es_query_cxt);
}

static void
open_targets(ShuttleKeyedWriteState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	Oid		   *relids = palloc_array(Oid, state->ntargets);

	for (int i = 0; i < state->ntargets; i++)
	{
		open_target(state, &state->targets[i]);
		relids[i] = RelationGetRelid(state->targets[i].target->ri_RelationDesc);
	}
	state->routes = shuttle_keyed_routes_create(estate, state->plan.routes,
												state->relation_offset, relids,
												state->ntargets);
}

static void
begin_keyed_write(CustomScanState *node, EState *estate, int eflags)
{
	ShuttleKeyedWriteState *state = (ShuttleKeyedWriteState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	PlanState  *source;
	ListCell   *cell;

	state->relation_offset = unpack_plan(plan, &state->plan);
	source = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	node->custom_ps = list_make1(source);
	state->nvalues = list_length(state->plan.values);
	state->values = palloc0_array(ShuttleKeyedValue, state->nvalues + 1);
	foreach(cell, state->plan.values)
		shuttle_keyed_value_describe(&state->values[foreach_current_index(cell)],
									 lfirst(cell), &node->ss.ps);
	state->ntargets = list_length(state->plan.targets);
	state->targets = palloc0_array(ShuttleKeyedTarget, state->ntargets);
	foreach(cell, state->plan.targets)
		describe_target(state, &state->targets[foreach_current_index(cell)],
						lfirst(cell));
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	open_targets(state);
	state->source_slot = MakeSingleTupleTableSlot(ExecGetResultType(source),
												  &TTSOpsMinimalTuple);
	state->piece_cxt = AllocSetContextCreate(estate->es_query_cxt, "shuttle keys",
											 ALLOCSET_DEFAULT_SIZES);
	state->row_cxt = AllocSetContextCreate(estate->es_query_cxt, "shuttle keyed row",
										   ALLOCSET_SMALL_SIZES);
}

/* ---- answers */

static void
count_rows(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target, uint64 nrows)
{
	shuttle_count(&target->counters, SHUTTLE_WRITE_REQUESTS, nrows);
	if (state->plan.set_processed)
		state->css.ss.ps.state->es_processed += nrows;
}

/* Waits for an answer of which only the row count is wanted. */
static void
finish_counted(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target)
{
	uint64		nrows = shuttle_request_finish(target->request);

	count_rows(state, target, nrows);
	if (state->css.ss.ps.instrument)
		state->css.ss.ps.instrument->tuplecount += nrows;
}

/* Makes the node's row from a returned one, and makes the table's row available
 * to RETURNING. */
static TupleTableSlot *
return_row(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target, const ShuttleRow *row)
{
	PlanState  *node = &state->css.ss.ps;
	TupleTableSlot *slot = ExecGetReturningSlot(node->state, target->target);
	ShuttleDecoder *decoder = target->decoder;
	int64		ordinal = shuttle_row_int64(row, 0);
	MemoryContext old_cxt;

	if (ordinal < 1 || ordinal > target->nkeys)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("storage node \"%s\" returned a row that was not asked for",
						shuttle_node_name(target->node))));
	count_rows(state, target, 1);
	ExecClearTuple(slot);
	MemoryContextReset(state->row_cxt);
	old_cxt = MemoryContextSwitchTo(state->row_cxt);
	if (decoder != NULL)
		ExecForceStoreHeapTuple(shuttle_row_decoder_tuple(decoder, row), slot, false);
	else
		shuttle_write_store_nothing(slot);
	slot->tts_tableOid = RelationGetRelid(target->target->ri_RelationDesc);
	MemoryContextSwitchTo(old_cxt);
	target->target->ri_projectReturning->pi_exprContext->ecxt_scantuple = slot;

	ResetExprContext(node->ps_ExprContext);
	ExecForceStoreMinimalTuple(state->rows[target->rows[ordinal - 1]],
							   state->source_slot, false);
	shuttle_keyed_show_row(state, state->source_slot,
						   RelationGetRelid(target->target->ri_RelationDesc));
	return node->ps_ProjInfo != NULL ? ExecProject(node->ps_ProjInfo) :
		state->css.ss.ss_ScanTupleSlot;
}

/* The next row of the piece's answers; NULL: none. */
static TupleTableSlot *
next_returned(ShuttleKeyedWriteState *state)
{
	for (; state->next_target < state->ntargets; state->next_target++)
	{
		ShuttleKeyedTarget *target = &state->targets[state->next_target];
		ShuttleRow	row;

		CHECK_FOR_INTERRUPTS();
		if (target->request == NULL)
			continue;
		if (!state->returns)
			finish_counted(state, target);
		else if (shuttle_request_fetch(target->request, true, &row) == SHUTTLE_ROW)
			return return_row(state, target, &row);
		shuttle_request_close(target->request);
		target->request = NULL;
	}
	return NULL;
}

static TupleTableSlot *
exec_keyed_write(CustomScanState *node)
{
	ShuttleKeyedWriteState *state = (ShuttleKeyedWriteState *) node;

	state->returns = state->targets[0].target->ri_projectReturning != NULL;
	for (;;)
	{
		TupleTableSlot *row;

		if (!state->sent)
		{
			shuttle_keyed_fill_piece(state);
			shuttle_keyed_send_piece(state);
		}
		row = next_returned(state);
		if (row != NULL)
			return row;
		if (!state->more)
			return NULL;
		state->sent = false;
	}
}

/* ---- end */

static void
end_keyed_write(CustomScanState *node)
{
	ShuttleKeyedWriteState *state = (ShuttleKeyedWriteState *) node;

	for (int i = 0; i < state->ntargets; i++)
	{
		if (state->targets[i].request != NULL)
			shuttle_request_close(state->targets[i].request);
		state->targets[i].request = NULL;
	}
	if (state->waiting != NULL)
		tuplestore_end(state->waiting);
	state->waiting = NULL;
	if (state->source_slot != NULL)
		ExecDropSingleTupleTableSlot(state->source_slot);
	state->source_slot = NULL;
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan_keyed_write(CustomScanState *node)
{
	elog(ERROR, "rows of a statement that writes cannot be read again");
}

static void
explain_target(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target, ExplainState *es)
{
	const char *operation = state->plan.operation == CMD_UPDATE ? "Foreign Update" :
		"Foreign Delete";
	const char *name = RelationGetRelationName(target->target->ri_RelationDesc);
	const char *sql = NULL;
	ShuttleExplainNumbers numbers = {
		.counters = &target->counters,
		.writes = true,
		.looks = true,
		.engine = true,
		.node_name = target->node == NULL ? NULL : shuttle_node_name(target->node),
	};

	shuttle_explain_begin_table(es, operation, name);
	if (es->verbose)
	{
		sql = shuttle_keyed_sql(target->postgres_fdw.sql, target->values, target->nvalues,
								target->target->ri_projectReturning != NULL,
								false, false);
		shuttle_explain_text(es, "Remote SQL", sql);
	}
	if (target->node != NULL)
	{
		shuttle_explain_counters(es, &numbers);
		shuttle_explain_remote_asked(target->asked_statements, target->node, sql, es);
	}
	shuttle_explain_end_table(es);
}

static void
explain_keyed_write(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ShuttleKeyedWriteState *state = (ShuttleKeyedWriteState *) node;

	shuttle_explain_begin_tables(es);
	for (int i = 0; i < state->ntargets; i++)
		explain_target(state, &state->targets[i], es);
	shuttle_explain_end_tables(es);
	shuttle_modify_explain_commit(es);
}
