/*-------------------------------------------------------------------------
 * copy_rows.c
 *	  Sends rows of a reference table to its copies on nodes.
 *
 * Values travel as arrays of texts, printed under the settings for transmission,
 * and are cast to the columns' types on the node, so types without array types
 * need nothing of their own. Generated columns are computed by nodes.
 *
 * Nodes check the primary key and unique indexes row by row, as here; so rows go
 * in the order in which they were changed.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/progress.h"
#include "tablets/reference/copies.h"

typedef struct CopyColumn
{
	AttrNumber	number;
	const char *name;			/* quoted */
	char	   *type;			/* with its schema and typmod */
	bool		is_key;
	FmgrInfo	output;
} CopyColumn;

struct ShuttleCopies
{
	MemoryContext cxt;
	Relation	rel;
	char	   *name;			/* with its schema, quoted */
	List	   *servers;
	int			ncolumns;		/* without generated ones */
	CopyColumn *columns;
	ShuttlePrintNeed need;
	List	   *requests;		/* not answered */
};

/* Which columns a statement takes of its rows. */
typedef enum CopyPart
{
	COPY_ALL,
	COPY_KEY
} CopyPart;

static Bitmapset *
key_columns(Relation rel)
{
	Oid			indexid = shuttle_primary_key(rel);
	Relation	index;
	Bitmapset  *keys = NULL;

	if (!OidIsValid(indexid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("reference table \"%s\" has no primary key", RelationGetRelationName(rel)),
				 errhint("Add one with ALTER TABLE ... ADD PRIMARY KEY.")));
	index = index_open(indexid, AccessShareLock);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		keys = bms_add_member(keys, index->rd_index->indkey.values[i]);
	index_close(index, AccessShareLock);
	return keys;
}

ShuttleCopies *
shuttle_copies_open(Relation rel, List *servers)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ShuttleCopies *copies = palloc0_object(ShuttleCopies);
	Bitmapset  *keys = key_columns(rel);

	copies->cxt = CurrentMemoryContext;
	copies->rel = rel;
	copies->name = shuttle_local_name(RelationGetRelid(rel));
	copies->servers = servers;
	copies->columns = palloc0_array(CopyColumn, desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		CopyColumn *column = &copies->columns[copies->ncolumns];
		Oid			output;
		bool		is_varlena;

		if (attribute->attisdropped || attribute->attgenerated != '\0')
			continue;
		column->number = attribute->attnum;
		column->name = quote_identifier(NameStr(attribute->attname));
		column->type = format_type_extended(attribute->atttypid, attribute->atttypmod,
											FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
		column->is_key = bms_is_member(attribute->attnum, keys);
		getTypeOutputInfo(attribute->atttypid, &output, &is_varlena);
		fmgr_info(output, &column->output);
		copies->need = Max(copies->need, shuttle_row_print_need(attribute->atttypid));
		copies->ncolumns++;
	}
	return copies;
}

/* ---- texts of statements */

static bool
is_in_part(const CopyColumn *column, CopyPart part)
{
	return part == COPY_ALL || column->is_key;
}

/* Appends format, of a column's name, for each column of a part. */
static void
append_names(StringInfo sql, const ShuttleCopies *copies, CopyPart part,
			 const char *format, const char *separator)
{
	bool		first = true;

	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (!is_in_part(&copies->columns[i], part))
			continue;
		appendStringInfoString(sql, first ? "" : separator);
		for (const char *p = format; *p != '\0'; p++)
		{
			if (*p == '%')
				appendStringInfoString(sql, copies->columns[i].name);
			else
				appendStringInfoChar(sql, *p);
		}
		first = false;
	}
}

