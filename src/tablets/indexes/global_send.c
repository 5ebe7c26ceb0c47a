/*-------------------------------------------------------------------------
 * global_send.c
 *	  Statements on entries of global indexes.
 *
 * They have all rights, since nobody else has any; errors show what the user may see whose
 * statement it is.
 *
 * Memory: plans live as long as the session.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_operator.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"

/* How often entries that are not there are looked for, and how long one waits before at most. */
#define MOST_ROUNDS 100
#define MOST_WAIT_MS 100

/* A statement for one index. */
typedef struct EntryPlan
{
	struct EntryPlanKey
	{
		uint64		nulls;		/* deletes entries in which these columns are
								 * NULL */
		Oid			entries;
		bool		deletes;	/* else it inserts, whatever is NULL */
	}			key;			/* hash key */
	SPIPlanPtr	plan;
} EntryPlan;

static HTAB *plans = NULL;
static Oid	sending_for = InvalidOid;	/* the acting user, while entries are
										 * sent */
static bool is_new = false;		/* entries of rows that exist are sent */

Oid
shuttle_global_send_user(void)
{
	/*
	 * rows of other statements may have to be sent before entries, with their
	 * own role
	 */
	return OidIsValid(sending_for) && GetUserId() == BOOTSTRAP_SUPERUSERID ? sending_for : GetUserId();
}

static const char *
operator_text(Oid operator)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	const char *text;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	text = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));

	ReleaseSysCache(tuple);
	return text;
}

/* Arrays of values as rows named r. */
static char *
rows_text(const ShuttleGlobalIndex *index)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(&text, "%spg_catalog.unnest($%d)", i == 0 ? "ROWS FROM (" : ", ", i + 1);
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? ") AS r (" : ", ", shuttle_global_column_name(index, i));
	appendStringInfoChar(&text, ')');
	return text.data;
}

/* Entries e that are those of rows r, in which these columns are NULL. Only entries with the row's own distribution
 * column: a function that computes values may have been replaced, and equal values may be another row's. */
static char *
matching_text(const ShuttleGlobalIndex *index, uint64 nulls, const char *what, const char *join)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s FROM %s AS e %s %s WHERE ", what, shuttle_local_name(index->entries), join, rows_text(index));
	for (int i = 0; i < index->ncolumns; i++)
	{
		const char *name = shuttle_global_column_name(index, i);

		appendStringInfo(&text, "%se.%s ", i == 0 ? "" : " AND ", name);
		if (shuttle_global_is_null(nulls, i))
			appendStringInfoString(&text, "IS NULL");
		else
			appendStringInfo(&text, "%s r.%s", operator_text(index->columns[i].operator), name);
	}
	return text.data;
}

/* A list of columns of rows r or deleted entries, with the collations that entries have. */
static char *
columns_text(const ShuttleGlobalIndex *index, const char *from)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(&text, "%s%s.%s%s", i == 0 ? "" : ", ", from, shuttle_global_column_name(index, i),
						 shuttle_global_collation_text(&index->columns[i]));
	return text.data;
}

/*
 * Deletes one entry for each row: where values are doubled for a while, other rows can have entries that are alike,
 * and these are inserted again. Returns the rows that have no entry.
 */
static char *
delete_each_text(const ShuttleGlobalIndex *index, uint64 nulls)
{
	char	   *rows = psprintf("SELECT %s FROM %s", columns_text(index, "r"), rows_text(index));

	return psprintf("WITH d AS (%s RETURNING e.*), s AS (INSERT INTO %s SELECT %s FROM d EXCEPT ALL %s) %s EXCEPT ALL SELECT %s FROM d",
					matching_text(index, nulls, "DELETE", "USING"), shuttle_local_name(index->entries),
					columns_text(index, "d"), rows, rows, columns_text(index, "d"));
}

