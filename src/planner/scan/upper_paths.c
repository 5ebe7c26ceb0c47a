/*-------------------------------------------------------------------------
 * upper_paths.c
 *	  Paths by which a node aggregates, sorts or limits, at our prices.
 *
 * postgres_fdw makes them; what a node would do in another way than this server
 * is kept from it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_system_columns.h"
#include "planner/facts/relation_facts.h"
#include "planner/facts/written_tables.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/join/node_joins.h"
#include "planner/scan/remote_paths.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"
#include "planner/shuttle_planner.h"

/* Share of the run cost that postgres_fdw takes off for a LIMIT on the node. */
#define LIMIT_BONUS 0.05

/*
 * What is grouped by is sometimes no column of the target, or one that is not marked as such: constants
 * beside set-returning functions, and what core leaves out of GROUP BY below window functions, as a
 * primary key is there, too. postgres_fdw looks for all of it there, and fails.
 */
static bool
has_groups(const PlannerInfo *root, const PathTarget *target)
{
	ListCell   *lc;

	foreach(lc, root->parse->groupClause)
	{
		Index		wanted = lfirst_node(SortGroupClause, lc)->tleSortGroupRef;
		bool		found = false;

		for (int i = 0; i < list_length(target->exprs) && !found; i++)
			found = get_pathtarget_sortgroupref(target, i) == wanted;
		if (!found)
			return false;
	}
	return true;
}

/* True if an upper step does not depend on how the node sorts, or the node
 * sorts as we do. */
static bool
can_leave_to_node(PlannerInfo *root, UpperRelationKind stage,
				  const RelOptInfo *input, const RelOptInfo *rel, const void *extra)
{
	Node	   *having;

	switch (stage)
	{
		case UPPERREL_GROUP_AGG:
		case UPPERREL_PARTIAL_GROUP_AGG:
			/* the plan keeps only the text of HAVING */
			having = ((const GroupPathExtraData *) extra)->havingQual;
			return has_groups(root, rel->reltarget) &&
				shuttle_text_order_aggregates_are_alike(root, input, rel, extra) &&
				!shuttle_one_group_is_lost(root, rel, having) &&
				!shuttle_parameters_are_aggregated(having);
		case UPPERREL_ORDERED:
		case UPPERREL_FINAL:
			return shuttle_text_order_pathkeys_are_alike(root, input, root->sort_pathkeys);
		default:
			return true;
	}
}

/* Prices a LIMIT without ORDER BY from the node's estimate for all rows.
 * Returns false if there is none. */
static bool
price_limit(PlannerInfo *root, ForeignPath *path, const FinalPathExtraData *extra)
{
	ForeignPath *plain = shuttle_foreign_path_copy(path);
	const ShuttleEstimate *all;
	ShuttleEstimate some;

	plain->fdw_private = NIL;
	all = shuttle_remote_estimate_of_rel(root, plain);
	if (all == NULL)
		return false;
	some = *all;
	adjust_limit_rows_costs(&some.rows, &some.startup_cost, &some.total_cost,
							extra->offset_est, extra->count_est);
	some.retrieved_rows = some.rows;
	shuttle_remote_estimate_apply(root, path, &some);
	if (extra->limit_tuples > 0 && extra->limit_tuples < all->rows)
		path->path.total_cost -= (path->path.total_cost - path->path.startup_cost) *
			LIMIT_BONUS * (all->rows - extra->limit_tuples) / all->rows;
	return true;
}

/* Adds the path of an upper step: aggregates, order, LIMIT. */
static void
add_upper_path(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *rel,
			   ForeignPath *path, void *extra)
{
	if (stage == UPPERREL_FINAL && path->path.pathkeys == NIL &&
		((FinalPathExtraData *) extra)->limit_needed)
	{
		(void) price_limit(root, path, extra);
		add_path(rel, &path->path);
	}
	else if (stage == UPPERREL_FINAL &&
			 !((FinalPathExtraData *) extra)->limit_needed)
		add_path(rel, &path->path); /* costs what its input costs */
	else
		shuttle_remote_path_add_priced(root, rel, path);
}

/* Grouping expressions as postgres_fdw is shown them, with stand-ins for stable values. */
static Node *
shown_groups(PlannerInfo *root, Node *node, bool as_cases)
{
	return shuttle_stable_stand_in(root, shuttle_shown_expression(node, as_cases));
}

/*
 * postgres_fdw does not print implicit casts. At the top of a target that of an SQL function's result is
 * one (avg() for an int, bool_and() for a text), and the node would return another value than it.
 */
static List *
write_casts(List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Node	   *expr = lfirst(lc);

		if (!IsA(expr, RelabelType) && shuttle_written_cast_implicit(expr) != NULL)
		{
			lfirst(lc) = expr = copyObject(expr);
			shuttle_written_cast_write(expr);
		}
	}
	return exprs;
}

static void
ask_for_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
					RelOptInfo *rel, void *extra)
{
	const FdwRoutine *postgres_fdw = shuttle_postgres_fdw_get_routine();
	GroupPathExtraData shown;
	PathTarget *target = rel->reltarget;
	bool		as_cases;
	ListCell   *lc;

	if (stage != UPPERREL_GROUP_AGG)
	{
		postgres_fdw->GetForeignUpperPaths(root, stage, input, rel, extra);
		return;
	}
	shown = *(GroupPathExtraData *) extra;

	/* postgres_fdw fetches equal expressions once: only one could be put back */
	as_cases = !shuttle_expression_has(target->exprs, SHUTTLE_HAS_CASE) &&
		!shuttle_expression_has(shown.havingQual, SHUTTLE_HAS_CASE);
	shown.havingQual = shown_groups(root, shown.havingQual, as_cases);
	rel->reltarget = copy_pathtarget(target);
	rel->reltarget->exprs = write_casts((List *) shown_groups(root, (Node *) list_copy(target->exprs), as_cases));
	shuttle_scan_proof_note_groups(root, rel, input, shown.havingQual);
	postgres_fdw->GetForeignUpperPaths(root, stage, input, rel, &shown);
	rel->reltarget = target;
	foreach(lc, rel->pathlist)
		((Path *) lfirst(lc))->pathtarget = target;
}

void
shuttle_upper_paths_add(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
						RelOptInfo *rel, void *extra)
{
	List	   *others = rel->pathlist;
	bool		estimated = shuttle_remote_paths_have_estimate(root, input);
	Cost		saved = shuttle_node_join_saved_cost(root, input);
	List	   *paths;
	ListCell   *lc;

	if (!can_leave_to_node(root, stage, input, rel, extra) ||
		shuttle_expression_has(input->reltarget->exprs, SHUTTLE_HAS_XMIN_TO_CMAX) ||
		shuttle_written_waits_beside(root, input->relids, NIL))
		return;
	rel->pathlist = NIL;
	ask_for_upper_paths(root, stage, input, rel, extra);
	paths = rel->pathlist;
	rel->pathlist = others;
	foreach(lc, paths)
	{
		ForeignPath *path = lfirst_node(ForeignPath, lc);

		if (estimated)
			add_upper_path(root, stage, rel, path, extra);
		else
		{
			/* a sort reads all its input before the first row */
			if (stage == UPPERREL_ORDERED)
				path->path.startup_cost = Max(0, path->path.startup_cost - saved);
			path->path.total_cost = Max(path->path.startup_cost,
										path->path.total_cost - saved);
			add_path(rel, &path->path);
		}
	}
}
