/*-------------------------------------------------------------------------
 * row_goal.c
 *	  Tells each Look Ahead how many outer rows the plan will take, and each
 *	  foreign scan how many rows.
 *
 * A goal comes from LIMIT, from the row count of an executor run (FETCH), from
 * EXISTS, or from a merge join that core expects to end early. It is passed down
 * through nodes that return rows as they read them, and ends at nodes that read all of their input first. If no node in
 * between can drop rows, a LIMIT is a maximum as well: it is shipped, so that
 * the node does a top-N sort and needs no cursor. The number of rows that will
 * surely be read is passed down, too: errors of rows after these have to wait
 * (read_ahead.c). Each run sets the goals of scans anew, so that a cursor's
 * pages follow its FETCHes. Scans that lock rows get the steps by which they
 * compute the rows needed (row_need.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "base/shuttle_compat_executor.h"
#include "executor/early/early.h"
#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/facts/plan_facts.h"
#include "executor/facts/row_need.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/scan/late_locks.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

/* Rows that a node will be asked for; 0: all. */
typedef struct RowGoal
{
	double		rows;
	const ShuttleNeedStep *need;	/* computes the rows needed at run time;
									 * NULL: all */
	double		max_rows;		/* most rows it can be asked for; 0: no limit */
	double		min_rows;		/* fewest rows it will be asked for, if it has
								 * them */
	bool		once;			/* it is never rescanned */
	bool		of_merge;		/* it is part of the plan that a MERGE reads */
	bool		may_stop;		/* the plan may stop before the last row,
								 * nobody knows where */
	bool		of_cte;			/* it is part of a CTE of which rows may be
								 * left unread */
} RowGoal;

static const RowGoal all_rows = {0, NULL, 0, INFINITY, false, false, false, false};

static const ShuttleNeedStep one_row = {.kind = SHUTTLE_NEED_ONE};

static List *whole_ctes = NIL;	/* PlanState of those that a reader of this
								 * run reads to their ends */

static void set_goals(PlanState *node, RowGoal goal);
static void set_goals_of_subplans(List *subplans, const PlanState *whole);

/* Used if perhaps only some rows are wanted and their number is unknown. */
#define UNKNOWN_GOAL	32

/* True for a constant or an external parameter, also one widened to int8. */
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

/* The value of LIMIT or OFFSET. 0 for none, for NULL and for 0 (which reads
 * nothing); negative if only the node itself can evaluate it, later. */
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

/* The rows that a LIMIT reads if the plan above wants goal of its rows (0:
 * all). */
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

/* WITH TIES has no maximum, as in core's bounded sorts. */
double
shuttle_row_goal_below_limit(LimitState *node, double max_rows)
{
	Limit	   *plan = (Limit *) node->ps.plan;
	double		count = limit_count(node);
	double		offset = limit_offset(node);

	if (plan->limitOption == LIMIT_OPTION_WITH_TIES || offset < 0)
		return 0;
	if (count <= 0 || (max_rows > 0 && max_rows < count))
		count = max_rows;
	return count == 0 ? 0 : count + offset;
}

/* Outer rows that a join needs to return goal rows: by the planner's estimates,
 * but at most twice as many, as batches double anyway. */
static double
goal_of_outer(const PlanState *node, double goal)
{
	double		rows = Max(node->plan->plan_rows, 1);
	double		outer = Max(outerPlan(node->plan)->plan_rows, 1);

	return ceil(Min(goal * 2, Max(1, goal * outer / rows)));
}

/* Rows of a child that a node reads to return goal rows, and one more, which
 * shows where a group of rows ends. */
static double
goal_of_grouped(const PlanState *node, const PlanState *child, double goal)
{
	double		rows = Max(node->plan->plan_rows, 1);
	double		most = Max(goal * 2, UNKNOWN_GOAL);

	if (goal <= 0)
		return 0;
	return ceil(Min(Max(1, goal * child->plan->plan_rows / rows) + 1, most));
}

