/*-------------------------------------------------------------------------
 * partitions.c
 *	  Partitioned tables whose partitions are distributed tables.
 *
 * Each partition without partitions of its own is a distributed table: it has tablets as
 * partitions, and its place among the partitions of its parent. All of them are in one
 * group. Their parents, on any level, have rows in shuttle.tables, too: they say that
 * partitions which are made later are to be distributed, and by which column.
 *
 * Nodes know the distributed tables only. A partition's bound is kept on this server: rows
 * get to a partition by core's routing, or are checked when they are sent.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/partitions.h"
#include "tablets/common/places.h"
#include "tablets/common/table_facts.h"
#include "tablets/shuttle_tablets.h"

List *
shuttle_partitions_all(Oid relid, LOCKMODE mode)
{
	List	   *tables = list_make1_oid(relid);
	ListCell   *cell;

	if (mode != NoLock)
		LockRelationOid(relid, mode);
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE || shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED)
		return tables;
	foreach(cell, find_inheritance_children(relid, mode))
		tables = list_concat(tables, shuttle_partitions_all(lfirst_oid(cell), mode));
	return tables;
}

List *
shuttle_partitions_distributed(Oid relid)
{
	List	   *tables = NIL;
	ListCell   *cell;

	foreach(cell, shuttle_partitions_all(relid, NoLock))
	{
		if (shuttle_table_kind(lfirst_oid(cell)) == SHUTTLE_TABLE_DISTRIBUTED)
			tables = lappend_oid(tables, lfirst_oid(cell));
	}
	return tables;
}

Oid
shuttle_partitions_parent(Oid relid)
{
	Oid			parent = get_rel_relispartition(relid) ? get_partition_parent(relid, true) : InvalidOid;

	return OidIsValid(parent) && shuttle_table_kind(parent) == SHUTTLE_TABLE_PARTITIONED ? parent : InvalidOid;
}

Oid
shuttle_partitions_top(Oid relid)
{
	Oid			parent = shuttle_partitions_parent(relid);

	return OidIsValid(parent) ? shuttle_partitions_top(parent) : relid;
}

/* As statements on the parent do, the parent first; a stranger must not wait in its queue. */
void
shuttle_partitions_lock_owned(Oid relid)
{
	Oid			parent = shuttle_partitions_parent(relid);

	if (OidIsValid(parent) && object_ownercheck(RelationRelationId, relid, GetUserId()))
		LockRelationOid(parent, AccessExclusiveLock);
	shuttle_table_lock_owned(relid);
}

char *
shuttle_partitions_key(Oid relid)
{
	return shuttle_local_text("SELECT key::text FROM shuttle.tables WHERE relation = $1", relid);
}

Oid
shuttle_partitions_sibling(Oid relid, const char *rules)
{
	ListCell   *cell;

	foreach(cell, shuttle_partitions_distributed(shuttle_partitions_top(relid)))
	{
		if (strcmp(shuttle_places_of_table(lfirst_oid(cell))->text, rules) == 0)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* That of any table of the group which the partitions without rules of their own have. */
static Oid
find_member(Oid top, const char *rules)
{
	static const char *const member_query =
		"SELECT min(relation::oid)::text FROM shuttle.tables WHERE kind = 'distributed'"
		" AND group_id = (SELECT group_id FROM shuttle.tables WHERE relation = $1)";
	char	   *member = shuttle_local_text(member_query, top);

	if (member == NULL || strcmp(shuttle_places_of_group(shuttle_layout_group(atooid(member)))->text, rules) != 0)
		return InvalidOid;
	return atooid(member);
}

/* The first partition for its rules, over the nodes that they allow. */
static ShuttleLayout *
first_layout(Oid top, Oid type, Oid collation, const ShuttlePlaces *places)
{
	static const char *const query =
		"SELECT tablets::text, group_id::text FROM shuttle.tables WHERE relation = $1";
	char	  **row = linitial(shuttle_local_rows(query, top));
	ShuttleLayout *layout = shuttle_layout_find(places->rules == NIL ? NIL : shuttle_places_nodes(places),
												pg_strtoint32(row[0]), type, collation, places->text);

	if (row[1] != NULL)
		layout->origin = pg_strtoint32(row[1]);
	return layout;
}

ShuttleLayout *
shuttle_partitions_layout(Oid relid, const ShuttlePlaces *places, Oid type, Oid collation)
{
	Oid			other = shuttle_partitions_sibling(relid, places->text);

	relid = shuttle_partitions_top(relid);
	if (!OidIsValid(other))
		other = find_member(relid, places->text);
	if (OidIsValid(other))
		return shuttle_layout_colocated(other, type, collation);
	return first_layout(relid, type, collation, places);
}

void
shuttle_partitions_note(Oid relid, const char *key, int group, int ntablets)
{
	(void) shuttle_local_run_as_superuser(psprintf("INSERT INTO shuttle.tables (relation, kind, group_id, key, tablets)"
												   " VALUES (%u, 'partitioned', NULLIF(%d, 0), %s, %d)",
												   relid, group, quote_literal_cstr(key), ntablets));
	CacheInvalidateRelcacheByRelid(relid);
}

void
shuttle_partitions_rename_key(Oid relid, const char *key)
{
	(void) shuttle_local_run_as_superuser(psprintf("UPDATE shuttle.tables SET key = %s WHERE relation = %u::regclass",
												   quote_literal_cstr(key), relid));
}

bool
shuttle_partitions_may_be_left(const Query *query, Oid relid)
{
	Bitmapset  *columns = NULL;
	Relation	rel;
	ListCell   *cell;

	if (!get_rel_relispartition(relid) || query->commandType == CMD_DELETE)
		return false;
	if (query->commandType != CMD_UPDATE)
		return true;
	rel = table_open(relid, NoLock);
	pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &columns);
	table_close(rel, NoLock);
	foreach(cell, query->targetList)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk && bms_is_member(entry->resno - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	}
	return false;
}
