/*-------------------------------------------------------------------------
 * global_index.c
 *	  Which unique indexes of distributed tables no node can check alone, and what
 *	  their entries look like.
 *
 * Such an index lacks the distribution column, so that equal values may be on several
 * nodes. Its entries are rows of a distributed table of ours: the values, and the
 * distribution column of the row that has them. Entries are spread by one of the values, so
 * equal ones meet on one node, where an ordinary unique index decides.
 *
 * Here the index is in the catalogs as it was declared, not valid like all indexes of
 * distributed tables. Nodes have it too, but not unique: it finds rows there.
 *
 * Memory: whether a table has such indexes is cached in CacheMemoryContext until its
 * relcache entry is invalidated; all else is the caller's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "cluster/shuttle_cluster.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/refusal.h"
#include "tablets/common/table_facts.h"
#include "tablets/distribute/distribute.h"
#include "tablets/indexes/global.h"
#include "tablets/shuttle_global.h"
#include "tablets/shuttle_tablets.h"

/* columns of shuttle.global_indexes */
enum
{
	COLUMN_ENTRIES = 1,
	COLUMN_RELATION,
	COLUMN_NAME,
	COLUMN_INDEX
};

typedef struct CachedFact
{
	Oid			relid;			/* hash key */
	bool		has_indexes;
	List	   *entries;		/* OIDs of index and entries, one after the
								 * other */
} CachedFact;

static HTAB *cache = NULL;

static Oid
column_oid(Relation rel, HeapTuple tuple, AttrNumber column)
{
	bool		is_null;

	return DatumGetObjectId(heap_getattr(tuple, column, RelationGetDescr(rel), &is_null));
}

/* ---- which */

AttrNumber
shuttle_global_index_key(Relation rel)
{
	return rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE ||
		shuttle_table_kind(RelationGetRelid(rel)) != SHUTTLE_TABLE_DISTRIBUTED ? InvalidAttrNumber :
		RelationGetPartitionKey(rel)->partattrs[0];
}

bool
shuttle_global_index_is(Relation index, AttrNumber key)
{
	if (!index->rd_index->indisunique)
		return false;
	if (key == InvalidAttrNumber)
	{
		Relation	rel = table_open(index->rd_index->indrelid, AccessShareLock);

		key = shuttle_global_index_key(rel);
		table_close(rel, NoLock);
	}
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (index->rd_index->indkey.values[i] == key)
			return false;
	}
	return key != InvalidAttrNumber;
}

/* ---- columns of entries */

static void
read_column(ShuttleGlobalColumn *column, Oid type, Oid collation, Oid operator, Oid opclass)
{
	column->type = getBaseType(type);
	column->array_type = get_array_type(column->type);
	column->collation = collation;
	column->operator = operator;
	column->opclass = opclass == GetDefaultOpClass(column->type, BTREE_AM_OID) ? InvalidOid : opclass;
	get_typlenbyvalalign(column->type, &column->length, &column->by_value, &column->align);
}

static Oid
opclass_of(Relation index, int column)
{
	bool		is_null;
	Datum		value = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indclass, &is_null);

	Assert(!is_null);
	return ((oidvector *) DatumGetPointer(value))->values[column];
}

/* An index of a table that is or will be distributed by a column, without its entries. */
static ShuttleGlobalIndex *
read_index(Relation index, AttrNumber key)
{
	ShuttleGlobalIndex *result = palloc0_object(ShuttleGlobalIndex);
	Form_pg_index form = index->rd_index;
	const List *expressions = (const List *) shuttle_table_index_tree(index, Anum_pg_index_indexprs);
	int			nexpressions = 0;
	Oid			type;
	int32		typmod;
	Oid			collation;

	result->indexid = RelationGetRelid(index);
	result->ncolumns = form->indnkeyatts + 1;
	result->columns = palloc0_array(ShuttleGlobalColumn, result->ncolumns);
	result->nulls_equal = form->indnullsnotdistinct;
	result->deferrable = !form->indimmediate;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	number = form->indkey.values[i];

		type = number != 0 ? get_atttype(form->indrelid, number) : exprType(list_nth(expressions, nexpressions++));
		read_column(&result->columns[i], type, index->rd_indcollation[i],
					get_opfamily_member(index->rd_opfamily[i], index->rd_opcintype[i], index->rd_opcintype[i],
										BTEqualStrategyNumber),
					opclass_of(index, i));
	}
	get_atttypetypmodcoll(form->indrelid, key, &type, &typmod, &collation);
	read_column(&result->columns[form->indnkeyatts], type, collation,
				lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr, InvalidOid);
	return result;
}

