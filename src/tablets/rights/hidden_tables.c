/*-------------------------------------------------------------------------
 * hidden_tables.c
 *	  Tables that only their owner and superusers name: tablets, what stands for copies, and entries.
 *
 * They have the rows of a table, but neither its policies nor its privileges. Nobody has rights
 * on them, but the members of pg_read_all_data and pg_write_all_data have rights on all tables.
 * So a statement that names such a table is refused when it is planned, since the planner
 * executes operators on statistics, and when it is executed, with the rights that it has then.
 *
 * Core shows statistics of columns (pg_stats) to those who have rights on a column, unless the
 * table has row security for them. Such a table has it, without policies. Core does not look for
 * policies of a foreign table when it reads one, and has no statement that gives it some.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_compat_planner.h"
#include "tablets/common/local_sql.h"
#include "tablets/rights/hidden_tables.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* ---- statements that name them */

static bool
is_in(Oid relid, const char *schema)
{
	return get_rel_namespace(relid) == get_namespace_oid(schema, true);
}

static bool
is_hidden(Oid relid)
{
	switch (get_rel_relkind(relid))
	{
		case RELKIND_FOREIGN_TABLE:
			return shuttle_table_kind(relid) == SHUTTLE_TABLE_TABLET || is_in(relid, SHUTTLE_COPIES_SCHEMA);
		case RELKIND_PARTITIONED_TABLE:
			return is_in(relid, SHUTTLE_INDEXES_SCHEMA);
		default:
			return false;
	}
}

static bool
may_be_named(Oid relid, Oid user)
{
	return !is_hidden(relid) || object_ownercheck(RelationRelationId, relid, OidIsValid(user) ? user : GetUserId());
}

void
shuttle_hidden_table_check(Oid relid, Oid user)
{
	if (!may_be_named(relid, user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for %s %s",
						get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ? "foreign table" : "table", get_rel_name(relid)),
				 errdetail("It holds rows of a table whose privileges and policies it does not have, so only its owner and superusers may name it."),
				 errhint("Name the table whose rows it holds.")));
}

bool
shuttle_hidden_tables_check(const List *permissions, bool raise)
{
	ListCell   *cell;

	foreach(cell, permissions)
	{
		const RTEPermissionInfo *permission = lfirst(cell);

		if (permission->requiredPerms == 0 || may_be_named(permission->relid, permission->checkAsUser))
			continue;
		if (!raise)
			return false;
		shuttle_hidden_table_check(permission->relid, permission->checkAsUser);
	}
	return true;
}

void
shuttle_hidden_tables_check_lock(Node *statement)
{
	ListCell   *cell;

	foreach(cell, IsA(statement, LockStmt) ? castNode(LockStmt, statement)->relations : NIL)
		shuttle_hidden_table_check(RangeVarGetRelid(lfirst_node(RangeVar, cell), NoLock, true), InvalidOid);
}

/* ---- what others may see of them */

static bool
has_row_security(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		has;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	has = ((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity;
	ReleaseSysCache(tuple);
	return has;
}

static void
hide_statistics(Oid relid)
{
	Relation	classes;
	HeapTuple	tuple;

	if (has_row_security(relid))
		return;
	classes = table_open(RelationRelationId, RowExclusiveLock);
	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));
	((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity = true;
	CatalogTupleUpdate(classes, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(classes, RowExclusiveLock);
	CommandCounterIncrement();
}

void
shuttle_hidden_table_close(Oid relid)
{
	shuttle_local_revoke(relid);
	hide_statistics(relid);
}

const char *
shuttle_hidden_table_opened(Oid relid)
{
	if (shuttle_local_granted(relid) != NIL)
		return "on which others than its owner have privileges here";
	return has_row_security(relid) ? NULL : "whose statistics others than its owner can see here";
}

void
shuttle_hidden_tables_restore(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	const RangeVar *name = IsA(pstmt->utilityStmt, CreateForeignTableStmt) ?
		castNode(CreateForeignTableStmt, pstmt->utilityStmt)->base.relation : NULL;
	Oid			relid;

	run(SHUTTLE_UTILITY_ARGUMENTS);
	if (name == NULL || name->schemaname == NULL || strcmp(name->schemaname, SHUTTLE_TABLETS_SCHEMA) != 0)
		return;
	CommandCounterIncrement();
	relid = RangeVarGetRelid(name, NoLock, true);
	if (OidIsValid(relid))
		hide_statistics(relid);
}
