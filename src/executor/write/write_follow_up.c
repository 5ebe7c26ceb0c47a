/*-------------------------------------------------------------------------
 * write_follow_up.c
 *	  What core does with rows after they are written.
 *
 * Memory: rows for triggers are in the write's work_cxt, until the next one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"
#include "executor/write/write_buffer.h"
#include "tablets/shuttle_tablets.h"

bool
shuttle_write_follows_up(const ShuttleWrite *write)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;

	if (write->upsert != NULL)
		return true;
	if (shuttle_write_takes_out(write))
		return false;
	if (write->target->ri_projectReturning != NULL ||
		(write->target->ri_WithCheckOptions != NIL && write->operation != CMD_DELETE))
		return true;
	if (triggers == NULL || write->node->ps.plan == NULL || write->notes_rows)
		return false;
	switch (write->operation)
	{
		case CMD_INSERT:
			return triggers->trig_insert_after_row;
		case CMD_UPDATE:
			return triggers->trig_update_after_row;
		default:
			return triggers->trig_delete_after_row;
	}
}

/* Core has computed a stored column for a row that it handles itself. */
static bool
is_computed(const ShuttleWrite *write, AttrNumber attribute)
{
	return attribute > 0 &&
		TupleDescAttr(RelationGetDescr(write->rel), AttrNumberGetAttrOffset(attribute))->attgenerated == ATTRIBUTE_GENERATED_STORED;
}

/* Neither generated columns nor system columns are sent. */
static bool
sends_attribute(const ShuttleWrite *write, AttrNumber attribute)
{
	for (int i = 0; i < write->nattributes; i++)
	{
		if (write->attributes[i] == attribute)
			return true;
	}
	return false;
}

/* True if the columns that are wanted of a row that an INSERT writes are sent. computed: or known here. */
static bool
writes_what_is_sent(const ShuttleWrite *write, bool computed)
{
	ListCell   *cell;

	if (write->operation != CMD_INSERT || write->node->operation != CMD_INSERT ||
		write->conflict != NULL || shuttle_table_kind(RelationGetRelid(write->rel)) != SHUTTLE_TABLE_TABLET)
		return false;
	foreach(cell, write->postgres_fdw.attributes)
	{
		if (!sends_attribute(write, lfirst_int(cell)) && !(computed && is_computed(write, lfirst_int(cell))))
			return false;
	}
	return true;
}

bool
shuttle_write_knows_rows(const ShuttleWrite *write)
{
	const TriggerDesc *triggers = write->target->ri_TrigDesc;

	return writes_what_is_sent(write, false) && write->target->ri_WithCheckOptions == NIL &&
		(triggers == NULL || !triggers->trig_insert_after_row);
}

bool
shuttle_write_core_can_follow_up(const ShuttleWrite *write)
{
	const ModifyTable *plan = castNode(ModifyTable, write->node->ps.plan);

	if (write->node->operation == CMD_UPDATE)
		return write->operation == CMD_UPDATE && write->target->ri_projectReturning == NULL &&
			write->target->ri_WithCheckOptions == NIL &&
			shuttle_table_kind(RelationGetRelid(write->rel)) == SHUTTLE_TABLE_TABLET;
	return writes_what_is_sent(write, true) && write->upsert == NULL && plan->onConflictAction == ONCONFLICT_NONE;
}

HeapTuple
shuttle_write_known_row(const ShuttleWrite *write, MinimalTuple values)
{
	TupleDesc	desc = RelationGetDescr(write->rel);
	TupleTableSlot *slot = write->buffer->values_slot;
	Datum	   *datums = palloc_array(Datum, desc->natts);
	bool	   *nulls = palloc_array(bool, desc->natts);
	HeapTuple	row;

	memset(nulls, true, sizeof(bool) * desc->natts);
	ExecStoreMinimalTuple(values, slot, false);
	for (int i = 0; i < write->nattributes; i++)
	{
		int			at = AttrNumberGetAttrOffset(write->attributes[i]);

		datums[at] = slot_getattr(slot, i + 1, &nulls[at]);
	}
	row = heap_form_tuple(desc, datums, nulls);
	ExecClearTuple(slot);
	pfree(datums);
	pfree(nulls);
	return row;
}

HeapTuple
shuttle_write_old_row(const ShuttleWrite *write, TupleTableSlot *plan_slot)
{
	bool		is_null;
	Datum		whole = ExecGetJunkAttribute(plan_slot, write->target->ri_RowIdAttNo, &is_null);
	HeapTuple	tuple = palloc0_object(HeapTupleData);

	if (is_null)
		elog(ERROR, "wholerow is NULL");
	tuple->t_data = DatumGetHeapTupleHeader(whole);
	tuple->t_len = HeapTupleHeaderGetDatumLength(tuple->t_data);
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = RelationGetRelid(write->rel);
	return tuple;
}

/* An upsert has kept the old row. */
static HeapTuple
old_row(ShuttleWrite *write)
{
	if (write->upsert != NULL)
		return ExecCopySlotHeapTuple(write->buffer->plan_slot);
	return shuttle_write_old_row(write, write->buffer->plan_slot);
}

void
shuttle_write_queue_triggers(ShuttleWrite *write, TupleTableSlot *slot)
{
	ResultRelInfo *target = write->target;
	EState	   *estate = write->estate;
	MemoryContext old_cxt;

	if (target->ri_TrigDesc == NULL)
		return;
	MemoryContextReset(write->work_cxt);
	old_cxt = MemoryContextSwitchTo(write->work_cxt);
	if (write->operation == CMD_INSERT)
		ExecARInsertTriggers(estate, target, slot, NIL, NULL);
	else if (write->operation == CMD_UPDATE && target->ri_TrigDesc->trig_update_after_row)
		ExecARUpdateTriggers(estate, target, NULL, NULL, NULL, old_row(write), slot,
							 NIL, NULL, false);
	else if (write->operation == CMD_DELETE && target->ri_TrigDesc->trig_delete_after_row)
		ExecARDeleteTriggers(estate, target, NULL, old_row(write), NULL, false);
	MemoryContextSwitchTo(old_cxt);
}
