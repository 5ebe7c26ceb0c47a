/*-------------------------------------------------------------------------
 * outer_errors.c
 *	  What reading the rows of an outer side ahead of time may raise.
 *
 * Stock PostgreSQL reads an outer row when the join is done with the one
 * before, and may stop before a row that raises an error. What may be raised
 * decides how far rows are read ahead if it is not certain that all will be
 * read (read_ahead.c).
 *
 * There are two questions about a node: what it raises after its first row,
 * when sorts, hash tables and the like have read their input, and what it
 * raises in a whole run. The first is asked of an outer side itself, the
 * second of nodes that may start later: inner sides of nested loops, further
 * children of an Append, subqueries.
 *
 * After an error the outer side is not asked for more rows, but may be
 * rescanned. A node that keeps the rows it has read would then continue after
 * the failed row. After a pause the outer side is asked again: the nodes
 * between must not have lost their place.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execPartition.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "executor/facts/node_names.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/plan_facts.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/shuttle_executor.h"

static ShuttleOuterErrors errors_of(PlanState *node, ShuttleErrorsQuestion question);

static ShuttleOuterErrors
worse(ShuttleOuterErrors errors, ShuttleOuterErrors others)
{
	return Max(errors, others);
}

/* Errors of a child that may start at any time. */
static ShuttleOuterErrors
running(PlanState *node, ShuttleErrorsQuestion question)
{
	question.later = false;
	return node == NULL ? SHUTTLE_RAISES_NOTHING : errors_of(node, question);
}

/* Errors of a child whose rows the node keeps: if the child did not reach its
 * end, a rescan does not read it again from the beginning. */
static ShuttleOuterErrors
keeping(ShuttleOuterErrors errors, ShuttleErrorsQuestion question)
{
	if (errors == SHUTTLE_RAISES_NOTHING ||
		(errors == SHUTTLE_RAISES_VALUES && question.once))
		return errors;
	return SHUTTLE_RAISES_ANYTHING;
}

/* Errors of a child that is read to its end for the node's first row. */
static ShuttleOuterErrors
read_first(PlanState *child, ShuttleErrorsQuestion question)
{
	return question.later ? SHUTTLE_RAISES_NOTHING :
		keeping(running(child, question), question);
}

/* Errors of a node that cannot pause in the middle of a group of rows. */
static ShuttleOuterErrors
without_pause(ShuttleOuterErrors errors)
{
	return errors == SHUTTLE_RAISES_REQUESTS ? SHUTTLE_RAISES_ANYTHING : errors;
}

/* Errors of children other than the outer and inner one. */
static ShuttleOuterErrors
running_others(PlanState *node, ShuttleErrorsQuestion question)
{
	ShuttleOuterErrors errors = SHUTTLE_RAISES_NOTHING;
	PlanState  *child;

	for (int i = 0; (child = shuttle_plan_other_child(node, i)) != NULL; i++)
		errors = worse(errors, running(child, question));
	return errors;
}

/* ---- nodes */

/* Our scans and stock postgres_fdw's can pause before a request; others are
 * unknown. */
static ShuttleOuterErrors
foreign_scan_errors(ForeignScanState *node, ShuttleErrorsQuestion question)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	ShuttleOuterErrors keys;
	const char *sql = plan->operation == CMD_SELECT ?
		shuttle_postgres_fdw_scan_sql(plan) : NULL;

	if (sql == NULL || plan->scan.plan.async_capable ||
		!shuttle_server_can_look_ahead(NULL, plan->fs_server))
		return SHUTTLE_RAISES_ANYTHING;
	keys = shuttle_expression_errors((Node *) plan->fdw_exprs, &node->ss.ps,
									 question);
	return shuttle_remote_sql_may_fail(sql) ? worse(keys, SHUTTLE_RAISES_REQUESTS) : keys;
}

static ShuttleOuterErrors
append_errors(AppendState *node, ShuttleErrorsQuestion question)
{
	ShuttleOuterErrors errors = running_others(&node->ps, question);

	if (node->as_nasyncplans > 0 ||
		(node->as_prune_state != NULL && node->as_prune_state->do_exec_prune))
		return errors == SHUTTLE_RAISES_NOTHING && node->as_nasyncplans == 0 ?
			SHUTTLE_RAISES_VALUES : SHUTTLE_RAISES_ANYTHING;
	return errors;
}