char *
shuttle_global_column_name(const ShuttleGlobalIndex *index, int column)
{
	return column == index->ncolumns - 1 ? "row_key" : psprintf("k%d", column + 1);
}

char *
shuttle_global_collation_text(const ShuttleGlobalColumn *column)
{
	return OidIsValid(column->collation) ? psprintf(" COLLATE %s", shuttle_local_collation(column->collation)) : "";
}

/* True if values that the index takes for equal have one hash on all nodes. */
static bool
can_spread(const ShuttleGlobalColumn *column)
{
	const TypeCacheEntry *entry = lookup_type_cache(column->type, TYPECACHE_HASH_OPFAMILY);

	return OidIsValid(entry->hash_opf) &&
		get_opfamily_member(entry->hash_opf, entry->hash_opintype, entry->hash_opintype,
							HTEqualStrategyNumber) == column->operator &&
		!shuttle_table_hashes_by_oids(column->type) &&
		(!OidIsValid(column->collation) || get_collation_isdeterministic(column->collation));
}

int
shuttle_global_index_spread(const ShuttleGlobalIndex *index)
{
	for (int i = 0; i < index->ncolumns - 1; i++)
	{
		if (can_spread(&index->columns[i]))
			return i;
	}
	return -1;
}

/* ---- what is refused */

static const char *
find_reason(Relation index, const ShuttleGlobalIndex *global)
{
	if (index->rd_index->indisexclusion || index->rd_rel->relam != BTREE_AM_OID)
		return "It is not an index of equal values.";
	for (int i = 0; i < global->ncolumns; i++)
	{
		if (!OidIsValid(global->columns[i].array_type) || !OidIsValid(global->columns[i].operator))
			return psprintf("It has values of type %s.", format_type_be(global->columns[i].type));
	}
	if (shuttle_global_index_spread(global) < 0)
		return "Values that it takes for equal can have different hash values on nodes.";
	return NULL;
}

ShuttleRefusal *
shuttle_global_index_refuse(Relation index, AttrNumber key)
{
	const char *reason = find_reason(index, read_index(index, key));

	if (reason == NULL)
		return NULL;
	return shuttle_refusal(ERRCODE_FEATURE_NOT_SUPPORTED,
						   psprintf("unique index \"%s\" of table \"%s\" lacks the distribution column \"%s\", and cannot be global",
									RelationGetRelationName(index), get_rel_name(index->rd_index->indrelid),
									get_attname(index->rd_index->indrelid, key, false)),
						   reason, "Add the column to the key, or distribute by a column of the key.");
}

/* ---- a table's */

static void
forget_one(CachedFact *fact)
{
	list_free(fact->entries);
	(void) hash_search(cache, &fact->relid, HASH_REMOVE, NULL);
}

static void
forget_fact(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	CachedFact *fact;

	if (OidIsValid(relid))
	{
		fact = hash_search(cache, &relid, HASH_FIND, NULL);
		if (fact != NULL)
			forget_one(fact);
		return;
	}
	hash_seq_init(&scan, cache);
	while ((fact = hash_seq_search(&scan)) != NULL)
		forget_one(fact);
}

static void
make_cache(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(CachedFact),
		.hcxt = CacheMemoryContext,
	};

	cache = hash_create("pg_shuttle global indexes", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(forget_fact, (Datum) 0);
}

/* Entries of the table's indexes: OIDs of index and entries, one after the other. Like the relcache, which
 * tells when they change, not as of the transaction's snapshot. */
