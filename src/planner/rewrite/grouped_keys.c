/*-------------------------------------------------------------------------
 * grouped_keys.c
 *	  Groups by a primary key that nodes do not have.
 *
 * Who groups by a primary key may select other columns of its table. If the key is global, nodes
 * have no such key, and would refuse the columns. They depend on the key, so it changes nothing
 * to group by them as well.
 */
#include "postgres.h"

#include "access/genam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "planner/rewrite/rewrite.h"
#include "tablets/shuttle_global.h"

static bool
depends_on_global_key(const Query *query)
{
	bool		depends = false;
	ListCell   *cell;

	foreach(cell, query->constraintDeps)
	{
		Oid			indexid = get_constraint_index(lfirst_oid(cell));
		Relation	index;

		if (!OidIsValid(indexid))
			continue;
		index = index_open(indexid, AccessShareLock);
		depends |= shuttle_global_index_is(index, InvalidAttrNumber);
		index_close(index, NoLock);
	}
	return depends;
}

typedef struct FoundColumns
{
	const Query *query;
	Index		level;			/* of the query, seen from where the walk is */
	List	   *columns;		/* Vars of the query, each once */
} FoundColumns;

/* Finds columns that are neither grouped by nor in aggregates. */
static bool
find_columns(Node *node, void *arg)
{
	FoundColumns *found = arg;

	if (node == NULL || (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == found->level))
		return false;
	if (IsA(node, Query))
	{
		found->level++;
		(void) query_tree_walker((Query *) node, find_columns, arg, 0);
		found->level--;
		return false;
	}
	if (IsA(node, Var))
	{
		Var		   *column = copyObject((Var *) node);

		column->varlevelsup = 0;
		if (((const Var *) node)->varlevelsup == found->level &&
			!shuttle_is_grouping(rt_fetch(column->varno, found->query->rtable)))
			found->columns = list_append_unique(found->columns, column);
		return false;
	}
	return expression_tree_walker(node, find_columns, arg);
}

static void
group_by(Query *query, Var *column)
{
	TargetEntry *entry = tlist_member((Expr *) column, query->targetList);
	SortGroupClause *clause = makeNode(SortGroupClause);

	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) copyObject(column), list_length(query->targetList) + 1, NULL, true);
		query->targetList = lappend(query->targetList, entry);
	}
	if (get_sortgroupref_clause_noerr(entry->ressortgroupref, query->groupClause) != NULL)
		return;
	if (!OidIsValid(lookup_type_cache(column->vartype, TYPECACHE_EQ_OPR)->eq_opr))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("groups by a primary key without the distribution column are not supported beside columns of type %s",
						format_type_be(column->vartype)),
				 errhint("Cast the column, or use an aggregate.")));
	get_sort_group_operators(column->vartype, false, true, false, &clause->sortop, &clause->eqop, NULL, &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(entry, query->targetList);
	query->groupClause = lappend(query->groupClause, clause);
}

static void
complete(Query *query)
{
	FoundColumns found = {.query = query};
	ListCell   *cell;

	(void) find_columns((Node *) query->targetList, &found);
	(void) find_columns(query->havingQual, &found);
	if (found.columns != NIL && query->groupingSets != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("grouping sets of a primary key without the distribution column are not supported beside other columns"),
				 errhint("Name the columns in the grouping sets.")));
	foreach(cell, found.columns)
		group_by(query, lfirst(cell));
	query->constraintDeps = NIL;
}

static bool
complete_within(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		shuttle_grouped_keys_complete((Query *) node);
		return false;
	}
	return expression_tree_walker(node, complete_within, arg);
}

void
shuttle_grouped_keys_complete(Query *query)
{
	if (query->constraintDeps != NIL && depends_on_global_key(query))
		complete(query);
	(void) query_tree_walker(query, complete_within, NULL, 0);
}