/* The hash table is built before the first row, and is kept. */
static ShuttleOuterErrors
hash_join_errors(HashJoinState *node, ShuttleErrorsQuestion question)
{
	HashJoin   *plan = (HashJoin *) node->js.ps.plan;
	List	   *clauses = list_concat_copy(plan->hashclauses, plan->join.joinqual);
	ShuttleOuterErrors errors;

	errors = shuttle_expression_errors((Node *) clauses, &node->js.ps, question);
	errors = worse(errors, read_first(innerPlanState(node), question));
	return worse(errors, errors_of(outerPlanState(node), question));
}

static ShuttleOuterErrors
join_errors(JoinState *node, List *clauses, ShuttleErrorsQuestion question)
{
	ShuttleOuterErrors errors;

	clauses = list_concat_copy(clauses, ((Join *) node->ps.plan)->joinqual);
	errors = shuttle_expression_errors((Node *) clauses, &node->ps, question);
	errors = worse(errors, running(innerPlanState(node), question));
	return worse(errors, errors_of(outerPlanState(node), question));
}

static ShuttleOuterErrors
custom_errors(CustomScanState *node, ShuttleErrorsQuestion question)
{
	if (shuttle_node_is_look_ahead(&node->ss.ps))
		return errors_of(outerPlanState(node), question);
	return shuttle_node_is_routed_append(&node->ss.ps) ?
		running_others(&node->ss.ps, question) : SHUTTLE_RAISES_ANYTHING;
}

/* Expressions other than the target list, the conditions and those of joins. */
static Node *
other_expressions(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return (Node *) list_concat_copy(((IndexScan *) plan)->indexqualorig,
											 ((IndexScan *) plan)->indexorderbyorig);
		case T_IndexOnlyScan:
			return (Node *) list_concat_copy(((IndexOnlyScan *) plan)->recheckqual,
											 ((IndexOnlyScan *) plan)->indexorderby);
		case T_BitmapIndexScan:
			return (Node *) ((BitmapIndexScan *) plan)->indexqualorig;
		case T_BitmapHeapScan:
			return (Node *) ((BitmapHeapScan *) plan)->bitmapqualorig;
		case T_FunctionScan:
			return (Node *) ((FunctionScan *) plan)->functions;
		case T_ValuesScan:
			return (Node *) ((ValuesScan *) plan)->values_lists;
		case T_Result:
			return ((Result *) plan)->resconstantqual;
		case T_Limit:
			return (Node *) list_make2(((Limit *) plan)->limitOffset,
									   ((Limit *) plan)->limitCount);
		case T_WindowAgg:
			return (Node *) lappend(lappend(list_copy(((WindowAgg *) plan)->runCondition),
											((WindowAgg *) plan)->startOffset),
									((WindowAgg *) plan)->endOffset);
		default:
			return NULL;
	}
}

/* Errors of a node's children, and of the expressions of joins and foreign
 * scans. */
