/*-------------------------------------------------------------------------
 * target_rows.c
 *	  Which row of the storage node a row of an UPDATE or DELETE is.
 *
 * postgres_fdw identifies a row by its ctid alone. If the remote table has
 * partitions or children, each may have a row with that ctid. So the scan of
 * the target also reads tableoid, and the statement that changes the row uses
 * both (trap 22).
 *
 * The plan only has a column for the ctid. Rows of the table seen first keep
 * theirs. A row of another table gets one that no real row has:
 *
 *	offset	the real one, with the highest bit set
 *	block	the real one, with the upper 12 bits replaced by an index into a
 *			list of pairs (tableoid, upper bits)
 *
 * The highest bit is free, since a page of 32 kB has room for 8192 line
 * pointers. So nothing is stored for each row.
 * Memory: the list lives in the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "storage/itemptr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/fdw/scan_text.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"
#include "executor/write/write_buffer.h"

/* The target rows of a foreign table, shared by a MERGE's actions and scans. */
typedef struct MergeTarget
{
	dlist_node	link;			/* in targets */
	const EState *estate;
	Oid			relid;
	ShuttleTargetRows *rows;
} MergeTarget;

static dlist_head targets = DLIST_STATIC_INIT(targets);

#define OTHER_TABLE		((OffsetNumber) 0x8000)
#define LOW_BITS		20
#define LOW_MASK		((BlockNumber) ((1 << LOW_BITS) - 1))
#define MOST_PARTS		(1 << (32 - LOW_BITS))

/* A part of a table: the blocks with the same upper bits. */
typedef struct TablePart
{
	Oid			tableoid;
	BlockNumber high;			/* upper bits of the block number */
} TablePart;

typedef struct PartEntry
{
	TablePart	part;			/* must be first: the key */
	int			index;
} PartEntry;

struct ShuttleTargetRows
{
	MemoryContext cxt;
	const char *table_name;
	Oid			first;			/* tableoid that was seen first */
	TablePart  *parts;			/* parts of other tables */
	int			nparts;
	int			parts_size;
	int			last;			/* part that was found last */
	HTAB	   *index;			/* by part; NULL: no other table was seen */
};

static int	find_part(ShuttleTargetRows *rows, TablePart part);
static int	add_part(ShuttleTargetRows *rows, TablePart part);
static AttrNumber find_ctid_column(const ForeignScan *plan, Index target);

ShuttleTargetRows *
shuttle_target_rows_create(const char *table_name, MemoryContext cxt)
{
	ShuttleTargetRows *rows = MemoryContextAllocZero(cxt, sizeof(ShuttleTargetRows));

	rows->cxt = cxt;
	rows->table_name = MemoryContextStrdup(cxt, table_name);
	return rows;
}

/* Changes a row's ctid so that it also identifies the table. */
static void
encode(ShuttleTargetRows *rows, ItemPointer ctid, Oid tableoid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	TablePart	part = {tableoid, block >> LOW_BITS};
	int			index;

	if (!OidIsValid(rows->first))
		rows->first = tableoid;
	if (tableoid == rows->first)
		return;
	index = find_part(rows, part);
	ItemPointerSet(ctid, (BlockNumber) index << LOW_BITS | (block & LOW_MASK),
				   ItemPointerGetOffsetNumberNoCheck(ctid) | OTHER_TABLE);
}

