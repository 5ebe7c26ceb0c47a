/*-------------------------------------------------------------------------
 * write_sql.c
 *	  The statement that writes many rows: its parameters are arrays, one
 *	  for each column; or, for INSERT, the values of each row.
 *
 * INSERT ends like postgres_fdw's own (ON CONFLICT, RETURNING), or with its
 * clause (on_conflict.c). UPDATE and DELETE find their rows by ctid, and
 * return the row's place in the arrays before its columns.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/heap.h"
#include "catalog/pg_operator.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "executor/executor_types.h"
#include "executor/fdw/fdw.h"
#include "executor/write/conflict/conflict.h"
#include "executor/write/write_buffer.h"
#include "executor/write/write_table.h"

#define TABLE_ALIAS	SHUTTLE_TABLE_ALIAS
#define ROWS_ALIAS	"shuttle_rows"

/* The elements of an attribute's array. */
static void
append_elements(StringInfo sql, const ShuttleWrite *write, int i, int parameter,
				const ShuttleRemoteTable *table)
{
	int			column = write->attributes[i] - 1;

	appendStringInfo(sql, "pg_catalog.unnest($%d::%s[])", parameter,
					 table->as_text[column] ? "pg_catalog.text" : table->types[column]);
}

/* (SELECT unnest($1::int4[]) AS p1, ...): rows without ordinals. Unlike the
 * rows of functions in FROM they are not put into a tuplestore. */
static void
append_inserted_rows(StringInfo sql, const ShuttleWrite *write,
					 const ShuttleRemoteTable *table)
{
	for (int i = 0; i < write->nattributes; i++)
	{
		appendStringInfoString(sql, i == 0 ? "(SELECT " : ", ");
		append_elements(sql, write, i, i + 1, table);
		appendStringInfo(sql, " AS p%d", i + 1);
	}
	appendStringInfoString(sql, ") AS " ROWS_ALIAS);
}

/* ROWS FROM (unnest($1::tid[]), ...): columns p1, p2, ..., and ord. */
static void
append_found_rows(StringInfo sql, const ShuttleWrite *write,
				  const ShuttleRemoteTable *table)
{
	int			parameter = 1;

	appendStringInfo(sql, "ROWS FROM (pg_catalog.unnest($%d::pg_catalog.tid[])", parameter);
	for (int i = 0; i < write->nattributes; i++)
	{
		appendStringInfoString(sql, ", ");
		append_elements(sql, write, i, ++parameter, table);
	}
	appendStringInfo(sql, ", pg_catalog.unnest($%d::pg_catalog.oid[])", ++parameter);
	appendStringInfoString(sql, ") WITH ORDINALITY AS " ROWS_ALIAS "(");
	for (int i = 1; i <= parameter; i++)
		appendStringInfo(sql, "p%d, ", i);
	appendStringInfoString(sql, "ord)");
}

/* An expression with the type of the node's column for a value. */
static void
append_column(StringInfo sql, const ShuttleWrite *write, int i)
{
	appendStringInfoString(sql, "(NULL::");
	shuttle_remote_append_table(sql, write->rel);
	appendStringInfoString(sql, ").");
	shuttle_remote_append_column(sql, write->rel, write->attributes[i]);
}

/*
 * One value of a row. The column's type may have changed since the node was
 * asked, and a cast through the old type can change a value: '007' and 7, or
 * 1.5 and 2. So the node compares the types when it parses a CASE whose ELSE is
 * never executed: the ELSE has the column's current type, if possible in
 * array_larger(), whose arguments must have the same type.
 */
static void
append_value(StringInfo sql, const ShuttleWrite *write, int i,
			 const ShuttleRemoteTable *table)
{
	int			column = write->attributes[i] - 1;
	int			parameter = i + (write->operation == CMD_INSERT ? 1 : 2);

	if (table->types[column] == NULL)
	{
		appendStringInfo(sql, ROWS_ALIAS ".p%d", parameter);
		return;
	}
	appendStringInfoString(sql, "CASE WHEN true THEN ");
	if (table->as_text[column])
	{
		appendStringInfo(sql, "CAST(" ROWS_ALIAS ".p%d AS %s) ELSE ", parameter,
						 table->types[column]);
		append_column(sql, write, i);
	}
	else
	{
		appendStringInfo(sql, ROWS_ALIAS ".p%d ELSE (pg_catalog.array_larger("
						 "ARRAY[" ROWS_ALIAS ".p%d], ARRAY[", parameter, parameter);
		append_column(sql, write, i);
		appendStringInfoString(sql, "]))[1]");
	}
	appendStringInfoString(sql, " END");
}