/* The frame's end decides how many rows the window's first row needs. */
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

/*
 * The fewest rows that a node reads of an input of which it may need only one.
 */
static double
min_in_part(double min_rows)
{
	return isinf(min_rows) ? min_rows : 1;
}

/* A hash join that has read one outer row may find the hash table empty and
 * read no more. */
static double
min_below_hash_join(const HashJoinState *join, double min_rows)
{
	JoinType	type = join->js.jointype;
	const Plan *outer = outerPlan(join->js.ps.plan);

	if (type == JOIN_LEFT || type == JOIN_ANTI || type == JOIN_FULL ||
		outer->startup_cost >= innerPlan(join->js.ps.plan)->total_cost)
		return min_in_part(min_rows);
	return 1;
}

/* A LIMIT takes what the nodes above take, at most its own number. */
static double
min_below_limit(LimitState *node, double min_rows)
{
	double		count = limit_count(node);
	double		offset = limit_offset(node);

	if (count < 0 || offset < 0)
		return 1;
	return (count > 0 ? Min(min_rows, count) : min_rows) + offset;
}

/* True for the join of a MERGE's source with its matched rows: these all come
 * from the source, so none is left when the source is at its end. */
static bool
joins_matched(const PlanState *node)
{
	return (IsA(node, HashJoinState) || IsA(node, MergeJoinState)) &&
		(((const JoinState *) node)->jointype == JOIN_LEFT ||
		 ((const JoinState *) node)->jointype == JOIN_RIGHT);
}

/* The fewest rows of its children that a node reads if it returns
 * goal.min_rows. Nodes not listed read all of a child, or are unknown. */
static void
min_of_children(PlanState *node, RowGoal goal, RowGoal *outer, RowGoal *inner)
{
	double		part = min_in_part(goal.min_rows);
	int			facts = shuttle_plan_facts(node->plan);

	outer->min_rows = inner->min_rows = part;
	outer->once = inner->once = goal.once;
	outer->of_merge = inner->of_merge = goal.of_merge;
	outer->of_cte = inner->of_cte = goal.of_cte;
	if (goal.of_merge && joins_matched(node))
		return;
	switch (nodeTag(node))
	{
		case T_LimitState:
			outer->min_rows = min_below_limit((LimitState *) node, goal.min_rows);
			break;
		case T_NestLoopState:
			if (shuttle_row_need_join_gives_one((JoinState *) node))
				outer->min_rows = goal.min_rows;
			if (shuttle_join_takes_one((JoinState *) node))
				inner->min_rows = 1;
			inner->once = false;
			break;
		case T_HashJoinState:
			outer->min_rows = min_below_hash_join((HashJoinState *) node, goal.min_rows);
			inner->min_rows = INFINITY;
			break;
		case T_MergeJoinState:
			outer->min_rows = inner->min_rows = 1;
			break;
		case T_RecursiveUnionState:
			inner->once = false;
			break;
		case T_CustomScanState:
			if (shuttle_node_is_look_ahead(node))
				outer->min_rows = goal.min_rows;
			break;
		case T_WindowAggState:

			/* it may end before its input does */
			outer->min_rows = ((WindowAgg *) node->plan)->runCondition == NIL ?
				goal.min_rows : 1;
			break;
		case T_SetOpState:
			inner->min_rows = 1;
			break;
		default:
			if ((facts & SHUTTLE_READS_ALL) != 0)
				outer->min_rows = INFINITY;
			else if ((facts & (SHUTTLE_HANDS_ON | SHUTTLE_READS_GROUPS)) != 0)
				outer->min_rows = goal.min_rows;
			break;
	}
}

/*
 * Whether children may be left before their last rows. A merge join ends with either input
 * unless it returns the unmatched rows of the other one. A hash join leaves its outer side
 * only if the inner side is empty, which is rare.
 */
