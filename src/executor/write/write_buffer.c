/*-------------------------------------------------------------------------
 * write_buffer.c
 *	  Rows of one table that are buffered, to be written by one request.
 *
 * Rule: if a statement changes a row several times, the first change counts,
 * as in core.
 *
 * Memory: buffered rows are in rows_cxt, reset when they are sent.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "executor/executor.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "executor/facts/scan_facts.h"
#include "executor/scan/scan.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/conflict/upsert.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"

/* What a request of one row takes until it is answered, about. */
#define PIECE_BYTES 4096

static ShuttleDecoder *create_decoder(const ShuttleWrite *write, int first_column);
static HTAB *create_names(const ShuttleWrite *write);
static TupleDesc describe_values(const ShuttleWrite *write);
static bool is_named_again(ShuttleWriteBuffer *buffer, ItemPointer ctid);
static ShuttleWaitingRow *append_row(ShuttleWrite *write, TupleTableSlot *slot, uint64 number);
static int64 copy_values(ShuttleWrite *write, TupleTableSlot *slot, ShuttleWaitingRow *row);

void
shuttle_write_buffer_create(ShuttleWrite *write)
{
	EState	   *estate = write->estate;
	MemoryContext old_cxt = MemoryContextSwitchTo(estate->es_query_cxt);
	ShuttleWriteBuffer *buffer = palloc0_object(ShuttleWriteBuffer);

	buffer->by_ctid = write->operation != CMD_INSERT;
	buffer->returns = !write->core_follows_up && shuttle_write_follows_up(write);
	buffer->desc = describe_values(write);
	buffer->row_values = palloc_array(Datum, Max(write->nattributes, 1));
	buffer->row_nulls = palloc_array(bool, Max(write->nattributes, 1));
	buffer->values_slot = MakeSingleTupleTableSlot(buffer->desc, &TTSOpsMinimalTuple);
	if (write->upsert != NULL && buffer->by_ctid)
		buffer->decoder = create_decoder(write, 1 + SHUTTLE_MARK_COLUMNS);
	else if (write->decoder != NULL || shuttle_on_conflict_returns_xmax(write))
	{
		buffer->decoder = create_decoder(write, buffer->by_ctid ? 1 :
										 shuttle_on_conflict_front_columns(write, false));
		if (shuttle_on_conflict_updates(write) || write->upsert != NULL)
			buffer->marked_decoder =
				create_decoder(write, shuttle_on_conflict_front_columns(write, true));
	}
	if (write->upsert != NULL)
		buffer->plan_slot = ExecInitExtraTupleSlot(estate, RelationGetDescr(write->rel),
												   &TTSOpsMinimalTuple);
	else if (buffer->by_ctid)
	{
		buffer->named = create_names(write);
		shuttle_remote_table_ask(write->rel, write->storage_node,
								 shuttle_scan_snapshot(estate));
	}
	if (buffer->returns && write->node->operation != CMD_INSERT)
	{
		PlanState  *source = outerPlanState(write->node);

		buffer->plan_slot = MakeSingleTupleTableSlot(ExecGetResultType(source),
													 ExecGetResultSlotOps(source, NULL));
	}
	buffer->rows_cxt = GenerationContextCreate(estate->es_query_cxt,
											   "shuttle write buffer",
											   ALLOCSET_DEFAULT_SIZES);
	write->buffer = buffer;
	MemoryContextSwitchTo(old_cxt);
}

/* Decodes the columns that RETURNING wants, from first_column on. */
static ShuttleDecoder *
create_decoder(const ShuttleWrite *write, int first_column)
{
	return shuttle_row_decoder_create(RelationGetDescr(write->rel), write->postgres_fdw.attributes,
									  first_column, write->rel, write->storage_node,
									  write->estate->es_query_cxt);
}

/* Changes and moves of a row share one table of ctids: the first counts. */
static HTAB *
create_names(const ShuttleWrite *write)
{
	HASHCTL		control = {
		.keysize = sizeof(ItemPointerData),
		.entrysize = sizeof(ItemPointerData),
		.hcxt = write->estate->es_query_cxt,
	};

	if (shuttle_write_takes_out(write))
		return write->update->buffer->named;
	return hash_create("shuttle rows named", 256, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The row type of the attributes that are sent. */
static TupleDesc
describe_values(const ShuttleWrite *write)
{
	TupleDesc	desc = CreateTemplateTupleDesc(write->nattributes);

	for (int i = 0; i < write->nattributes; i++)
		TupleDescCopyEntry(desc, i + 1, RelationGetDescr(write->rel),
						   write->attributes[i]);
	TupleDescFinalize(desc);
	return desc;
}

/* ---- rows in */

/* Appends a row with a copy of its values, in rows_cxt. */
static ShuttleWaitingRow *
append_row(ShuttleWrite *write, TupleTableSlot *slot, uint64 number)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	ShuttleWaitingRow *row;

	if (buffer->nrows == buffer->size)
	{
		buffer->size = Max(64, buffer->size * 2);
		buffer->rows = buffer->rows == NULL ?
			MemoryContextAllocHuge(buffer->rows_cxt, sizeof(ShuttleWaitingRow) * buffer->size) :
			repalloc_huge(buffer->rows, sizeof(ShuttleWaitingRow) * buffer->size);
	}
	row = &buffer->rows[buffer->nrows++];
	row->number = number;
	row->plan_row = NULL;
	buffer->nbytes += copy_values(write, slot, row) + sizeof(ShuttleWaitingRow);
	return row;
}

bool
shuttle_write_buffer_add(ShuttleWrite *write, TupleTableSlot *slot,
						 TupleTableSlot *plan_slot, uint64 number)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	MemoryContext old_cxt;
	ShuttleWaitingRow *row;
	ItemPointer ctid = NULL;

	if (write->upsert != NULL)
		plan_slot = slot;		/* EXCLUDED */
	if (shuttle_on_conflict_computes_rows(write))
	{
		if (buffer->nrows > 0)
			elog(ERROR, "a row with computed values was not sent");
		shuttle_on_conflict_compute_row(write, slot);
		buffer->nbytes += PIECE_BYTES;
	}
	if (buffer->by_ctid)
	{
		bool		is_null;

		ctid = (ItemPointer) DatumGetPointer(ExecGetJunkAttribute(plan_slot,
																  write->ctid_column,
																  &is_null));
		if (is_null)
			elog(ERROR, "ctid is NULL");
		if (is_named_again(buffer, ctid))
			return false;
	}
	old_cxt = MemoryContextSwitchTo(buffer->rows_cxt);
	row = append_row(write, slot, number);
	if (ctid != NULL)
	{
		row->ctid = *ctid;
		row->tableoid = shuttle_target_rows_decode(write->rows, &row->ctid);
	}
	if (buffer->plan_slot != NULL)
	{
		row->plan_row = ExecCopySlotMinimalTuple(plan_slot);
		buffer->nbytes += row->plan_row->t_len;
	}
	MemoryContextSwitchTo(old_cxt);
	return true;
}