static List *
find_entries(Oid relid)
{
	Oid			table = shuttle_extension_table(SHUTTLE_TABLE_GLOBAL_INDEXES);
	List	   *found = NIL;
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!OidIsValid(table))
		return NIL;
	rel = table_open(table, AccessShareLock);
	ScanKeyInit(&key, COLUMN_RELATION, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		found = lappend_oid(found, column_oid(rel, tuple, COLUMN_INDEX));
		found = lappend_oid(found, column_oid(rel, tuple, COLUMN_ENTRIES));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* Without their entries. */
static List *
read_indexes(Relation rel, AttrNumber key)
{
	List	   *indexes = NIL;
	ListCell   *cell;

	foreach(cell, key == InvalidAttrNumber ? NIL : RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (shuttle_global_index_is(index, key))
			indexes = lappend(indexes, read_index(index, key));
		index_close(index, NoLock);
	}
	return indexes;
}

bool
shuttle_global_indexes_needed(Relation rel, AttrNumber key)
{
	return read_indexes(rel, key) != NIL;
}

static List *
read_table(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	List	   *indexes = read_indexes(rel, shuttle_global_index_key(rel));

	table_close(rel, NoLock);
	return indexes;
}

static const CachedFact *
find_fact(Oid relid)
{
	CachedFact *fact;
	CachedFact	found = {.relid = relid};
	MemoryContext old_cxt;

	if (cache == NULL)
		make_cache();
	fact = hash_search(cache, &relid, HASH_FIND, NULL);
	if (fact != NULL)
		return fact;

	/* reading may invalidate the entry, so it is made afterwards */
	found.has_indexes = read_table(relid) != NIL;
	if (found.has_indexes)
		found.entries = find_entries(relid);
	old_cxt = MemoryContextSwitchTo(CacheMemoryContext);
	found.entries = list_copy(found.entries);
	MemoryContextSwitchTo(old_cxt);
	fact = hash_search(cache, &relid, HASH_ENTER, NULL);
	*fact = found;
	return fact;
}

bool
shuttle_global_indexes_exist(Oid relid)
{
	return find_fact(relid)->has_indexes;
}

List *
shuttle_global_index_entries(Oid relid)
{
	return list_copy(find_fact(relid)->entries);
}

List *
shuttle_global_indexes(Oid relid)
{
	List	   *indexes = read_table(relid);
	List	   *entries = indexes == NIL ? NIL : find_fact(relid)->entries;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		ShuttleGlobalIndex *index = lfirst(cell);

		for (int i = 0; i < list_length(entries); i += 2)
		{
			if (list_nth_oid(entries, i) == index->indexid)
				index->entries = list_nth_oid(entries, i + 1);
		}
	}
	return indexes;
}

/* ---- updates */

/* True if an index has one of these columns, or computes values or its condition from one.
 * A generated column may depend on any. */
static bool
has_column(Relation index, Relation rel, const Bitmapset *columns)
{
	Bitmapset  *own = NULL;
	int			member = -1;

	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (index->rd_index->indkey.values[i] != 0)
			own = bms_add_member(own, index->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos(shuttle_table_index_tree(index, Anum_pg_index_indexprs), 1, &own);
	pull_varattnos(shuttle_table_index_tree(index, Anum_pg_index_indpred), 1, &own);
	while ((member = bms_next_member(own, member)) >= 0)
	{
		AttrNumber	number = member + FirstLowInvalidHeapAttributeNumber;

		/* 0: the whole row */
		if (number == 0 || (number > 0 && TupleDescAttr(RelationGetDescr(rel), number - 1)->attgenerated != '\0'))
			return true;
	}
	return bms_overlap(own, columns);
}

bool
shuttle_global_index_is_untouched(Oid relid, const List *targets)
{
	Relation	rel = table_open(relid, AccessShareLock);
	AttrNumber	key = shuttle_global_index_key(rel);
	Bitmapset  *columns = NULL;
	bool		is_touched = key == InvalidAttrNumber;
	const ListCell *cell;

	foreach(cell, targets)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (target->resjunk)
			continue;
		is_touched |= target->resno == key;
		columns = bms_add_member(columns, target->resno - FirstLowInvalidHeapAttributeNumber);
	}
	foreach(cell, is_touched ? NIL : RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		is_touched |= shuttle_global_index_is(index, key) && has_column(index, rel, columns);
		index_close(index, NoLock);
	}
	table_close(rel, NoLock);
	return !is_touched;
}

/* ---- entries */

bool
shuttle_global_index_has_entries(Oid relid)
{
	Oid			table;
	Oid			index;

	return shuttle_global_index_find(relid, &table, &index);
}

bool
shuttle_global_index_find(Oid entries, Oid *relid, Oid *indexid)
{
	Oid			table = shuttle_extension_table(SHUTTLE_TABLE_GLOBAL_INDEXES);
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!OidIsValid(table))
		return false;
	rel = table_open(table, AccessShareLock);
	ScanKeyInit(&key, COLUMN_ENTRIES, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(entries));
	scan = systable_beginscan(rel, shuttle_primary_key(rel), true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		*relid = column_oid(rel, tuple, COLUMN_RELATION);
		*indexid = column_oid(rel, tuple, COLUMN_INDEX);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}
