/*-------------------------------------------------------------------------
 * look_ahead_in_loops.c
 *	  Puts a Look Ahead under nested loops that core planned by itself, and
 *	  a routed append over the Appends on their inner side.
 *
 * Our paths do not cover loops over LATERAL subqueries, remote estimates,
 * Memoize and loops forced by pg_hint_plan. In the finished plan, each nested
 * loop gets a Look Ahead if a foreign scan below its inner side uses one of
 * the loop's parameters. Which scans are looked ahead for is found when the
 * plan starts.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "optimizer/cost.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/planning_settings.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/shuttle_planner.h"

/* True of a Look Ahead that returns the rows below as they are: not of one that
 * computes subqueries for its conditions or columns. */
static bool
passes_rows(const Plan *plan)
{
	ShuttleLookAheadPlan look;

	if (!shuttle_node_is_look_ahead_plan(plan))
		return false;
	shuttle_look_ahead_unpack(((const CustomScan *) plan)->custom_private, &look);
	return plan->qual == NIL && look.certain == NIL && look.conditional == NIL;
}

/* Puts a Look Ahead for a scan between a loop and its outer side. */
static void
place_under(NestLoop *loop, const ForeignScan *scan, ShuttleFinishedPlan *context)
{
	ShuttleLookAheadPlan plan = {
		.batch_size = shuttle_planning_batch_size(scan->fs_server),
	};

	outerPlan(loop) = &shuttle_plan_look_ahead_above(outerPlan(loop), &plan, context)->scan.plan;
}

/*
 * Keeps the rows of an inner side that is the same for each outer row. Core does so
 * if it expects several outer rows. Where it expects one and more come, nodes would
 * compute the inner side for each of them.
 */
static void
keep_inner(NestLoop *loop, ShuttleFinishedPlan *context)
{
	Plan	   *inner = innerPlan(loop);

	if (!enable_material || outerPlan(loop)->plan_rows > 1 || IsA(inner, Material) ||
		!bms_is_empty(inner->extParam) || !shuttle_plan_reads_node(inner) ||
		inner->plan_rows * (inner->plan_width + SHUTTLE_ROW_OVERHEAD_BYTES) > work_mem * 1024.0)
		return;
	innerPlan(loop) = shuttle_plan_materialize(inner, context);
}

static void
consider_loop(NestLoop *loop, ShuttleFinishedPlan *context)
{
	Bitmapset  *params = NULL;
	const ForeignScan *scan;
	ListCell   *lc;

	if (loop->nestParams == NIL)
	{
		keep_inner(loop, context);
		return;
	}
	foreach(lc, loop->nestParams)
		params = bms_add_member(params, lfirst_node(NestLoopParam, lc)->paramno);
	scan = shuttle_plan_find_batch_scan(innerPlan(loop), params, context->statement);
	if (scan == NULL)
		return;

	/* our path has the Look Ahead already, but maybe no routed append */
	if (!passes_rows(outerPlan(loop)))
		place_under(loop, scan, context);
	innerPlan(loop) = shuttle_plan_route_appends(innerPlan(loop), context);
}

Plan *
shuttle_look_ahead_place_in_loops(Plan *plan, ShuttleFinishedPlan *context)
{
	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	shuttle_plan_replace_children(plan, shuttle_look_ahead_place_in_loops, context);
	if (IsA(plan, NestLoop))
		consider_loop((NestLoop *) plan, context);
	if (IsA(plan, ModifyTable))
		shuttle_plan_read_source_first((ModifyTable *) plan, context);
	if (IsA(plan, MergeJoin) && !((MergeJoin *) plan)->skip_mark_restore &&
		shuttle_node_is_look_ahead_plan(innerPlan(plan)))
		innerPlan(plan) = shuttle_plan_materialize(innerPlan(plan), context);
	return shuttle_look_ahead_place_in_subplans(plan, context);
}