static void
stops_of_children(const PlanState *node, RowGoal goal, RowGoal *outer, RowGoal *inner)
{
	outer->may_stop = goal.may_stop && (shuttle_plan_facts(node->plan) & SHUTTLE_READS_ALL) == 0;
	inner->may_stop = goal.may_stop && !IsA(node, HashJoinState);
	if (IsA(node, MergeJoinState))
	{
		outer->may_stop = goal.may_stop || !((const MergeJoinState *) node)->mj_FillOuter;
		inner->may_stop = goal.may_stop || !((const MergeJoinState *) node)->mj_FillInner;
	}
}

/*
 * The goal of a merge join's input. Core expects the join to end early if the other input
 * has small keys only, and charges the part of this input that is read until then: if the
 * join costs less than this input, the costs tell how many rows are read at most.
 */
static double
goal_of_merged(PlanState *join, PlanState *input, double goal)
{
	const Plan *plan = input->plan;
	Cost		run = plan->total_cost - plan->startup_cost;

	if (goal > 0)
		return goal_of_grouped(join, input, goal);
	if (join->plan->total_cost >= plan->total_cost || run <= 0)
		return 0;
	return ceil(plan->plan_rows *
				Max(0, join->plan->total_cost - plan->startup_cost) / run) + 1;
}

/* The goals that a node's goal gives to its children. */
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
			outer->max_rows = shuttle_row_goal_below_limit((LimitState *) node,
														   goal.max_rows);
			break;
		case T_NestLoopState:
			outer->rows = goal.rows > 0 ? goal_of_outer(node, goal.rows) : 0;
			inner->rows = shuttle_join_takes_one((JoinState *) node) ? 1 : 0;

			/*
			 * An inner side without parameters is read until a row matches,
			 * or may be a whole table that is read again and again.
			 */
			if (((NestLoop *) node->plan)->nestParams == NIL)
				inner->rows = inner->rows > 0 ? UNKNOWN_GOAL : unknown.rows;
			break;
		case T_HashJoinState:
			outer->rows = goal.rows > 0 ? goal_of_outer(node, goal.rows) : 0;
			break;
		case T_MergeJoinState:
			outer->rows = goal_of_merged(node, outerPlanState(node), goal.rows);
			inner->rows = goal_of_merged(node, innerPlanState(node), goal.rows);
			break;
		case T_CustomScanState:
			if (shuttle_node_is_routed_append(node))
			{
				*outer = goal;
				break;
			}
			*outer = shuttle_node_is_look_ahead(node) || shuttle_node_is_lock_ahead(node) ? goal : unknown;
			outer->max_rows = 0;
			break;
		case T_ProjectSetState:
		case T_LockRowsState:
		case T_MaterialState:
		case T_MemoizeState:
			*outer = goal;
			outer->max_rows = 0;
			break;
		case T_ResultState:
		case T_SubqueryScanState:
			*outer = goal;
			if (node->plan->qual != NIL)
				outer->max_rows = 0;
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

/*
 * Adds a step to a need. If all rows are needed above, PART and HELD add none.
 */
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
 * The needs of a node's children. A child inherits its node's need if the node
 * reads at least one of its rows for each row and holds none back. Other
 * children need one row when they are asked.
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
			outer->need = shuttle_row_need_join_gives_one((JoinState *) node) ? need : part;
			inner->need = part;
			break;
		case T_HashJoinState:
			outer->need = shuttle_row_need_join_gives_one((JoinState *) node) ? need : part;
			break;
		case T_MergeJoinState:
			outer->need = inner->need = part;
			break;
		case T_CustomScanState:
			outer->need = shuttle_node_is_look_ahead(node) ?
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

/*
 * Sets a scan's goal. If the scan locks rows, tells the Look Aheads above it.
 */
