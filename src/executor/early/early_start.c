/*-------------------------------------------------------------------------
 * early_start.c
 *	  Sends all scans of a plan that will be read before it waits for the
 *	  first answer, so that k nodes cost one round trip and the slowest
 *	  node.
 *
 * At the first run of a plan one walk finds the scans. A scan is started if
 * its first page is read unless another input turns out to be empty. It is not
 * started if perhaps only some of several inputs are wanted (LIMIT over
 * Append), if it locks rows, or in a parallel worker.
 *
 * What has to wait is in late_start.c. If a scan needs several initplans, these are
 * started together.
 *
 * An input that is read only if another one has a row, and that costs its nodes many
 * times more, waits for that row: a node answers one request of a session after the
 * other, so little but a round trip is lost, and if there is no row, all is saved.
 *
 * Scans that lock rows are only told whether all their rows will be read: then
 * they may lock rows ahead, and those of one Append together.
 *
 * Rule: an error of a scan that stock PostgreSQL might not have run must not
 * show. A scan that is not certain to run is sent speculatively: its error stays on
 * the node until the plan asks for the scan.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_settings.h"
#include "executor/early/early.h"
#include "executor/early/early_start.h"
#include "executor/executor_types.h"
#include "executor/facts/node_names.h"
#include "executor/facts/plan_facts.h"
#include "executor/facts/row_need.h"
#include "executor/facts/safe_values.h"
#include "executor/facts/scan_facts.h"
#include "executor/join/join.h"
#include "executor/outbox.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

static void visit_cte(PlanState *cte, ShuttleDemand demand);
static void visit_init_plans(PlanState *node, ShuttleDemand above);
static void visit_init_plan(SubPlanState *init, ShuttleDemand above);
static void visit_scan(ForeignScanState *scan, ShuttleDemand demand);
static void visit_append(AppendState *append, ShuttleDemand demand);
static void visit_all(PlanState **nodes, int nnodes, const Bitmapset *chosen,
					  ShuttleDemand demand);
static void wait_for_pruning(PlanState *node, PlanState **nodes, int nnodes,
							 ShuttleDemand demand);
static void start_together(AppendState *append);
static void visit_merge_append(MergeAppendState *append, ShuttleDemand demand);
static void visit_hash_join(HashJoinState *join, ShuttleDemand demand);
static void visit_nested_loop(NestLoopState *loop, ShuttleDemand demand);
static void visit_second(PlanState *second, ShuttleDemand demand, const Plan *first);

void
shuttle_early_start_run(QueryDesc *queryDesc, ScanDirection direction, uint64 count)
{
	if (!queryDesc->already_executed && !ScanDirectionIsNoMovement(direction) &&
		shuttle_reads_foreign_table(queryDesc->plannedstmt))
	{
		MemoryContext old_cxt;

		old_cxt = MemoryContextSwitchTo(queryDesc->estate->es_query_cxt);
		shuttle_early_start(queryDesc->planstate, count);
		MemoryContextSwitchTo(old_cxt);
	}
}

void
shuttle_early_start(PlanState *root, uint64 count)
{
	ShuttleVisits visits = {0};
	ShuttleDemand demand = {
		.all = count == 0,
		.certain = true,
		.whole = count == 0,
		.rows = count,
		.visits = &visits,
	};

	if (!shuttle_settings.enable_early_start || IsParallelWorker())
		return;
	demand.later = shuttle_late_start_create();
	shuttle_early_start_visit(root, demand);
}

/* The demand on an input if it differs from the demand on its node. */
ShuttleDemand
shuttle_early_demand_of_input(ShuttleDemand above, bool all, bool certain, bool whole)
{
	ShuttleDemand demand = {.all = all,.certain = certain,.whole = whole};

	demand.later = above.later;
	demand.visits = above.visits;
	demand.noting = above.noting;
	demand.in_part = above.in_part;
	return demand;
}

