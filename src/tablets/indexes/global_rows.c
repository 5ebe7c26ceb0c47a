/*-------------------------------------------------------------------------
 * global_rows.c
 *	  Entries of global indexes follow the rows that a statement changes.
 *
 * A table with such indexes has an AFTER ROW trigger, the first one by its name, which notes the
 * values of old and new rows. They are sent when all triggers of that statement have fired, those of COPY by
 * an AFTER STATEMENT trigger: old entries are deleted before new ones are inserted. So all that must know of
 * row triggers (the router, shipped calls, writes that would be whole on a node) knows of these
 * indexes. Rows that are only inserted are noted when they are sent, so that nobody waits
 * for them first (executor/write).
 *
 * A statement may run within another one, in a trigger or in a function that is called. Before its own
 * rows are noted, it sends what the outer statement has noted, so that entries change in the order of the
 * rows. Two cases are refused, since that order is not known. First, the inner statement deletes rows, and
 * the outer one has written rows that its triggers have not noted yet: the inner one may have deleted
 * these. Second, a savepoint was set between the two: rolling back to it would also undo entries of
 * the outer statement.
 *
 * Memory: noted rows live in a context below the transaction's until they are sent.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tupconvert.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/indexes/global.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* So many bytes of rows that are only inserted are sent at once, as are new indexes' entries. */
#define BYTES_AT_ONCE (1024 * 1024)

/* A table whose rows the transaction changes. */
typedef struct NotedTable
{
	Oid			relid;
	int			depth;			/* of the statement that noted rows */
	int			nest_level;		/* of the transaction then */
	Oid			userid;			/* whose statement it is */
	int			deleted_depth;	/* of the deepest statement that deleted
								 * entries */
	int			nentries;		/* of entries; 0: nothing is noted */
	ShuttleGlobalEntries *entries;
	Size		nbytes;
	MemoryContext cxt;			/* of entries; NULL: nothing is noted */
} NotedTable;

/* How rows of a tablet become entries. */
struct ShuttleGlobalRows
{
	Oid			relid;			/* the distributed table */
	AttrNumber	key;
	List	   *indexes;		/* of ShuttleGlobalIndex */
	List	   *infos;			/* of IndexInfo */
	EState	   *estate;
	TupleConversionMap *map;	/* from the tablet's rows to the table's;
								 * NULL: they are alike */
	TupleTableSlot *slot;		/* a row of the table */
};

static List *noted_tables = NIL;	/* of NotedTable, in TopTransactionContext */

SHUTTLE_SQL_FUNCTION(shuttle_index_row);

/* ---- the ends of transactions */

static void
forget_rows(NotedTable *table)
{
	if (table->cxt != NULL)
		MemoryContextDelete(table->cxt);
	table->cxt = NULL;
	table->entries = NULL;
	table->nentries = 0;
	table->nbytes = 0;
}

/* Only a COPY that names a tablet leaves something behind. */
static void
refuse_rest(void)
{
	ListCell   *cell;

	foreach(cell, noted_tables)
	{
		NotedTable *table = lfirst(cell);

		if (table->cxt == NULL)
			continue;
		forget_rows(table);
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot write to a tablet of distributed table \"%s\", which has a global unique index",
						get_rel_name(table->relid)),
				 errhint("Name the table instead of its tablet.")));
	}
}

void
shuttle_global_rows_end_transaction(XactEvent event)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		refuse_rest();
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		noted_tables = NIL;		/* in the transaction's memory */
}

void
shuttle_global_rows_end_savepoint(SubXactEvent event)
{
	ListCell   *cell;

	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(cell, noted_tables)
	{
		NotedTable *table = lfirst(cell);

		if (table->nest_level >= GetCurrentTransactionNestLevel())
			forget_rows(table);
		/* statements that go on have at most the current depth */
		table->deleted_depth = Min(table->deleted_depth, shuttle_statement_depth() + 1);
	}
}

static NotedTable *
find_noted(Oid relid)
{
	MemoryContext old_cxt;
	NotedTable *table;
	ListCell   *cell;

	foreach(cell, noted_tables)
	{
		table = lfirst(cell);
		if (table->relid == relid)
			return table;
	}
	old_cxt = MemoryContextSwitchTo(TopTransactionContext);
	table = palloc0_object(NotedTable);
	table->relid = relid;
	noted_tables = lappend(noted_tables, table);
	MemoryContextSwitchTo(old_cxt);
	return table;
}

