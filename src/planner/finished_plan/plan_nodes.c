/*-------------------------------------------------------------------------
 * plan_nodes.c
 *	  What is needed to put a new node into a finished plan: target lists, costs
 *	  and numbers, and the nodes that other nodes want above or below them.
 *
 * setrefs.c of core's planner has run by then, so we do for a new node what it
 * would do.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_paths.h"
#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/shuttle_planner.h"

int
shuttle_plan_largest_id(Plan *plan)
{
	int			largest = 0;
	Plan	  **child;

	if (plan == NULL)
		return 0;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		int			below = shuttle_plan_largest_id(*child);

		largest = Max(largest, below);
	}
	return Max(plan->plan_node_id, largest);
}

int
shuttle_plan_next_id(const PlannedStmt *statement)
{
	int			largest = shuttle_plan_largest_id(statement->planTree);
	ListCell   *lc;

	foreach(lc, statement->subplans)
	{
		int			below = shuttle_plan_largest_id((Plan *) lfirst(lc));

		largest = Max(largest, below);
	}
	return largest + 1;
}

bool
shuttle_plan_uses_params(Node *expression, const Bitmapset *params)
{
	return bms_overlap(shuttle_expression_params(expression), params);
}

const ForeignScan *
shuttle_plan_find_batch_scan(Plan *plan, const Bitmapset *params,
							 const PlannedStmt *statement)
{
	const ForeignScan *scan;
	Plan	  **child;
	ListCell   *lc;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return NULL;
	if (IsA(plan, ForeignScan))
	{
		scan = (const ForeignScan *) plan;
		if (shuttle_plan_uses_params((Node *) scan->fdw_exprs, params) &&
			shuttle_look_ahead_scan_can_batch(scan) &&
			shuttle_server_can_look_ahead(NULL, scan->fs_server))
			return scan;
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if ((scan = shuttle_plan_find_batch_scan(*child, params, statement)) != NULL)
			return scan;
	}
	foreach(lc, plan->initPlan)
	{
		Plan	   *initplan = (Plan *) list_nth(statement->subplans,
												 lfirst_node(SubPlan, lc)->plan_id - 1);

		if ((scan = shuttle_plan_find_batch_scan(initplan, params, statement)) != NULL)
			return scan;
	}
	return NULL;
}

bool
shuttle_plan_reads_node(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL)
		return false;
	check_stack_depth();
	if (IsA(plan, ForeignScan))
		return true;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (shuttle_plan_reads_node(*child))
			return true;
	}
	return false;
}

void
shuttle_plan_make_targetlists(Plan *child, List **targetlist, List **scan_targetlist)
{
	ListCell   *lc;

	*targetlist = *scan_targetlist = NIL;
	foreach(lc, child->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		TargetEntry *copy;
		Var		   *var;

		var = makeVarFromTargetEntry(OUTER_VAR, entry);
		*scan_targetlist = lappend(*scan_targetlist,
								   makeTargetEntry((Expr *) var, entry->resno,
												   entry->resname, false));
		copy = flatCopyTargetEntry(entry);
		copy->expr = (Expr *) palloc_object(Var);
		memcpy(copy->expr, var, sizeof(Var));
		((Var *) copy->expr)->varno = INDEX_VAR;
		*targetlist = lappend(*targetlist, copy);
	}
}

/* Fills in what core's planner would, for a node over child. */
static Plan *
finish_plan(Plan *plan, const Plan *child, ShuttleFinishedPlan *context)
{
	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	plan->plan_node_id = context->next_id++;
	shuttle_plan_copy_disabled(plan, child);
	return plan;
}

Plan *
shuttle_plan_finish_node(CustomScan *node, Plan *child, ShuttleFinishedPlan *context)
{
	/* only a direct child of an Append may wait for its rows */
	child->async_capable = false;
	return finish_plan(&node->scan.plan, child, context);
}

