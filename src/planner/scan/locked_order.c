/*-------------------------------------------------------------------------
 * locked_order.c
 *	  Sorts input of merge joins that a node has locked.
 *
 * A node sorts first and then locks: if it waited for another session it
 * returns the new version of the row, at the old version's position. Core
 * knows that of its own LockRows, but not of a scan that locks. For output
 * such an order is allowed; a merge join could skip rows, so its input is
 * sorted here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "executor/shuttle_executor.h"
#include "planner/facts/relation_facts.h"
#include "planner/join/node_joins.h"
#include "planner/scan/scan.h"

/* True if the scan of a base relation locks rows on its node. */
static bool
is_locked(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->rtekind != RTE_RELATION || rel->fdwroutine == NULL ||
		!shuttle_server_routine_is_ours(rel->fdwroutine))
		return false;
	return bms_is_member(rel->relid, root->all_result_relids) ||
		shuttle_is_locked(root, rel);
}

/* Relids of such relations and of their partitioned parents. */
static Relids
find_locked(PlannerInfo *root)
{
	Relids		locked = NULL;

	if (root->rowMarks == NIL && bms_is_empty(root->all_result_relids))
		return NULL;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL || !is_locked(root, rel))
			continue;
		locked = bms_add_member(locked, rel->relid);
		locked = bms_add_members(locked, rel->top_parent_relids);
	}
	return locked;
}

/* True if a path's order may come from the scan of such a relation. */
static bool
is_ordered_by_node(Path *path, Relids locked)
{
	if (!bms_overlap(path->parent->relids, locked) || IsA(path, SortPath))
		return false;
	if (IsA(path, MergePath) && ((MergePath *) path)->outersortkeys != NIL)
		return false;
	if (IsA(path, NestPath) || IsA(path, HashPath) || IsA(path, MergePath))
		return is_ordered_by_node(((JoinPath *) path)->outerjoinpath, locked);
	return true;
}

/* Sorts one side of a merge join if needed; the cost of the sort is added. */
static void
sort_side(PlannerInfo *root, MergePath *merge, Path **side, const List *sortkeys,
		  Relids locked)
{
	Path	   *path = *side;
	SortPath   *sort;

	if (sortkeys != NIL || !is_ordered_by_node(path, locked))
		return;
	sort = create_sort_path(root, path->parent, path, path->pathkeys, -1.0);
	sort->path.param_info = path->param_info;
	merge->jpath.path.startup_cost += sort->path.startup_cost - path->startup_cost;
	merge->jpath.path.total_cost += sort->path.total_cost - path->total_cost;
	*side = (Path *) sort;
}

void
shuttle_locked_order_consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
							  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	Relids		locked;
	ListCell   *lc;

	locked = find_locked(root);
	if (!bms_overlap(joinrel->relids, locked))
		return;
	foreach(lc, joinrel->pathlist)
	{
		MergePath  *merge = lfirst(lc);

		if (!IsA(merge, MergePath))
			continue;
		sort_side(root, merge, &merge->jpath.outerjoinpath, merge->outersortkeys, locked);
		sort_side(root, merge, &merge->jpath.innerjoinpath, merge->innersortkeys, locked);
	}
}
