/*-------------------------------------------------------------------------
 * write_values.c
 *	  Prints the rows that are written together, as single values or as
 *	  arrays, under the settings for transmission.
 *
 * Memory: everything is made in the write's work_cxt, which the caller resets.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"
#include "storage/shuttle_storage.h"

void
shuttle_write_collect_values(ShuttleWrite *write)
{
	TupleDesc	desc = RelationGetDescr(write->rel);
	int			ntargets = list_length(write->postgres_fdw.target_attributes);
	ListCell   *cell;

	/* RETURNING may name other columns than are written. */
	write->types_hash = shuttle_row_types_hash(desc);
	write->attributes = palloc_array(AttrNumber, ntargets + 1);
	write->output = palloc0_array(FmgrInfo, ntargets + 1);
	foreach(cell, write->postgres_fdw.target_attributes)
	{
		AttrNumber	number = lfirst_int(cell);
		Form_pg_attribute attribute = TupleDescAttr(desc, number - 1);
		Oid			function;
		bool		is_varlena;

		/* The node computes generated columns; they are sent as DEFAULT. */
		if (attribute->attgenerated)
			continue;
		getTypeOutputInfo(attribute->atttypid, &function, &is_varlena);
		fmgr_info(function, &write->output[write->nattributes]);
		write->need = Max(write->need, shuttle_row_print_need(attribute->atttypid));
		write->attributes[write->nattributes++] = number;
	}
	write->nvalues = write->nattributes + (write->operation == CMD_INSERT ? 0 : 1);

	if (write->nvalues > 0)
		write->batch_size = Min(write->batch_size, SHUTTLE_MAX_PARAMETERS / write->nvalues);

	/* A tableoid may follow the values of UPDATE and DELETE. */
	write->values = palloc0_array(const char *, write->nvalues * write->batch_size + 1);
}

static void
print_ctid(StringInfo out, const ItemPointerData *ctid)
{
	appendStringInfo(out, "(%u,%u)", ItemPointerGetBlockNumber(ctid),
					 ItemPointerGetOffsetNumber(ctid));
}

/* The text of a value of the row in the slot; NULL for SQL NULL. */
static char *
value_text(const ShuttleWrite *write, TupleTableSlot *slot, int i)
{
	return slot->tts_isnull[i] ? NULL :
		OutputFunctionCall(&write->output[i], slot->tts_values[i]);
}

const char **
shuttle_write_print_rows(const ShuttleWrite *write, const ShuttleWaitingRows *rows)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(write->work_cxt);
	const char **values = palloc_array(const char *, write->nvalues * rows->nrows + 1);
	const char **value = values;
	int			nestlevel = shuttle_row_transmission_begin(write->need);

	Assert(!rows->by_ctid || rows->nrows == 1);
	for (int row = 0; row < rows->nrows; row++)
	{
		if (rows->by_ctid)
		{
			StringInfoData ctid;

			initStringInfo(&ctid);
			print_ctid(&ctid, &rows->rows[row].ctid);
			*value++ = ctid.data;
		}
		ExecStoreMinimalTuple(rows->rows[row].values, rows->slot, false);
		slot_getallattrs(rows->slot);
		for (int i = 0; i < write->nattributes; i++)
			*value++ = value_text(write, rows->slot, i);
		ExecClearTuple(rows->slot);
		if (rows->by_ctid)
			*value++ = psprintf("%u", rows->rows[row].tableoid);
	}
	shuttle_row_transmission_end(nestlevel);
	MemoryContextSwitchTo(old_cxt);
	return values;
}

/* Elements are always quoted, except NULL. */
void
shuttle_write_append_element(StringInfo array, const char *text, char delimiter)
{
	if (array->len > 1)
		appendStringInfoChar(array, delimiter);
	if (text == NULL)
	{
		appendStringInfoString(array, "NULL");
		return;
	}
	appendStringInfoChar(array, '"');
	for (const char *p = text; *p != '\0';)
	{
		size_t		plain = strcspn(p, "\"\\");

		appendBinaryStringInfo(array, p, plain);
		p += plain;
		if (*p != '\0')
		{
			appendStringInfoChar(array, '\\');
			appendStringInfoChar(array, *p++);
		}
	}
	appendStringInfoChar(array, '"');
}

