/*-------------------------------------------------------------------------
 * late_locks.c
 *	  Row locks of tablets under a LIMIT.
 *
 * A scan that locks what it reads would lock the first rows of each tablet, though a
 * LIMIT takes those of some. So these scans read without locks. Core's LockRows above
 * them has a row locked when it returns the row, in the plan's order
 * (executor/scan/late_locks.c); a Lock Ahead below it has as many locked at once as are
 * surely needed.
 *
 * A scan locks what it reads if LockRows returns each of its rows and no others, or if it
 * takes the LIMIT to its node; so does one of a foreign table that is no tablet.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat_executor.h"
#include "executor/shuttle_executor.h"
#include "executor/shuttle_late_locks.h"
#include "planner/finished_plan/finished_plan.h"
#include "tablets/shuttle_tablets.h"

/* The locks of a LockRows. */
typedef struct LateLocks
{
	Bitmapset  *late;			/* range table indexes of tablets */
	Bitmapset  *others;			/* of other foreign tables */
	int			nmarks;			/* of tables that rows are locked of */
	Index		parent;			/* range table index of the last one */
	List	   *scans;			/* ForeignScan */
} LateLocks;

static void
take_mark(LateLocks *locks, const PlanRowMark *mark, const PlannedStmt *statement)
{
	const RangeTblEntry *rte = rt_fetch(mark->rti, statement->rtable);

	if (mark->strength == LCS_NONE)
		return;
	if (mark->rti == mark->prti)
	{
		locks->nmarks++;
		locks->parent = mark->rti;
	}
	if (mark->isParent || mark->markType != ROW_MARK_COPY)
		return;
	if (rte->rtekind == RTE_RELATION && shuttle_table_kind(rte->relid) == SHUTTLE_TABLE_TABLET)
		locks->late = bms_add_member(locks->late, mark->rti);
	else
		locks->others = bms_add_member(locks->others, mark->rti);
}

static void
find_scans(Plan *plan, LateLocks *locks)
{
	Plan	  **child;

	if (plan == NULL)
		return;
	if (IsA(plan, ForeignScan))
		locks->scans = lappend(locks->scans, plan);
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		find_scans(*child, locks);
}

/* Keeps locks in scans that need them there. */
static void
leave_early(LateLocks *locks)
{
	ListCell   *cell;

	foreach(cell, locks->scans)
	{
		const ForeignScan *scan = lfirst_node(ForeignScan, cell);

		if (!shuttle_late_locks_are_possible(scan) || bms_overlap(scan->fs_base_relids, locks->others))
			locks->late = bms_del_members(locks->late, scan->fs_base_relids);
	}
}

static RowMarkType
type_of(LockClauseStrength strength)
{
	switch (strength)
	{
		case LCS_FORKEYSHARE:
			return ROW_MARK_KEYSHARE;
		case LCS_FORSHARE:
			return ROW_MARK_SHARE;
		case LCS_FORNOKEYUPDATE:
			return ROW_MARK_NOKEYEXCLUSIVE;
		default:
			return ROW_MARK_EXCLUSIVE;
	}
}

static void
change_marks(const List *marks, const Bitmapset *late)
{
	const ListCell *cell;

	foreach(cell, marks)
	{
		PlanRowMark *mark = lfirst_node(PlanRowMark, cell);

		if (bms_is_member(mark->rti, late))
			mark->markType = type_of(mark->strength);
	}
}

static void
unlock_scans(const LateLocks *locks)
{
	ListCell   *cell;

	foreach(cell, locks->scans)
	{
		ForeignScan *scan = lfirst_node(ForeignScan, cell);

		if (bms_overlap(scan->fs_base_relids, locks->late))
			shuttle_late_locks_unlock(scan);
	}
}

/* The number of a column that core adds for locks; 0: there is none. */
static int
junk_column(const Plan *plan, const char *format, const PlanRowMark *mark)
{
	return ExecFindJunkAttributeInTlist(plan->targetlist, psprintf(format, mark->rowmarkId));
}

/* Which columns say the row to be locked, if rows are locked of one table. */
static List *
columns_of(const LateLocks *locks, const LockRows *plan)
{
	ListCell   *cell;

	foreach(cell, locks->nmarks == 1 ? plan->rowMarks : NIL)
	{
		const PlanRowMark *mark = lfirst_node(PlanRowMark, cell);
		int			row = junk_column(outerPlan(plan), "ctid%u", mark);
		int			table = junk_column(outerPlan(plan), "tableoid%u", mark);

		if (mark->rti == locks->parent && mark->isParent && row > 0 && table > 0)
			return list_make2_int(row, table);
	}
	return NIL;
}

static void
place_lock_ahead(const LateLocks *locks, LockRows *plan, ShuttleFinishedPlan *context)
{
	Plan	   *child = outerPlan(plan);
	List	   *targetlist;
	List	   *scan_targetlist;

	shuttle_plan_make_targetlists(child, &targetlist, &scan_targetlist);
	outerPlan(plan) = shuttle_plan_finish_node(shuttle_lock_ahead_make(child, targetlist, scan_targetlist,
																	   columns_of(locks, plan), locks->late),
											   child, context);
}

/* True if all rows that are read are returned. The scan asks for as many as are needed. */
static bool
returns_all(const Plan *child)
{
	return IsA(child, ForeignScan) && child->qual == NIL;
}

static void
lock_late(LockRows *plan, ShuttleFinishedPlan *context)
{
	LateLocks	locks = {0};
	ListCell   *cell;

	if (returns_all(outerPlan(plan)))
		return;

	foreach(cell, plan->rowMarks)
		take_mark(&locks, lfirst_node(PlanRowMark, cell), context->statement);
	find_scans(outerPlan(plan), &locks);
	leave_early(&locks);
	if (bms_is_empty(locks.late))
		return;
	change_marks(plan->rowMarks, locks.late);
	change_marks(context->statement->rowMarks, locks.late);
	unlock_scans(&locks);
	place_lock_ahead(&locks, plan, context);
}

void
shuttle_late_locks_place(Plan *plan, ShuttleFinishedPlan *context)
{
	Plan	  **child;

	if (plan == NULL)
		return;
	if (IsA(plan, Limit) && IsA(outerPlan(plan), LockRows))
		lock_late((LockRows *) outerPlan(plan), context);
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		shuttle_late_locks_place(*child, context);
}