static void
append_insert(StringInfo sql, const ShuttleWrite *write,
			  const ShuttleRemoteTable *table)
{
	const char *separator = "(";

	appendStringInfoString(sql, "INSERT INTO ");
	shuttle_remote_append_table(sql, write->rel);
	if (write->conflict != NULL)
		appendStringInfoString(sql, " AS " TABLE_ALIAS);
	for (int i = 0; i < write->nattributes; i++)
	{
		appendStringInfoString(sql, separator);
		shuttle_remote_append_column(sql, write->rel, write->attributes[i]);
		separator = ", ";
	}
	appendStringInfoString(sql, ") SELECT ");
	for (int i = 0; i < write->nattributes; i++)
	{
		if (i > 0)
			appendStringInfoString(sql, ", ");
		append_value(sql, write, i, table);
	}
	appendStringInfoString(sql, " FROM ");
	append_inserted_rows(sql, write, table);
	if (write->conflict != NULL)
		shuttle_on_conflict_append_tail(sql, write, write->nattributes);
	else
		appendStringInfoString(sql, write->postgres_fdw.sql + write->postgres_fdw.values_end);
}

#define UNLESS_CASCADING "tableoid <> ALL (ARRAY(" SHUTTLE_CASCADING_TABLES "))"

/* With the condition. postgres_fdw returns rows for triggers, which fire for none of these. */
static char *
guard_delete(const char *sql)
{
	const char *condition = strstr(sql, " WHERE ctid = $1");
	const char *returning = condition == NULL ? NULL : strstr(condition, " RETURNING ");

	return psprintf("%.*s AND " UNLESS_CASCADING, (int) (returning == NULL ? strlen(sql) : returning - sql), sql);
}

void
shuttle_write_guard_moved(ShuttleWrite *leaving)
{
	leaving->postgres_fdw.sql = guard_delete(leaving->postgres_fdw.sql);
	if (leaving->sql_by_table != NULL)
		leaving->sql_by_table = guard_delete(leaving->sql_by_table);
}

/* Columns of the table behind others. */
static void
append_columns(StringInfo sql, const ShuttleWrite *write, const List *attributes)
{
	ListCell   *cell;

	foreach(cell, attributes)
	{
		AttrNumber	attribute = lfirst_int(cell);

		appendStringInfoString(sql, ", " TABLE_ALIAS ".");
		if (attribute < 0)
			appendStringInfoString(sql, NameStr(SystemAttributeDefinition(attribute)->attname));
		else
			shuttle_remote_append_column(sql, write->rel, attribute);
	}
}

/* RETURNING: the row's ordinal, for an upsert the mark, then postgres_fdw's
 * columns. */
static void
append_returning(StringInfo sql, const ShuttleWrite *write)
{
	appendStringInfoString(sql, " RETURNING " ROWS_ALIAS ".ord");
	if (write->upsert != NULL)
		appendStringInfoString(sql, ", " TABLE_ALIAS ".xmin, " TABLE_ALIAS ".cmin");
	append_columns(sql, write, write->postgres_fdw.attributes);
}

static void
append_change(StringInfo sql, const ShuttleWrite *write,
			  const ShuttleRemoteTable *table)
{
	bool		updates = write->operation == CMD_UPDATE;
	const char *separator = " SET ";

	appendStringInfoString(sql, updates ? "UPDATE " : "DELETE FROM ");
	shuttle_remote_append_table(sql, write->rel);
	appendStringInfoString(sql, " AS " TABLE_ALIAS);
	for (int i = 0; updates && i < write->nattributes; i++)
	{
		appendStringInfoString(sql, separator);
		shuttle_remote_append_column(sql, write->rel, write->attributes[i]);
		appendStringInfoString(sql, " = ");
		append_value(sql, write, i, table);
		separator = ", ";
	}
	appendStringInfoString(sql, updates ? " FROM " : " USING ");
	append_found_rows(sql, write, table);
	appendStringInfo(sql, " WHERE " TABLE_ALIAS ".ctid = " ROWS_ALIAS ".p1"
					 " AND (" ROWS_ALIAS ".p%d IS NULL OR "
					 TABLE_ALIAS ".tableoid = " ROWS_ALIAS ".p%d)",
					 write->nvalues + 1, write->nvalues + 1);
	if (shuttle_write_takes_out(write))
		appendStringInfoString(sql, " AND " TABLE_ALIAS "." UNLESS_CASCADING);
	if (shuttle_write_follows_up(write))
		append_returning(sql, write);
}

char *
shuttle_write_array_sql(const ShuttleWrite *write, const ShuttleRemoteTable *table)
{
	StringInfoData sql;

	initStringInfo(&sql);
	if (write->operation == CMD_INSERT)
		append_insert(&sql, write, table);
	else
		append_change(&sql, write, table);
	return sql.data;
}

/* ---- rows that conflict */

/*
 * 1 if our transaction wrote the row, else 0. A savepoint in it has a later number
 * than it has, and is in progress, too. xmin has the lower 32 bits of a number; for
 * one that is much later it would be asked in vain: the row is old and frozen.
 */
#define OWN_XID "pg_catalog.pg_current_xact_id()::pg_catalog.text::pg_catalog.int8"
#define LATER_BY \
	"(((" TABLE_ALIAS ".xmin::pg_catalog.text::pg_catalog.int8 - " OWN_XID \
	" + 2147483648) & 4294967295) - 2147483648)"
