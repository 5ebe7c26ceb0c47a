/*-------------------------------------------------------------------------
 * look_ahead_plan.c
 *	  Look Ahead as a plan node: what the planner tells the executor.
 *
 * custom_private is a list of lists of integers, indexed by enum PlanField;
 * only this file knows its layout.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/facts/node_names.h"
#include "executor/join/join.h"
#include "executor/shuttle_executor.h"

enum PlanField
{
	FIELD_BATCH_SIZE,			/* one integer */
	FIELD_CERTAIN,				/* plan_ids of SubPlans */
	FIELD_CONDITIONAL,
	FIELD_LOCAL,				/* one ShuttleLocalUse */
	NFIELDS
};

static const CustomScanMethods look_ahead_methods = {
	.CustomName = shuttle_node_look_ahead_name,
	.CreateCustomScanState = shuttle_look_ahead_create_state,
};

void
shuttle_look_ahead_register(void)
{
	RegisterCustomScanMethods(&look_ahead_methods);
}

List *
shuttle_look_ahead_pack(const ShuttleLookAheadPlan *plan)
{
	return list_make4(list_make1_int(plan->batch_size), plan->certain,
					  plan->conditional, list_make1_int(plan->local));
}

void
shuttle_look_ahead_unpack(const List *packed, ShuttleLookAheadPlan *plan)
{
	Assert(list_length(packed) == NFIELDS);
	plan->batch_size = linitial_int((List *) list_nth(packed, FIELD_BATCH_SIZE));
	plan->certain = (List *) list_nth(packed, FIELD_CERTAIN);
	plan->conditional = (List *) list_nth(packed, FIELD_CONDITIONAL);
	plan->local = linitial_int((List *) list_nth(packed, FIELD_LOCAL));
}

void
shuttle_look_ahead_add_local(CustomScan *scan)
{
	ShuttleLookAheadPlan plan;

	shuttle_look_ahead_unpack(scan->custom_private, &plan);
	plan.local = SHUTTLE_LOCAL_TOO;
	scan->custom_private = shuttle_look_ahead_pack(&plan);
}

CustomScan *
shuttle_look_ahead_make(Plan *outer, List *targetlist, List *scan_targetlist,
						const ShuttleLookAheadPlan *plan)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->methods = &look_ahead_methods;
	scan->custom_private = shuttle_look_ahead_pack(plan);
	scan->custom_scan_tlist = scan_targetlist;
	scan->scan.plan.targetlist = targetlist;

	/* as lefttree: core passes changed parameters on, and EXPLAIN prints it */
	scan->scan.plan.lefttree = outer;
	return scan;
}