/* Others may note rows while these are sent. */
static void
send_rows(NotedTable *table)
{
	NotedTable	sent = *table;

	if (table->cxt == NULL)
		return;
	table->cxt = NULL;
	forget_rows(table);
	for (int i = 0; i < sent.nentries; i++)
		shuttle_global_passing_leave_out(&sent.entries[i]);
	shuttle_global_send(sent.entries, sent.nentries, sent.userid);
	MemoryContextDelete(sent.cxt);
}

/* ---- noting rows */

static void
refuse_nested(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a trigger or function changes rows of table \"%s\" before the statement around it has noted all of its own",
					get_rel_name(relid)),
			 errdetail("The table has a global unique index, whose entries follow the rows."),
			 errhint("Change them in a statement of their own or a statement trigger, or without a block with EXCEPTION.")));
}

/* Begins to note rows of the current statement. late: others may have changed them since. */
static NotedTable *
begin_noting(const ShuttleGlobalRows *rows, bool deletes, bool late)
{
	NotedTable *table = find_noted(rows->relid);
	int			depth = shuttle_statement_depth();
	ListCell   *cell;

	if ((late && depth < table->deleted_depth) ||
		(table->cxt != NULL && table->nest_level != GetCurrentTransactionNestLevel()))
		refuse_nested(rows->relid);
	if (table->cxt != NULL && table->depth != depth)
		send_rows(table);
	if (deletes)
		table->deleted_depth = Max(table->deleted_depth, depth);
	if (table->cxt != NULL)
		return table;
	table->cxt = AllocSetContextCreate(TopTransactionContext, "shuttle entries", ALLOCSET_DEFAULT_SIZES);
	table->depth = depth;
	table->nest_level = GetCurrentTransactionNestLevel();
	table->userid = shuttle_global_send_user();
	table->nentries = list_length(rows->indexes);
	table->entries = MemoryContextAllocZero(table->cxt, sizeof(ShuttleGlobalEntries) * table->nentries);
	foreach(cell, rows->indexes)
	{
		const ShuttleGlobalIndex *index = lfirst(cell);
		ShuttleGlobalIndex *copy = MemoryContextAlloc(table->cxt, sizeof(ShuttleGlobalIndex));

		*copy = *index;
		copy->columns = MemoryContextAlloc(table->cxt, sizeof(ShuttleGlobalColumn) * index->ncolumns);
		memcpy(copy->columns, index->columns, sizeof(ShuttleGlobalColumn) * index->ncolumns);
		table->entries[foreach_current_index(cell)].index = copy;
	}
	return table;
}

/* The row's values, in the slot's memory; NULL: the row has no entry. */
static Datum *
values_of(ShuttleGlobalRows *rows, int number, TupleTableSlot *slot)
{
	const ShuttleGlobalIndex *index = list_nth(rows->indexes, number);
	IndexInfo  *info = list_nth(rows->infos, number);
	ExprContext *context = GetPerTupleExprContext(rows->estate);
	MemoryContext old_cxt = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	Datum	   *values = palloc_array(Datum, INDEX_MAX_KEYS + 2);
	bool		nulls[INDEX_MAX_KEYS + 1];
	uint64		null_bits = 0;
	bool		has_entry;

	context->ecxt_scantuple = slot;
	if (info->ii_Predicate != NIL && info->ii_PredicateState == NULL)
	{
		MemoryContextSwitchTo(rows->estate->es_query_cxt);
		info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, rows->estate);
		MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	}
	has_entry = ExecQual(info->ii_PredicateState, context);
	if (has_entry)
		FormIndexDatum(info, slot, rows->estate, values, nulls);
	if (has_entry)
		values[index->ncolumns - 1] = slot_getattr(slot, rows->key, &nulls[index->ncolumns - 1]);
	for (int i = 0; has_entry && i < index->ncolumns; i++)
	{
		if (nulls[i])
			null_bits |= UINT64CONST(1) << i;
		has_entry = !nulls[i] || index->nulls_equal || i == index->ncolumns - 1;
	}
	values[index->ncolumns] = UInt64GetDatum(null_bits);
	MemoryContextSwitchTo(old_cxt);
	return has_entry ? values : NULL;
}