static SPIPlanPtr
prepare(const ShuttleGlobalIndex *index, const char *sql)
{
	Oid		   *types = palloc_array(Oid, index->ncolumns);
	SPIPlanPtr	plan;

	for (int i = 0; i < index->ncolumns; i++)
		types[i] = index->columns[i].array_type;
	plan = SPI_prepare_cursor(sql, index->ncolumns, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare: %s", sql);
	return plan;
}

static char *
insert_text(const ShuttleGlobalIndex *index)
{
	return psprintf("INSERT INTO %s SELECT * FROM %s", shuttle_local_name(index->entries), rows_text(index));
}

static EntryPlan *
find_plan(const ShuttleGlobalIndex *index, bool deletes, uint64 nulls)
{
	struct EntryPlanKey key;
	EntryPlan  *found;
	bool		exists;

	if (plans == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(struct EntryPlanKey),
			.entrysize = sizeof(EntryPlan),
			.hcxt = TopMemoryContext,
		};

		plans = hash_create("pg_shuttle entries of indexes", 32, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	memset(&key, 0, sizeof(key));	/* also what is between members */
	key.nulls = nulls;
	key.entries = index->entries;
	key.deletes = deletes;
	found = hash_search(plans, &key, HASH_ENTER, &exists);
	if (!exists)
		found->plan = NULL;
	return found;
}

/* Prepared at the first use, and kept. */
static SPIPlanPtr
plan_to_keep(const ShuttleGlobalIndex *index, bool deletes, uint64 nulls)
{
	EntryPlan  *found = find_plan(index, deletes, nulls);
	SPIPlanPtr	plan = found->plan;

	if (plan != NULL)
		return plan;
	plan = prepare(index, !deletes ? insert_text(index) : index->deferrable ? delete_each_text(index, nulls) :
				   matching_text(index, nulls, "DELETE", "USING"));
	SPI_keepplan(plan);
	return find_plan(index, deletes, nulls)->plan = plan;
}

/* The values of one column of all rows. */
static Datum
make_array(const ShuttleGlobalIndex *index, int number, const List *rows)
{
	const ShuttleGlobalColumn *column = &index->columns[number];
	int			nrows = list_length(rows);
	int			first = 1;
	Datum	   *values = palloc_array(Datum, nrows);
	bool	   *nulls = palloc_array(bool, nrows);
	const ListCell *cell;

	foreach(cell, rows)
	{
		const Datum *row = lfirst(cell);

		values[foreach_current_index(cell)] = row[number];
		nulls[foreach_current_index(cell)] = shuttle_global_is_null(shuttle_global_nulls(index, row), number);
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &nrows, &first, column->type, column->length,
											  column->by_value, column->align));
}

/* Returns the number of rows. */
static uint64
execute(const ShuttleGlobalIndex *index, SPIPlanPtr plan, const List *rows, int expected)
{
	Datum	   *arrays = palloc_array(Datum, index->ncolumns);

	for (int i = 0; i < index->ncolumns; i++)
		arrays[i] = make_array(index, i, rows);
	if (SPI_execute_plan(plan, arrays, NULL, false, 0) != expected)
		elog(ERROR, "could not write entries of index %u", index->indexid);
	return SPI_processed;
}

/*
 * Another session may have committed entries that are still prepared on their node, where DELETE does
 * not see them. Inserting equal ones waits until they are there. If there was none, the one just
 * inserted is deleted again.
 */
static void
delete_late(const ShuttleGlobalIndex *index, SPIPlanPtr delete, const List *rows)
{
	SPIPlanPtr	insert = prepare(index, psprintf("%s ON CONFLICT DO NOTHING", insert_text(index)));

	(void) execute(index, insert, rows, SPI_OK_INSERT);
	if (execute(index, delete, rows, SPI_OK_DELETE) < list_length(rows) && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
}

List *
shuttle_global_send_fetched(int ncolumns)
{
	List	   *rows = NIL;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum	   *values = palloc_array(Datum, ncolumns + 1);
		uint64		nulls = 0;

		for (int j = 0; j < ncolumns; j++)
		{
			bool		is_null;

			values[j] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, j + 1, &is_null);
			nulls |= (uint64) is_null << j;
		}
		values[ncolumns] = UInt64GetDatum(nulls);
		rows = lappend(rows, values);
	}
	return rows;
}