/* Appends a row's ctid and tableoid. */
static void
append_name(StringInfo ctids, StringInfo tableoids, const ShuttleWaitingRow *row)
{
	appendStringInfoString(ctids, ctids->len > 1 ? ",\"" : "\"");
	print_ctid(ctids, &row->ctid);
	appendStringInfoChar(ctids, '"');
	if (tableoids->len > 1)
		appendStringInfoChar(tableoids, ',');
	if (OidIsValid(row->tableoid))
		appendStringInfo(tableoids, "%u", row->tableoid);
	else
		appendStringInfoString(tableoids, "NULL");
}

const char **
shuttle_write_print_arrays(const ShuttleWrite *write, const ShuttleWaitingRows *rows,
						   const ShuttleRemoteTable *table, int *lengths)
{
	const bool *in_binary = write->buffer->in_binary;
	TupleDesc	desc = rows->slot->tts_tupleDescriptor;
	MemoryContext old_cxt = MemoryContextSwitchTo(write->work_cxt);
	MemoryContext row_cxt = AllocSetContextCreate(write->work_cxt, "shuttle row",
												  ALLOCSET_SMALL_SIZES);
	int			narrays = write->nvalues + (rows->by_ctid ? 1 : 0);
	const char **values = palloc_array(const char *, narrays);
	StringInfoData *arrays = palloc_array(StringInfoData, narrays);
	StringInfoData *first = rows->by_ctid ? arrays + 1 : arrays;
	int			nestlevel = shuttle_row_transmission_begin(write->need);

	for (int i = 0; i < narrays; i++)
	{
		initStringInfo(&arrays[i]);
		if (in_binary != NULL && in_binary[i])
			shuttle_write_begin_binary(&arrays[i], TupleDescAttr(desc, i)->atttypid,
									   rows->nrows);
		else
			appendStringInfoChar(&arrays[i], '{');
	}
	for (int row = 0; row < rows->nrows; row++)
	{
		MemoryContextSwitchTo(row_cxt);
		if (rows->by_ctid)
			append_name(&arrays[0], &arrays[narrays - 1], &rows->rows[row]);
		ExecStoreMinimalTuple(rows->rows[row].values, rows->slot, false);
		slot_getallattrs(rows->slot);
		for (int i = 0; i < write->nattributes; i++)
		{
			if (in_binary != NULL && in_binary[i])
				shuttle_write_append_binary(&first[i], TupleDescAttr(desc, i),
											rows->slot->tts_values[i],
											rows->slot->tts_isnull[i]);
			else
				shuttle_write_append_element(&first[i], value_text(write, rows->slot, i),
											 table->delimiters[write->attributes[i] - 1]);
		}
		ExecClearTuple(rows->slot);
		MemoryContextReset(row_cxt);
	}
	for (int i = 0; i < narrays; i++)
	{
		lengths[i] = in_binary != NULL && in_binary[i] ? arrays[i].len : -1;
		if (lengths[i] < 0)
			appendStringInfoChar(&arrays[i], '}');
		values[i] = arrays[i].data;
	}
	shuttle_row_transmission_end(nestlevel);
	MemoryContextSwitchTo(old_cxt);
	return values;
}

/* System columns are read from the tuple header. */
void
shuttle_write_store_nothing(TupleTableSlot *slot)
{
	HeapTuple	tuple;

	ExecStoreAllNullTuple(slot);
	tuple = ExecFetchSlotHeapTuple(slot, true, NULL);
	HeapTupleHeaderSetXmin(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetCmin(tuple->t_data, InvalidTransactionId);
}
