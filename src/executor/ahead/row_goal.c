/*-------------------------------------------------------------------------
 * row_goal.c
 *	  Tells each Look Ahead how many outer rows the plan will take, and each
 *	  foreign scan how many rows.
 *
 * A goal comes from LIMIT, from the row count of an executor run (FETCH), or
 * from an EXISTS; it is passed down through nodes that hand on rows as they
 * come, and ends at nodes that read all of their input first.  A LIMIT whose
 * rows nothing in between can drop is a bound as well: it is shipped, so that the
 * node sorts for the first rows only and needs no cursor.  How many rows are
 * sure to be read is told as well: errors of others have to wait (read_ahead.c).
 * Scans are told again by each run, so that a cursor's pages follow what it is read
 * by.  What locks rows is told whom to ask how many are needed (row_need.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "base/shuttle_compat_executor.h"
#include "executor/ahead/plan_facts.h"
#include "executor/ahead/row_need.h"
#include "executor/executor_types.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

/* Rows that a node will be asked for; 0: all. */
typedef struct RowGoal
{
	double		rows;
	const ShuttleNeedStep *need;	/* what says how many while it runs; NULL:
									 * all */
	double		bound;			/* it can never be asked for more; 0: it can */
	double		sure;			/* it will be asked for so many, or be at its
								 * end */
	bool		once;			/* it is never run again */
	bool		of_merge;		/* it is among what a MERGE reads */
} RowGoal;

static const RowGoal all_rows = {0, NULL, 0, INFINITY, false, false};

static void set_goals(PlanState *node, RowGoal goal);
static void set_goals_of_subplans(List *subplans, const PlanState *whole);

/* Where only a part of the rows may be wanted and nobody says how many. */
#define UNKNOWN_GOAL	32

/* True of a constant and a statement's parameter, also as a wider integer. */
static bool
is_known_value(Node *expression)
{
	if (IsA(expression, FuncExpr) &&
		(((FuncExpr *) expression)->funcid == F_INT8_INT4 ||
		 ((FuncExpr *) expression)->funcid == F_INT8_INT2))
		expression = linitial(((FuncExpr *) expression)->args);
	return IsA(expression, Const) ||
		(IsA(expression, Param) &&
		 ((Param *) expression)->paramkind == PARAM_EXTERN);
}

/*
 * A LIMIT's number: NULL is none (0), as is 0, for which nothing is read;
 * negative where it cannot be known before the node itself evaluates it.
 */
static double
limit_value(LimitState *node, Node *expression, ExprState *state)
{
	Datum		value;
	bool		isnull;

	if (expression == NULL)
		return 0;
	if (!is_known_value(expression))
		return -1;
	value = ExecEvalExprSwitchContext(state, node->ps.ps_ExprContext, &isnull);
	return isnull ? 0 : (double) DatumGetInt64(value);
}

static double
limit_count(LimitState *node)
{
	return limit_value(node, ((Limit *) node->ps.plan)->limitCount, node->limitCount);
}

static double
limit_offset(LimitState *node)
{
	return limit_value(node, ((Limit *) node->ps.plan)->limitOffset, node->limitOffset);
}

/*
 * What a LIMIT reads for so many of its own rows (0: all of them), be it that
 * the plan above wants fewer than the LIMIT allows.
 */
static double
goal_below_limit(LimitState *node, double goal)
{
	Limit	   *plan = (Limit *) node->ps.plan;
	double		count = limit_count(node);
	double		offset = limit_offset(node);

	if (count < 0 || offset < 0)
		return UNKNOWN_GOAL;
	if (count == 0 || (goal > 0 && goal < count))
		count = goal;
	else if (plan->limitOption == LIMIT_OPTION_WITH_TIES)
		count++;
	return count == 0 ? 0 : count + offset;
}

/* As with core's own bounded sorts, ties have none. */
double
shuttle_row_bound_below_limit(LimitState *node, double bound)
{
	Limit	   *plan = (Limit *) node->ps.plan;
	double		count = limit_count(node);
	double		offset = limit_offset(node);

	if (plan->limitOption == LIMIT_OPTION_WITH_TIES || offset < 0)
		return 0;
	if (count <= 0 || (bound > 0 && bound < count))
		count = bound;
	return count == 0 ? 0 : count + offset;
}

/*
 * Outer rows that a loop needs for so many of its own: by the share of them
 * that is expected to come out, but never more than twice as many, as the
 * batches double anyway.
 */
static double
goal_of_outer(const PlanState *node, double goal)
{
	double		rows = Max(node->plan->plan_rows, 1);
	double		outer = Max(outerPlan(node->plan)->plan_rows, 1);

	return ceil(Min(goal * 2, Max(1, goal * outer / rows)));
}

