/*-------------------------------------------------------------------------
 * early_start.c
 *	  Sends all scans of a plan that will be read before the first answer is
 *	  waited for, so that k nodes cost one round trip and the slowest node.
 *
 * At the first run of a plan one walk finds the scans.  What a node will do
 * with its input decides what may be started below it: a scan is started
 * where its first page is read unless another input turns out to be empty,
 * and never where only a part of several inputs may be wanted (LIMIT over
 * Append), where partitions are pruned as the plan runs, where rows are
 * locked, or below a parallel worker.
 *
 * Of scans that lock it is only said which ones are read to their end by whoever
 * reads their first row: these may lock ahead, and those of one Append together.
 *
 * Rule: an error of a scan that stock PostgreSQL might not have run must not
 * show.  Scans that are not certain to be run are therefore sent ahead, which
 * keeps their error on the node until the plan asks for the scan itself.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/write_internal.h"
#include "executor/look_ahead_internal.h"

/* What the nodes above want of a node. */
typedef struct Demand
{
	bool		all;			/* every row */
	bool		certain;		/* it will be run, if nothing fails before */
	bool		whole;			/* whoever reads a row of it reads all */
} Demand;

static ExecutorRun_hook_type previous_run = NULL;

static void run_executor(SHUTTLE_EXECUTOR_RUN_PARAMETERS);
static void visit(PlanState *node, Demand demand);
static void visit_init_plans(PlanState *node);
static bool param_is_needed(PlanState *node, int param);
static void visit_scan(ForeignScanState *scan, Demand demand);
static void visit_append(AppendState *append, Demand demand);
static void start_together(AppendState *append);
static void visit_merge_append(MergeAppendState *append, Demand demand);
static void visit_hash_join(HashJoinState *join, Demand demand);
static void visit_nested_loop(NestLoopState *loop, Demand demand);
static bool limit_is_zero(LimitState *limit);

void
shuttle_early_start_init(void)
{
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
}

static void
run_executor(SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	if (shuttle_unsent_any() && !queryDesc->already_executed &&
		!ScanDirectionIsNoMovement(direction))
	{
		MemoryContext old_cxt;

		old_cxt = MemoryContextSwitchTo(queryDesc->estate->es_query_cxt);
		shuttle_early_start(queryDesc->planstate, count);
		MemoryContextSwitchTo(old_cxt);
	}
	if (previous_run != NULL)
		previous_run(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
}

void
shuttle_early_start(PlanState *root, uint64 count)
{
	Demand		demand = {.all = count == 0,.certain = true,.whole = count == 0};

	if (shuttle_settings.enable_early_start && !IsParallelWorker())
		visit(root, demand);
}

static void
visit(PlanState *node, Demand demand)
{
	Demand		everything = {.all = true,.certain = demand.certain,.whole = true};
	Demand		other = {.all = demand.all,.certain = false};
	Demand		part = {.all = demand.all,.certain = demand.certain};

	if (node == NULL)
		return;
	check_stack_depth();
	visit_init_plans(node);

	switch (nodeTag(node))
	{
		case T_ForeignScanState:
			visit_scan((ForeignScanState *) node, demand);
			break;
		case T_AppendState:
			visit_append((AppendState *) node, demand);
			break;
		case T_MergeAppendState:
			visit_merge_append((MergeAppendState *) node, demand);
			break;
		case T_HashJoinState:
			visit_hash_join((HashJoinState *) node, demand);
			break;
		case T_NestLoopState:
			visit_nested_loop((NestLoopState *) node, demand);
			break;
		case T_MergeJoinState:
			visit(outerPlanState(node), part);
			visit(innerPlanState(node), other);
			break;

			/* These read all of their input before their first row. */
		case T_SortState:
		case T_HashState:
		case T_ModifyTableState:
			visit(outerPlanState(node), everything);
			break;
		case T_AggState:
			visit(outerPlanState(node),
				  ((Agg *) node->plan)->aggstrategy == AGG_SORTED ? demand : everything);
			break;
		case T_SetOpState:
			visit(outerPlanState(node), part);
			visit(innerPlanState(node), other);
			break;

			/* These hand on rows as they come. */
		case T_MaterialState:
		case T_UniqueState:
		case T_GroupState:
		case T_WindowAggState:
		case T_IncrementalSortState:
		case T_ProjectSetState:
			visit(outerPlanState(node), demand);
			break;
		case T_SubqueryScanState:
			visit(((SubqueryScanState *) node)->subplan, demand);
			break;
		case T_ResultState:
			if (((Result *) node->plan)->resconstantqual == NULL)
				visit(outerPlanState(node), demand);
			break;
		case T_LimitState:
			demand.all = demand.whole = false;
			if (!limit_is_zero((LimitState *) node))
				visit(outerPlanState(node), demand);
			break;
		case T_CteScanState:
			visit(((CteScanState *) node)->cteplanstate, demand);
			break;
		case T_CustomScanState:
			if (shuttle_is_look_ahead(node))
				visit(outerPlanState(node), demand);
			break;
		default:
			break;
	}
}

/*
 * Uncorrelated scalar subqueries run when their value is first used.  They
 * are started where some expression uses it that is evaluated in any case.
 */
static void
visit_init_plans(PlanState *node)
{
	ListCell   *cell;

	foreach(cell, node->initPlan)
	{
		SubPlanState *init = lfirst_node(SubPlanState, cell);
		SubPlan    *plan = init->subplan;
		Demand		demand = {.certain = false};

		if (plan->subLinkType == CTE_SUBLINK || plan->setParam == NIL ||
			!param_is_needed(node, linitial_int(plan->setParam)))
			continue;
		demand.all = plan->subLinkType == ARRAY_SUBLINK;
		visit(init->planstate, demand);
	}
}

/* Looks for a parameter outside of expressions that may leave it out. */
static bool
uses_param_in_any_case(Node *node, int *param)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Param:
			return ((Param *) node)->paramkind == PARAM_EXEC &&
				((Param *) node)->paramid == *param;
		case T_BoolExpr:

			/* AND and OR evaluate their first argument in any case. */
			return uses_param_in_any_case(linitial(((BoolExpr *) node)->args), param);
		case T_CoalesceExpr:
			return uses_param_in_any_case(linitial(((CoalesceExpr *) node)->args), param);
		case T_CaseExpr:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return false;
		default:
			return expression_tree_walker(node, uses_param_in_any_case, param);
	}
}

