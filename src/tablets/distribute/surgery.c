/*-------------------------------------------------------------------------
 * surgery.c
 *	  Makes an ordinary table a partitioned one under its OID, and back. The
 *	  only file that writes to core's catalogs.
 *
 * Everything that depends on the table stays: views, functions, privileges,
 * policies, comments, statistics, publications, prepared plans. Storage is
 * dropped at commit, as DROP TABLE does, and new storage at abort, so a crash
 * changes nothing.
 *
 * If a relation or its storage is new in this transaction, the relcache rebuilds its
 * entry in place, and then its kind must not change. So forget_newness() clears the
 * marks of newness, and the entry is dropped like any other. The marks only matter if
 * wal_level is minimal. New storage is announced to the relcache as core does it: with
 * that wal_level it is not logged.
 *
 * A worker of autovacuum that has put the table on its list before may analyze the
 * partitioned one, and fails an assertion of core if there are assertions.
 *
 * Core did the same when a rule made a view of a table (DefineQueryRewrite(),
 * until 15).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_statistic.h"
#include "catalog/storage.h"
#include "catalog/toasting.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/distribute/distribute.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/indexes/global.h"
#include "tablets/move/move.h"
#include "tablets/rights/owner_rights.h"

static void
forget_newness(Relation rel)
{
	if (rel->rd_createSubid == InvalidSubTransactionId &&
		rel->rd_firstRelfilelocatorSubid == InvalidSubTransactionId)
		return;
	if (!XLogIsNeeded())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was made or rewritten in this transaction",
						RelationGetRelationName(rel)),
				 errhint("Commit first, or set \"wal_level\" higher than \"minimal\".")));
	rel->rd_createSubid = InvalidSubTransactionId;
	rel->rd_newRelfilelocatorSubid = InvalidSubTransactionId;
	rel->rd_firstRelfilelocatorSubid = InvalidSubTransactionId;
}

/* What others know of a partitioned table has the kinds of its partitions. */
static void
invalidate_parent(Oid relid)
{
	if (get_rel_relispartition(relid))
		CacheInvalidateRelcacheByRelid(get_partition_parent(relid, true));
}