static Datum *
copy_values(NotedTable *table, const ShuttleGlobalIndex *index, const Datum *values)
{
	Datum	   *copy = palloc0_array(Datum, index->ncolumns + 1);

	copy[index->ncolumns] = values[index->ncolumns];
	for (int i = 0; i < index->ncolumns; i++)
	{
		const ShuttleGlobalColumn *column = &index->columns[i];
		Datum		value;

		if (shuttle_global_is_null(shuttle_global_nulls(index, values), i))
			continue;
		value = column->length == -1 ? PointerGetDatum(PG_DETOAST_DATUM(values[i])) : values[i];
		copy[i] = datumCopy(value, column->by_value, column->length);
		table->nbytes += sizeof(Datum) + (column->by_value ? 0 : datumGetSize(value, false, column->length));
	}
	return copy;
}

/* A row in the form of the distributed table; tablets may have columns in another order. */
static TupleTableSlot *
row_of_table(const ShuttleGlobalRows *rows, TupleTableSlot *slot)
{
	return rows->map == NULL ? slot : execute_attr_map_slot(rows->map->attrMap, slot, rows->slot);
}

/* old, new: NULL for none. Where they have the same entry, nothing changes. */
static void
note_row(ShuttleGlobalRows *rows, TupleTableSlot *old, TupleTableSlot *new, bool late)
{
	int			nindexes = list_length(rows->indexes);
	Datum	  **old_values = palloc0_array(Datum *, nindexes);
	Datum	  **new_values = palloc0_array(Datum *, nindexes);
	NotedTable *table = NULL;
	bool		deletes = false;
	bool		changes = false;

	for (int i = 0; old != NULL && i < nindexes; i++)
		old_values[i] = values_of(rows, i, i == 0 || rows->map == NULL ? row_of_table(rows, old) : rows->slot);
	for (int i = 0; new != NULL && i < nindexes; i++)
		new_values[i] = values_of(rows, i, i == 0 || rows->map == NULL ? row_of_table(rows, new) : rows->slot);
	for (int i = 0; i < nindexes; i++)
	{
		if (old_values[i] != NULL && new_values[i] != NULL &&
			shuttle_global_passing_are_equal(list_nth(rows->indexes, i), old_values[i], new_values[i]))
			old_values[i] = new_values[i] = NULL;
		deletes |= old_values[i] != NULL;
		changes |= old_values[i] != NULL || new_values[i] != NULL;
	}
	if (changes)
		table = begin_noting(rows, deletes, late);
	for (int i = 0; changes && i < nindexes; i++)
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(table->cxt);
		ShuttleGlobalEntries *entries = &table->entries[i];

		if (old_values[i] != NULL)
			entries->deletes = lappend(entries->deletes, copy_values(table, entries->index, old_values[i]));
		if (new_values[i] != NULL)
			entries->inserts = lappend(entries->inserts, copy_values(table, entries->index, new_values[i]));
		MemoryContextSwitchTo(old_cxt);
	}
	ResetPerTupleExprContext(rows->estate);
	pfree(old_values);
	pfree(new_values);
}

/* ---- rows of one tablet */

/* Errors: 55000 if entries are missing. */
static void
check_entries(const ShuttleGlobalIndex *index)
{
	if (!OidIsValid(index->entries))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("global unique index \"%s\" has no entries", get_rel_name(index->indexid)),
				 errhint("Call shuttle.check(repair => true).")));
}

ShuttleGlobalRows *
shuttle_global_rows_begin(Relation rel, MemoryContext cxt)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(cxt);
	ShuttleGlobalRows *rows = palloc0_object(ShuttleGlobalRows);
	Relation	table;
	ListCell   *cell;

	rows->relid = rel->rd_rel->relispartition ? get_partition_parent(RelationGetRelid(rel), false) : RelationGetRelid(rel);
	table = table_open(rows->relid, AccessShareLock);
	rows->key = shuttle_global_index_key(table);
	rows->indexes = rows->key == InvalidAttrNumber ? NIL : shuttle_global_indexes(rows->relid);
	rows->estate = CreateExecutorState();
	rows->map = convert_tuples_by_name(RelationGetDescr(rel), RelationGetDescr(table));
	rows->slot = MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(table)), &TTSOpsVirtual);
	foreach(cell, rows->indexes)
	{
		const ShuttleGlobalIndex *global = lfirst(cell);
		Relation	index = index_open(global->indexid, AccessShareLock);

		check_entries(global);
		rows->infos = lappend(rows->infos, shuttle_owner_index_info(index));
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
	MemoryContextSwitchTo(old_cxt);
	return rows;
}