void
shuttle_early_start_visit(PlanState *node, ShuttleDemand demand)
{
	ShuttleDemand everything = shuttle_early_demand_of_input(demand, true, demand.certain, true);
	ShuttleDemand other = shuttle_early_demand_of_input(demand, demand.all, false, false);
	ShuttleDemand part = shuttle_early_demand_of_input(demand, demand.all, demand.certain, false);

	ListCell   *cell;
	int			facts;

	if (node == NULL)
		return;
	check_stack_depth();
	if (demand.noting || !demand.in_part)
	{
		visit_init_plans(node, demand);
		foreach(cell, node->subPlan)
			shuttle_late_start_note_subplan(lfirst_node(SubPlanState, cell), demand);
	}
	else if (node->chgParam != NULL)
	{
		/* it may never be executed, and then must not fail */
		if (shuttle_plan_rescan_computes(node))
			return;
		ExecReScan(node);		/* as it will be when it is executed */
	}
	facts = shuttle_plan_facts(node->plan);
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
			shuttle_early_start_visit(outerPlanState(node), part);
			shuttle_early_start_visit(innerPlanState(node), other);
			break;
		case T_SetOpState:
			shuttle_early_start_visit(outerPlanState(node), part);
			shuttle_early_start_visit(innerPlanState(node), other);
			break;
		case T_ProjectSetState:
			demand.rows = 0;
			shuttle_early_start_visit(outerPlanState(node), demand);
			break;
		case T_SubqueryScanState:
			shuttle_early_start_visit(((SubqueryScanState *) node)->subplan, demand);
			break;
		case T_ResultState:
			if (((Result *) node->plan)->resconstantqual == NULL)
				shuttle_early_start_visit(outerPlanState(node), demand);
			break;
		case T_LimitState:
			if (shuttle_limit_is_zero((LimitState *) node))
				break;
			if (((Limit *) node->plan)->limitCount != NULL)
				demand.all = demand.whole = false;
			demand.rows = shuttle_row_goal_below_limit((LimitState *) node,
													   demand.rows);
			shuttle_early_start_visit(outerPlanState(node), demand);
			break;
		case T_CteScanState:
			if (!demand.in_part)
				visit_cte(((CteScanState *) node)->cteplanstate, demand);
			break;
		case T_MemoizeState:
			if (((Memoize *) node->plan)->singlerow)
				demand.all = demand.whole = false;
			shuttle_early_start_visit(outerPlanState(node), demand);
			break;
		case T_CustomScanState:
			demand.rows = 0;
			if (shuttle_node_is_look_ahead(node) || shuttle_node_is_lock_ahead(node))
				shuttle_early_start_visit(outerPlanState(node), demand);
			else
				shuttle_early_start_visit(shuttle_merge_reading(node), everything);
			break;
		case T_LockRowsState:	/* its rows are locked in their turn */
			if (shuttle_node_is_lock_ahead(outerPlanState(node)))
				shuttle_early_start_visit(outerPlanState(node), demand);
			break;
		default:
			if ((facts & SHUTTLE_READS_ALL) != 0)
				shuttle_early_start_visit(outerPlanState(node), everything);
			else if ((facts & (SHUTTLE_HANDS_ON | SHUTTLE_READS_GROUPS)) != 0)
				shuttle_early_start_visit(outerPlanState(node), demand);
			break;
	}
}

/* Another scan of a CTE adds something only if it demands something else. */
static void
visit_cte(PlanState *cte, ShuttleDemand demand)
{
	int			kind = demand.all | demand.certain << 1 | demand.whole << 2 | demand.noting << 3;
	int		   *visited = shuttle_plan_visit_note(demand.visits, cte);

	if ((*visited & 1 << kind) != 0)
		return;
	*visited |= 1 << kind;
	demand.rows = 0;
	shuttle_early_start_visit(cte, demand);
}

/* Initplans run when their value is first used. They are started if an
 * expression that is always evaluated uses it. */
static void
visit_init_plans(PlanState *node, ShuttleDemand above)
{
	ListCell   *cell;

	foreach(cell, node->initPlan)
	{
		SubPlanState *init = lfirst_node(SubPlanState, cell);
		SubPlan    *plan = init->subplan;

		if (plan->subLinkType == CTE_SUBLINK)
			continue;
		if (!above.noting && plan->setParam != NIL &&
			shuttle_needed_param_is_needed(node, linitial_int(plan->setParam)))
			visit_init_plan(init, above);
		else
			shuttle_late_start_note_subplan(init, above);
	}
}

