/*-------------------------------------------------------------------------
 * declared_keys.c
 *	  Tells the planner which columns of distributed tables are unique.
 *
 * A distributed table's indexes are not valid here, because its tablets have
 * theirs on nodes, so core's planner leaves them out. They are added as
 * hypothetical indexes, from which core only draws conclusions: that a join
 * adds no rows, that an outer row has one partner, how many groups there are.
 *
 * A unique index of the table has its key, so it holds over all nodes.
 *
 * Memory: the planner's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/partition.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_compat.h"
#include "planner/scan/scan.h"
#include "tablets/shuttle_tablets.h"

/* The number that a column of the table has in a tablet. */
static AttrNumber
column_of(Oid relid, Oid parent, AttrNumber column)
{
	return relid == parent ? column : get_attnum(relid, get_attname(parent, column, false));
}

/* The table of a tablet. A tablet that was named by itself has to be looked up. */
static Oid
table_of(PlannerInfo *root, const RelOptInfo *rel, Oid relid)
{
	const AppendRelInfo *translation =
		root->append_rel_array == NULL ? NULL : root->append_rel_array[rel->relid];

	return translation != NULL && OidIsValid(translation->parent_reloid) ?
		translation->parent_reloid : get_partition_parent(relid, true);
}

static void
add_key(RelOptInfo *rel, Oid relid, Oid parent, Relation index)
{
	Form_pg_index form = index->rd_index;
	IndexOptInfo *info = makeNode(IndexOptInfo);
	int			ncolumns = form->indnkeyatts;

	info->indexoid = RelationGetRelid(index);
	info->reltablespace = InvalidOid;
	info->rel = rel;
	info->ncolumns = info->nkeycolumns = ncolumns;
	info->indexkeys = palloc_array(int, ncolumns);
	info->indexcollations = palloc_array(Oid, ncolumns);
	info->opfamily = palloc_array(Oid, ncolumns);
	info->opcintype = palloc_array(Oid, ncolumns);
	info->canreturn = palloc0_array(bool, ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		info->indexkeys[i] = column_of(relid, parent, form->indkey.values[i]);
		info->indexcollations[i] = index->rd_indcollation[i];
		info->opfamily[i] = index->rd_opfamily[i];
		info->opcintype[i] = index->rd_opcintype[i];
	}
	info->relam = index->rd_rel->relam;
	info->unique = true;
	info->immediate = form->indimmediate;
	info->hypothetical = true;
	info->predOK = false;
	rel->indexlist = lappend(rel->indexlist, info);
}

void
shuttle_declared_keys_add(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	Oid			relid = rte->relid;
	Oid			parent = relid;
	Relation	table;
	ListCell   *cell;

	if (rte->rtekind != RTE_RELATION || rte->relkind == RELKIND_RELATION)
		return;
	switch (shuttle_table_kind(relid))
	{
		case SHUTTLE_TABLE_DISTRIBUTED:
			break;
		case SHUTTLE_TABLE_TABLET:
			parent = table_of(root, rel, relid);
			break;
		default:
			return;
	}

	/* a statement on a tablet alone has not locked its table */
	table = table_open(parent, AccessShareLock);
	foreach(cell, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisunique && !index->rd_index->indisvalid &&
			RelationGetIndexPredicate(index) == NIL &&
			RelationGetIndexExpressions(index) == NIL)
			add_key(rel, relid, parent, index);
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
}