/* True where a row of the node, or its first input's, needs the parameter. */
static bool
param_is_needed(PlanState *node, int param)
{
	Plan	   *plan;

	for (; node != NULL; node = outerPlanState(node))
	{
		plan = node->plan;
		if (uses_param_in_any_case((Node *) plan->targetlist, &param) ||
			(plan->qual != NIL &&
			 uses_param_in_any_case(linitial(plan->qual), &param)))
			return true;
		if (IsA(plan, ForeignScan) &&
			uses_param_in_any_case((Node *) ((ForeignScan *) plan)->fdw_exprs, &param))
			return true;
	}
	return false;
}

static void
visit_scan(ForeignScanState *scan, Demand demand)
{
	if (demand.whole)
		shuttle_foreign_scan_read_whole(scan, NIL);
	if (!shuttle_foreign_scan_can_start(scan))
		return;
	shuttle_write_flush_others(shuttle_foreign_scan_node(scan), scan->ss.ps.state);
	shuttle_foreign_scan_send(scan, !demand.certain);
}

/*
 * Where some rows are wanted only, the first child may have enough of them.  Of
 * a known number as many children are started as are expected to be needed, all
 * but the first ahead: their LIMIT keeps their answers small.
 */
static void
visit_append(AppendState *append, Demand demand)
{
	double		rows = 0;

	if (append->as_prune_state != NULL && append->as_prune_state->do_exec_prune)
		return;
	for (int i = 0; i < append->as_nplans; i++)
	{
		PlanState  *child = append->appendplans[i];

		visit(child, demand);
		if (demand.all)
			continue;
		rows += child->plan->plan_rows;
		if (!IsA(child, ForeignScanState) ||
			rows >= shuttle_foreign_scan_bound((ForeignScanState *) child))
			break;
		demand.certain = false;
	}
	if (demand.whole)
		start_together(append);
}

/* Scans that lock are not started early, but whoever reads the first of an
 * Append reads the others. */
static void
start_together(AppendState *append)
{
	List	   *scans = NIL;
	ListCell   *cell;

	for (int i = 0; i < append->as_nplans; i++)
	{
		if (IsA(append->appendplans[i], ForeignScanState))
			scans = lappend(scans, append->appendplans[i]);
	}
	foreach(cell, scans)
		shuttle_foreign_scan_read_whole(lfirst_node(ForeignScanState, cell), scans);
}

/* Reads the first row of each child. */
static void
visit_merge_append(MergeAppendState *append, Demand demand)
{
	if (append->ms_prune_state != NULL && append->ms_prune_state->do_exec_prune)
		return;
	for (int i = 0; i < append->ms_nplans; i++)
		visit(append->mergeplans[i], demand);
}

/*
 * Which side is read first depends on their costs, and an empty one keeps the
 * other from being read unless the join fills rows of that other side.
 */
static void
visit_hash_join(HashJoinState *join, Demand demand)
{
	JoinType	type = join->js.jointype;
	Demand		outer = {.all = demand.all};
	Demand		inner = {.all = true,.whole = true};
	const Plan *hash = innerPlan(join->js.ps.plan);
	const Plan *outer_plan = outerPlan(join->js.ps.plan);

	outer.certain = demand.certain &&
		(type == JOIN_LEFT || type == JOIN_ANTI || type == JOIN_FULL);
	inner.certain = demand.certain && (type == JOIN_RIGHT || type == JOIN_FULL);

	/* One that starts cheaply is asked for a row before the hash is built. */
	outer.whole = demand.whole &&
		(outer.certain || outer_plan->startup_cost >= hash->total_cost);
	visit(innerPlanState(join), inner);
	visit(outerPlanState(join), outer);
}

static void
visit_nested_loop(NestLoopState *loop, Demand demand)
{
	Demand		inner = {.certain = false};

	visit(outerPlanState(loop), demand);

	/* With parameters it waits for the outer side's rows. */
	inner.all = demand.all && !loop->js.single_match &&
		loop->js.jointype != JOIN_ANTI;
	inner.whole = inner.all;
	if (((NestLoop *) loop->js.ps.plan)->nestParams == NIL)
		visit(innerPlanState(loop), inner);
}

/* LIMIT 0 reads nothing; any other limit, known now or not, may read. */
static bool
limit_is_zero(LimitState *limit)
{
	Node	   *count = ((Limit *) limit->ps.plan)->limitCount;
	bool		is_null;
	Datum		value;

	if (count == NULL)
		return false;

	/* Only what can neither fail nor change may be evaluated already now. */
	if (!IsA(count, Const) &&
		(!IsA(count, Param) || ((Param *) count)->paramkind != PARAM_EXTERN))
		return false;
	value = ExecEvalExprSwitchContext(limit->limitCount,
									  limit->ps.ps_ExprContext, &is_null);
	return !is_null && DatumGetInt64(value) == 0;
}
