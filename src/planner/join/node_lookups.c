/*-------------------------------------------------------------------------
 * node_lookups.c
 *	  What it costs a node to look up rows of one table by a unique index.
 *
 * A tablet has the hypothetical indexes of declared_keys.c. A copy of a reference
 * table has on its node the indexes that the table has here.
 *
 * The pages that many lookups read are those of core's index scans, by Mackert and
 * Lohman's formula.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "planner/join/node_joins.h"

/* What core charges for the two pages of a small btree, in operators; the binary
 * search is charged beside it. */
#define OPERATORS_OF_DESCENT 100

/* The other side of an equality with a column of the relation; else NULL. */
static const Node *
compared_with(const RestrictInfo *clause, const RelOptInfo *rel, AttrNumber column)
{
	const OpExpr *compared = (const OpExpr *) clause->clause;

	if (clause->mergeopfamilies == NIL || !is_opclause(compared) || list_length(compared->args) != 2)
		return NULL;
	for (int side = 0; side < 2; side++)
	{
		const Node *value = strip_implicit_coercions(list_nth(compared->args, side));

		if (IsA(value, RelabelType))
			value = (const Node *) ((const RelabelType *) value)->arg;
		if (IsA(value, Var) && ((const Var *) value)->varno == rel->relid &&
			((const Var *) value)->varattno == column)
			return list_nth(compared->args, 1 - side);
	}
	return NULL;
}

static bool
has_value(PlannerInfo *root, const RelOptInfo *rel, AttrNumber column, const List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		const Node *value = compared_with(lfirst_node(RestrictInfo, cell), rel, column);

		if (value != NULL && !bms_is_member(rel->relid, pull_varnos(root, (Node *) value)))
			return true;
	}
	return false;
}

/* The column of a copy that is that column of the table here; 0: there is none. */
static AttrNumber
column_of_copy(const AppendRelInfo *translation, AttrNumber column)
{
	for (int i = 0; i < translation->num_child_cols; i++)
	{
		if (translation->parent_colnos[i] == column)
			return i + 1;
	}
	return 0;
}

/* True if the clauses give a value for each column of the index. translation: of a
 * copy; NULL: the index is the relation's own. */
static bool
finds_one_row(PlannerInfo *root, const IndexOptInfo *index, const RelOptInfo *rel,
			  const AppendRelInfo *translation, const List *clauses)
{
	if (!index->unique || index->indpred != NIL)
		return false;
	for (int i = 0; i < index->nkeycolumns; i++)
	{
		AttrNumber	column = index->indexkeys[i];

		if (column > 0 && translation != NULL)
			column = column_of_copy(translation, column);
		if (column <= 0 || !has_value(root, rel, column, clauses))
			return false;
	}
	return true;
}

bool
shuttle_node_lookup_cost(PlannerInfo *root, const RelOptInfo *rel, const List *clauses,
						 double nlookups, Cost *cost)
{
	const AppendRelInfo *translation = NULL;
	const RelOptInfo *indexed = rel;
	double		npages = Max(rel->pages, 1);
	ListCell   *cell;

	if (!IS_SIMPLE_REL(rel))
		return false;
	if (rel->indexlist == NIL && rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		translation = root->append_rel_array[rel->relid];
		indexed = root->simple_rel_array[translation->parent_relid];
	}
	foreach(cell, indexed->indexlist)
	{
		if (!finds_one_row(root, lfirst_node(IndexOptInfo, cell), rel, translation, clauses))
			continue;
		*cost = index_pages_fetched(nlookups, npages, npages, root) * random_page_cost +
			nlookups * (cpu_tuple_cost + rel->baserestrictcost.per_tuple +
						cpu_operator_cost * (OPERATORS_OF_DESCENT + log2(Max(rel->tuples, 2))));
		return true;
	}
	return false;
}
