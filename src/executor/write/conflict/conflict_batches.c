/*-------------------------------------------------------------------------
 * conflict_batches.c
 *	  Rows of an INSERT ... ON CONFLICT that are written together, where a global index decides (conflict_by_row.c).
 *
 * Rows are taken in parts, and of each part nodes are asked first which rows are in conflict, all at once. Then, in
 * the order of the rows:
 * 1. Rows that are not in conflict are inserted by one statement, in a subtransaction. An error of a unique index says
 *	  that one of them is in conflict after all, with another row of the statement or of another session. Then the half of
 *	  them is tried, and so on: what is inserted is what would be inserted one by one.
 * 2. Rows that are in conflict are left by DO NOTHING. DO UPDATE updates them by one statement, likewise, as long as no two
 *	  of them have the same values. It returns which rows it has updated.
 * 3. A row that is left over is written by itself.
 *
 * Memory: rows of a part, and what is found about them, live in a context that is reset for the next one.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/write/conflict/conflict_by_row.h"

/* As many rows are looked at together. */
#define ROWS_OF_PART 1000

/* The rows that are looked at. */
typedef struct Part
{
	ShuttleByRowState *state;
	MemoryContext cxt;
	TupleDesc	desc;			/* of a row and its number */
	TupleTableSlot *number;		/* what statements return */
	int			nrows;
	MinimalTuple *rows;
	bool	   *is_known;		/* to be in conflict */
	int			limits[2];		/* so many are tried together of those that
								 * are not known, and of those that are */
} Part;

/* ---- rows */

/* A row with its number behind it. */
static TupleDesc
make_desc(TupleDesc row)
{
	TupleDesc	desc = CreateTemplateTupleDesc(row->natts + 1);

	for (int i = 1; i <= row->natts; i++)
		TupleDescCopyEntry(desc, i, row, i);
	TupleDescInitEntry(desc, row->natts + 1, "number", INT4OID, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

static void
begin(Part *part, ShuttleByRowState *state)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	TupleDesc	number = CreateTemplateTupleDesc(1);
	EphemeralNamedRelation relation = palloc0_object(EphemeralNamedRelationData);

	TupleDescInitEntry(number, 1, "number", INT4OID, -1, 0);
	TupleDescFinalize(number);
	memset(part, 0, sizeof(*part));
	part->state = state;
	part->cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle rows in conflict", ALLOCSET_DEFAULT_SIZES);
	part->desc = make_desc(state->row->tts_tupleDescriptor);
	part->number = MakeSingleTupleTableSlot(number, &TTSOpsMinimalTuple);
	part->limits[false] = part->limits[true] = ROWS_OF_PART;
	relation->md.name = pstrdup(SHUTTLE_BY_ROW_RELATION);
	relation->md.tupdesc = part->desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	state->environment = create_queryEnv();
	register_ENR(state->environment, relation);
	MemoryContextSwitchTo(old_cxt);
}

/* Returns false at the end of all rows. */
static bool
read_rows(Part *part)
{
	MemoryContext old_cxt;

	MemoryContextReset(part->cxt);
	old_cxt = MemoryContextSwitchTo(part->cxt);
	part->rows = palloc_array(MinimalTuple, ROWS_OF_PART);
	part->is_known = palloc0_array(bool, ROWS_OF_PART);
	part->nrows = 0;
	while (part->nrows < ROWS_OF_PART &&
		   tuplestore_gettupleslot(part->state->proposed, true, true, part->state->row))
		part->rows[part->nrows++] = ExecCopySlotMinimalTuple(part->state->row);
	MemoryContextSwitchTo(old_cxt);
	return part->nrows > 0;
}

/* Makes a row the current one. */
static void
take_row(const Part *part, int number)
{
	ExecStoreMinimalTuple(part->rows[number], part->state->row, false);
	slot_getallattrs(part->state->row);
}

/* Rows that a statement finds in the environment. Returns what has to be freed. */
static Tuplestorestate *
put_rows(const Part *part, int from, int count)
{
	ShuttleByRowState *state = part->state;
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	int			natts = part->desc->natts;
	Datum	   *values = palloc_array(Datum, natts);
	bool	   *nulls = palloc0_array(bool, natts);

	for (int i = from; i < from + count; i++)
	{
		take_row(part, i);
		memcpy(values, state->row->tts_values, sizeof(Datum) * (natts - 1));
		memcpy(nulls, state->row->tts_isnull, sizeof(bool) * (natts - 1));
		values[natts - 1] = Int32GetDatum(i);
		tuplestore_putvalues(store, part->desc, values, nulls);
	}
	get_ENR(state->environment, SHUTTLE_BY_ROW_RELATION)->reldata = store;
	return store;
}

/* Runs a statement for some rows. Returns false if a row was in conflict; other errors are raised. */
static bool
run_for_rows(Part *part, PlannedStmt *statement, int from, int count)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(part->cxt);
	Tuplestorestate *store = put_rows(part, from, count);
	ErrorData  *error = shuttle_conflict_run(part->state, statement, statement != part->state->find_rows);

	tuplestore_end(store);
	MemoryContextSwitchTo(old_cxt);
	if (error != NULL && !shuttle_conflict_is_one(part->state, error))
		ReThrowError(error);
	return error == NULL;
}