/* A query of the rows in the parameters; its columns are v1, v2, ... */
static void
append_rows(StringInfo sql, const ShuttleCopies *copies, CopyPart part)
{
	StringInfoData arrays;
	int			n = 0;

	initStringInfo(&arrays);
	appendStringInfoString(sql, "SELECT ");
	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (!is_in_part(&copies->columns[i], part))
			continue;
		n++;
		appendStringInfo(sql, "%sv%d::%s AS v%d", n == 1 ? "" : ", ",
						 n, copies->columns[i].type, n);
		appendStringInfo(&arrays, "%s$%d::text[]", n == 1 ? "" : ", ", n);
	}
	appendStringInfo(sql, " FROM unnest(%s) AS v (", arrays.data);
	for (int i = 1; i <= n; i++)
		appendStringInfo(sql, "%sv%d", i == 1 ? "" : ", ", i);
	appendStringInfoChar(sql, ')');
}

/* Appends an assignment of the parameters after the first ones. */
static int
append_parameters(StringInfo sql, const ShuttleCopies *copies, CopyPart part,
				  const char *separator, int n)
{
	bool		first = true;

	for (int i = 0; i < copies->ncolumns; i++)
	{
		const CopyColumn *column = &copies->columns[i];

		if (!is_in_part(column, part))
			continue;
		appendStringInfo(sql, "%s%s = $%d::text::%s", first ? "" : separator,
						 column->name, ++n, column->type);
		first = false;
	}
	return n;
}

static bool
has_other_columns(const ShuttleCopies *copies)
{
	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (!copies->columns[i].is_key)
			return true;
	}
	return false;
}

/* ---- values */

static char *
value_text(ShuttleCopies *copies, CopyColumn *column, HeapTuple row)
{
	bool		is_null;
	Datum		value = heap_getattr(row, column->number, RelationGetDescr(copies->rel), &is_null);

	return is_null ? NULL : OutputFunctionCall(&column->output, value);
}

/* The column's values in all rows, as an array of texts. */
static char *
array_text(ShuttleCopies *copies, CopyColumn *column, const List *rows)
{
	int			nrows = list_length(rows);
	Datum	   *values = palloc_array(Datum, nrows + 1);
	bool	   *nulls = palloc_array(bool, nrows + 1);
	int			lower = 1;
	ArrayType  *array;
	ListCell   *cell;

	foreach(cell, rows)
	{
		int			i = foreach_current_index(cell);
		char	   *text = value_text(copies, column, lfirst(cell));

		nulls[i] = text == NULL;

		if (text !=NULL)
			values[i] = CStringGetTextDatum(text);
	}
	array = construct_md_array(values, nulls, 1, &nrows, &lower, TEXTOID, -1, false, TYPALIGN_INT);
	return OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(array));
}

static void
send_to_all(ShuttleCopies *copies, const char *sql, const char *const *values, int nvalues)
{
	ShuttleStatement statement = {
		.sql = sql,
		.nparams = nvalues,
		.values = values,
		.effect = SHUTTLE_WRITES,
		.size = SHUTTLE_SIZE_CERTAIN,
		.looks = true,
	};
	MemoryContext old_cxt = MemoryContextSwitchTo(copies->cxt);
	ListCell   *cell;

	foreach(cell, copies->servers)
		copies->requests = lappend(copies->requests,
								   shuttle_request_send(shuttle_connection_get(lfirst_oid(cell), GetUserId()),
														&statement, copies->cxt));
	MemoryContextSwitchTo(old_cxt);
}

static void
send_arrays(ShuttleCopies *copies, const char *sql, CopyPart part, const List *rows)
{
	MemoryContext work_cxt = AllocSetContextCreate(copies->cxt, "shuttle copied rows",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_cxt = MemoryContextSwitchTo(work_cxt);
	const char **values = palloc_array(const char *, copies->ncolumns);
	int			nvalues = 0;
	int			nestlevel = shuttle_row_transmission_begin(copies->need);

	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (is_in_part(&copies->columns[i], part))
			values[nvalues++] = array_text(copies, &copies->columns[i], rows);
	}
	shuttle_row_transmission_end(nestlevel);
	send_to_all(copies, sql, values, nvalues);
	MemoryContextSwitchTo(old_cxt);
	MemoryContextDelete(work_cxt);
}

/* ---- what can be sent */