/* Likewise, but deferred entries are inserted without a wait. */
static void
delete_each(const ShuttleGlobalIndex *index, SPIPlanPtr delete, List *rows)
{
	for (int round = 0; rows != NIL; round++)
	{
		if (round == MOST_ROUNDS || (round > 0 && IsolationUsesXactSnapshot()))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not find entries of unique index \"%s\" due to concurrent changes", get_rel_name(index->indexid)),
					 errhint("Repeat the transaction. If that fails, too, call shuttle.check(repair => true).")));
		CHECK_FOR_INTERRUPTS();
		pg_usleep(Min(round, MOST_WAIT_MS) * 1000L);
		(void) execute(index, delete, rows, SPI_OK_SELECT);
		rows = shuttle_global_send_fetched(index->ncolumns);
	}
}

/* Takes rows in which the same columns are NULL away from others. */
static List *
take_alike(const ShuttleGlobalIndex *index, List **rows, uint64 *nulls)
{
	List	   *alike = NIL;
	List	   *others = NIL;
	const ListCell *cell;

	*nulls = shuttle_global_nulls(index, linitial(*rows));
	foreach(cell, *rows)
	{
		if (shuttle_global_nulls(index, lfirst(cell)) == *nulls)
			alike = lappend(alike, lfirst(cell));
		else
			others = lappend(others, lfirst(cell));
	}
	*rows = others;
	return alike;
}

static void
send_deletes(const ShuttleGlobalIndex *index, List *rows)
{
	while (rows != NIL)
	{
		uint64		nulls;
		List	   *alike = take_alike(index, &rows, &nulls);
		SPIPlanPtr	plan = plan_to_keep(index, true, nulls);

		if (index->deferrable)
			delete_each(index, plan, alike);
		else if (execute(index, plan, alike, SPI_OK_DELETE) < list_length(alike))
			delete_late(index, plan, alike);
	}
}

static void
send_inserts(const ShuttleGlobalIndex *index, const List *rows)
{
	if (rows != NIL)
		(void) execute(index, plan_to_keep(index, false, 0), rows, SPI_OK_INSERT);
}

void
shuttle_global_send(const ShuttleGlobalEntries *entries, int nentries, Oid acting_user)
{
	Oid			outer_user = sending_for;
	Oid			userid;
	int			flags;

	GetUserIdAndSecContext(&userid, &flags);
	sending_for = acting_user;
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	PG_TRY();					/* the acting user outlives the transaction */
	{
		SPI_connect();
		for (int i = 0; i < nentries; i++)
			send_deletes(entries[i].index, entries[i].deletes);
		for (int i = 0; i < nentries; i++)
			send_inserts(entries[i].index, entries[i].inserts);
		SPI_finish();
	}
	PG_FINALLY();
	{
		sending_for = outer_user;
	}
	PG_END_TRY();
	SetUserIdAndSecContext(userid, flags);
}

void
shuttle_global_send_new(ShuttleGlobalIndex *index, List *rows)
{
	ShuttleGlobalEntries entries = {.index = index,.inserts = rows};

	shuttle_global_send(&entries, 1, shuttle_global_send_user());
}

static int64
count_matches(const ShuttleGlobalIndex *index, uint64 nulls, const List *rows)
{
	bool		is_null;
	SPIPlanPtr	plan = prepare(index, matching_text(index, nulls, "SELECT pg_catalog.count(*)", "CROSS JOIN"));

	(void) execute(index, plan, rows, SPI_OK_SELECT);
	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
}

int64
shuttle_global_send_match(const ShuttleGlobalIndex *index, List *rows)
{
	Oid			userid;
	int			flags;
	int64		nrows = 0;

	GetUserIdAndSecContext(&userid, &flags);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, flags | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	while (rows != NIL)
	{
		uint64		nulls;
		List	   *alike = take_alike(index, &rows, &nulls);

		nrows += count_matches(index, nulls, alike);
	}
	SPI_finish();
	SetUserIdAndSecContext(userid, flags);
	return nrows;
}

void
shuttle_global_send_begin_new(void)
{
	is_new = true;
}

void
shuttle_global_send_end_new(void)
{
	is_new = false;
}

bool
shuttle_global_send_is_new(void)
{
	return is_new;
}