static void
visit_init_plan(SubPlanState *init, ShuttleDemand above)
{
	shuttle_early_start_visit(init->planstate,
							  shuttle_early_demand_of_input(above, init->subplan->subLinkType == ARRAY_SUBLINK,
															false, false));
}

static void
visit_scan(ForeignScanState *scan, ShuttleDemand demand)
{
	bool		certain = demand.certain;

	if (demand.noting)
	{
		if (shuttle_remote_scan_set_later(scan, demand.later))
			shuttle_late_start_count_scan(demand.later);
		if (demand.in_part && demand.whole)
			shuttle_remote_scan_read_whole(scan, NIL);
		return;
	}
	if (demand.in_part)
		certain = certain && demand.whole && !shuttle_caught_error_reads_ahead();
	else if (demand.whole)
		shuttle_remote_scan_read_whole(scan, NIL);
	if (shuttle_remote_scan_can_start(scan, demand.in_part))
	{
		shuttle_outbox_before_read(shuttle_scan_node(scan), scan->ss.ps.state);
		shuttle_remote_scan_send(scan, 0, !certain);
	}
	else if (demand.in_part)
		return;
	else if (shuttle_remote_scan_awaits_params(scan))
		shuttle_late_start_wait((PlanState *) scan, demand);
}

/*
 * If only some rows are wanted, the first child may have enough. For a known
 * number, as many children are started as should be needed by their estimates,
 * all but the first as not certain.
 */
static void
visit_append(AppendState *append, ShuttleDemand demand)
{
	Bitmapset  *chosen = NULL;

	/* each child may suffice, and a part is executed often */
	if (demand.in_part && !demand.all)
		return;
	if (shuttle_prunes_at_run_time(append->as_prune_state))
	{
		chosen = bms_union(append->as_valid_subplans, append->as_valid_asyncplans);
		if (bms_is_empty(chosen))
		{
			wait_for_pruning((PlanState *) append, append->appendplans,
							 append->as_nplans, demand);
			return;
		}
	}
	visit_all(append->appendplans, append->as_nplans, chosen, demand);
	bms_free(chosen);
	if (demand.whole && !demand.noting && !demand.in_part)
		start_together(append);
}

/* Visits the chosen children (NULL: all) in order, until their estimated rows
 * suffice. */
static void
visit_all(PlanState **nodes, int nnodes, const Bitmapset *chosen, ShuttleDemand demand)
{
	double		rows = 0;

	for (int i = 0; i < nnodes; i++)
	{
		if (chosen != NULL && !bms_is_member(i, chosen))
			continue;
		shuttle_early_start_visit(nodes[i], demand);
		if (demand.all || demand.noting)
			continue;
		rows += nodes[i]->plan->plan_rows;
		if (rows >= demand.rows)
			break;
		demand.certain = false;
	}
}

/* Scans that lock rows are not started early. The first one of an Append that
 * is read sends the others. */
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
		shuttle_remote_scan_read_whole(lfirst_node(ForeignScanState, cell), scans);
}

/* A MergeAppend reads the first row of each child. If not all rows are wanted
 * the children's pages are of few rows and used up at about the same time. */
static void
visit_merge_append(MergeAppendState *append, ShuttleDemand demand)
{
	List	   *scans = NIL;
	ListCell   *cell;

	if (shuttle_prunes_at_run_time(append->ms_prune_state) && bms_is_empty(append->ms_valid_subplans))
	{
		wait_for_pruning((PlanState *) append, append->mergeplans,
						 append->ms_nplans, demand);
		return;
	}
	for (int i = 0; i < append->ms_nplans; i++)
	{
		PlanState  *child = append->mergeplans[i];

		if (shuttle_prunes_at_run_time(append->ms_prune_state) && !bms_is_member(i, append->ms_valid_subplans))
			continue;
		shuttle_early_start_visit(child, demand);
		if (IsA(child, ForeignScanState) && !demand.in_part)
			scans = lappend(scans, child);
	}
	if (demand.noting || demand.all)
		return;
	foreach(cell, scans)
		shuttle_remote_scan_read_beside(lfirst_node(ForeignScanState, cell), scans);
}

/* Costs decide which side is read first. If it is empty the other side is not
 * read, unless the join returns unmatched rows of that side. */