bool
shuttle_copies_same_key(ShuttleCopies *copies, HeapTuple one, HeapTuple other)
{
	TupleDesc	desc = RelationGetDescr(copies->rel);

	for (int i = 0; i < copies->ncolumns; i++)
	{
		const CopyColumn *column = &copies->columns[i];
		Form_pg_attribute attribute = TupleDescAttr(desc, column->number - 1);
		bool		is_null;

		if (column->is_key &&
			!datum_image_eq(heap_getattr(one, column->number, desc, &is_null),
							heap_getattr(other, column->number, desc, &is_null),
							attribute->attbyval, attribute->attlen))
			return false;
	}
	return true;
}

void
shuttle_copies_put(ShuttleCopies *copies, const List *rows)
{
	StringInfoData sql;

	if (rows == NIL)
		return;
	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (", copies->name);
	append_names(&sql, copies, COPY_ALL, "%", ", ");
	appendStringInfoString(&sql, ") ");
	append_rows(&sql, copies, COPY_ALL);
	appendStringInfoString(&sql, " ON CONFLICT (");
	append_names(&sql, copies, COPY_KEY, "%", ", ");
	if (has_other_columns(copies))
	{
		appendStringInfoString(&sql, ") DO UPDATE SET ");
		append_names(&sql, copies, COPY_ALL, "% = excluded.%", ", ");
	}
	else
		appendStringInfoString(&sql, ") DO NOTHING");
	send_arrays(copies, sql.data, COPY_ALL, rows);
}

void
shuttle_copies_delete(ShuttleCopies *copies, const List *rows)
{
	StringInfoData sql;

	if (rows == NIL)
		return;
	initStringInfo(&sql);
	appendStringInfo(&sql, "DELETE FROM %s WHERE (", copies->name);
	append_names(&sql, copies, COPY_KEY, "%", ", ");
	appendStringInfoString(&sql, ") IN (");
	append_rows(&sql, copies, COPY_KEY);
	appendStringInfoChar(&sql, ')');
	send_arrays(copies, sql.data, COPY_KEY, rows);
}

void
shuttle_copies_move(ShuttleCopies *copies, HeapTuple old_row, HeapTuple new_row)
{
	const char **values = palloc_array(const char *, 2 * copies->ncolumns);
	int			nvalues = 0;
	int			nestlevel = shuttle_row_transmission_begin(copies->need);
	StringInfoData sql;

	for (int i = 0; i < copies->ncolumns; i++)
		values[nvalues++] = value_text(copies, &copies->columns[i], new_row);
	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (copies->columns[i].is_key)
			values[nvalues++] = value_text(copies, &copies->columns[i], old_row);
	}
	shuttle_row_transmission_end(nestlevel);
	initStringInfo(&sql);
	appendStringInfo(&sql, "UPDATE %s SET ", copies->name);
	append_parameters(&sql, copies, COPY_ALL, ", ", 0);
	appendStringInfoString(&sql, " WHERE ");
	append_parameters(&sql, copies, COPY_KEY, " AND ", copies->ncolumns);
	send_to_all(copies, sql.data, values, nvalues);
}

/* A row with the key only, to save memory. */
static HeapTuple
key_of(ShuttleCopies *copies, TupleTableSlot *slot)
{
	TupleDesc	desc = RelationGetDescr(copies->rel);
	bool	   *nulls = palloc_array(bool, desc->natts);
	HeapTuple	key;

	memset(nulls, true, desc->natts);
	slot_getallattrs(slot);
	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (copies->columns[i].is_key)
			nulls[copies->columns[i].number - 1] = false;
	}
	key = heap_form_tuple(desc, slot->tts_values, nulls);
	pfree(nulls);
	return key;
}

static List *
all_keys(ShuttleCopies *copies)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(copies->rel, NULL);
	TableScanDesc scan = shuttle_beginscan(copies->rel, snapshot);
	List	   *keys = NIL;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		keys = lappend(keys, key_of(copies, slot));
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return keys;
}

