/*-------------------------------------------------------------------------
 * keyed_piece.c
 *	  Reads the source of a Keyed Write, and sends what fits into one piece.
 * Memory: what is sent, and the source rows it came from, live in piece_cxt,
 * reset before the next piece; later source rows are in a tuplestore.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/facts/scan_facts.h"
#include "executor/outbox.h"
#include "executor/scan/remote_values.h"
#include "executor/write/keyed/keyed_write.h"
#include "executor/write/write_buffer.h"
#include "storage/shuttle_storage.h"

/* So many rows are read by a sequential scan in the time of an index lookup. */
#define ROWS_READ_PER_KEY 10

/* ---- the source */

void
shuttle_keyed_show_row(ShuttleKeyedWriteState *state, TupleTableSlot *row, Oid relid)
{
	TupleTableSlot *to = state->css.ss.ss_ScanTupleSlot;
	int			natts = row->tts_tupleDescriptor->natts;

	ExecClearTuple(to);
	slot_getallattrs(row);
	memcpy(to->tts_values, row->tts_values, sizeof(Datum) * natts);
	memcpy(to->tts_isnull, row->tts_isnull, sizeof(bool) * natts);
	if (state->plan.names_table)
	{
		to->tts_values[natts] = ObjectIdGetDatum(relid);
		to->tts_isnull[natts] = false;
	}
	ExecStoreVirtualTuple(to);
	state->css.ss.ps.ps_ExprContext->ecxt_scantuple = to;
}

/* Evaluates the values that vary with the current row, or those that do not. */
static void
evaluate(ShuttleKeyedWriteState *state, bool varies)
{
	for (int i = 0; i < state->nvalues; i++)
	{
		ShuttleKeyedValue *value = &state->values[i];

		if (value->varies == varies)
			value->datum = ExecEvalExpr(value->expr, state->css.ss.ps.ps_ExprContext,
										&value->is_null);
	}
}

static void
add_key(ShuttleKeyedTarget *target, int row, MemoryContext cxt)
{
	if (target->nkeys == target->keys_size)
	{
		target->keys_size = Max(64, target->keys_size * 2);
		target->rows = target->rows == NULL ?
			MemoryContextAllocHuge(cxt, sizeof(int) * target->keys_size) :
			repalloc_huge(target->rows, sizeof(int) * target->keys_size);
	}
	target->rows[target->nkeys++] = row;
}

/* Approximate size of a row as text: values may be compressed or toasted. */
static int64
printed_bytes(TupleTableSlot *row, const MinimalTupleData *tuple)
{
	TupleDesc	desc = row->tts_tupleDescriptor;
	int64		bytes = tuple->t_len;

	for (int i = 0; i < desc->natts; i++)
	{
		char	   *value = DatumGetPointer(row->tts_values[i]);

		if (!row->tts_isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
			bytes += toast_raw_datum_size(row->tts_values[i]);
	}
	return bytes;
}

/* Adds a source row to the piece, if any table can have rows for it. */
static void
add_row(ShuttleKeyedWriteState *state, TupleTableSlot *row)
{
	MemoryContext old_cxt;
	int			only = -1;

	/* before the first write: a subquery must not see it */
	if (!state->evaluated)
	{
		old_cxt = MemoryContextSwitchTo(state->piece_cxt);
		evaluate(state, false);
		MemoryContextSwitchTo(old_cxt);
		state->evaluated = true;
	}
	shuttle_keyed_show_row(state, row, InvalidOid);
	if (state->routes != NULL)
	{
		evaluate(state, true);
		only = shuttle_keyed_routes_find(state->routes, state->values);
		if (only < 0)
			return;
	}
	old_cxt = MemoryContextSwitchTo(state->piece_cxt);
	if (state->nrows == state->rows_size)
	{
		state->rows_size = Max(64, state->rows_size * 2);
		state->rows = state->rows == NULL ?
			palloc_array(MinimalTuple, state->rows_size) :
			repalloc_huge(state->rows, sizeof(MinimalTuple) * state->rows_size);
	}
	state->rows[state->nrows] = ExecCopySlotMinimalTuple(row);
	state->piece_bytes += printed_bytes(row, state->rows[state->nrows]);
	for (int i = 0; i < state->ntargets; i++)
	{
		if (only < 0 || only == i)
			add_key(&state->targets[i], state->nrows, state->piece_cxt);
	}
	state->nrows++;
	MemoryContextSwitchTo(old_cxt);
}

/* Reads the rest of the source into a tuplestore, for later pieces. */
static void
keep_waiting(ShuttleKeyedWriteState *state)
{
	PlanState  *source = linitial(state->css.custom_ps);
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	state->waiting = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old_cxt);
	for (;;)
	{
		TupleTableSlot *row = ExecProcNode(source);

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(row))
			break;
		tuplestore_puttupleslot(state->waiting, row);
		state->more = true;
	}
	state->source_ended = true;
}