/*
 * Rows of a child that a node reads for so many of its own, and one more, where
 * it has to see where a group of rows ends.
 */
static double
goal_of_grouped(const PlanState *node, const PlanState *child, double goal)
{
	double		rows = Max(node->plan->plan_rows, 1);
	double		most = Max(goal * 2, UNKNOWN_GOAL);

	if (goal <= 0)
		return 0;
	return ceil(Min(Max(1, goal * child->plan->plan_rows / rows) + 1, most));
}

/* The end of a window's frame says how many rows its first one needs. */
static double
goal_below_window(const PlanState *node, double goal)
{
	const WindowAgg *window = (const WindowAgg *) node->plan;

	if (goal <= 0)
		return 0;
	if (window->ordNumCols > 0 &&
		(window->frameOptions & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) == 0)
		return goal_of_grouped(node, outerPlanState(node), goal);
	return window->partNumCols > 0 ? UNKNOWN_GOAL : 0;
}

/* Rows that a node will read for sure of what it reads while somebody wants its
 * own rows: one, where it may not need another. */
static double
sure_in_part(double sure)
{
	return isinf(sure) ? sure : 1;
}

/*
 * A hash join that has read a row of its outer side may find that the hash table
 * is empty, and read no more of them.
 */
static double
sure_below_hash_join(const HashJoinState *join, double sure)
{
	JoinType	type = join->js.jointype;
	const Plan *outer = outerPlan(join->js.ps.plan);

	if (type == JOIN_LEFT || type == JOIN_ANTI || type == JOIN_FULL ||
		outer->startup_cost >= innerPlan(join->js.ps.plan)->total_cost)
		return sure_in_part(sure);
	return 1;
}

/* A LIMIT takes what the nodes above take, at most its own number. */
static double
sure_below_limit(LimitState *node, double sure)
{
	double		count = limit_count(node);
	double		offset = limit_offset(node);

	if (count < 0 || offset < 0)
		return 1;
	return (count > 0 ? Min(sure, count) : sure) + offset;
}

/*
 * True of the join of a MERGE's source with those of its rows that match something: as
 * each of these is of the source, none is left when that is at its end.
 */
static bool
joins_matched(const PlanState *node)
{
	return (IsA(node, HashJoinState) || IsA(node, MergeJoinState)) &&
		(((const JoinState *) node)->jointype == JOIN_LEFT ||
		 ((const JoinState *) node)->jointype == JOIN_RIGHT);
}

/*
 * How many rows of its children a node surely reads, where so many of its own
 * are asked for; nodes that are not named here read all of a child, or are not
 * known.
 */
static void
sure_of_children(PlanState *node, RowGoal goal, RowGoal *outer, RowGoal *inner)
{
	double		part = sure_in_part(goal.sure);
	int			facts = shuttle_plan_facts(node->plan);

	outer->sure = inner->sure = part;
	outer->once = inner->once = goal.once;
	outer->of_merge = inner->of_merge = goal.of_merge;
	if (goal.of_merge && joins_matched(node))
		return;
	switch (nodeTag(node))
	{
		case T_LimitState:
			outer->sure = sure_below_limit((LimitState *) node, goal.sure);
			break;
		case T_NestLoopState:
			if (shuttle_join_gives_one((JoinState *) node))
				outer->sure = goal.sure;
			if (((JoinState *) node)->single_match ||
				((JoinState *) node)->jointype == JOIN_ANTI)
				inner->sure = 1;
			inner->once = false;
			break;
		case T_HashJoinState:
			outer->sure = sure_below_hash_join((HashJoinState *) node, goal.sure);
			inner->sure = INFINITY;
			break;
		case T_MergeJoinState:
			outer->sure = inner->sure = 1;
			break;
		case T_RecursiveUnionState:
			inner->once = false;
			break;
		case T_CustomScanState:
			if (shuttle_is_look_ahead(node))
				outer->sure = goal.sure;
			break;
		case T_WindowAggState:

			/* it may end before its input does */
			outer->sure = ((WindowAgg *) node->plan)->runCondition == NIL ?
				goal.sure : 1;
			break;
		case T_SetOpState:
			inner->sure = 1;
			break;
		default:
			if ((facts & SHUTTLE_READS_ALL) != 0)
				outer->sure = INFINITY;
			else if ((facts & (SHUTTLE_HANDS_ON | SHUTTLE_READS_GROUPS)) != 0)
				outer->sure = goal.sure;
			break;
	}
}