static void
set_goal_of_scan(ForeignScanState *node, RowGoal goal)
{
	const char *sql = NULL;

	if (goal.need != NULL && ((ForeignScan *) node->ss.ps.plan)->operation == CMD_SELECT)
		sql = shuttle_postgres_fdw_scan_sql((ForeignScan *) node->ss.ps.plan);
	if (sql == NULL || !shuttle_remote_sql_locks(sql))
		goal.need = NULL;
	for (const ShuttleNeedStep *step = goal.need; step != NULL; step = step->above)
	{
		if (step->kind == SHUTTLE_NEED_HELD)
			((LookAheadState *) step->node)->locks_late = true;
	}
	shuttle_remote_scan_set_goal(node, goal.rows, goal.may_stop, goal.need);
	if (shuttle_served_scan_is_served(node))
		shuttle_served_scan_set_max_rows(node, goal.max_rows);
	else
		shuttle_remote_scan_set_max_rows(node, goal.max_rows);
}

/* Sets the goals of a node and all nodes below. */
static void
set_goals(PlanState *node, RowGoal goal)
{
	RowGoal		outer_goal;
	RowGoal		inner_goal;
	ShuttleNeedStep step;
	PlanState  *child;

	if (node == NULL)
		return;
	if (shuttle_node_is_look_ahead(node) && ((LookAheadState *) node)->linked)
		shuttle_look_ahead_set_goal((LookAheadState *) node, goal.rows,
									goal.need, goal.min_rows, goal.once);
	if (shuttle_node_is_lock_ahead(node))
		shuttle_lock_ahead_set_need(node, goal.of_cte ? &one_row : goal.need);
	if (IsA(node, CteScanState) && isinf(goal.min_rows))
		whole_ctes = list_append_unique_ptr(whole_ctes, ((CteScanState *) node)->cteplanstate);
	if (IsA(node, ForeignScanState))
		set_goal_of_scan((ForeignScanState *) node, goal);
	goals_of_children(node, goal, &outer_goal, &inner_goal);
	min_of_children(node, goal, &outer_goal, &inner_goal);
	stops_of_children(node, goal, &outer_goal, &inner_goal);
	needs_of_children(node, goal.need, &step, &outer_goal, &inner_goal);
	set_goals(outerPlanState(node), outer_goal);
	set_goals(innerPlanState(node), inner_goal);
	for (int i = 0; (child = shuttle_plan_other_child(node, i)) != NULL; i++)
		set_goals(child, outer_goal);
	set_goals_of_subplans(node->initPlan, shuttle_merge_rows(node));
	set_goals_of_subplans(node->subPlan, NULL);
}

/* whole: the plan of the one subplan that is read to its end, or NULL. */
static void
set_goals_of_subplans(List *subplans, const PlanState *whole)
{
	ListCell   *lc;

	foreach(lc, subplans)
	{
		SubPlanState *subplan = (SubPlanState *) lfirst(lc);
		RowGoal		goal = all_rows;

		switch (subplan->subplan->subLinkType)
		{
			case EXISTS_SUBLINK:
				goal.rows = goal.min_rows = 1;
				goal.need = &one_row;
				break;
			case ANY_SUBLINK:
			case ALL_SUBLINK:
				if (!subplan->subplan->useHashTable)
				{
					goal.min_rows = 1;
					goal.need = &one_row;
				}
				break;
			case CTE_SUBLINK:
				/* each of its readers may stop early */
				goal.of_merge = subplan->planstate == whole;
				goal.min_rows = goal.of_merge ? INFINITY : 1;
				goal.of_cte = !goal.of_merge && !list_member_ptr(whole_ctes, subplan->planstate);
				break;
			default:
				break;
		}
		set_goals(subplan->planstate, goal);
	}
}

/* Each run sets goals, as its row count is known. Later runs for one row, which
 * are frequent, change nothing unless rows are locked: pages grow anyway. */
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
		count > 0 ? count : INFINITY, true, false, false, false};

		/* FETCH 0 takes nothing; it only shows that this is a cursor */
		if (ScanDirectionIsNoMovement(direction))
		{
			run.rows = goal.rows = goal.min_rows = 1;
			goal.need = &run;
		}

		whole_ctes = NIL;
		set_goals(queryDesc->planstate, goal);
		whole_ctes = NIL;
		MemoryContextSwitchTo(old);
	}
}