CustomScan *
shuttle_plan_look_ahead_above(Plan *child, const ShuttleLookAheadPlan *plan,
							  ShuttleFinishedPlan *context)
{
	List	   *targetlist;
	List	   *scan_targetlist;
	CustomScan *look;

	shuttle_plan_make_targetlists(child, &targetlist, &scan_targetlist);
	look = shuttle_look_ahead_make(child, targetlist, scan_targetlist, plan);
	(void) shuttle_plan_finish_node(look, child, context);
	return look;
}

void
shuttle_plan_move_initplans(Plan *from, Plan *to)
{
	ListCell   *plan;
	ListCell   *param;

	foreach(plan, from->initPlan)
	{
		foreach(param, lfirst_node(SubPlan, plan)->setParam)
			from->extParam = bms_add_member(from->extParam, lfirst_int(param));
	}
	to->initPlan = from->initPlan;
	from->initPlan = NIL;
}

Plan *
shuttle_plan_materialize(Plan *child, ShuttleFinishedPlan *context)
{
	Material   *material = makeNode(Material);
	Plan	   *plan = &material->plan;
	ListCell   *lc;

	foreach(lc, child->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		/* ModifyTable looks for the NULLs of dropped and generated columns. */
		if (!IsA(entry->expr, Const))
			entry->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, entry);
		plan->targetlist = lappend(plan->targetlist, entry);
	}
	plan->lefttree = child;
	return finish_plan(plan, child, context);
}

Plan *
shuttle_plan_project(Plan *child, List *targetlist, ShuttleFinishedPlan *context)
{
	Plan	   *plan = &makeNode(Result)->plan;

	plan->targetlist = targetlist;
	plan->lefttree = child;
	return finish_plan(plan, child, context);
}

void
shuttle_plan_replace_children(Plan *plan, Plan *(*replace) (Plan *child, ShuttleFinishedPlan *context),
							  ShuttleFinishedPlan *context)
{
	Plan	  **child;

	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		*child = replace(*child, context);
}

/* True if one of an Append's children is a foreign scan that can be asked for batches
 * of keys. */
static bool
has_batch_scan(const List *children)
{
	ListCell   *lc;

	foreach(lc, children)
	{
		if (IsA(lfirst(lc), ForeignScan) &&
			shuttle_look_ahead_scan_can_batch((ForeignScan *) lfirst(lc)) &&
			shuttle_server_can_look_ahead(NULL,
										  ((ForeignScan *) lfirst(lc))->fs_server))
			return true;
	}
	return false;
}

Plan *
shuttle_plan_place_routed_append(Plan *append, ShuttleFinishedPlan *context)
{
	List	   *targetlist;
	List	   *scan_targetlist;
	Plan	   *routed;

	shuttle_plan_make_targetlists(append, &targetlist, &scan_targetlist);
	routed = shuttle_plan_finish_node(shuttle_routed_append_make(append, targetlist, scan_targetlist),
									  append, context);

	/* the Append itself is not started again */
	shuttle_plan_move_initplans(append, routed);
	return routed;
}

void
shuttle_plan_route_subplan(int plan_id, ShuttleFinishedPlan *context)
{
	ListCell   *cell = list_nth_cell(context->statement->subplans, plan_id - 1);

	lfirst(cell) = shuttle_plan_route_appends(lfirst(cell), context);
}

Plan *
shuttle_plan_route_appends(Plan *plan, ShuttleFinishedPlan *context)
{
	ListCell   *lc;

	if (plan == NULL || shuttle_node_is_routed_append_plan(plan) ||
		IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	foreach(lc, plan->initPlan)
		shuttle_plan_route_subplan(lfirst_node(SubPlan, lc)->plan_id, context);
	if (IsA(plan, MergeAppend) && has_batch_scan(((MergeAppend *) plan)->mergeplans))
		plan = shuttle_one_partition_append(plan, context->statement);
	if (IsA(plan, Append) && shuttle_append_prunes((Append *) plan) &&
		has_batch_scan(((Append *) plan)->appendplans))
		return shuttle_plan_place_routed_append(plan, context);
	shuttle_plan_replace_children(plan, shuttle_plan_route_appends, context);
	return plan;
}
