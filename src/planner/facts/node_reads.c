/*-------------------------------------------------------------------------
 * node_reads.c
 *	  Whether a query or a table of it is on nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "planner/facts/node_reads.h"
#include "tablets/shuttle_tablets.h"

static bool
reads_node_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		return rte->rtekind == RTE_RELATION &&
			(rte->relkind == RELKIND_FOREIGN_TABLE ||
			 (rte->relkind == RELKIND_PARTITIONED_TABLE &&
			  (shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED ||
			   shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_PARTITIONED)));
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, reads_node_walker, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reads_node_walker, context);
}

bool
shuttle_node_is_read_by(Node *query)
{
	return reads_node_walker(query, NULL);
}

bool
shuttle_node_has_table(const RangeTblEntry *rte)
{
	ListCell   *cell;

	if (rte->rtekind != RTE_RELATION)
		return false;
	if (rte->relkind != RELKIND_PARTITIONED_TABLE)
		return rte->relkind == RELKIND_FOREIGN_TABLE;
	if (shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_DISTRIBUTED)
		return true;			/* its tablets are foreign tables */
	foreach(cell, find_all_inheritors(rte->relid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}