/* What a node's goal means for its children. */
static void
goals_of_children(PlanState *node, RowGoal goal, RowGoal *outer, RowGoal *inner)
{
	RowGoal		unknown = all_rows;

	*outer = *inner = all_rows;
	unknown.rows = goal.rows > 0 ? UNKNOWN_GOAL : 0;
	switch (nodeTag(node))
	{
		case T_LimitState:
			outer->rows = goal_below_limit((LimitState *) node, goal.rows);
			outer->bound = shuttle_row_bound_below_limit((LimitState *) node,
														 goal.bound);
			break;
		case T_NestLoopState:
			outer->rows = goal.rows > 0 ? goal_of_outer(node, goal.rows) : 0;
			inner->rows = ((JoinState *) node)->single_match ? 1 : 0;

			/*
			 * One that takes nothing from the outer row is read until a row
			 * matches, or may be all of a table that is read again and again.
			 */
			if (((NestLoop *) node->plan)->nestParams == NIL)
				inner->rows = inner->rows > 0 ? UNKNOWN_GOAL : unknown.rows;
			break;
		case T_HashJoinState:
			outer->rows = goal.rows > 0 ? goal_of_outer(node, goal.rows) : 0;
			break;
		case T_MergeJoinState:
			outer->rows = goal_of_grouped(node, outerPlanState(node), goal.rows);
			inner->rows = goal_of_grouped(node, innerPlanState(node), goal.rows);
			break;
		case T_CustomScanState:
			*outer = shuttle_is_look_ahead(node) ? goal : unknown;
			outer->bound = 0;
			break;
		case T_ProjectSetState:
		case T_LockRowsState:
		case T_MaterialState:
		case T_MemoizeState:
			*outer = goal;
			outer->bound = 0;
			break;
		case T_ResultState:
		case T_SubqueryScanState:
			*outer = goal;
			if (node->plan->qual != NIL)
				outer->bound = 0;
			break;
		case T_AppendState:
		case T_MergeAppendState:
			*outer = goal;
			break;
		case T_WindowAggState:
			outer->rows = goal_below_window(node, goal.rows);
			break;
		case T_SetOpState:
			*outer = unknown;
			break;
		default:
			if ((shuttle_plan_facts(node->plan) & SHUTTLE_READS_GROUPS) != 0)
				outer->rows = goal_of_grouped(node, outerPlanState(node), goal.rows);
			break;
	}
}

/* Adds a step to a need; of a part of all rows, which are needed, there is none. */
static const ShuttleNeedStep *
add_step(ShuttleNeedStep *step, ShuttleNeedKind kind, PlanState *node,
		 const ShuttleNeedStep *above)
{
	if (above == NULL && (kind == SHUTTLE_NEED_PART || kind == SHUTTLE_NEED_HELD))
		return NULL;
	step->kind = kind;
	step->node = node;
	step->above = above;
	return step;
}

/*
 * Whom the children of a node have to ask how many rows are needed.  A row of the
 * node takes at least one of a child that is named with the node's own need, and
 * the node holds none back; of others one is needed when it is asked for.
 */
static void
needs_of_children(PlanState *node, const ShuttleNeedStep *need,
				  ShuttleNeedStep *step, RowGoal *outer, RowGoal *inner)
{
	const ShuttleNeedStep *part = add_step(step, SHUTTLE_NEED_PART, node, need);
	int			facts = shuttle_plan_facts(node->plan);

	outer->need = inner->need = NULL;
	switch (nodeTag(node))
	{
		case T_LimitState:
			outer->need = ((Limit *) node->plan)->limitCount == NULL ? need :
				add_step(step, SHUTTLE_NEED_LIMIT, node, need);
			break;
		case T_NestLoopState:
			outer->need = shuttle_join_gives_one((JoinState *) node) ? need : part;
			inner->need = part;
			break;
		case T_HashJoinState:
			outer->need = shuttle_join_gives_one((JoinState *) node) ? need : part;
			break;
		case T_MergeJoinState:
			outer->need = inner->need = part;
			break;
		case T_CustomScanState:
			outer->need = shuttle_is_look_ahead(node) ?
				add_step(step, SHUTTLE_NEED_HELD, node, need) : part;
			break;
		case T_AppendState:
			outer->need = ((AppendState *) node)->as_nasyncplans == 0 ? need : part;
			break;
		case T_MergeAppendState:
		case T_ProjectSetState:
		case T_MemoizeState:
		case T_SetOpState:
			outer->need = part;
			break;
		default:
			if ((facts & SHUTTLE_HANDS_ON) != 0)
				outer->need = need;
			else if ((facts & SHUTTLE_READS_GROUPS) != 0)
				outer->need = part;
			break;
	}
}

