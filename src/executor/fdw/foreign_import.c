/*-------------------------------------------------------------------------
 * foreign_import.c
 *	  IMPORT FOREIGN SCHEMA: makes CREATE FOREIGN TABLE commands for the
 *	  tables of a schema on a storage node.
 *
 * Options and commands are those of postgres_fdw.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "executor/fdw/fdw.h"
#include "storage/shuttle_storage.h"

/* Columns of the answer that describes the tables. */
enum ColumnDescription
{
	TABLE_NAME,
	COLUMN_NAME,				/* NULL: the table has no columns */
	COLUMN_TYPE,
	COLUMN_NOT_NULL,
	COLUMN_DEFAULT,
	COLUMN_GENERATED,
	COLLATION_NAME,
	COLLATION_SCHEMA
};

typedef struct Import
{
	ImportForeignSchemaStmt *stmt;
	const char *server;
	bool		collate;
	bool		defaults;
	bool		generated;
	bool		not_null;

	MemoryContext cxt;			/* of the commands */
	List	   *commands;		/* finished, of char * */
	char	   *table;			/* current table; NULL: none */
	StringInfoData command;
	int			ncolumns;		/* of the current table */
} Import;

static List *import_foreign_schema(ImportForeignSchemaStmt *stmt, Oid serverid);
static void read_options(Import *import);
static void check_schema(Import *import, ShuttleNode *node);
static char *describe_sql(Import *import);
static void count_row(void *arg, const ShuttleRow *row);
static void import_column(void *arg, const ShuttleRow *row);
static void append_column(Import *import, const ShuttleRow *row);
static void finish_table(Import *import);

void
shuttle_foreign_import_fill(FdwRoutine *routine)
{
	routine->ImportForeignSchema = import_foreign_schema;
}

static List *
import_foreign_schema(ImportForeignSchemaStmt *stmt, Oid serverid)
{
	Import		import = {0};
	ShuttleNode *node;

	import.stmt = stmt;
	read_options(&import);
	import.server = GetForeignServer(serverid)->servername;
	import.cxt = CurrentMemoryContext;
	initStringInfo(&import.command);

	node = shuttle_connection_get(serverid, GetUserId());
	check_schema(&import, node);
	shuttle_query(node, describe_sql(&import), SHUTTLE_READS,
				  COLLATION_SCHEMA + 1, import_column, &import);
	finish_table(&import);
	return import.commands;
}

static void
read_options(Import *import)
{
	ListCell   *cell;

	import->collate = true;
	import->generated = true;
	import->not_null = true;
	foreach(cell, import->stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "import_collate") == 0)
			import->collate = defGetBoolean(option);
		else if (strcmp(option->defname, "import_default") == 0)
			import->defaults = defGetBoolean(option);
		else if (strcmp(option->defname, "import_generated") == 0)
			import->generated = defGetBoolean(option);
		else if (strcmp(option->defname, "import_not_null") == 0)
			import->not_null = defGetBoolean(option);
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", option->defname),
					 errhint("Valid options in this context are: import_collate, import_default, import_generated, import_not_null.")));
	}
}

static void
check_schema(Import *import, ShuttleNode *node)
{
	int			nrows = 0;
	char	   *sql;

	sql = psprintf("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s",
				   quote_literal_cstr(import->stmt->remote_schema));
	shuttle_query(node, sql, SHUTTLE_READS, 1, count_row, &nrows);
	if (nrows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
				 errmsg("schema \"%s\" is not present on foreign server \"%s\"",
						import->stmt->remote_schema, import->server)));
}

static void
count_row(void *arg, const ShuttleRow *row)
{
	++*(int *) arg;
}

/*
 * A SELECT with a row per column of the schema's tables. With search_path =
 * pg_catalog, types and functions of other schemas come out qualified.
 * Partitions are imported only if asked for by name.
 */
