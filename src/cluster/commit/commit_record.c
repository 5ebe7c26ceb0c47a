/*-------------------------------------------------------------------------
 * commit_record.c
 *	  The table of commit records: one row per transaction that was prepared
 *	  on nodes, written by that transaction itself.
 *
 * If a server has several hosts, a standby may be promoted that has not received
 * COMMIT PREPARED: there the transaction is prepared again. So its record is kept
 * for shuttle.record_retention.
 *
 * Rows are read and written like catalog rows: without the user's rights and
 * triggers, and with snapshots of our own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "base/shuttle_settings.h"
#include "cluster/commit/commit.h"
#include "cluster/shuttle_cluster.h"

/* Columns of shuttle.commit_records. */
enum
{
	COLUMN_NAME = 1,
	COLUMN_SERVERS,
	COLUMN_SINCE,
	NCOLUMNS = COLUMN_SINCE
};

static void delete_record(Relation records, Snapshot snapshot, const char *name);

static Relation
open_records(LOCKMODE lock)
{
	Oid			relid = shuttle_extension_table(SHUTTLE_TABLE_COMMIT_RECORDS);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"%s\" is missing",
						"shuttle.commit_records", "pg_shuttle")));
	return table_open(relid, lock);
}

static SysScanDesc
scan_records(Relation records, Snapshot snapshot, const char *name)
{
	ScanKeyData key;

	if (name == NULL)
		return systable_beginscan(records, InvalidOid, false, snapshot, 0, NULL);
	ScanKeyInit(&key, COLUMN_NAME, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(name));
	key.sk_collation = TupleDescAttr(RelationGetDescr(records),
									 COLUMN_NAME - 1)->attcollation;
	return systable_beginscan(records, shuttle_primary_key(records), true,
							  snapshot, 1, &key);
}

/* The active snapshot is set. */
static void
insert_record(Relation records, const char *name, List *servers)
{
	Datum	   *oids = palloc_array(Datum, list_length(servers));
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS] = {false};
	HeapTuple	tuple;
	ListCell   *cell;

	foreach(cell, servers)
		oids[foreach_current_index(cell)] = ObjectIdGetDatum(lfirst_oid(cell));
	values[COLUMN_NAME - 1] = CStringGetTextDatum(name);
	values[COLUMN_SERVERS - 1] =
		PointerGetDatum(construct_array(oids, list_length(servers), OIDOID,
										sizeof(Oid), true, TYPALIGN_INT));
	values[COLUMN_SINCE - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
	tuple = heap_form_tuple(RelationGetDescr(records), values, nulls);
	CatalogTupleInsert(records, tuple);
}

void
shuttle_commit_record_add(const char *name, List *servers, const char *finished)
{
	Relation	records = open_records(RowExclusiveLock);

	/* no snapshot is active during commit */
	PushActiveSnapshot(GetLatestSnapshot());
	if (finished != NULL && !IsolationIsSerializable())
		delete_record(records, GetActiveSnapshot(), finished);
	insert_record(records, name, servers);
	PopActiveSnapshot();

	/* keep the lock: DROP or a rewrite must wait for the decision */
	table_close(records, NoLock);
}

void
shuttle_commit_record_prepare(const char *name, List *servers)
{
	Relation	records = open_records(RowExclusiveLock);

	PushActiveSnapshot(GetLatestSnapshot());
	insert_record(records, name, servers);
	PopActiveSnapshot();
	table_close(records, RowExclusiveLock);
}

bool
shuttle_commit_record_exists(const char *name)
{
	Relation	records = open_records(AccessShareLock);
	SysScanDesc scan = scan_records(records, SnapshotSelf, name);
	bool		found = HeapTupleIsValid(systable_getnext(scan));

	systable_endscan(scan);
	table_close(records, AccessShareLock);
	return found;
}

static CommitRecord *
make_record(HeapTuple tuple, TupleDesc desc)
{
	CommitRecord *record = palloc0_object(CommitRecord);
	Datum		values[NCOLUMNS];
	bool		nulls[NCOLUMNS];
	Datum	   *oids;
	int			noids;

	heap_deform_tuple(tuple, desc, values, nulls);
	record->name = TextDatumGetCString(values[COLUMN_NAME - 1]);
	deconstruct_array(DatumGetArrayTypeP(values[COLUMN_SERVERS - 1]), OIDOID,
					  sizeof(Oid), true, TYPALIGN_INT, &oids, NULL, &noids);
	for (int i = 0; i < noids; i++)
		record->servers = lappend_oid(record->servers, DatumGetObjectId(oids[i]));
	record->since = DatumGetTimestampTz(values[COLUMN_SINCE - 1]);
	return record;
}

