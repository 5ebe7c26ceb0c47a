/*-------------------------------------------------------------------------
 * ddl_attach.c
 *	  ATTACH and DETACH PARTITION of a partitioned table whose partitions are distributed.
 *
 * An ordinary table is attached by core, and distributed then. A distributed one keeps its
 * rows on nodes; its indexes and those of its parent are hidden from core meanwhile. One that
 * is spread otherwise than the partitions are becomes an ordinary table first.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/layout.h"
#include "tablets/common/partitions.h"
#include "tablets/common/places.h"
#include "tablets/common/table_facts.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/partition.h"
#include "tablets/foreign_keys/foreign_keys.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* ---- ATTACH */

static void
refuse_to_attach(Oid relid, Oid partition, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot attach distributed table \"%s\" to table \"%s\"", get_rel_name(partition), get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* The rule that it gets, or keeps, has to allow each of its tablets: nobody may see later that it did not. */
static void
check_places(Oid table, const ShuttlePlaces *places)
{
	ListCell   *cell;

	foreach(cell, shuttle_table_servers(table))
		shuttle_places_check(places, table, lfirst_oid(cell));
}

/* The placement rules of a table that becomes a partition. */
static ShuttlePlaces *
places_of(Oid relid, Oid table)
{
	return shuttle_places_of_table(OidIsValid(shuttle_places_source(table)) ? table : relid);
}

/* True if rows with equal keys are where those of the other partitions are. */
static bool
is_spread_alike(Oid relid, Oid partition)
{
	const char *key = shuttle_partitions_key(relid);
	ListCell   *cell;

	foreach(cell, shuttle_partitions_distributed(partition))
	{
		Oid			table = lfirst_oid(cell);
		Oid			other = shuttle_partitions_sibling(relid, places_of(relid, table)->text);

		if (strcmp(shuttle_ddl_key(table), key) != 0 ||
			(OidIsValid(other) && shuttle_layout_group(other) != shuttle_layout_group(table)))
			return false;
	}
	return shuttle_table_kind(partition) != SHUTTLE_TABLE_PARTITIONED ||
		strcmp(shuttle_partitions_key(partition), key) == 0;
}

static void
check_distributed(Oid relid, Oid partition)
{
	ListCell   *cell;

	foreach(cell, shuttle_partitions_distributed(partition))
	{
		Oid			table = lfirst_oid(cell);

		if (shuttle_global_indexes_exist(table))
			refuse_to_attach(relid, partition, "It has a unique index without the distribution column.", "Drop the index first.");
		check_places(table, places_of(relid, table));
	}
}

static bool
has_core_keys(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		has_keys = RelationGetFKeyList(rel) != NIL;

	table_close(rel, NoLock);
	return has_keys;
}

static void
refuse_foreign_keys(Oid relid, Oid partition)
{
	ListCell   *cell;

	foreach(cell, shuttle_partitions_all(partition, AccessExclusiveLock))
	{
		if (shuttle_foreign_keys_of(lfirst_oid(cell)) != NIL || has_core_keys(lfirst_oid(cell)))
			refuse_to_attach(relid, partition, "It has foreign keys.", "Drop them first.");
	}
}

/* Keys that nodes have checked are core's then. */
static void
bring_back(Oid relid, Oid partition)
{
	shuttle_bring_back_for_attach(partition);
	refuse_foreign_keys(relid, partition);
}

/* Core would make indexes of the parent for tablets, too. */
static void
attach_distributed(const ShuttleDdl *ddl, Oid partition)
{
	ListCell   *cell;

	check_distributed(ddl->relid, partition);
	shuttle_ddl_note_partitions(partition, AccessExclusiveLock);
	shuttle_surgery_hide_indexes(ddl->relid);
	shuttle_surgery_hide_indexes(partition);
	shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
	CommandCounterIncrement();
	shuttle_surgery_show_indexes(partition);
	shuttle_surgery_show_indexes(ddl->relid);
	foreach(cell, shuttle_partition_index_list(ddl->relid))
		shuttle_partition_spread_index(lfirst_oid(cell));
	shuttle_partition_check_rows(partition);
}

/* The table that ATTACH or DETACH PARTITION names. */
static const PartitionCmd *
named_partition(const ShuttleDdl *ddl)
{
	const AlterTableStmt *statement = castNode(AlterTableStmt, ddl->pstmt->utilityStmt);

	return castNode(PartitionCmd, linitial_node(AlterTableCmd, statement->cmds)->def);
}

static bool
is_ours(Oid relid)
{
	ShuttleTableKind kind = shuttle_table_kind(relid);

	return kind == SHUTTLE_TABLE_DISTRIBUTED || kind == SHUTTLE_TABLE_PARTITIONED;
}

void
shuttle_ddl_attach(const ShuttleDdl *ddl)
{
	const RangeVar *name = named_partition(ddl)->name;
	Oid			partition = RangeVarGetRelid(name, NoLock, true);
	int			level;

	if (!OidIsValid(partition) || !object_ownercheck(RelationRelationId, partition, GetUserId()))
	{
		shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt)); /* raises an error */
		return;
	}
	partition = RangeVarGetRelid(name, AccessExclusiveLock, false);
	if (is_ours(partition))
	{
		refuse_foreign_keys(ddl->relid, partition);
		if (!is_spread_alike(ddl->relid, partition))
			bring_back(ddl->relid, partition);
	}
	level = shuttle_partition_begin_quiet(ddl->relid);
	switch (shuttle_table_kind(partition))
	{
		case SHUTTLE_TABLE_OTHER:
			shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
			break;
		case SHUTTLE_TABLE_DISTRIBUTED:
		case SHUTTLE_TABLE_PARTITIONED:
			attach_distributed(ddl, partition);
			break;
		default:
			shuttle_ddl_refuse(partition, "ATTACH PARTITION", "Bring the table back first with shuttle.local_table().");
	}
	AtEOXact_GUC(true, level);
	CommandCounterIncrement();
	shuttle_partition_bounds_changed(ddl->relid);
	shuttle_partition_check_default(partition);
	if (shuttle_table_kind(partition) == SHUTTLE_TABLE_OTHER)
		shuttle_ddl_create_partition(partition);
}

/* ---- DETACH */

void
shuttle_ddl_detach(const ShuttleDdl *ddl)
{
	Oid			partition;

	if (named_partition(ddl)->concurrent)
		shuttle_ddl_refuse(ddl->relid, "DETACH PARTITION ... CONCURRENTLY",
						   "Leave out the word CONCURRENTLY: no rows are read, so that others wait for a moment only.");
	partition = RangeVarGetRelid(named_partition(ddl)->name, NoLock, true);
	if (OidIsValid(partition) && get_rel_relispartition(partition))
		shuttle_places_keep(partition);
	shuttle_ddl_run_here(ddl, copyObject(ddl->pstmt->utilityStmt));
	CommandCounterIncrement();
	shuttle_partition_bounds_changed(ddl->relid);
}
