/*-------------------------------------------------------------------------
 * outer_rows.c
 *	  Copies of outer rows, for as long as their batch lives.
 *
 * Rows of a node that returns virtual tuples are copied as Datums, so that
 * nobody has to deform them again; all others as minimal tuples. Memory: a
 * copy is one palloc in the current context, with its by-reference values.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"

#include "base/shuttle_compat.h"
#include "executor/join/join.h"

const TupleTableSlotOps *
shuttle_outer_rows_init(ShuttleOuterRows *rows, PlanState *outer)
{
	TupleDesc	desc = ExecGetResultType(outer);
	bool		is_fixed;
	const TupleTableSlotOps *ops = ExecGetResultSlotOps(outer, &is_fixed);

	rows->as_values = is_fixed && ops == &TTSOpsVirtual;
	rows->natts = desc->natts;
	rows->lengths = palloc0_array(int16, desc->natts + 1);
	rows->nreferences = 0;
	rows->references = palloc_array(int, desc->natts + 1);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attbyval)
			continue;
		rows->references[rows->nreferences++] = i;
		rows->lengths[i] = TupleDescAttr(desc, i)->attlen;
	}
	return rows->as_values ? &TTSOpsVirtual : &TTSOpsMinimalTuple;
}

/* True for an expanded object, which has to be flattened. */
static bool
is_expanded(Datum value, int16 length)
{
	return length == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value));
}

/* Bytes that a by-reference value takes in a row. */
static Size
size_of_value(Datum value, int16 length)
{
	return MAXALIGN(is_expanded(value, length) ?
					EOH_get_flat_size(DatumGetEOHP(value)) :
					datumGetSize(value, false, length));
}

static void
copy_value(char *to, Datum value, int16 length)
{
	if (is_expanded(value, length))
		EOH_flatten_into(DatumGetEOHP(value), to,
						 EOH_get_flat_size(DatumGetEOHP(value)));
	else
		memcpy(to, DatumGetPointer(value), datumGetSize(value, false, length));
}

/* Offsets of a copy's null flags, and of its by-reference values. */
static inline Size
nulls_offset(const ShuttleOuterRows *rows)
{
	return sizeof(Datum) * rows->natts;
}

static inline Size
references_offset(const ShuttleOuterRows *rows)
{
	return MAXALIGN(nulls_offset(rows) + sizeof(bool) * rows->natts);
}

/* A copy as Datums, null flags, and what the Datums point to. */
static void *
copy_values(const ShuttleOuterRows *rows, const TupleTableSlot *slot)
{
	const Datum *values = slot->tts_values;
	const bool *nulls = slot->tts_isnull;
	Size		size = references_offset(rows);
	Datum	   *row;
	char	   *to;

	for (int i = 0; i < rows->nreferences; i++)
	{
		int			column = rows->references[i];

		if (!nulls[column])
			size += size_of_value(values[column], rows->lengths[column]);
	}
	row = palloc(size);
	memcpy(row, values, sizeof(Datum) * rows->natts);
	memcpy((char *) row + nulls_offset(rows), nulls, sizeof(bool) * rows->natts);
	to = (char *) row + references_offset(rows);
	for (int i = 0; i < rows->nreferences; i++)
	{
		int			column = rows->references[i];

		if (nulls[column])
			continue;
		copy_value(to, values[column], rows->lengths[column]);
		row[column] = PointerGetDatum(to);
		to += size_of_value(values[column], rows->lengths[column]);
	}
	return row;
}

void *
shuttle_outer_row_copy(const ShuttleOuterRows *rows, TupleTableSlot *slot)
{
	if (rows->as_values)
		return copy_values(rows, slot);
	return ExecCopySlotMinimalTuple(slot);
}

void
shuttle_outer_row_store(const ShuttleOuterRows *rows, void *row,
						TupleTableSlot *slot)
{
	if (!rows->as_values)
	{
		ExecStoreMinimalTuple(row, slot, false);
		return;
	}
	ExecClearTuple(slot);
	memcpy(slot->tts_values, row, sizeof(Datum) * rows->natts);
	memcpy(slot->tts_isnull, (char *) row + nulls_offset(rows),
		   sizeof(bool) * rows->natts);
	ExecStoreVirtualTuple(slot);
}
