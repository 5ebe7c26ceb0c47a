/*-------------------------------------------------------------------------
 * ignored_only.c
 *	  ONLY in front of a distributed table, which has no rows of its own.
 *
 * Core would read and change nothing there, without a word, as with a partitioned
 * table. But a distributed table is one table to its users, so the word is ignored:
 * when a statement is analyzed, also that of a function, and when a query is planned,
 * which may read views that were made when the table was another one. Such a view in a
 * function that core inlines while it plans is seen by neither, and refused.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat_planner.h"
#include "planner/rewrite/rewrite.h"
#include "tablets/shuttle_tablets.h"

static bool ignore_below(Node *node, void *context);

/* The target of an INSERT is always one table. */
static void
ignore_in_tables(Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY)
			shuttle_ignored_only_remove(rte->subquery);
		else if (rte->rtekind == RTE_RELATION && !rte->inh &&
				 rte->relkind == RELKIND_PARTITIONED_TABLE && !shuttle_entry_is_excluded(rte) &&
				 (query->commandType != CMD_INSERT || foreach_current_index(lc) + 1 != query->resultRelation) &&
				 shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED)
		{
			rte->inh = true;
			shuttle_table_ignored_only++;
		}
	}
}

static bool
ignore_below(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		shuttle_ignored_only_remove((Query *) node);
		return false;
	}
	return expression_tree_walker(node, ignore_below, context);
}

void
shuttle_ignored_only_remove(Query *query)
{
	ListCell   *lc;

	if (query == NULL || (query->rtable == NIL && !query->hasSubLinks && query->cteList == NIL))
		return;
	ignore_in_tables(query);
	foreach(lc, query->cteList)
		(void) ignore_below(lfirst_node(CommonTableExpr, lc)->ctequery, NULL);

	/* subqueries of FROM have been seen */
	if (query->hasSubLinks)
		(void) query_tree_walker(query, ignore_below, NULL, QTW_IGNORE_RANGE_TABLE | QTW_IGNORE_CTE_SUBQUERIES);
}

void
shuttle_ignored_only_check(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	if (rte->inh || rte->relkind != RELKIND_PARTITIONED_TABLE || rel->reloptkind != RELOPT_BASEREL ||
		shuttle_table_kind(rte->relid) != SHUTTLE_TABLE_DISTRIBUTED)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("ONLY is not possible on distributed table \"%s\" in a view that a function reads",
					get_rel_name(rte->relid)),
			 errhint("Make the view anew without the word: all rows of the table are in its tablets.")));
}
