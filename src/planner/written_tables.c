/*-------------------------------------------------------------------------
 * written_tables.c
 *	  Which tables a statement writes before its main query has read them.
 *
 * A data-modifying CTE and the main query see the state before the statement.
 * A scan of its own keeps to that: it is asked for before the CTE writes.  The
 * keys of a batched join may come later, even from the CTE itself, and so may a
 * write that the node does by itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "executor/shuttle_executor.h"
#include "planner/planner_internal.h"

/* The foreign tables that a query writes to: its target, and what belongs to
 * that. */
static List *
find_targets(const Query *query)
{
	List	   *targets = NIL;
	ListCell   *lc;

	if (query->commandType == CMD_SELECT || query->resultRelation == 0)
		return NIL;
	foreach(lc, find_all_inheritors(rt_fetch(query->resultRelation,
											 query->rtable)->relid,
									NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
			targets = lappend_oid(targets, lfirst_oid(lc));
	}
	return targets;
}

/* True where one of the tables is that of a relation, on its node. */
static bool
is_among(Oid relid, const List *targets)
{
	ListCell   *lc;

	if (get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE)
		return false;
	foreach(lc, targets)
	{
		if (shuttle_is_same_remote_table(relid, lfirst_oid(lc)))
			return true;
	}
	return false;
}

Query *
shuttle_find_statement(const PlannerInfo *root)
{
	while (root->parent_root != NULL)
		root = root->parent_root;
	return root->parse;
}

bool
shuttle_cte_writes(PlannerInfo *root, const List *relations)
{
	const Query *statement = shuttle_find_statement(root);
	List	   *targets = NIL;
	ListCell   *lc;

	if (!statement->hasModifyingCTE)
		return false;
	foreach(lc, statement->cteList)
	{
		Node	   *query = lfirst_node(CommonTableExpr, lc)->ctequery;

		targets = list_concat(targets, find_targets(castNode(Query, query)));
	}
	foreach(lc, relations)
	{
		const RelOptInfo *rel = lfirst(lc);

		if (is_among(planner_rt_fetch(rel->relid, root)->relid, targets))
			return true;
	}
	return false;
}

bool
shuttle_is_written_twice(PlannerInfo *root, Oid relid)
{
	Query	   *statement = shuttle_find_statement(root);
	int			nwriters = 0;
	ListCell   *lc;

	if (!statement->hasModifyingCTE)
		return false;
	foreach(lc, shuttle_writing_queries(statement))
	{
		if (is_among(relid, find_targets(lfirst_node(Query, lc))))
			nwriters++;
	}
	return nwriters > 1;
}