#define IS_OWN \
	"CASE WHEN " LATER_BY " = 0 THEN 1 WHEN " LATER_BY " NOT BETWEEN 1 AND 16777216 THEN 0" \
	" WHEN pg_catalog.pg_xact_status((" OWN_XID " + " LATER_BY ")::pg_catalog.text::pg_catalog.xid8)" \
	" = 'in progress' THEN 1 ELSE 0 END"

/* " =" as the column's type defines it, whatever the search path. */
static void
append_equals(StringInfo sql, const ShuttleWrite *keys, int i)
{
	Oid			type = TupleDescAttr(RelationGetDescr(keys->rel), keys->attributes[i] - 1)->atttypid;
	Oid			operator = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an equality operator for type %s",
						format_type_be(type))));
	form = (Form_pg_operator) GETSTRUCT(tuple);
	appendStringInfo(sql, " OPERATOR(%s.%s) ",
					 quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
}

static void
append_key_rows(StringInfo sql, const ShuttleWrite *keys, const ShuttleRemoteTable *table)
{
	const char *separator = " FROM ROWS FROM (";

	for (int i = 0; i < keys->nattributes; i++)
	{
		appendStringInfoString(sql, separator);
		append_elements(sql, keys, i, i + 1, table);
		separator = ", ";
	}
	appendStringInfoString(sql, ") WITH ORDINALITY AS " ROWS_ALIAS "(");
	for (int i = 1; i <= keys->nattributes; i++)
		appendStringInfo(sql, "p%d, ", i);
	appendStringInfoString(sql, "ord)");
}

char *
shuttle_write_lock_sql(const ShuttleWrite *keys, const ShuttleRemoteTable *table,
					   const List *attributes, const char *condition, bool has_null, bool changes_keys)
{
	StringInfoData sql;
	const char *separator = " ON ";

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT " ROWS_ALIAS ".ord, " TABLE_ALIAS ".ctid, "
						   TABLE_ALIAS ".tableoid, " IS_OWN ", " TABLE_ALIAS ".cmin");
	append_columns(&sql, keys, attributes);
	append_key_rows(&sql, keys, table);
	appendStringInfoString(&sql, " JOIN ");
	shuttle_remote_append_table(&sql, keys->rel);
	appendStringInfoString(&sql, " AS " TABLE_ALIAS);
	for (int i = 0; i < keys->nattributes; i++)
	{
		appendStringInfo(&sql, "%s" TABLE_ALIAS ".", separator);
		shuttle_remote_append_column(&sql, keys->rel, keys->attributes[i]);
		if (has_null)
			appendStringInfoString(&sql, " IS NOT DISTINCT FROM ");
		else
			append_equals(&sql, keys, i);
		append_value(&sql, keys, i, table);
		separator = " AND ";
	}
	if (condition != NULL)
		appendStringInfo(&sql, " WHERE %s", condition);
	appendStringInfo(&sql, " ORDER BY " ROWS_ALIAS ".ord FOR %sUPDATE OF " TABLE_ALIAS, changes_keys ? "" : "NO KEY ");
	return sql.data;
}

/* The statement for nrows rows: for more than one, postgres_fdw's VALUES list
 * is continued. */
const char *
shuttle_write_values_sql(ShuttleWrite *write, int nrows)
{
	TupleDesc	desc = RelationGetDescr(write->rel);
	StringInfoData sql;
	int			parameter = write->nattributes;
	MemoryContext old_cxt;

	if (nrows == 1 && write->conflict == NULL)
		return write->postgres_fdw.sql;
	if (write->insert_sql != NULL && write->insert_rows == nrows &&
		!shuttle_on_conflict_updates(write))
		return write->insert_sql;

	Assert(write->operation == CMD_INSERT);
	if (write->insert_sql != NULL)
		pfree(write->insert_sql);
	write->insert_sql = NULL;
	old_cxt = MemoryContextSwitchTo(write->estate->es_query_cxt);
	initStringInfo(&sql);
	appendBinaryStringInfo(&sql, write->postgres_fdw.sql, write->postgres_fdw.values_end);
	for (int row = 1; row < nrows; row++)
	{
		const char *separator = ", (";
		ListCell   *cell;

		foreach(cell, write->postgres_fdw.target_attributes)
		{
			appendStringInfoString(&sql, separator);
			separator = ", ";
			if (TupleDescAttr(desc, lfirst_int(cell) - 1)->attgenerated)
				appendStringInfoString(&sql, "DEFAULT");
			else
				appendStringInfo(&sql, "$%d", ++parameter);
		}
		appendStringInfoChar(&sql, ')');
	}
	if (write->conflict != NULL)
		shuttle_on_conflict_append_tail(&sql, write, parameter);
	else
		appendStringInfoString(&sql, write->postgres_fdw.sql + write->postgres_fdw.values_end);
	MemoryContextSwitchTo(old_cxt);

	write->insert_sql = sql.data;
	write->insert_rows = nrows;
	return write->insert_sql;
}
