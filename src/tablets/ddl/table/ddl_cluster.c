/*-------------------------------------------------------------------------
 * ddl_cluster.c
 *	  CLUSTER, and ALTER INDEX, of distributed tables.
 *
 * Only tablets have rows to be ordered and indexes with storage, so what these
 * statements set is known on nodes only.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"
#include "tablets/shuttle_tablets.h"

/* Runs a statement for each tablet on its node: format, with the tablet, its part of an index, by
 * its name and as a whole, and action, which is no part of the format. */
static char *
for_indexes(Oid index, const char *format, const char *action)
{
	char	   *body = psprintf("DECLARE r record; BEGIN FOR r IN SELECT i.indrelid::regclass AS tablet, i.indexrelid::regclass AS index,"
								" (SELECT relname FROM pg_catalog.pg_class WHERE oid = i.indexrelid) AS name"
								" FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_index AS i ON i.indexrelid = inhrelid WHERE inhparent = %s::regclass"
								" LOOP EXECUTE pg_catalog.format(%s, r.tablet, r.name, r.index, %s); END LOOP; END",
								quote_literal_cstr(shuttle_local_name(index)), quote_literal_cstr(format), quote_literal_cstr(action));

	return psprintf("DO %s", quote_literal_cstr(body));
}

/* The index of a table, by its name. Errors: core's. */
static Oid
find_index(Oid relid, const char *name)
{
	Oid			index = get_relname_relid(name, get_rel_namespace(relid));

	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index \"%s\" for table \"%s\" does not exist", name, get_rel_name(relid))));
	if (IndexGetRelation(index, true) != relid)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index for table \"%s\"", name, get_rel_name(relid))));
	return index;
}

char *
shuttle_ddl_cluster_on_text(Oid relid, const char *index)
{
	return for_indexes(find_index(relid, index), "ALTER TABLE %1$s CLUSTER ON %2$I", "");
}

void
shuttle_ddl_cluster(const ShuttleDdl *ddl)
{
	Node	   *statement = ddl->pstmt->utilityStmt;
	const char *index = shuttle_repacked_index(statement);
	char	   *again;

	if (strcmp(shuttle_repack_name(statement), "CLUSTER") != 0)
		shuttle_ddl_refuse(ddl->relid, shuttle_repack_name(statement),
						   "Use VACUUM (FULL) or CLUSTER.");
	if (shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_PARTITIONED)
		shuttle_ddl_refuse(ddl->relid, "CLUSTER", "Name its partitions.");
	if (index != NULL)
	{
		shuttle_ddl_on_nodes(ddl->relid, list_make1(for_indexes(find_index(ddl->relid, index),
																"CLUSTER %1$s USING %2$I", "")));
		return;
	}
	again = psprintf("DECLARE t regclass; BEGIN FOR t IN SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = %s::regclass"
					 " LOOP EXECUTE 'CLUSTER ' || t; END LOOP; END", quote_literal_cstr(shuttle_local_name(ddl->relid)));
	shuttle_ddl_on_nodes(ddl->relid, list_make1(psprintf("DO %s", quote_literal_cstr(again))));
}

bool
shuttle_ddl_is_default_tablespace(const char *name)
{
	return get_tablespace_oid(name, false) == MyDatabaseTableSpace;
}

/* Locks the table as core does, so that no tablet moves meanwhile. */
static void
lock_index(const ShuttleDdl *ddl)
{
	LockRelationOid(ddl->relid, ShareUpdateExclusiveLock);
	if (!OidIsValid(ddl->targetid) || IndexGetRelation(ddl->targetid, true) != ddl->relid)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the index has been dropped by another session")));
}

void
shuttle_ddl_alter_index(const ShuttleDdl *ddl, AlterTableStmt *statement)
{
	List	   *here = NIL;
	ListCell   *cell;

	if (shuttle_table_kind(ddl->relid) != SHUTTLE_TABLE_REFERENCE)
		lock_index(ddl);
	foreach(cell, statement->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_SetStatistics || shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_REFERENCE)
			here = lappend(here, command);
		else if (command->subtype == AT_SetRelOptions || command->subtype == AT_ResetRelOptions)
			shuttle_ddl_on_nodes(ddl->relid, list_make1(for_indexes(ddl->targetid, "ALTER INDEX %3$s %4$s",
																	shuttle_ddl_options_text(command))));
		else if (command->subtype != AT_SetTableSpace || !shuttle_ddl_is_default_tablespace(command->name))
			shuttle_ddl_refuse(ddl->relid, "this form of ALTER INDEX",
							   "Drop the index and create it as it should be.");
	}
	statement->cmds = here;
	if (here != NIL)
		shuttle_ddl_run_here(ddl, (Node *) statement);
}
