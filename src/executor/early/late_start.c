/*-------------------------------------------------------------------------
 * late_start.c
 *	  What early start leaves for later: the first scan that is executed starts
 *	  the others.
 *
 * - Scans whose SELECT takes values of initplans, and children of an Append that
 *	 run-time pruning by initplans leaves. They are started once, when these initplans
 *	 have run.
 * - An input of a join that waits for a row of the other one (costly_input.c), once.
 * - A part of the plan that is executed again with other values, or that may not be
 *	 executed: the inner side of a nested loop, a subquery. Whenever it asks a node, all
 *	 of its scans that will surely be read are sent. For that, nodes below whose values
 *	 have changed are rescanned now. Core rescans them when it executes them, and nobody
 *	 can see that it was done before. The plan of a CTE is left alone, since a scan of
 *	 the CTE looks whether it has been rescanned.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "base/shuttle_compat.h"
#include "executor/early/early.h"
#include "executor/early/early_start.h"
#include "executor/facts/plan_facts.h"
#include "executor/scan/scan.h"

/* Nodes that a walk could not start because an initplan has not run. */
struct ShuttleLaterStart
{
	MemoryContext cxt;
	List	   *waiting;		/* of Waiting */
	bool		is_part;		/* the only node is a part; it waits again and
								 * again */
	int			nscans;			/* scans that were told about it */
};

/* A scan, or an Append or MergeAppend that prunes. */
typedef struct Waiting
{
	PlanState  *node;
	ShuttleDemand demand;
} Waiting;

ShuttleLaterStart *
shuttle_late_start_create(void)
{
	ShuttleLaterStart *later = palloc0_object(ShuttleLaterStart);

	later->cxt = CurrentMemoryContext;
	return later;
}

void
shuttle_late_start_count_scan(ShuttleLaterStart *later)
{
	later->nscans++;
}

static void
add_waiting(PlanState *node, ShuttleDemand demand, ShuttleLaterStart *later)
{
	Waiting    *waiting = palloc_object(Waiting);

	waiting->node = node;
	waiting->demand = demand;
	waiting->demand.later = later;
	later->waiting = lappend(later->waiting, waiting);
}

void
shuttle_late_start_wait(PlanState *node, ShuttleDemand demand)
{
	if (demand.later == NULL)
		return;
	Assert(!demand.later->is_part); /* its list has only the part */
	add_waiting(node, demand, demand.later);
	if (IsA(node, ForeignScanState))
		(void) shuttle_remote_scan_set_later((ForeignScanState *) node, demand.later);
}

void
shuttle_late_start_wait_anew(PlanState *node, ShuttleDemand *demand)
{
	ShuttleLaterStart *later = shuttle_late_start_create();

	add_waiting(node, *demand, later);
	demand->later = later;
	demand->noting = true;
}

/* ---- parts that are executed on their own */

void
shuttle_late_start_note_part(PlanState *root, bool all, ShuttleDemand above)
{
	ShuttleDemand demand = shuttle_early_demand_of_input(above, all, true, all);

	/* several nodes may have one subquery */
	if ((*shuttle_plan_visit_note(demand.visits, root))++ > 0)
		return;
	demand.in_part = true;
	demand.noting = false;
	shuttle_late_start_wait_anew(root, &demand);
	demand.later->is_part = true;
	shuttle_early_start_visit(root, demand);
}

/* True if a subquery is read to its end, unless it has a row too many. */
static bool
reads_all(const SubPlan *plan)
{
	return plan->useHashTable || plan->subLinkType == ARRAY_SUBLINK ||
		plan->subLinkType == EXPR_SUBLINK || plan->subLinkType == MULTIEXPR_SUBLINK;
}

void
shuttle_late_start_note_subplan(SubPlanState *subplan, ShuttleDemand above)
{
	shuttle_late_start_note_part(subplan->planstate, reads_all(subplan->subplan), above);
}

/* ---- starting */

/* True if the initplans that a waiting node depends on have run. Inputs of joins wait
 * for none. */
static bool
can_start_later(PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_AppendState:
			return !bms_is_empty(((AppendState *) node)->as_valid_subplans) ||
				!bms_is_empty(((AppendState *) node)->as_valid_asyncplans);
		case T_MergeAppendState:
			return !bms_is_empty(((MergeAppendState *) node)->ms_valid_subplans);
		case T_ForeignScanState:
			return shuttle_remote_scan_has_params((ForeignScanState *) node);
		default:
			return true;
	}
}

void
shuttle_late_start_run(ShuttleLaterStart *later)
{
	MemoryContext old_cxt;
	List	   *waiting = later->waiting;
	ShuttleVisits visits = {0};
	ListCell   *cell;

	if (later->is_part && later->nscans < 2)
		return;
	old_cxt = MemoryContextSwitchTo(later->cxt);
	if (!later->is_part)
		later->waiting = NIL;
	foreach(cell, waiting)
	{
		Waiting    *one = lfirst(cell);

		if (later->is_part)
			shuttle_early_start_visit(one->node, one->demand);
		else if (!can_start_later(one->node))
			later->waiting = lappend(later->waiting, one);
		else if (one->node->chgParam == NULL)
		{
			one->demand.visits = &visits;
			shuttle_early_start_visit(one->node, one->demand);
		}
	}
	MemoryContextSwitchTo(old_cxt);
}
