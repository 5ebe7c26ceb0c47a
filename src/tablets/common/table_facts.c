/*-------------------------------------------------------------------------
 * table_facts.c
 *	  What a relation is: distributed, a reference table, a tablet, or none
 *	  of ours.
 *
 * The answer is cached for each relation that was asked for, and forgotten
 * when the relation's relcache entry is invalidated; whoever changes
 * shuttle.tables has to invalidate the relation.
 *
 * Memory: a hash table in CacheMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/hash.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/table_facts.h"
#include "tablets/shuttle_tablets.h"

uint64		shuttle_table_ignored_only = 0;

/* columns of shuttle.tables */
enum
{
	COLUMN_RELATION = 1,
	COLUMN_KIND,
	COLUMN_GROUP,
	COLUMN_TRAPS
};

typedef struct TableFacts
{
	Oid			relid;			/* hash key */
	ShuttleTableKind kind;
	bool		has_traps;
} TableFacts;

static HTAB *cache = NULL;

static void
forget_facts(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	TableFacts *facts;

	if (OidIsValid(relid))
	{
		(void) hash_search(cache, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&scan, cache);
	while ((facts = hash_seq_search(&scan)) != NULL)
		(void) hash_search(cache, &facts->relid, HASH_REMOVE, NULL);
}

static void
make_cache(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(TableFacts),
		.hcxt = CacheMemoryContext,
	};

	cache = hash_create("pg_shuttle kinds of tables", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(forget_facts, (Datum) 0);
}

static ShuttleTableKind
kind_named(const char *name)
{
	if (strcmp(name, "distributed") == 0)
		return SHUTTLE_TABLE_DISTRIBUTED;
	return strcmp(name, "partitioned") == 0 ? SHUTTLE_TABLE_PARTITIONED : SHUTTLE_TABLE_REFERENCE;
}

/* The kind in shuttle.tables. */
static ShuttleTableKind
read_kind(Oid relid, bool *has_traps)
{
	ShuttleTableKind kind = SHUTTLE_TABLE_OTHER;
	Oid			tables = shuttle_extension_table(SHUTTLE_TABLE_TABLES);
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	/* the table itself is planned for while its index is made */
	if (!OidIsValid(tables) || relid == tables)
		return kind;
	rel = table_open(tables, AccessShareLock);
	ScanKeyInit(&key, COLUMN_RELATION, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, shuttle_primary_key(rel), true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		is_null;

		kind = kind_named(TextDatumGetCString(heap_getattr(tuple, COLUMN_KIND, RelationGetDescr(rel), &is_null)));
		*has_traps = DatumGetBool(heap_getattr(tuple, COLUMN_TRAPS, RelationGetDescr(rel), &is_null));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return kind;
}

static ShuttleTableKind
find_kind(Oid relid, bool *has_traps)
{
	*has_traps = false;
	switch (get_rel_relkind(relid))
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			return read_kind(relid, has_traps);
		case RELKIND_FOREIGN_TABLE:
			if (get_rel_relispartition(relid) &&
				read_kind(get_partition_parent(relid, true), has_traps) == SHUTTLE_TABLE_DISTRIBUTED)
				return SHUTTLE_TABLE_TABLET;
			return SHUTTLE_TABLE_OTHER;
		default:
			return SHUTTLE_TABLE_OTHER;
	}
}

static const TableFacts *
find_facts(Oid relid)
{
	TableFacts *facts;
	TableFacts	found = {.relid = relid};

	if (cache == NULL)
		make_cache();
	facts = hash_search(cache, &relid, HASH_FIND, NULL);
	if (facts != NULL)
		return facts;

	/* reading may invalidate entries, so the new one is made afterwards */
	found.kind = find_kind(relid, &found.has_traps);
	facts = hash_search(cache, &relid, HASH_ENTER, NULL);
	*facts = found;
	return facts;
}

ShuttleTableKind
shuttle_table_kind(Oid relid)
{
	if (creating_extension)
		return SHUTTLE_TABLE_OTHER; /* shuttle.tables may be half made */
	return find_facts(relid)->kind;
}

bool
shuttle_table_has_traps(Oid relid)
{
	return shuttle_table_kind(relid) == SHUTTLE_TABLE_DISTRIBUTED && find_facts(relid)->has_traps;
}

List *
shuttle_table_servers(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	List	   *servers = NIL;

	for (int i = 0; i < partitions->nparts; i++)
	{
		if (get_rel_relkind(partitions->oids[i]) == RELKIND_FOREIGN_TABLE)
			servers = list_append_unique_oid(servers,
											 GetForeignServerIdByRelId(partitions->oids[i]));
	}
	table_close(rel, NoLock);
	return servers;
}

bool
shuttle_table_is_of_extension(Oid relid)
{
	Oid			extension = getExtensionOfObject(RelationRelationId, relid);

	return OidIsValid(extension) && extension == get_extension_oid("pg_shuttle", true);
}

void
shuttle_table_lock_owned(Oid relid)
{
	const char *name = get_rel_name(relid);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);
	LockRelationOid(relid, AccessExclusiveLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" was dropped by another session", name)));
}

Oid
shuttle_table_hash_function(PartitionKey key, Oid type)
{
	return type == key->parttypid[0] ? key->partsupfunc[0].fn_oid :
		get_opfamily_proc(key->partopfamily[0], type, type, HASHEXTENDED_PROC);
}

Node *
shuttle_table_index_tree(Relation index, AttrNumber which)
{
	bool		is_null;
	Datum		trees = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, which, &is_null);

	return is_null ? NULL : stringToNode(TextDatumGetCString(trees));
}

List *
shuttle_table_type_parts(Oid type)
{
	List	   *parts = NIL;
	TupleDesc	columns;

	switch (get_typtype(type))
	{
		case TYPTYPE_DOMAIN:
			return list_make1_oid(getBaseType(type));
		case TYPTYPE_COMPOSITE:
			columns = lookup_rowtype_tupdesc_copy(type, -1);
			for (int i = 0; i < columns->natts; i++)
			{
				if (!TupleDescAttr(columns, i)->attisdropped)
					parts = lappend_oid(parts, TupleDescAttr(columns, i)->atttypid);
			}
			return parts;
		case TYPTYPE_RANGE:
			return list_make1_oid(get_range_subtype(type));
		case TYPTYPE_MULTIRANGE:
			return list_make1_oid(get_multirange_range(type));
		default:
			return OidIsValid(get_element_type(type)) ? list_make1_oid(get_element_type(type)) : NIL;
	}
}

bool
shuttle_table_type_is_of_names(Oid type)
{
	ListCell   *cell;

	if (type < FirstGenbkiObjectId && strncmp(format_type_be(type), "reg", strlen("reg")) == 0 &&
		!OidIsValid(get_element_type(type)))
		return true;
	foreach(cell, shuttle_table_type_parts(type))
	{
		if (shuttle_table_type_is_of_names(lfirst_oid(cell)))
			return true;
	}
	return false;
}

bool
shuttle_table_hashes_by_oids(Oid type)
{
	ListCell   *cell;

	if (type_is_enum(type) || shuttle_table_type_is_of_names(type))
		return true;
	foreach(cell, shuttle_table_type_parts(type))
	{
		if (shuttle_table_hashes_by_oids(lfirst_oid(cell)))
			return true;
	}
	return false;
}
