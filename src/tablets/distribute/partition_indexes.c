/*-------------------------------------------------------------------------
 * partition_indexes.c
 *	  Indexes and keys of a partitioned table whose partitions are distributed tables.
 *
 * Core would make them for tablets, too, and refuses unique ones of foreign tables. So the
 * table gets its index alone, then each partition, and the partition's is attached. A
 * distributed table's index is not valid here, but its nodes have it: if all partitions have
 * the index, that of their parent is marked as valid.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/tablecmds.h"
#include "nodes/makefuncs.h"
#include "parser/parse_utilcmd.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/distribute/distribute.h"
#include "tablets/distribute/partition.h"
#include "tablets/rights/owner_rights.h"
#include "tablets/shuttle_tablets.h"

/* Partitions that do not have the index ($1). */
static const char *const without_query =
"SELECT t.inhrelid::text FROM pg_index AS i JOIN pg_inherits AS t ON t.inhparent = i.indrelid WHERE i.indexrelid = $1"
" AND NOT EXISTS (SELECT FROM pg_inherits AS p JOIN pg_index AS o ON o.indexrelid = p.inhrelid"
" WHERE p.inhparent = i.indexrelid AND o.indrelid = t.inhrelid) ORDER BY t.inhrelid";

/* Partitions that do not have it, or whose index is not valid: that of a distributed table is on its nodes. */
static const char *const not_valid_query =
"SELECT '' FROM pg_index AS i JOIN pg_inherits AS t ON t.inhparent = i.indrelid JOIN pg_class AS c ON c.oid = t.inhrelid"
" WHERE i.indexrelid = $1 AND (c.relkind <> 'f' OR i.indisunique)"
" AND NOT EXISTS (SELECT FROM pg_inherits AS p JOIN pg_index AS o ON o.indexrelid = p.inhrelid"
" WHERE p.inhparent = i.indexrelid AND o.indrelid = t.inhrelid AND (o.indisvalid OR EXISTS"
" (SELECT FROM shuttle.tables WHERE relation = t.inhrelid::regclass AND kind = 'distributed'))) LIMIT 1";

static const char *const invalid_query =
"SELECT indexrelid::text FROM pg_index WHERE indrelid = $1 AND NOT indisvalid ORDER BY indexrelid";

static bool
is_unique(Oid indexid)
{
	Relation	index = index_open(indexid, AccessShareLock);
	bool		unique = index->rd_index->indisunique;

	index_close(index, NoLock);
	return unique;
}

static bool
is_constraint(Relation index)
{
	return OidIsValid(get_relation_idx_constraint_oid(index->rd_index->indrelid, RelationGetRelid(index)));
}

/* The partition's index that core would take for the parent's, and that is no other one's; InvalidOid: none. */
static Oid
find_like(Relation index, Relation partition, AttrMap *columns)
{
	IndexInfo  *info = shuttle_owner_index_info(index);
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(partition))
	{
		Relation	own = index_open(lfirst_oid(cell), AccessShareLock);
		bool		is_like = !own->rd_rel->relispartition && is_constraint(own) == is_constraint(index) &&
			own->rd_index->indisprimary == index->rd_index->indisprimary &&
			CompareIndexInfo(shuttle_owner_index_info(own), info, own->rd_indcollation, index->rd_indcollation,
							 own->rd_opfamily, index->rd_opfamily, columns);

		index_close(own, NoLock);
		if (is_like)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* As core makes it: from the catalog, never from a text, which names chosen by others are part of. */
static Oid
make_for_partition(Oid indexid, Oid relid)
{
	Relation	index = index_open(indexid, AccessShareLock);
	Relation	parent = table_open(index->rd_index->indrelid, AccessShareLock);
	Relation	partition = table_open(relid, ShareLock);
	AttrMap    *columns = shuttle_attrmap_by_name(RelationGetDescr(partition), RelationGetDescr(parent));
	Oid			made;

	CheckTableNotInUse(partition, "CREATE INDEX");
	made = find_like(index, partition, columns);
	if (!OidIsValid(made))
	{
		RangeVar   *name = makeRangeVar(get_namespace_name(RelationGetNamespace(partition)),
										pstrdup(RelationGetRelationName(partition)), -1);

		name->inh = false;		/* not for tablets */
		made = shuttle_define_index(relid, generateClonedIndexStmt(name, index, columns, NULL));
		CommandCounterIncrement();
	}
	table_close(partition, NoLock);
	table_close(parent, NoLock);
	index_close(index, NoLock);
	return made;
}

/* As core, a foreign table gets no index, and cannot be below a unique one. */
static void
skip_foreign_table(Oid indexid, Oid partition)
{
	if (is_unique(indexid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot create unique index on partitioned table \"%s\"", get_rel_name(IndexGetRelation(indexid, false))),
				 errdetail("Table \"%s\" contains partitions that are foreign tables.",
						   get_rel_name(IndexGetRelation(indexid, false)))));
}

/* As core, leaves an index as it is above one that is not valid. */
static void
mark_if_valid(Oid indexid)
{
	if (shuttle_local_text(not_valid_query, indexid) == NULL)
		shuttle_surgery_index_is_valid(indexid);
}

List *
shuttle_partition_index_list(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	List	   *indexes = list_copy(RelationGetIndexList(rel));

	table_close(rel, NoLock);
	return indexes;
}

void
shuttle_partition_spread_index(Oid indexid)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(without_query, indexid))
	{
		Oid			partition = atooid(lfirst(cell));
		Oid			made;

		if (get_rel_relkind(partition) == RELKIND_FOREIGN_TABLE)
		{
			skip_foreign_table(indexid, partition);
			continue;
		}
		made = make_for_partition(indexid, partition);
		if (get_rel_relkind(partition) == RELKIND_PARTITIONED_TABLE &&
			shuttle_table_kind(partition) != SHUTTLE_TABLE_DISTRIBUTED)
			shuttle_partition_spread_index(made);
		(void) shuttle_local_run_as_superuser(psprintf("ALTER INDEX %s ATTACH PARTITION %s",
													   shuttle_local_name(indexid), shuttle_local_name(made)));
		CommandCounterIncrement();
	}
	mark_if_valid(indexid);
}

void
shuttle_partition_validate_indexes(Oid relid)
{
	ListCell   *cell;

	foreach(cell, shuttle_local_texts(invalid_query, relid))
		mark_if_valid(atooid(lfirst(cell)));
}