void
shuttle_copies_delete_others(ShuttleCopies *copies)
{
	StringInfoData sql;
	int			n = 0;

	initStringInfo(&sql);
	appendStringInfo(&sql, "DELETE FROM %s AS copy WHERE NOT EXISTS (SELECT FROM (", copies->name);
	append_rows(&sql, copies, COPY_KEY);
	appendStringInfoString(&sql, ") AS key WHERE ");
	for (int i = 0; i < copies->ncolumns; i++)
	{
		if (!copies->columns[i].is_key)
			continue;
		n++;
		appendStringInfo(&sql, "%skey.v%d = copy.%s", n == 1 ? "" : " AND ", n,
						 copies->columns[i].name);
	}
	appendStringInfoChar(&sql, ')');
	send_arrays(copies, sql.data, COPY_KEY, all_keys(copies));
}

/* The row with a primary key's values, or NULL. */
static HeapTuple
find_row(ShuttleCopies *copies, Relation index, HeapTuple key, Snapshot snapshot)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	ScanKeyData keys[INDEX_MAX_KEYS];
	SysScanDesc scan;
	HeapTuple	found;

	for (int i = 0; i < nkeys; i++)
	{
		AttrNumber	column = index->rd_index->indkey.values[i];
		Oid			type = index->rd_opcintype[i];
		Oid			equal = get_opfamily_member(index->rd_opfamily[i], type, type,
												BTEqualStrategyNumber);
		bool		is_null;

		ScanKeyEntryInitialize(&keys[i], 0, column, BTEqualStrategyNumber, InvalidOid,
							   index->rd_indcollation[i], get_opcode(equal),
							   heap_getattr(key, column, RelationGetDescr(copies->rel),
											&is_null));
	}
	scan = systable_beginscan(copies->rel, RelationGetRelid(index), true, snapshot, nkeys, keys);
	found = systable_getnext(scan);
	if (found != NULL)
		found = heap_copytuple(found);
	systable_endscan(scan);
	return found;
}

/* Rows that the transaction has changed: nobody else changes them meanwhile. */
void
shuttle_copies_repeat(ShuttleCopies *copies, const List *rows)
{
	Relation	index = index_open(shuttle_primary_key(copies->rel), AccessShareLock);
	Snapshot	snapshot;
	ListCell   *cell;

	CommandCounterIncrement();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	foreach(cell, rows)
	{
		HeapTuple	found = find_row(copies, index, lfirst(cell), snapshot);

		if (found != NULL)
			shuttle_copies_put(copies, list_make1(found));
		else
			shuttle_copies_delete(copies, list_make1(lfirst(cell)));
	}
	UnregisterSnapshot(snapshot);
	index_close(index, AccessShareLock);
}

uint64
shuttle_copies_put_all(ShuttleCopies *copies)
{
	Size		most_bytes = shuttle_settings.write_buffer_size_kb * (Size) 1024;
	MemoryContext rows_cxt = AllocSetContextCreate(copies->cxt, "shuttle copied table",
												   ALLOCSET_DEFAULT_SIZES);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(copies->rel, NULL);
	TableScanDesc scan = shuttle_beginscan(copies->rel, snapshot);
	List	   *rows = NIL;
	Size		bytes = 0;
	uint64		nrows = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(rows_cxt);
		HeapTuple	row = ExecCopySlotHeapTuple(slot);

		CHECK_FOR_INTERRUPTS();
		rows = lappend(rows, row);
		bytes += row->t_len;
		nrows++;
		MemoryContextSwitchTo(old_cxt);
		if (bytes < most_bytes)
			continue;
		shuttle_copies_finish(copies);
		shuttle_copies_put(copies, rows);
		shuttle_progress_add_rows(list_length(rows));
		MemoryContextReset(rows_cxt);
		rows = NIL;
		bytes = 0;
	}
	shuttle_copies_put(copies, rows);
	shuttle_progress_add_rows(list_length(rows));
	shuttle_copies_finish(copies);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(rows_cxt);
	return nrows;
}

void
shuttle_copies_finish(ShuttleCopies *copies)
{
	ListCell   *cell;

	foreach(cell, copies->requests)
	{
		(void) shuttle_request_finish(lfirst(cell));
		shuttle_request_close(lfirst(cell));
	}
	list_free(copies->requests);
	copies->requests = NIL;
}