static char *
describe_sql(Import *import)
{
	ImportForeignSchemaStmt *stmt = import->stmt;
	StringInfoData sql;
	ListCell   *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql,
						   "SELECT c.relname, a.attname,"
						   " pg_catalog.format_type(a.atttypid, a.atttypmod),"
						   " a.attnotnull,"
						   " pg_catalog.pg_get_expr(d.adbin, d.adrelid),"
						   " a.attgenerated, l.collname, ln.nspname"
						   " FROM pg_catalog.pg_class c"
						   " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
						   " LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
						   " AND a.attnum > 0 AND NOT a.attisdropped"
						   " LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid"
						   " AND d.adnum = a.attnum"
						   " LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation"
						   " LEFT JOIN pg_catalog.pg_namespace ln ON ln.oid = l.collnamespace"
						   " WHERE c.relkind IN ("
						   CppAsString2(RELKIND_RELATION) ","
						   CppAsString2(RELKIND_VIEW) ","
						   CppAsString2(RELKIND_FOREIGN_TABLE) ","
						   CppAsString2(RELKIND_MATVIEW) ","
						   CppAsString2(RELKIND_PARTITIONED_TABLE) ")"
						   " AND n.nspname = ");
	appendStringInfoString(&sql, quote_literal_cstr(stmt->remote_schema));
	if (stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO)
		appendStringInfoString(&sql, " AND NOT c.relispartition");

	if (stmt->list_type != FDW_IMPORT_SCHEMA_ALL)
	{
		appendStringInfoString(&sql,
							   stmt->list_type == FDW_IMPORT_SCHEMA_EXCEPT ?
							   " AND c.relname NOT IN (" : " AND c.relname IN (");
		foreach(cell, stmt->table_list)
		{
			if (foreach_current_index(cell) > 0)
				appendStringInfoString(&sql, ", ");
			appendStringInfoString(&sql,
								   quote_literal_cstr(lfirst_node(RangeVar, cell)->relname));
		}
		appendStringInfoChar(&sql, ')');
	}
	appendStringInfoString(&sql, " ORDER BY c.relname, a.attnum");
	return sql.data;
}

/* Adds a column; the first column of another table finishes the last table. */
static void
import_column(void *arg, const ShuttleRow *row)
{
	Import	   *import = arg;
	MemoryContext old_cxt = MemoryContextSwitchTo(import->cxt);
	const char *table = shuttle_row_text(row, TABLE_NAME);

	if (import->table == NULL || strcmp(import->table, table) != 0)
	{
		finish_table(import);
		import->table = pstrdup(table);
		import->ncolumns = 0;
		resetStringInfo(&import->command);
		appendStringInfo(&import->command, "CREATE FOREIGN TABLE %s (\n",
						 quote_identifier(import->table));
	}
	if (row->values[COLUMN_NAME] != NULL)
		append_column(import, row);
	MemoryContextSwitchTo(old_cxt);
}

static void
append_column(Import *import, const ShuttleRow *row)
{
	StringInfo	command = &import->command;
	char	  **values = row->values;
	char		generated = shuttle_row_text(row, COLUMN_GENERATED)[0];

	if (import->ncolumns++ > 0)
		appendStringInfoString(command, ",\n");

	/* column_name keeps working when the local column is renamed */
	appendStringInfo(command, "  %s %s OPTIONS (column_name %s)",
					 quote_identifier(values[COLUMN_NAME]),
					 shuttle_row_text(row, COLUMN_TYPE),
					 quote_literal_cstr(values[COLUMN_NAME]));
	if (import->collate && values[COLLATION_NAME] != NULL &&
		values[COLLATION_SCHEMA] != NULL)
		appendStringInfo(command, " COLLATE %s.%s",
						 quote_identifier(values[COLLATION_SCHEMA]),
						 quote_identifier(values[COLLATION_NAME]));
	if (import->defaults && values[COLUMN_DEFAULT] != NULL && generated == '\0')
		appendStringInfo(command, " DEFAULT %s", values[COLUMN_DEFAULT]);
	if (import->generated && values[COLUMN_DEFAULT] != NULL &&
		generated == ATTRIBUTE_GENERATED_STORED)
		appendStringInfo(command, " GENERATED ALWAYS AS (%s) STORED",
						 values[COLUMN_DEFAULT]);
	if (import->not_null && shuttle_row_text(row, COLUMN_NOT_NULL)[0] == 't')
		appendStringInfoString(command, " NOT NULL");
}

static void
finish_table(Import *import)
{
	if (import->table == NULL)
		return;
	appendStringInfo(&import->command,
					 "\n) SERVER %s\nOPTIONS (schema_name %s, table_name %s);",
					 quote_identifier(import->server),
					 quote_literal_cstr(import->stmt->remote_schema),
					 quote_literal_cstr(import->table));
	import->commands = lappend(import->commands, pstrdup(import->command.data));
	import->table = NULL;
}