Oid
shuttle_target_rows_decode(const ShuttleTargetRows *rows, ItemPointer ctid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(ctid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(ctid);
	const TablePart *part;

	if ((offset & OTHER_TABLE) == 0)
		return rows->first;
	if (block >> LOW_BITS >= rows->nparts)
		elog(ERROR, "unexpected ctid of a row to be changed");
	part = &rows->parts[block >> LOW_BITS];
	ItemPointerSet(ctid, part->high << LOW_BITS | (block & LOW_MASK),
				   offset & ~OTHER_TABLE);
	return part->tableoid;
}

/* Rows mostly come table by table. */
static int
find_part(ShuttleTargetRows *rows, TablePart part)
{
	PartEntry  *entry;
	bool		found;

	if (rows->last < rows->nparts &&
		memcmp(&rows->parts[rows->last], &part, sizeof(part)) == 0)
		return rows->last;
	if (rows->index == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(TablePart),
			.entrysize = sizeof(PartEntry),
			.hcxt = rows->cxt,
		};

		rows->index = hash_create("shuttle tables of a target", 64, &control,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(rows->index, &part, HASH_FIND, NULL);
	if (entry == NULL)
	{
		int			index = add_part(rows, part);

		entry = hash_search(rows->index, &part, HASH_ENTER, &found);
		entry->index = index;
	}
	rows->last = entry->index;
	return entry->index;
}

static int
add_part(ShuttleTargetRows *rows, TablePart part)
{
	if (rows->nparts == MOST_PARTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many tables behind foreign table \"%s\" for one statement",
						rows->table_name),
				 errdetail("Rows of %d partitions or children, or of parts of 8 GB of them, can be told apart.",
						   MOST_PARTS),
				 errhint("Change fewer partitions by a statement, or write it so that it can run wholly on the storage node.")));
	if (rows->nparts == rows->parts_size)
	{
		rows->parts_size = Max(16, rows->parts_size * 2);
		if (rows->parts == NULL)
			rows->parts = MemoryContextAlloc(rows->cxt, sizeof(TablePart) *
											 rows->parts_size);
		else
			rows->parts = repalloc(rows->parts, sizeof(TablePart) *
								   rows->parts_size);
	}
	rows->parts[rows->nparts] = part;
	return rows->nparts++;
}

/* ---- targets of a MERGE */

static void
remove_at_reset(void *arg)
{
	dlist_delete(&((MergeTarget *) arg)->link);
}

bool
shuttle_runs_merge(const EState *estate)
{
	return estate->es_plannedstmt != NULL &&
		shuttle_node_is_merge_plan(estate->es_plannedstmt->planTree);
}

static MergeTarget *
find_target(const EState *estate, Oid relid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &targets)
	{
		MergeTarget *target = dlist_container(MergeTarget, link, iter.cur);

		if (target->estate == estate && target->relid == relid)
			return target;
	}
	return NULL;
}

static MergeTarget *
add_target(EState *estate, Oid relid, const char *table_name)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(estate->es_query_cxt);
	MergeTarget *target = palloc_object(MergeTarget);
	MemoryContextCallback *callback = palloc_object(MemoryContextCallback);

	target->estate = estate;
	target->relid = relid;
	target->rows = shuttle_target_rows_create(table_name, estate->es_query_cxt);
	dlist_push_head(&targets, &target->link);
	callback->func = remove_at_reset;
	callback->arg = target;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
	MemoryContextSwitchTo(old_cxt);
	return target;
}

ShuttleTargetRows *
shuttle_target_rows_of_merge(EState *estate, Oid relid, const char *table_name)
{
	MergeTarget *target;

	if (!shuttle_runs_merge(estate))
		return NULL;
	target = find_target(estate, relid);
	if (target == NULL)
		target = add_target(estate, relid, table_name);
	return target->rows;
}

/* ---- the scan of the target */

/*
 * Target rows of a scan in a MERGE, shared with its actions, whose targets are
 * other range table entries. In a join, the table is the one whose ctid is
 * read. *rtindex: set to its range table index, if there is one.
 */
static ShuttleTargetRows *
rows_of_merge(ForeignScanState *scan, List *attributes, int *rtindex)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	int			index = -1;

	while ((index = bms_next_member(plan->fs_base_relids, index)) >= 0)
	{
		const RangeTblEntry *rte = exec_rt_fetch(index, estate);

		if (rte->rtekind != RTE_RELATION ||
			(plan->scan.scanrelid == 0 ? find_ctid_column(plan, index) == 0 :
			 !list_member_int(attributes, SelfItemPointerAttributeNumber)))
			continue;
		*rtindex = index;
		return shuttle_target_rows_of_merge(estate, rte->relid, rte->eref->aliasname);
	}
	return NULL;
}