/* A row of a catalog, to be changed; the caller frees it. */
static HeapTuple
copy_row(int cache, Oid relid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(cache, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for object %u", relid);
	return tuple;
}

static void
change_kind(Form_pg_class form, char relkind, Oid relfilenode)
{
	form->relkind = relkind;
	form->relfilenode = relfilenode;
	form->relpages = 0;
	shuttle_class_clear_visible(form);
}

/* Relations without storage depend on their tablespace. */
static void
write_class(Relation classes, HeapTuple tuple)
{
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

	CatalogTupleUpdate(classes, &tuple->t_self, tuple);
	if (OidIsValid(form->reltablespace) && !OidIsValid(form->relfilenode))
		recordDependencyOnTablespace(RelationRelationId, form->oid, form->reltablespace);
	heap_freetuple(tuple);
}

static void
set_index_valid(Oid indexid, bool valid)
{
	Relation	indexes = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple	tuple = copy_row(INDEXRELID, indexid);
	Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

	form->indisvalid = valid;
	form->indisclustered = false;
	form->indcheckxmin = false;
	CatalogTupleUpdate(indexes, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(indexes, RowExclusiveLock);
}

/* Foreign partitions have no index to attach, so the index is never valid. */
static void
partition_index(Relation classes, Oid indexid)
{
	Relation	index = index_open(indexid, AccessExclusiveLock);
	HeapTuple	tuple;

	CheckTableNotInUse(index, "distribute");
	forget_newness(index);
	TransferPredicateLocksToHeapRelation(index);
	RelationDropStorage(index);
	index_close(index, NoLock);

	tuple = copy_row(RELOID, indexid);
	change_kind((Form_pg_class) GETSTRUCT(tuple), RELKIND_PARTITIONED_INDEX, InvalidOid);
	((Form_pg_class) GETSTRUCT(tuple))->reltuples = 0;
	write_class(classes, tuple);
	set_index_valid(indexid, false);
	RemoveStatistics(indexid, 0);
}

/* The dependency on the table is removed first, since the table stays. */
static void
drop_toast(Oid toast)
{
	ObjectAddress address;

	if (!OidIsValid(toast))
		return;
	(void) deleteDependencyRecordsFor(RelationRelationId, toast, false);
	CommandCounterIncrement();
	ObjectAddressSet(address, RelationRelationId, toast);
	performDeletion(&address, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
}

/* The planner reads statistics of a partitioned table with the mark that its
 * partitions are included, those of others without it. */
static void
move_statistics(Oid relid, bool inherit)
{
	Relation	catalog = table_open(StatisticRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_statistic_starelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, StatisticRelidAttnumInhIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		HeapTuple	copy;

		if (((Form_pg_statistic) GETSTRUCT(tuple))->stainherit == inherit)
			continue;
		copy = heap_copytuple(tuple);
		((Form_pg_statistic) GETSTRUCT(copy))->stainherit = inherit;
		CatalogTupleUpdate(catalog, &copy->t_self, copy);
		heap_freetuple(copy);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

static void
store_key(Oid relid, AttrNumber key)
{
	Relation	rel = table_open(relid, NoLock);
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), key - 1);
	Oid			opclass = GetDefaultOpClass(attribute->atttypid, HASH_AM_OID);
	Oid			collation = attribute->attcollation;

	StorePartitionKey(rel, PARTITION_STRATEGY_HASH, 1, &key, NIL, &opclass, &collation);
	table_close(rel, NoLock);
}

/* A partitioned table has no options, and no access method; it was heap. */
static void
partition_class(Relation classes, Oid relid)
{
	HeapTuple	old = copy_row(RELOID, relid);
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {[Anum_pg_class_reloptions - 1] = true};
	bool		replaced[Natts_pg_class] = {[Anum_pg_class_reloptions - 1] = true};
	HeapTuple	tuple = heap_modify_tuple(old, RelationGetDescr(classes), values, nulls, replaced);
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

	change_kind(form, RELKIND_PARTITIONED_TABLE, InvalidOid);
	form->relam = InvalidOid;
	form->reltoastrelid = InvalidOid;
	form->relfrozenxid = InvalidTransactionId;
	form->relminmxid = InvalidMultiXactId;
	heap_freetuple(old);
	write_class(classes, tuple);
}

void
shuttle_surgery_partition(Oid relid, AttrNumber key)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	classes = table_open(RelationRelationId, RowExclusiveLock);
	Oid			toast = rel->rd_rel->reltoastrelid;
	ListCell   *cell;

	Assert(rel->rd_rel->relkind == RELKIND_RELATION);
	CheckTableNotInUse(rel, "distribute");
	CheckTableForSerializableConflictIn(rel);
	forget_newness(rel);
	foreach(cell, RelationGetIndexList(rel))
		partition_index(classes, lfirst_oid(cell));
	RelationClearMissing(rel);
	RelationDropStorage(rel);
	pgstat_count_truncate(rel); /* never dropped: the OID stays in use */
	table_close(rel, NoLock);	/* so that its relcache entry is made anew */
	drop_toast(toast);
	partition_class(classes, relid);
	table_close(classes, RowExclusiveLock);
	move_statistics(relid, true);
	CommandCounterIncrement();

	store_key(relid, key);
	invalidate_parent(relid);
	CommandCounterIncrement();
}

/* True for a dependency that StorePartitionKey() recorded. */
static bool
is_of_key(const FormData_pg_depend *form, Oid relid)
{
	if (form->refclassid == RelationRelationId)
		return form->refobjid == relid && form->refobjsubid == 0 &&
			form->deptype == DEPENDENCY_INTERNAL;
	return form->objsubid == 0 && (form->refclassid == OperatorClassRelationId ||
								   form->refclassid == CollationRelationId);
}

static void
forget_key(Oid relid)
{
	Relation	catalog = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	RemovePartitionKeyByRelId(relid);
	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, DependDependerIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (is_of_key((Form_pg_depend) GETSTRUCT(tuple), relid))
			CatalogTupleDelete(catalog, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

void
shuttle_surgery_plain(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Relation	classes;
	HeapTuple	tuple;
	Form_pg_class form;

	Assert(rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE);
	CheckTableNotInUse(rel, "bring back");
	forget_newness(rel);
	table_close(rel, NoLock);
	forget_key(relid);

	classes = table_open(RelationRelationId, RowExclusiveLock);
	tuple = copy_row(RELOID, relid);
	form = (Form_pg_class) GETSTRUCT(tuple);
	change_kind(form, RELKIND_RELATION, shuttle_new_storage(form->reltablespace));
	form->relam = HEAP_TABLE_AM_OID;
	form->relfrozenxid = RecentXmin;
	form->relminmxid = GetOldestMultiXactId();
	form->reltuples = -1;
	form->relhassubclass = false;
	write_class(classes, tuple);
	table_close(classes, RowExclusiveLock);
	move_statistics(relid, false);
	invalidate_parent(relid);
	CommandCounterIncrement();

	rel = table_open(relid, NoLock);
	RelationAssumeNewRelfilelocator(rel);
	table_close(rel, NoLock);
	AlterTableCreateToastTable(relid, (Datum) 0, AccessExclusiveLock);
	CommandCounterIncrement();
}

static void
build_index(Relation rel, Oid indexid)
{
	Relation	classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple;
	Form_pg_class form;
	Relation	index;

	LockRelationOid(indexid, AccessExclusiveLock);
	tuple = copy_row(RELOID, indexid);
	form = (Form_pg_class) GETSTRUCT(tuple);
	change_kind(form, RELKIND_INDEX, shuttle_new_storage(form->reltablespace));
	write_class(classes, tuple);
	table_close(classes, RowExclusiveLock);
	set_index_valid(indexid, true);
	CommandCounterIncrement();

	index = index_open(indexid, NoLock);
	RelationAssumeNewRelfilelocator(index);
	shuttle_index_build(rel, index);
	index_close(index, NoLock);
	CommandCounterIncrement();
}

void
shuttle_surgery_build_indexes(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	ShuttleRights caller = shuttle_owner_rights_take(relid);
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
		build_index(rel, lfirst_oid(cell));
	shuttle_owner_rights_end(caller);
	table_close(rel, NoLock);
}

void
shuttle_surgery_index_is_valid(Oid indexid)
{
	Relation	index = index_open(indexid, AccessShareLock);

	Assert(index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX);
	CacheInvalidateRelcacheByRelid(index->rd_index->indrelid);
	index_close(index, NoLock);
	set_index_valid(indexid, true);
	CommandCounterIncrement();
}

static void
set_index_unique(Oid indexid)
{
	Relation	indexes = table_open(IndexRelationId, RowExclusiveLock);
	HeapTuple	tuple = copy_row(INDEXRELID, indexid);

	((Form_pg_index) GETSTRUCT(tuple))->indisunique = true;
	CatalogTupleUpdate(indexes, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(indexes, RowExclusiveLock);
	CommandCounterIncrement();
}

void
shuttle_surgery_make_unique(Oid relid, Oid indexid, const Constraint *constraint)
{
	Relation	rel = table_open(relid, NoLock);

	set_index_unique(indexid);
	if (constraint != NULL)
	{
		Relation	index = index_open(indexid, AccessShareLock);
		bool		is_primary = constraint->contype == CONSTR_PRIMARY;
		uint16		flags = INDEX_CONSTR_CREATE_UPDATE_INDEX;

		if (is_primary)
			flags |= INDEX_CONSTR_CREATE_MARK_AS_PRIMARY;
		if (constraint->deferrable)
			flags |= INDEX_CONSTR_CREATE_DEFERRABLE;
		if (constraint->initdeferred)
			flags |= INDEX_CONSTR_CREATE_INIT_DEFERRED;
		(void) index_constraint_create(rel, indexid, InvalidOid, shuttle_owner_index_info(index), RelationGetRelationName(index),
									   is_primary ? CONSTRAINT_PRIMARY : CONSTRAINT_UNIQUE, flags, false, false);
		index_close(index, NoLock);
	}
	CacheInvalidateRelcacheByRelid(relid);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* RelationGetIndexList() leaves out indexes that are not live. */
static void
set_live(Oid relid, bool live)
{
	Relation	indexes = table_open(IndexRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		HeapTuple	copy = heap_copytuple(tuple);

		((Form_pg_index) GETSTRUCT(copy))->indislive = live;
		CatalogTupleUpdate(indexes, &copy->t_self, copy);
		heap_freetuple(copy);
	}
	systable_endscan(scan);
	table_close(indexes, RowExclusiveLock);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

/* Gives the foreign keys from or to a table another kind, that core does not know. */
static void
change_keys(Oid relid, AttrNumber column, Oid index, char from, char to)
{
	Relation	constraints = table_open(ConstraintRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(constraints, index, OidIsValid(index), NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		HeapTuple	copy;

		if (((Form_pg_constraint) GETSTRUCT(tuple))->contype != from)
			continue;
		copy = heap_copytuple(tuple);
		((Form_pg_constraint) GETSTRUCT(copy))->contype = to;
		CatalogTupleUpdate(constraints, &copy->t_self, copy);
		heap_freetuple(copy);
	}
	systable_endscan(scan);
	table_close(constraints, RowExclusiveLock);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

#define CONSTRAINT_HIDDEN_KEY 'F'

static void
hide_keys(Oid relid, bool hide)
{
	char		from = hide ? CONSTRAINT_FOREIGN : CONSTRAINT_HIDDEN_KEY;
	char		to = hide ? CONSTRAINT_HIDDEN_KEY : CONSTRAINT_FOREIGN;

	change_keys(relid, Anum_pg_constraint_conrelid, ConstraintRelidTypidNameIndexId, from, to);
	change_keys(relid, Anum_pg_constraint_confrelid, InvalidOid, from, to);
}

void
shuttle_surgery_hide_indexes(Oid relid)
{
	set_live(relid, false);
	hide_keys(relid, true);
}

void
shuttle_surgery_show_indexes(Oid relid)
{
	set_live(relid, true);
	hide_keys(relid, false);
}

void
shuttle_surgery_set_valid(Oid constraint)
{
	Relation	constraints = table_open(ConstraintRelationId, RowExclusiveLock);
	HeapTuple	tuple = copy_row(CONSTROID, constraint);
	Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);

	form->convalidated = true;
	CatalogTupleUpdate(constraints, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(form->conrelid);
	heap_freetuple(tuple);
	table_close(constraints, RowExclusiveLock);
	CommandCounterIncrement();
}

void
shuttle_surgery_move(Oid relid, Oid serverid)
{
	Relation	catalog = table_open(ForeignTableRelationId, RowExclusiveLock);
	HeapTuple	tuple;
	Form_pg_foreign_table form;
	Oid			old;

	LockRelationOid(relid, AccessExclusiveLock);
	tuple = SearchSysCacheCopy1(FOREIGNTABLEREL, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for foreign table %u", relid);
	form = (Form_pg_foreign_table) GETSTRUCT(tuple);
	old = form->ftserver;
	form->ftserver = serverid;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	if (changeDependencyFor(RelationRelationId, relid, ForeignServerRelationId, old, serverid) != 1)
		elog(ERROR, "could not change the server of foreign table %u", relid);
	CacheInvalidateRelcacheByRelid(relid);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}