void
shuttle_global_rows_insert(ShuttleGlobalRows *rows, TupleTableSlot *slot, bool early)
{
	NotedTable *table;

	if (rows->indexes == NIL)
		return;
	note_row(rows, NULL, slot, false);
	table = find_noted(rows->relid);
	if (early && table->nbytes > BYTES_AT_ONCE)
		send_rows(table);
}

void
shuttle_global_rows_send(ShuttleGlobalRows *rows)
{
	NotedTable *table = rows->indexes == NIL ? NULL : find_noted(rows->relid);

	if (table != NULL && table->nest_level == GetCurrentTransactionNestLevel())
		send_rows(table);
}

/* Entries of a statement that this one is in may be on another side of a savepoint. */
void
shuttle_global_rows_finish(void)
{
	ListCell   *cell;

	foreach(cell, noted_tables)
	{
		NotedTable *table = lfirst(cell);

		if (table->cxt != NULL && table->depth == shuttle_statement_depth() &&
			table->nest_level == GetCurrentTransactionNestLevel())
			send_rows(table);
	}
}

/* ---- the triggers */

static void
note_event(FunctionCallInfo fcinfo, const TriggerData *data)
{
	ShuttleGlobalRows *rows = fcinfo->flinfo->fn_extra;
	TupleTableSlot *old = TRIGGER_FIRED_BY_INSERT(data->tg_event) ? NULL : data->tg_trigslot;
	TupleTableSlot *new = TRIGGER_FIRED_BY_INSERT(data->tg_event) ? data->tg_trigslot :
		TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newslot : NULL;
	NotedTable *table;

	if (rows == NULL)
		fcinfo->flinfo->fn_extra = rows = shuttle_global_rows_begin(data->tg_relation, fcinfo->flinfo->fn_mcxt);
	if (rows->indexes == NIL)
		return;
	note_row(rows, old, new, true);
	table = find_noted(rows->relid);
	/* COPY only inserts */
	if (shuttle_statement_is_copy() && table->nbytes > BYTES_AT_ONCE)
		send_rows(table);
}

static void
truncate_entries(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_global_indexes(relid))
	{
		const ShuttleGlobalIndex *index = lfirst(cell);

		check_entries(index);
		(void) shuttle_local_run_as_superuser(psprintf("TRUNCATE %s", shuttle_local_name(index->entries)));
	}
}

/* What statements within others have deleted is not in the way of one that begins or ends now,
 * but still in that of those around it. */
static void
forget_inner(Oid relid)
{
	NotedTable *table = find_noted(relid);

	table->deleted_depth = Min(table->deleted_depth, shuttle_statement_depth());
}

static void
end_statement(Oid relid)
{
	if (shuttle_statement_is_copy())
		send_rows(find_noted(relid));
	forget_inner(relid);
}

/* shuttle.index_row() */
Datum
shuttle_index_row(PG_FUNCTION_ARGS)
{
	const TriggerData *data = (const TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		(!TRIGGER_FIRED_AFTER(data->tg_event) && !TRIGGER_FIRED_FOR_STATEMENT(data->tg_event)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("shuttle.index_row() is for AFTER triggers, and BEFORE triggers of statements")));
	if (TRIGGER_FIRED_FOR_ROW(data->tg_event))
		note_event(fcinfo, data);
	else if (TRIGGER_FIRED_BEFORE(data->tg_event))
		forget_inner(RelationGetRelid(data->tg_relation));
	else if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		truncate_entries(RelationGetRelid(data->tg_relation));
	else
		end_statement(RelationGetRelid(data->tg_relation));
	return PointerGetDatum(NULL);
}