/* The next row of the source or the tuplestore; NULL: there is none. */
static TupleTableSlot *
next_source_row(ShuttleKeyedWriteState *state)
{
	TupleTableSlot *row = state->source_slot;

	if (!state->source_ended)
		row = ExecProcNode(linitial(state->css.custom_ps));
	else if (state->waiting == NULL ||
			 !tuplestore_gettupleslot(state->waiting, true, false, row))
		return NULL;
	return TupIsNull(row) ? NULL : row;
}

static void
begin_piece(ShuttleKeyedWriteState *state)
{
	ExecClearTuple(state->source_slot);
	MemoryContextReset(state->piece_cxt);
	state->piece_bytes = 0;
	state->evaluated = false;
	state->nrows = state->rows_size = 0;
	state->rows = NULL;
	for (int i = 0; i < state->ntargets; i++)
	{
		ShuttleKeyedTarget *target = &state->targets[i];

		target->nkeys = target->keys_size = 0;
		target->rows = NULL;
	}
}

/*
 * Pieces of an UPDATE recognize rows of earlier pieces by the transaction that
 * changed them. This fails if the transaction has written before: then all rows
 * are one piece, however large.
 */
static bool
must_be_whole(ShuttleKeyedWriteState *state)
{
	if (state->plan.operation != CMD_UPDATE || state->source_ended)
		return false;
	for (int i = 0; i < state->ntargets; i++)
	{
		ShuttleNode *node = state->targets[i].node;

		shuttle_outbox_before_read(node, state->css.ss.ps.state);
		if (shuttle_node_wrote(node))
			return true;
	}
	return false;
}

void
shuttle_keyed_fill_piece(ShuttleKeyedWriteState *state)
{
	int64		limit = shuttle_settings.write_buffer_size_kb * (int64) 1024;

	begin_piece(state);
	if (must_be_whole(state))
		limit = PG_INT64_MAX;
	while (state->piece_bytes < limit)
	{
		TupleTableSlot *row = next_source_row(state);

		CHECK_FOR_INTERRUPTS();
		if (row == NULL)
		{
			state->source_ended = true;
			state->more = false;
			return;
		}
		ResetExprContext(state->css.ss.ps.ps_ExprContext);
		add_row(state, row);
	}
	if (!state->source_ended)
		keep_waiting(state);
}

/* ---- requests */

static char *
print_value(ShuttleKeyedValue *value)
{
	return value->is_null ? NULL : OutputFunctionCall(&value->output, value->datum);
}

/* Prints a target's parameters, in the current context. */
static const char **
print_values(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	const char **texts = palloc_array(const char *, target->nvalues);
	StringInfoData *arrays = palloc_array(StringInfoData, target->nvalues);
	int			nestlevel = shuttle_row_transmission_begin(SHUTTLE_PRINT_ALL);

	for (int i = 0; i < target->nvalues; i++)
	{
		initStringInfo(&arrays[i]);
		appendStringInfoChar(&arrays[i], '{');
	}
	for (int key = 0; key < target->nkeys; key++)
	{
		MemoryContext old_cxt;

		ResetExprContext(econtext);
		ExecForceStoreMinimalTuple(state->rows[target->rows[key]],
								   state->source_slot, false);
		shuttle_keyed_show_row(state, state->source_slot, InvalidOid);
		old_cxt = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		evaluate(state, true);
		for (int i = 0; i < target->nvalues; i++)
		{
			if (target->values[i]->varies)
				shuttle_write_append_element(&arrays[i], print_value(target->values[i]),
											 target->values[i]->delimiter);
		}
		MemoryContextSwitchTo(old_cxt);
	}
	for (int i = 0; i < target->nvalues; i++)
	{
		appendStringInfoChar(&arrays[i], '}');
		texts[i] = target->values[i]->varies ? arrays[i].data :
			print_value(target->values[i]);
	}
	shuttle_row_transmission_end(nestlevel);
	return texts;
}

static void
send_keys(ShuttleKeyedWriteState *state, ShuttleKeyedTarget *target)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext old_cxt = MemoryContextSwitchTo(state->piece_cxt);
	bool		guarded = target->asked && state->plan.operation == CMD_UPDATE;
	ShuttleStatement statement = {
		.sql = shuttle_keyed_sql(target->postgres_fdw.sql, target->values, target->nvalues,
								 state->returns, guarded,
								 (double) target->nkeys * ROWS_READ_PER_KEY > target->ntuples),
		.nparams = target->nvalues,
		.values = print_values(state, target),
		.effect = SHUTTLE_WRITES,
		.types_hash = shuttle_row_decoder_types_hash(target->decoder),
		.looks = true,
		.snapshot = shuttle_scan_snapshot(estate),
		.counters = &target->counters,
	};

	shuttle_outbox_before_write(target->node, estate);
	target->asked = true;
	shuttle_explain_remote_note(&target->asked_statements, &statement, estate);
	target->request = shuttle_request_send(target->node, &statement, state->piece_cxt);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_keyed_send_piece(ShuttleKeyedWriteState *state)
{
	for (int i = 0; i < state->ntargets; i++)
	{
		if (state->targets[i].nkeys > 0)
			send_keys(state, &state->targets[i]);
	}
	state->sent = true;
	state->next_target = 0;
}
