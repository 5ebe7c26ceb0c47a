/*-------------------------------------------------------------------------
 * copy_tables.c
 *	  The foreign table of a reference table, which plans read on nodes.
 *
 * A reference table is an ordinary table here. So that the planner can join it
 * with tablets on their nodes, it has a foreign table with the option
 * shuttle_replicated_on, which nobody names. It is made anew whenever the table
 * or the list of nodes changes. If it is missing, or does not have the table's
 * columns, the copies are not read.
 *
 * It lies in a schema whose name begins with pg_: pg_dump leaves it out, with its
 * rows, and users cannot make anything there. Its name has the table's name, for
 * EXPLAIN, and its OID, which is what finds it. It goes with the table, and the
 * schema with the extension, by their dependencies.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_text.h"
#include "tablets/reference/copies.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/shuttle_tablets.h"

/* By the OID, as the name before ALTER TABLE ... RENAME is not known. */
static const char *const tables_query =
"SELECT oid::regclass::text FROM pg_class WHERE relnamespace = to_regnamespace('" SHUTTLE_COPIES_SCHEMA "')"
" AND relname LIKE '%\\_' || $1::text";

static char *
find_name(Oid relid)
{
	return makeObjectName(get_rel_name(relid), NULL, psprintf("%u", relid));
}

/* True if the foreign table has all columns of the table. */
static bool
has_columns(TupleDesc table, TupleDesc copy)
{
	for (int i = 0; i < table->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(table, i);
		bool		found = column->attisdropped;

		for (int j = 0; j < copy->natts && !found; j++)
		{
			Form_pg_attribute other = TupleDescAttr(copy, j);

			found = !other->attisdropped &&
				strcmp(NameStr(column->attname), NameStr(other->attname)) == 0 &&
				column->atttypid == other->atttypid &&
				column->atttypmod == other->atttypmod &&
				column->attcollation == other->attcollation;
		}
		if (!found)
			return false;
	}
	return true;
}

Oid
shuttle_copy_table_find(Oid relid)
{
	Oid			schema;
	Oid			found;
	Relation	table;
	Relation	copy;
	bool		fits;

	if (shuttle_table_kind(relid) != SHUTTLE_TABLE_REFERENCE)
		return InvalidOid;
	schema = get_namespace_oid(SHUTTLE_COPIES_SCHEMA, true);
	if (!OidIsValid(schema))
		return InvalidOid;
	found = get_relname_relid(find_name(relid), schema);
	if (!OidIsValid(found))
		return InvalidOid;
	copy = try_relation_open(found, AccessShareLock);
	if (copy == NULL)
		return InvalidOid;
	table = table_open(relid, NoLock);
	fits = copy->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
		has_columns(RelationGetDescr(table), RelationGetDescr(copy));
	table_close(table, NoLock);
	relation_close(copy, NoLock);
	return fits ? found : InvalidOid;
}

bool
shuttle_copy_table_has_oid(Oid relid)
{
	Oid			schema = get_namespace_oid(SHUTTLE_COPIES_SCHEMA, true);

	return OidIsValid(schema) && get_rel_namespace(relid) == schema;
}

/* Makes the schema when it is needed first. */
static Oid
make_schema(void)
{
	Oid			schema = get_namespace_oid(SHUTTLE_COPIES_SCHEMA, true);
	ObjectAddress itself;
	ObjectAddress extension;

	if (OidIsValid(schema))
		return schema;
	schema = NamespaceCreate(SHUTTLE_COPIES_SCHEMA, BOOTSTRAP_SUPERUSERID, false);
	ObjectAddressSet(itself, NamespaceRelationId, schema);
	ObjectAddressSet(extension, ExtensionRelationId, get_extension_oid("pg_shuttle", false));
	recordDependencyOn(&itself, &extension, DEPENDENCY_AUTO);
	CommandCounterIncrement();
	return schema;
}

static char *
list_columns(Oid relid)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, shuttle_table_text_columns(relid))
	{
		const ShuttleNodeColumn *column = lfirst(cell);

		appendStringInfo(&text, "%s%s %s", foreach_current_index(cell) == 0 ? "" : ", ",
						 column->name, column->type);
	}
	return text.data;
}

static char *
list_servers(const List *servers)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, servers)
		appendStringInfo(&text, "%s%s", foreach_current_index(cell) == 0 ? "" : ",",
						 quote_identifier(GetForeignServer(lfirst_oid(cell))->servername));
	return text.data;
}

static void
drop_table(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(tables_query, relid))
		(void) shuttle_local_run_as_superuser(psprintf("DROP FOREIGN TABLE %s", (char *) lfirst(cell)));
}

void
shuttle_copy_table_make(Oid relid, const List *servers)
{
	Oid			schema = make_schema();
	char	   *name = find_name(relid);
	ObjectAddress itself;
	ObjectAddress table;

	drop_table(relid);
	if (servers == NIL)
		return;
	(void) shuttle_local_run_as_superuser(psprintf("CREATE FOREIGN TABLE %s.%s (%s) SERVER %s OPTIONS"
												   " (schema_name %s, table_name %s, shuttle_replicated_on %s)",
												   SHUTTLE_COPIES_SCHEMA, quote_identifier(name), list_columns(relid),
												   quote_identifier(GetForeignServer(linitial_oid(servers))->servername),
												   quote_literal_cstr(get_namespace_name(get_rel_namespace(relid))),
												   quote_literal_cstr(get_rel_name(relid)),
												   quote_literal_cstr(list_servers(servers))));
	CommandCounterIncrement();
	ObjectAddressSet(itself, RelationRelationId, get_relname_relid(name, schema));
	ObjectAddressSet(table, RelationRelationId, relid);
	recordDependencyOn(&itself, &table, DEPENDENCY_AUTO);
	shuttle_hidden_table_close(itself.objectId);
}

void
shuttle_copy_table_drop(Oid relid)
{
	drop_table(relid);
}
