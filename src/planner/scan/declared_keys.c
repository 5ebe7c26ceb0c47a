/*-------------------------------------------------------------------------
 * declared_keys.c
 *	  Tells the planner which columns of distributed tables are unique.
 *
 * A distributed table's indexes are not valid here, because its tablets have
 * theirs on nodes, so core's planner leaves them out. They are added as
 * hypothetical indexes, from which core only draws conclusions: that a join
 * adds no rows, that an outer row has one partner, how many groups there are.
 *
 * A statement that fixes all columns of one is about one row at most.
 *
 * A unique index of the table has its key, or is a global one, so it holds over all nodes. Expressions
 * are not translated for tablets, of which core asks less.
 *
 * Memory: the planner's.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/partition.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
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
	info->indexprs = copyObject(RelationGetIndexExpressions(index));
	ChangeVarNodes((Node *) info->indexprs, 1, rel->relid, 0);
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
			(relid == parent || RelationGetIndexExpressions(index) == NIL))
			add_key(rel, relid, parent, index);
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
}

/* ---- statements about one row */

/* True if a value is the same for all rows; a subquery may have columns of the row, too. */
static bool
is_same_for_rows(Node *value)
{
	return !contain_vars_of_level(value, 0) && !contain_volatile_functions(value);
}

/* The column that a clause compares with a value; NULL: none. Only without a cast, which may
 * make different values equal, can it be told by the clause's operator what is equal. */
static const Var *
compared_column(const OpExpr *clause)
{
	const Node *column;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		column = list_nth(clause->args, i);
		if (IsA(column, RelabelType))
			column = (const Node *) ((const RelabelType *) column)->arg;
		if (IsA(column, Var) && ((const Var *) column)->varlevelsup == 0 &&
			is_same_for_rows(list_nth(clause->args, 1 - i)))
			return (const Var *) column;
	}
	return NULL;
}

/* True if values that are equal under a clause's collation are equal under an index's. */
static bool
implies_equality(Oid collation, Oid index_collation)
{
	return !OidIsValid(index_collation) || collation == index_collation ||
		(OidIsValid(collation) && get_collation_isdeterministic(collation));
}

static bool
fixes_column(const List *clauses, Relation index, int i)
{
	const ListCell *cell;

	foreach(cell, clauses)
	{
		const OpExpr *clause = lfirst(cell);
		const Var  *var = compared_column(clause);

		if (var != NULL && var->varattno == index->rd_index->indkey.values[i] &&
			get_op_opfamily_strategy(clause->opno, index->rd_opfamily[i]) == BTEqualStrategyNumber &&
			implies_equality(clause->inputcollid, index->rd_indcollation[i]))
			return true;
	}
	return false;
}

static bool
fixes_key(const List *clauses, Relation index)
{
	if (!index->rd_index->indisunique || !index->rd_index->indimmediate ||
		index->rd_rel->relam != BTREE_AM_OID || RelationGetIndexPredicate(index) != NIL ||
		RelationGetIndexExpressions(index) != NIL)
		return false;
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
	{
		if (!fixes_column(clauses, index, i))
			return false;
	}
	return true;
}

bool
shuttle_declared_keys_fix_row(const Query *query)
{
	List	   *clauses = make_ands_implicit((Expr *) query->jointree->quals);
	const RangeTblEntry *rte;
	Relation	table;
	bool		fixed = false;
	ListCell   *cell;

	if (list_length(query->rtable) != 1 || query->hasTargetSRFs)
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	if (rte->rtekind != RTE_RELATION)
		return false;
	table = table_open(rte->relid, NoLock);
	foreach(cell, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		fixed |= fixes_key(clauses, index);
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
	return fixed;
}
