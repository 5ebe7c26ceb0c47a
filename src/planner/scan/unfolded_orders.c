/*-------------------------------------------------------------------------
 * unfolded_orders.c
 *	  Orders by set-returning functions are no orders of a node's rows.
 *
 * Core puts SELECT unnest(a) ... ORDER BY 1 into the pathkeys of the query.
 * postgres_fdw takes them for orders of a scan, or a join, whose rows are not
 * unfolded yet, and sends ORDER BY unnest(a): the node unfolds the rows to sort
 * them, and they are unfolded here once more. So such paths lose their order, of
 * stock postgres_fdw's servers, too.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "planner/scan/scan.h"

bool
shuttle_unfolded_orders_have_class(const EquivalenceClass *class)
{
	ListCell   *lc;

	foreach(lc, class->ec_members)
	{
		if (expression_returns_set((Node *) lfirst_node(EquivalenceMember, lc)->em_expr))
			return true;
	}
	return false;
}

static bool
is_by_unfolded(const List *pathkeys)
{
	ListCell   *lc;

	foreach(lc, pathkeys)
	{
		if (shuttle_unfolded_orders_have_class(lfirst_node(PathKey, lc)->pk_eclass))
			return true;
	}
	return false;
}

void
shuttle_unfolded_orders_forget(const PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, root->parse->hasTargetSRFs ? rel->pathlist : NIL)
	{
		Path	   *path = lfirst(lc);

		/* the text is made of the pathkeys */
		if (IsA(path, ForeignPath) && is_by_unfolded(path->pathkeys))
			path->pathkeys = NIL;
	}
}