void
shuttle_write_buffer_add_found(ShuttleWrite *write, TupleTableSlot *slot, HeapTuple stored,
							   const ItemPointerData *ctid, Oid tableoid, uint64 number)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(write->buffer->rows_cxt);
	ShuttleWaitingRow *row = append_row(write, slot, number);

	row->ctid = *ctid;
	row->tableoid = tableoid;
	ExecForceStoreHeapTuple(stored, write->buffer->plan_slot, false);
	row->plan_row = ExecCopySlotMinimalTuple(write->buffer->plan_slot);
	ExecClearTuple(write->buffer->plan_slot);
	write->buffer->nbytes += row->plan_row->t_len;
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_write_buffer_clear(ShuttleWrite *write)
{
	ShuttleWriteBuffer *buffer = write->buffer;

	MemoryContextReset(buffer->rows_cxt);
	buffer->rows = NULL;
	buffer->nrows = buffer->size = 0;
	buffer->nbytes = 0;
}

/* True if the statement has changed the row before. */
static bool
is_named_again(ShuttleWriteBuffer *buffer, ItemPointer ctid)
{
	bool		found;

	(void) hash_search(buffer->named, ctid, HASH_ENTER, &found);
	return found;
}

/* Returns the approximate size of the values when they are sent. */
static int64
copy_values(ShuttleWrite *write, TupleTableSlot *slot, ShuttleWaitingRow *row)
{
	ShuttleWriteBuffer *buffer = write->buffer;
	Datum	   *values = buffer->row_values;
	bool	   *nulls = buffer->row_nulls;
	int64		nbytes;

	for (int i = 0; i < write->nattributes; i++)
		values[i] = slot_getattr(slot, write->attributes[i], &nulls[i]);
	row->values = shuttle_form_minimal_tuple(buffer->desc, values, nulls);
	nbytes = row->values->t_len;

	/* A value may be compressed, or in a TOAST table. */
	for (int i = 0; i < write->nattributes; i++)
	{
		char	   *value = DatumGetPointer(values[i]);

		if (!nulls[i] && TupleDescAttr(buffer->desc, i)->attlen == -1 &&
			(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
			nbytes += toast_raw_datum_size(values[i]);
	}
	return nbytes;
}

/* True if core fires BEFORE ROW triggers before it passes us a row. */
static bool
has_before_trigger(const ShuttleWrite *write)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;

	return triggers != NULL && (write->node->operation == CMD_UPDATE ?
								triggers->trig_update_before_row :
								triggers->trig_delete_before_row);
}

bool
shuttle_write_buffer_fired_for(const ShuttleWrite *write, TupleTableSlot *plan_slot)
{
	AttrNumber	table_column = write->node->mt_resultOidAttno;
	Datum		ctid;
	bool		is_null;

	if (!write->buffer->by_ctid || !has_before_trigger(write))
		return false;
	if (AttributeNumberIsValid(table_column) &&
		DatumGetObjectId(ExecGetJunkAttribute(plan_slot, table_column, &is_null)) !=
		RelationGetRelid(write->rel))
		return false;
	ctid = ExecGetJunkAttribute(plan_slot, write->ctid_column, &is_null);
	return !is_null &&
		hash_search(write->buffer->named, DatumGetPointer(ctid), HASH_FIND, NULL) != NULL;
}

bool
shuttle_write_buffer_has_rows(const ShuttleWrite *write)
{
	return write->buffer->nrows > 0;
}

int64
shuttle_write_buffer_bytes(const ShuttleWrite *write)
{
	return write->buffer->nbytes;
}

bool
shuttle_write_buffer_is_full(const ShuttleWrite *write)
{
	return !shuttle_settings.enable_write_buffer ||
		shuttle_on_conflict_computes_rows(write) ||
		(write->upsert != NULL && write->upsert->by_row) ||
		write->buffer->nbytes >= shuttle_settings.write_buffer_size_kb * (int64) 1024 ||
		(write->row_limit > 0 && write->buffer->nrows >= write->row_limit);
}

int64
shuttle_write_buffer_sent_bytes(const ShuttleWrite *write)
{
	return write->buffer->nsent_bytes;
}

bool
shuttle_write_buffer_is_ahead(const ShuttleWrite *write)
{
	return write->buffer->nsent_bytes >= shuttle_settings.write_buffer_size_kb * (int64) 1024;
}
