/*-------------------------------------------------------------------------
 * server_tables.c
 *	  Locks all foreign tables of a server, so that no new one can appear.
 *
 * CREATE FOREIGN TABLE does not lock its server. Why we miss no table:
 *
 * 1. It looks the wrapper up after it has locked pg_foreign_table, so while
 * 	  we lock that catalog nobody can go on with the old wrapper.
 * 2. It releases that lock before it commits, so its row may be there but
 * 	  not visible: a dirty scan finds it, and we wait for its transaction.
 * 3. We never wait while holding the lock on the catalog: it is taken for a
 * 	  look, and kept only if that finds nothing new.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_foreign_table.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat_session.h"
#include "cluster/common/servers.h"

static List *list_tables(Relation catalog, Oid serverid,
						 TransactionId *creator);
static void lock_table(Oid relid);

List *
shuttle_server_tables_lock(Oid serverid)
{
	List	   *locked = NIL;

	for (;;)
	{
		Relation	catalog = table_open(ForeignTableRelationId,
										 ShareRowExclusiveLock);
		TransactionId creator;
		List	   *tables = list_tables(catalog, serverid, &creator);
		List	   *missing = list_difference_oid(tables, locked);
		ListCell   *cell;

		if (missing == NIL && !TransactionIdIsValid(creator))
		{
			table_close(catalog, NoLock);
			return tables;
		}
		table_close(catalog, ShareRowExclusiveLock);

		CHECK_FOR_INTERRUPTS();
		if (TransactionIdIsValid(creator))
			XactLockTableWait(creator, NULL, NULL, XLTW_None);
		foreach(cell, missing)
			lock_table(lfirst_oid(cell));
		locked = list_concat(locked, missing);
	}
}

/* creator: an open transaction that is creating one of the tables, if any. */
static List *
list_tables(Relation catalog, Oid serverid, TransactionId *creator)
{
	SnapshotData dirty;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *tables = NIL;

	*creator = InvalidTransactionId;
	InitDirtySnapshot(dirty);
	ScanKeyInit(&key, Anum_pg_foreign_table_ftserver, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(serverid));
	scan = systable_beginscan(catalog, InvalidOid, false, &dirty, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (TransactionIdIsValid(dirty.xmin))
			*creator = dirty.xmin;
		else
			tables = lappend_oid(tables,
								 ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftrelid);
	}
	systable_endscan(scan);
	return tables;
}

/* A table dropped before we got the lock is no error. */
static void
lock_table(Oid relid)
{
	LOCKTAG		tag;
	Relation	rel;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	if (LockHeldByMe(&tag, AccessShareLock, true))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot move foreign table \"%s\" because it is being used by this statement",
						get_rel_name(relid))));

	rel = try_relation_open(relid, AccessExclusiveLock);
	if (rel == NULL)
		return;
	CheckTableNotInUse(rel, "move foreign table");
	relation_close(rel, NoLock);
}