static ShuttleOuterErrors
errors_below(PlanState *node, ShuttleErrorsQuestion question)
{
	int			facts = shuttle_plan_facts(node->plan);

	switch (nodeTag(node))
	{
		case T_SeqScanState:
		case T_IndexScanState:
		case T_IndexOnlyScanState:
		case T_BitmapIndexScanState:
		case T_FunctionScanState:
		case T_ValuesScanState:
		case T_WorkTableScanState:
		case T_NamedTuplestoreScanState:
			return SHUTTLE_RAISES_NOTHING;
		case T_ForeignScanState:
			return foreign_scan_errors((ForeignScanState *) node, question);
		case T_BitmapHeapScanState:
			return running(outerPlanState(node), question);
		case T_BitmapAndState:
		case T_BitmapOrState:
			return running_others(node, question);
		case T_SubqueryScanState:
			return errors_of(((SubqueryScanState *) node)->subplan, question);
		case T_CteScanState:

			/* other readers would continue after the failed row */
			return shuttle_outer_errors_of_plan(((CteScanState *) node)->cteplanstate, question) ==
				SHUTTLE_RAISES_NOTHING ? SHUTTLE_RAISES_NOTHING : SHUTTLE_RAISES_ANYTHING;
		case T_ResultState:
		case T_LimitState:
		case T_ProjectSetState:
		case T_LockRowsState:
			return outerPlanState(node) == NULL ? SHUTTLE_RAISES_NOTHING :
				errors_of(outerPlanState(node), question);
		case T_MaterialState:
			return keeping(errors_of(outerPlanState(node), question), question);
		case T_MemoizeState:
		case T_IncrementalSortState:
			return keeping(running(outerPlanState(node), question), question);
		case T_HashState:
			return running(outerPlanState(node), question);
		case T_SetOpState:
		case T_RecursiveUnionState:
			return keeping(worse(running(outerPlanState(node), question),
								 running(innerPlanState(node), question)), question);
		case T_AppendState:
			return append_errors((AppendState *) node, question);
		case T_MergeAppendState:

			/* its first row needs a row of each child */
			return question.later ? running_others(node, question) :
				without_pause(running_others(node, question));
		case T_NestLoopState:
			return join_errors((JoinState *) node, NIL, question);
		case T_MergeJoinState:
			return join_errors((JoinState *) node,
							   ((MergeJoin *) node->plan)->mergeclauses, question);
		case T_HashJoinState:
			return hash_join_errors((HashJoinState *) node, question);
		case T_CustomScanState:
			return custom_errors((CustomScanState *) node, question);
		case T_GatherState:
		case T_GatherMergeState:

			/* workers' errors are raised by this node */
			return running(outerPlanState(node), question) ==
				SHUTTLE_RAISES_NOTHING ? SHUTTLE_RAISES_NOTHING : SHUTTLE_RAISES_ANYTHING;
		case T_ModifyTableState:
			return SHUTTLE_RAISES_ANYTHING;
		default:

			/*
			 * An aggregate or sort that spilled to disk is finished later,
			 * but its input was read first.
			 */
			if ((facts & SHUTTLE_READS_ALL) != 0)
				return read_first(outerPlanState(node), question);
			return (facts & SHUTTLE_READS_GROUPS) == 0 ? SHUTTLE_RAISES_ANYTHING :
				without_pause(errors_of(outerPlanState(node), question));
	}
}

/*
 * An initplan that depends on an outer row is executed again for the next one,
 * by the first expression that needs it. If an error stopped it, it continues
 * where it was.
 */
static ShuttleOuterErrors
initplan_errors(PlanState *node, ShuttleErrorsQuestion question)
{
	ListCell   *lc;

	question.once = false;
	foreach(lc, node->initPlan)
	{
		SubPlanState *initplan = lfirst_node(SubPlanState, lc);

		if (!bms_is_empty(initplan->planstate->plan->extParam) &&
			(initplan->subplan->subLinkType != EXISTS_SUBLINK ||
			 shuttle_outer_errors_of_plan(initplan->planstate, question) != SHUTTLE_RAISES_NOTHING))
			return SHUTTLE_RAISES_ANYTHING;
	}
	return SHUTTLE_RAISES_NOTHING;
}

static ShuttleOuterErrors
errors_of(PlanState *node, ShuttleErrorsQuestion question)
{
	Plan	   *plan = node->plan;
	ShuttleOuterErrors errors = worse(initplan_errors(node, question),
									  errors_below(node, question));

	if (errors == SHUTTLE_RAISES_ANYTHING)
		return errors;
	errors = worse(errors, shuttle_expression_errors((Node *) plan->targetlist,
													 node, question));
	errors = worse(errors, shuttle_expression_errors((Node *) plan->qual,
													 node, question));
	return worse(errors, shuttle_expression_errors(other_expressions(plan),
												   node, question));
}

ShuttleOuterErrors
shuttle_outer_errors(PlanState *outer, bool once)
{
	ShuttleVisits visits = {0};
	ShuttleErrorsQuestion question = {.once = once,.later = true,.visits = &visits};

	return errors_of(outer, question);
}

ShuttleOuterErrors
shuttle_outer_errors_of_plan(PlanState *node, ShuttleErrorsQuestion question)
{
	int		   *known = shuttle_plan_visit_note(question.visits, node);
	int			shift = question.once ? BITS_PER_BYTE : 0;

	question.later = false;
	if ((*known >> shift & 0xff) == 0)
		*known |= (errors_of(node, question) + 1) << shift;
	return (*known >> shift & 0xff) - 1;
}
