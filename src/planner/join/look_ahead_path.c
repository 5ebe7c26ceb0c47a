/*-------------------------------------------------------------------------
 * look_ahead_path.c
 *	  Look Ahead and Routed Append as paths.
 *
 * Look Ahead keeps the order of its outer path. Both do not project, are not
 * parallel safe and do not scan backward.
 *
 * UPDATE and DELETE of a table with children identify rows by ROWID_VAR
 * columns, which core resolves in its own nodes only. Over paths with such
 * columns we make no custom path; look_ahead_in_loops.c adds the nodes to the
 * finished plan.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "optimizer/pathnode.h"

#include "base/shuttle_compat_paths.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/join/inner_side.h"
#include "planner/join/join.h"
#include "planner/shuttle_planner.h"

static Plan *plan_look_ahead(PlannerInfo *root, RelOptInfo *rel,
							 CustomPath *path, List *targetlist,
							 List *clauses, List *plans);

static const CustomPathMethods look_ahead_path_methods = {
	.CustomName = "Look Ahead",
	.PlanCustomPath = plan_look_ahead,
};

static Plan *plan_routed_append(PlannerInfo *root, RelOptInfo *rel,
								CustomPath *path, List *targetlist,
								List *clauses, List *plans);

static const CustomPathMethods routed_append_path_methods = {
	.CustomName = "Routed Append",
	.PlanCustomPath = plan_routed_append,
};

bool
shuttle_look_ahead_names_child_rows(const Path *path)
{
	ListCell   *lc;

	foreach(lc, path->pathtarget->exprs)
	{
		Var		   *var = (Var *) lfirst(lc);

		if (IsA(var, Var) && var->varno == ROWID_VAR)
			return true;
	}
	return false;
}

/* custom_private: the packed ShuttleLookAheadPlan, then the groups if the join
 * is over groups. */
Path *
shuttle_look_ahead_path(PlannerInfo *root, Path *outer, const ShuttleKeyEstimate *estimate,
						ShuttleGroups *groups)
{
	CustomPath *path = makeNode(CustomPath);
	ShuttleLookAheadPlan plan = {.batch_size = estimate->server.batch_size};
	Cost		startup;
	Cost		total;

	path->path.pathtype = T_CustomScan;
	path->path.parent = outer->parent;
	path->path.pathtarget = outer->pathtarget;
	path->path.param_info = outer->param_info;
	path->path.rows = outer->rows;
	shuttle_batches_cost(estimate, outer, &startup, &total);
	path->path.startup_cost = outer->startup_cost + startup;
	path->path.total_cost = outer->total_cost + total;
	path->path.pathkeys = outer->pathkeys;
	shuttle_path_copy_disabled(&path->path, outer);
	path->custom_paths = list_make1(outer);
	path->custom_private = list_make1(shuttle_look_ahead_pack(&plan));
	if (groups != NULL)
		path->custom_private = lappend(path->custom_private, groups);
	path->methods = &look_ahead_path_methods;
	return &path->path;
}

Path *
shuttle_look_ahead_routed_append_path(Path *append)
{
	CustomPath *path;

	if (shuttle_look_ahead_names_child_rows(append))
		return append;
	path = makeNode(CustomPath);
	path->path = *append;
	NodeSetTag(path, T_CustomPath);
	path->path.pathtype = T_CustomScan;
	path->custom_paths = list_make1(append);
	path->methods = &routed_append_path_methods;
	return &path->path;
}

static Plan *
plan_routed_append(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				   List *targetlist, List *clauses, List *plans)
{
	CustomScan *scan;

	scan = shuttle_routed_append_make((Plan *) linitial(plans), targetlist,
									  copyObject(targetlist));
	return &scan->scan.plan;
}

/* The child checks the clauses. Both target lists are made from one path
 * target. */
static Plan *
plan_look_ahead(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				List *targetlist, List *clauses, List *plans)
{
	ShuttleLookAheadPlan plan;
	CustomScan *scan;

	shuttle_look_ahead_unpack(linitial(path->custom_private), &plan);

	/* core makes the inner plan next, from the relation's subroot */
	if (list_length(path->custom_private) > 1)
		shuttle_inner_groups_adopt(lsecond(path->custom_private));
	scan = shuttle_look_ahead_make((Plan *) linitial(plans), targetlist,
								   copyObject(targetlist), &plan);
	return &scan->scan.plan;
}
