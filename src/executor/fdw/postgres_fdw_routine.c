/*-------------------------------------------------------------------------
 * postgres_fdw_routine.c
 *	  postgres_fdw's FdwRoutine.
 *
 * Its handler is its only function that is exported on every version. The
 * routine lives as long as the session. Its plans' SQL is corrected here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "utils/memutils.h"

#include "executor/fdw/fdw.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/shuttle_executor.h"

const FdwRoutine *shuttle_postgres_fdw_routine = NULL;

static FdwRoutine original;

static ForeignScan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path,
		  List *targetlist, List *clauses, Plan *outer_plan)
{
	ForeignScan *scan = original.GetForeignPlan(root, rel, relid, path, targetlist,
												clauses, outer_plan);

	shuttle_postgres_fdw_quote_zeros(scan);
	return scan;
}

static void
quote_zeros(Plan *plan)
{
	ListCell   *cell;

	if (plan == NULL)
		return;
	if (IsA(plan, ForeignScan) && ((ForeignScan *) plan)->operation != CMD_SELECT)
		shuttle_postgres_fdw_quote_zeros((ForeignScan *) plan);
	if (IsA(plan, Append))
	{
		foreach(cell, ((Append *) plan)->appendplans)
			quote_zeros(lfirst(cell));
	}
	quote_zeros(plan->lefttree);
}

/* False if all that a statement sets are virtual columns. */
static bool
sets_columns(const PlannerInfo *root)
{
	ListCell   *cell;

	foreach(cell, root->processed_tlist)
	{
		if (!lfirst_node(TargetEntry, cell)->resjunk)
			return true;
	}
	return false;
}

static bool
plan_direct_modify(PlannerInfo *root, ModifyTable *plan, Index rtindex,
				   int subplan_index)
{
	if (plan->operation == CMD_UPDATE && !sets_columns(root))
		return false;
	if (!original.PlanDirectModify(root, plan, rtindex, subplan_index))
		return false;
	quote_zeros(plan->plan.lefttree);
	return true;
}

const FdwRoutine *
shuttle_postgres_fdw_get_routine(void)
{
	static FdwRoutine *routine = NULL;

	LOCAL_FCINFO(fcinfo, 0);
	PGFunction	handler;
	MemoryContext old;

	if (routine != NULL)
		return routine;
	handler = load_external_function("$libdir/postgres_fdw", SHUTTLE_POSTGRES_FDW_HANDLER,
									 true, NULL);
	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, NULL, NULL);
	old = MemoryContextSwitchTo(TopMemoryContext);
	routine = (FdwRoutine *) DatumGetPointer(handler(fcinfo));
	MemoryContextSwitchTo(old);
	original = *routine;
	routine->GetForeignPlan = plan_scan;
	routine->PlanDirectModify = plan_direct_modify;
	return routine;
}