/* Tells a scan its goal, and all that would read it ahead that it locks rows. */
static void
set_goal_of_scan(ForeignScanState *node, RowGoal goal)
{
	const char *sql = NULL;

	if (goal.need != NULL && ((ForeignScan *) node->ss.ps.plan)->operation == CMD_SELECT)
		sql = shuttle_postgres_fdw_scan_sql((ForeignScan *) node->ss.ps.plan);
	if (sql == NULL || !shuttle_sql_locks(sql))
		goal.need = NULL;
	for (const ShuttleNeedStep *step = goal.need; step != NULL; step = step->above)
	{
		if (step->kind == SHUTTLE_NEED_HELD)
			((LookAheadState *) step->node)->locks_late = true;
	}
	shuttle_foreign_scan_set_goal(node, goal.rows, goal.need);
	shuttle_foreign_scan_set_bound(node, goal.bound);
}

/* Passes a goal to a node and all below it. */
static void
set_goals(PlanState *node, RowGoal goal)
{
	RowGoal		outer_goal;
	RowGoal		inner_goal;
	ShuttleNeedStep step;
	PlanState  *child;

	if (node == NULL)
		return;
	if (shuttle_is_look_ahead(node) && ((LookAheadState *) node)->linked)
		shuttle_look_ahead_set_goal((LookAheadState *) node, goal.rows,
									goal.need, goal.sure, goal.once);
	if (IsA(node, ForeignScanState))
		set_goal_of_scan((ForeignScanState *) node, goal);
	goals_of_children(node, goal, &outer_goal, &inner_goal);
	sure_of_children(node, goal, &outer_goal, &inner_goal);
	needs_of_children(node, goal.need, &step, &outer_goal, &inner_goal);
	set_goals(outerPlanState(node), outer_goal);
	set_goals(innerPlanState(node), inner_goal);
	for (int i = 0; (child = shuttle_other_child(node, i)) != NULL; i++)
		set_goals(child, outer_goal);
	set_goals_of_subplans(node->initPlan, shuttle_merge_rows(node));
	set_goals_of_subplans(node->subPlan, NULL);
}

/* whole: the plan of one of them that is read to its end, or NULL. */
static void
set_goals_of_subplans(List *subplans, const PlanState *whole)
{
	ShuttleNeedStep one = {.kind = SHUTTLE_NEED_ONE};
	ListCell   *lc;

	foreach(lc, subplans)
	{
		SubPlanState *subplan = (SubPlanState *) lfirst(lc);
		RowGoal		goal = all_rows;

		switch (subplan->subplan->subLinkType)
		{
			case EXISTS_SUBLINK:
				goal.rows = goal.sure = 1;
				goal.need = &one;
				break;
			case ANY_SUBLINK:
			case ALL_SUBLINK:
				if (!subplan->subplan->useHashTable)
				{
					goal.sure = 1;
					goal.need = &one;
				}
				break;
			case CTE_SUBLINK:
				/* of its readers, each may stop */
				goal.of_merge = subplan->planstate == whole;
				goal.sure = goal.of_merge ? INFINITY : 1;
				break;
			default:
				break;
		}
		set_goals(subplan->planstate, goal);
	}
}

/*
 * At each run, when it is known how many rows it will take.  A later one that
 * takes a row changes nothing, but for what may be locked: pages grow by what was
 * taken.  There are many of these.
 */
static bool
is_goal_new(const QueryDesc *query, ScanDirection direction, uint64 count)
{
	if (shuttle_look_aheads_begun() == 0 &&
		!shuttle_reads_foreign_table(query->plannedstmt))
		return false;
	return !query->already_executed ||
		(ScanDirectionIsForward(direction) &&
		 (count != 1 || query->plannedstmt->rowMarks != NIL));
}

void
shuttle_row_goal_run(QueryDesc *queryDesc, ScanDirection direction, uint64 count)
{
	if (is_goal_new(queryDesc, direction, count))
	{
		MemoryContext old = MemoryContextSwitchTo(queryDesc->estate->es_query_cxt);
		ShuttleNeedStep run = {.kind = SHUTTLE_NEED_RUN,.node = queryDesc->planstate,
		.rows = count};
		RowGoal		goal = {count, count > 0 ? &run : NULL, 0,
		count > 0 ? count : INFINITY, true, false};

		/* FETCH 0 takes nothing, and says no more than that it is a cursor */
		if (ScanDirectionIsNoMovement(direction))
		{
			run.rows = goal.rows = goal.sure = 1;
			goal.need = &run;
		}

		set_goals(queryDesc->planstate, goal);
		MemoryContextSwitchTo(old);
	}
}