/* The next number that the last statement has returned; -1: there is none. */
static int
next_number(const Part *part)
{
	bool		is_null;

	return tuplestore_gettupleslot(part->state->answer, true, false, part->number) ?
		DatumGetInt32(slot_getattr(part->number, 1, &is_null)) : -1;
}

/* ---- what is done with them */

static void
find_known(Part *part)
{
	int			number;

	if (part->state->find_rows == NULL || !run_for_rows(part, part->state->find_rows, 0, part->nrows))
		return;
	while ((number = next_number(part)) >= 0)
		part->is_known[number] = true;
	MemoryContextReset(part->state->row_cxt);
}

/* The arbiter's values of a row, for the rest of the statement. */
static Datum *
values_of(const Part *part, int number)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(part->state->css.ss.ps.state->es_query_cxt);
	Datum	   *values;

	take_row(part, number);
	values = shuttle_conflict_values(part->state);
	ResetPerTupleExprContext(part->state->css.ss.ps.state);
	MemoryContextSwitchTo(old_cxt);
	return values;
}

static bool
insert_rows(Part *part, int from, int count)
{
	ShuttleByRowState *state = part->state;

	if (!run_for_rows(part, state->insert_rows, from, count))
		return false;
	shuttle_conflict_take_answer(state);
	for (int i = from; state->update != NULL && i < from + count; i++)
		shuttle_conflict_note_written(state, values_of(part, i));
	return true;
}

/* True if none of the values is that of a row before, and no row was written with one of them. */
static bool
are_distinct(const Part *part, Datum **values, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (values[i] == NULL || shuttle_conflict_is_written(part->state, values[i]))
			return false;
		for (int j = 0; j < i; j++)
		{
			if (shuttle_conflict_values_are_equal(part->state, values[i], values[j]))
				return false;
		}
	}
	return true;
}

static bool
update_rows(Part *part, int from, int count)
{
	ShuttleByRowState *state = part->state;
	Datum	  **values = MemoryContextAlloc(part->cxt, sizeof(Datum *) * count);
	bool	   *is_done = MemoryContextAllocZero(part->cxt, sizeof(bool) * count);
	int			number;

	for (int i = 0; i < count; i++)
		values[i] = values_of(part, from + i);
	if (!are_distinct(part, values, count) || !run_for_rows(part, state->update_rows, from, count))
		return false;
	while ((number = next_number(part)) >= 0)
	{
		is_done[number - from] = true;
		shuttle_conflict_note_written(state, values[number - from]);
	}
	if (state->plan.can_set_tag)
		state->css.ss.ps.state->es_processed += state->nrows;
	/* WHERE does not hold, or the row is gone */
	for (int i = 0; i < count; i++)
	{
		if (is_done[i])
			continue;
		take_row(part, from + i);
		(void) shuttle_conflict_write_row(state, true);
		MemoryContextReset(state->row_cxt);
	}
	return true;
}

/* Writes rows that are alike: in conflict, or not. Returns false if they have to be fewer. */
static bool
write_together(Part *part, int from, int count)
{
	if (!part->is_known[from])
		return insert_rows(part, from, count);
	return part->state->update == NULL || (part->state->update_rows != NULL && update_rows(part, from, count));
}

/* Returns how many rows have been written. */
static int
write_some(Part *part, int from)
{
	bool		is_known = part->is_known[from];
	int		   *limit = &part->limits[is_known];
	bool		may_grow;
	int			count = 1;

	while (from + count < part->nrows && count < *limit && part->is_known[from + count] == is_known)
		count++;
	if (count > 1)
		may_grow = write_together(part, from, count);
	else
	{
		take_row(part, from);
		may_grow = shuttle_conflict_write_row(part->state, is_known) || is_known;
	}
	MemoryContextReset(part->state->row_cxt);
	ResetPerTupleExprContext(part->state->css.ss.ps.state);
	if (count > 1 && !may_grow)
	{
		*limit = count / 2;
		return 0;
	}
	if (may_grow)
		*limit = Min(*limit * 2, ROWS_OF_PART);
	return count;
}

void
shuttle_conflict_write_batches(ShuttleByRowState *state)
{
	Part		part;

	begin(&part, state);
	while (read_rows(&part))
	{
		find_known(&part);
		for (int written = 0; written < part.nrows; written += write_some(&part, written))
			CHECK_FOR_INTERRUPTS();
	}
	ExecClearTuple(state->row);
	ExecDropSingleTupleTableSlot(part.number);
	MemoryContextDelete(part.cxt);
}