/*
 * Target rows of a table that is updated or deleted from row by row; else NULL.
 */
static ShuttleTargetRows *
rows_of_write(ResultRelInfo *target)
{
	if (target->ri_FdwRoutine == NULL || target->ri_FdwState == NULL ||
		target->ri_usesFdwDirectModify ||
		!shuttle_server_routine_is_ours(target->ri_FdwRoutine))
		return NULL;
	return ((ShuttleWrite *) target->ri_FdwState)->rows;
}

ShuttleTargetScan *
shuttle_target_scan_create(ForeignScanState *scan, const char *sql,
						   List *attributes)
{
	ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
	EState	   *estate = scan->ss.ps.state;
	ShuttleTargetScan *target;
	ShuttleTargetRows *rows = NULL;
	AttrNumber	ctid_column = 0;
	int			rtindex = -1;

	if (plan->operation == CMD_SELECT && shuttle_runs_merge(estate))
		rows = rows_of_merge(scan, attributes, &rtindex);
	while (rows == NULL && estate->es_result_relations != NULL &&
		   (rtindex = bms_next_member(plan->fs_base_relids, rtindex)) >= 0)
	{
		if (estate->es_result_relations[rtindex - 1] != NULL)
			rows = rows_of_write(estate->es_result_relations[rtindex - 1]);
	}
	if (rows == NULL)
		return NULL;
	if (plan->scan.scanrelid == 0)
	{
		ctid_column = find_ctid_column(plan, rtindex);
		if (ctid_column == 0)
			return NULL;
	}
	else if (!list_member_int(attributes, SelfItemPointerAttributeNumber))
		return NULL;
	sql = shuttle_remote_sql_add_tableoid(sql, ctid_column);
	if (sql == NULL)
		return NULL;

	target = palloc(sizeof(ShuttleTargetScan));
	target->rows = rows;
	target->ctid_column = ctid_column;
	target->sql = sql;
	target->attributes = lappend_int(list_copy(attributes), TableOidAttributeNumber);
	return target;
}

/* The column of a join's rows that has the target's ctid; 0: none. */
static AttrNumber
find_ctid_column(const ForeignScan *plan, Index target)
{
	ListCell   *cell;

	foreach(cell, plan->fdw_scan_tlist)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, cell)->expr;

		if (IsA(var, Var) && var->varno == target &&
			var->varattno == SelfItemPointerAttributeNumber)
			return foreach_current_index(cell) + 1;
	}
	return 0;
}

void
shuttle_target_scan_name_row(ShuttleTargetScan *target, HeapTuple tuple,
							 TupleDesc desc)
{
	Oid			tableoid = tuple->t_tableOid;
	bool		is_null = false;

	tuple->t_tableOid = InvalidOid;
	if (!OidIsValid(tableoid))
		return;
	if (target->ctid_column == 0)
	{
		encode(target->rows, &tuple->t_self, tableoid);
		tuple->t_data->t_ctid = tuple->t_self;
	}
	else
	{
		/* tid is by reference: the Datum points into the tuple */
		Datum		ctid = heap_getattr(tuple, target->ctid_column, desc, &is_null);

		if (!is_null)
			encode(target->rows, (ItemPointer) DatumGetPointer(ctid), tableoid);
	}
}

void
shuttle_target_rows_refuse_several(ShuttleWrite *write, uint64 nrows)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a single row of foreign table \"%s\" could not be told from others",
					RelationGetRelationName(write->rel)),
			 errdetail(UINT64_FORMAT " rows have the same ctid on storage node \"%s\"; its table is partitioned or has children.",
					   nrows, shuttle_node_name(write->storage_node)),
			 errhint("Create a foreign table for each partition, or write the statement so that it can run wholly on the storage node.")));
}