static void
visit_hash_join(HashJoinState *join, ShuttleDemand demand)
{
	JoinType	type = join->js.jointype;
	ShuttleDemand outer = shuttle_early_demand_of_input(demand, demand.all, false, false);
	ShuttleDemand inner = shuttle_early_demand_of_input(demand, true, false, true);
	const Plan *hash = innerPlan(join->js.ps.plan);
	const Plan *outer_plan = outerPlan(join->js.ps.plan);

	outer.certain = demand.certain &&
		(type == JOIN_LEFT || type == JOIN_ANTI || type == JOIN_FULL);
	inner.certain = demand.certain && (type == JOIN_RIGHT || type == JOIN_FULL);

	/*
	 * if the outer side starts cheaply, its first row is read before the hash
	 * is built
	 */
	outer.whole = demand.whole &&
		(outer.certain || outer_plan->startup_cost >= hash->total_cost);

	/* if that row is missing, the larger answer is not waited for */
	if (!inner.certain && outer_plan->total_cost < hash->total_cost)
	{
		shuttle_early_start_visit(outerPlanState(join), outer);
		visit_second(innerPlanState(join), inner, outer_plan);
		return;
	}
	shuttle_early_start_visit(innerPlanState(join), inner);
	shuttle_early_start_visit(outerPlanState(join), outer);
}

static void
visit_nested_loop(NestLoopState *loop, ShuttleDemand demand)
{
	ShuttleDemand inner = shuttle_early_demand_of_input(demand, false, false, false);

	demand.rows = 0;
	shuttle_early_start_visit(outerPlanState(loop), demand);

	/* An inner side with parameters waits for outer rows. */
	inner.all = demand.all && !shuttle_join_takes_one(&loop->js);
	inner.whole = inner.all;
	if (((NestLoop *) loop->js.ps.plan)->nestParams == NIL)
		visit_second(innerPlanState(loop), inner, outerPlan(loop->js.ps.plan));
	else if (demand.noting || !demand.in_part)
		shuttle_late_start_note_part(innerPlanState(loop), inner.all, demand);
}

/* An input that is read if the first one has a row. If it waits, the first of its scans
 * that is executed starts the others. */
static void
visit_second(PlanState *second, ShuttleDemand demand, const Plan *first)
{
	if (demand.in_part && shuttle_costly_input_is_second(second, first))
		return;
	if (demand.noting || demand.later == NULL || !shuttle_costly_input_is_second(second, first))
	{
		shuttle_early_start_visit(second, demand);
		return;
	}
	shuttle_late_start_wait_anew(second, &demand);
	shuttle_early_start_visit(second, demand);
}

/* The first child that pruning leaves starts the others when it is executed. A part does
 * not wait: it is visited again whenever it is executed, and the value of an outer row
 * mostly leaves one child. */
static void
wait_for_pruning(PlanState *node, PlanState **nodes, int nnodes, ShuttleDemand demand)
{
	if (!demand.noting)
	{
		if (demand.in_part)
			return;
		shuttle_late_start_wait(node, demand);
	}
	demand.noting = true;
	visit_all(nodes, nnodes, NULL, demand);
}

/* A scan that needs these values is about to be sent. A single initplan starts
 * when it is read; only several can overlap. */
void
shuttle_early_start_params(EState *estate, const Bitmapset *params)
{
	MemoryContext old_cxt;
	ShuttleVisits visits = {0};
	ShuttleDemand nothing_later = {.certain = false,.visits = &visits};
	int			nplans = 0;

	if (!shuttle_settings.enable_early_start || IsParallelWorker())
		return;
	for (int i = -1; (i = bms_next_member(params, i)) >= 0;)
		nplans += estate->es_param_exec_vals[i].execPlan != NULL;
	if (nplans < 2)
		return;
	old_cxt = MemoryContextSwitchTo(estate->es_query_cxt);
	for (int i = -1; (i = bms_next_member(params, i)) >= 0;)
	{
		if (estate->es_param_exec_vals[i].execPlan != NULL)
			visit_init_plan(estate->es_param_exec_vals[i].execPlan, nothing_later);
	}
	MemoryContextSwitchTo(old_cxt);
}