CommitRecord *
shuttle_commit_record_of(TransactionId xid)
{
	Relation	records = open_records(RowExclusiveLock);
	SysScanDesc scan = scan_records(records, SnapshotAny, NULL);
	CommitRecord *record = NULL;
	HeapTuple	tuple;

	while (record == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (HeapTupleHeaderGetXmin(tuple->t_data) == xid)
			record = make_record(tuple, RelationGetDescr(records));
	}
	systable_endscan(scan);
	table_close(records, record != NULL ? NoLock : RowExclusiveLock);
	return record;
}

void
shuttle_commit_record_renew(const CommitRecord *record)
{
	Relation	records = open_records(RowExclusiveLock);

	PushActiveSnapshot(GetLatestSnapshot());
	delete_record(records, GetActiveSnapshot(), record->name);
	CommandCounterIncrement();
	insert_record(records, record->name, record->servers);
	PopActiveSnapshot();
	table_close(records, RowExclusiveLock);
}

static bool
has_several_hosts(Oid serverid)
{
	ForeignServer *server = GetForeignServerExtended(serverid, FSV_MISSING_OK);
	ListCell   *cell;

	if (server == NULL)
		return false;
	foreach(cell, server->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if ((strcmp(option->defname, "host") == 0 ||
			 strcmp(option->defname, "hostaddr") == 0) &&
			strchr(defGetString(option), ',') != NULL)
			return true;
	}
	return false;
}

bool
shuttle_commit_record_lasts(const List *servers)
{
	ListCell   *cell;

	foreach(cell, servers)
	{
		if (has_several_hosts(lfirst_oid(cell)))
			return true;
	}
	return false;
}

List *
shuttle_commit_records(bool *any_kept)
{
	TimestampTz kept_since = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
														 -INT64CONST(1000) * shuttle_settings.record_retention_s);
	MemoryContext row_cxt = AllocSetContextCreate(CurrentMemoryContext, "shuttle commit record",
												  ALLOCSET_SMALL_SIZES);
	Relation	records = open_records(AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = scan_records(records, snapshot, NULL);
	List	   *list = NIL;
	HeapTuple	tuple;

	*any_kept = false;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		MemoryContext old_cxt = MemoryContextSwitchTo(row_cxt);
		CommitRecord *record = make_record(tuple, RelationGetDescr(records));
		bool		kept = record->since > kept_since &&
			shuttle_commit_record_lasts(record->servers);

		MemoryContextSwitchTo(old_cxt);
		if (kept)
			*any_kept = true;
		else
			list = lappend(list, make_record(tuple, RelationGetDescr(records)));
		MemoryContextReset(row_cxt);
	}
	MemoryContextDelete(row_cxt);
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(records, AccessShareLock);
	return list;
}

/* Deletes a record, unless another session is just doing so. */
static void
delete_record(Relation records, Snapshot snapshot, const char *name)
{
	SysScanDesc scan = scan_records(records, snapshot, name);
	HeapTuple	tuple = systable_getnext(scan);
	TM_FailureData failure;

	if (HeapTupleIsValid(tuple))
		(void) shuttle_heap_delete(records, &tuple->t_self, &failure);
	systable_endscan(scan);
}

/*
 * Another session may remove the same records. The lock is kept to the end of
 * the transaction, so that it sees what was removed; a session that does not
 * get the lock leaves them for later.
 */
void
shuttle_commit_records_forget(List *names)
{
	Relation	records;
	Snapshot	snapshot;
	ListCell   *cell;

	if (names == NIL ||
		!ConditionalLockRelationOid(shuttle_extension_table(SHUTTLE_TABLE_COMMIT_RECORDS),
									ShareUpdateExclusiveLock))
		return;
	records = open_records(NoLock);
	snapshot = RegisterSnapshot(GetLatestSnapshot());

	PushActiveSnapshot(snapshot);
	foreach(cell, names)
		delete_record(records, snapshot, lfirst(cell));
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);
	table_close(records, NoLock);
}
