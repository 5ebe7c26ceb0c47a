/*-------------------------------------------------------------------------
 * ddl_dependents.c
 *	  Core's error that other objects depend on what ALTER TABLE drops.
 *
 * Core drops the columns of tablets with the table's. Then its error does not say which column
 * it could not drop, and tells the dependents of each tablet, which users do not know.
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "tablets/ddl/ddl.h"
#include "tablets/ddl/table/ddl_table.h"

/* The columns that the commands drop, as core's errors name them. */
static List *
dropped_columns(Oid relid, const List *commands)
{
	List	   *columns = NIL;
	const ListCell *cell;

	foreach(cell, commands)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		ObjectAddress column;

		if (command->subtype != AT_DropColumn)
			continue;
		ObjectAddressSubSet(column, RelationRelationId, relid, get_attnum(relid, command->name));
		if (column.objectSubId > 0)
			columns = lappend(columns, getObjectDescription(&column, false));
	}
	return columns;
}

static List *
tablets_named(Oid relid)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, find_inheritance_children(relid, NoLock))
	{
		ObjectAddress tablet;

		ObjectAddressSet(tablet, RelationRelationId, lfirst_oid(cell));
		names = lappend(names, getObjectDescription(&tablet, false));
	}
	return names;
}

/* The first one that stands in a text; NULL: none. */
static const char *
find_name(const List *names, const char *text)
{
	const ListCell *cell;

	foreach(cell, names)
	{
		if (strstr(text, lfirst(cell)) != NULL)
			return lfirst(cell);
	}
	return NULL;
}

/* The lines that name no tablet. */
static char *
lines_of_table(const char *text, const List *tablets)
{
	StringInfoData lines;
	char	   *rest = pstrdup(text);
	char	   *line;

	initStringInfo(&lines);
	while ((line = strsep(&rest, "\n")) != NULL)
	{
		if (find_name(tablets, line) == NULL)
			appendStringInfo(&lines, "%s%s", lines.len == 0 ? "" : "\n", line);
	}
	return lines.data;
}

/* Returns the error that other objects depend on what the statement drops, which the caller
 * has to raise; NULL: none. */
static ErrorData *
try_drops(const ShuttleDdl *ddl, AlterTableStmt *statement)
{
	MemoryContext cxt = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		shuttle_ddl_run_here(ddl, (Node *) statement);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST)
			PG_RE_THROW();
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

void
shuttle_ddl_run_part(const ShuttleDdl *ddl, AlterTableStmt *statement)
{
	List	   *columns = dropped_columns(ddl->relid, statement->cmds);
	List	   *tablets = columns == NIL ? NIL : tablets_named(ddl->relid);
	ErrorData  *error = try_drops(ddl, statement);
	const char *column;

	if (error == NULL)
		return;
	if (error->detail != NULL && tablets != NIL)
	{
		error->detail = lines_of_table(error->detail, tablets);
		column = find_name(columns, error->detail);
		if (column != NULL)
			error->message = psprintf(_("cannot drop %s because other objects depend on it"), column);
	}
	ReThrowError(error);
}
