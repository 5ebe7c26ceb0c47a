/*-------------------------------------------------------------------------
 * late_filters.c
 *	  Moves conditions with correlated subqueries from the inner side of a
 *	  nested loop to the loop itself.
 *
 * The inner side starts again for each outer row. Its Look Ahead would collect
 * the few rows of one start; one above the loop collects whole batches
 * (look_ahead_in_subplans.c puts it there next).
 *
 * Of an inner join only, and in order: the conditions of the inner side from
 * the first one with such a subquery on, then those of the join. So each is
 * tested for the same rows as before, in the same sequence; also if one fails,
 * is volatile, or is a security barrier. The inner side returns the columns
 * that they need. Outer values come to it as parameters of the loop, which
 * become columns again.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/finished_plan/finished_plan.h"

/* What a node of the inner side gives up. */
typedef struct GivenUp
{
	Plan	   *plan;
	List	   *kept;			/* conditions that stay */
	List	   *targetlist;		/* with the columns that the others need */
	List	   *conditions;		/* the others, over columns of INNER_VAR */
} GivenUp;

/* Which subqueries ask nodes again and again. */
typedef struct Asking
{
	const PlannedStmt *statement;
	bool		by_children;	/* each child of an Append has the condition */
} Asking;

/* ---- which conditions */

/* True if one row at most joins each outer row, and a list of conditions may
 * tell so. */
static bool
tells_unique(const Join *join, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, join->inner_unique ? conditions : NIL)
	{
		const OpExpr *operator = lfirst(lc);

		if (IsA(operator, OpExpr) &&
			op_mergejoinable(operator->opno, exprType(linitial(operator->args))))
			return true;
	}
	return false;
}

List	  **
shuttle_late_conditions(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_SubqueryScan:
		case T_CteScan:
		case T_FunctionScan:
		case T_ValuesScan:
			return &plan->qual;
		case T_ForeignScan:
			return ((ForeignScan *) plan)->operation == CMD_SELECT ? &plan->qual : NULL;
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:

			/* core puts all conditions of an inner join into joinqual */
			if (((Join *) plan)->jointype == JOIN_INNER && plan->qual == NIL &&
				!tells_unique((Join *) plan, ((Join *) plan)->joinqual))
				return &((Join *) plan)->joinqual;
			return &plan->qual;
		default:
			return NULL;
	}
}

/* True of a subquery that nodes are asked for by its parameters; and of one that
 * each child of an Append would ask them for, and hash. */
static bool
asks_again(Node *node, const Asking *asking)
{
	const SubPlan *subplan = (const SubPlan *) node;
	Bitmapset  *params = NULL;
	Plan	   *plan;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, SubPlan))
		return expression_tree_walker(node, asks_again, (void *) asking);
	if (subplan->subLinkType == CTE_SUBLINK)
		return false;
	plan = list_nth(asking->statement->subplans, subplan->plan_id - 1);
	if (subplan->useHashTable)
		return asking->by_children && shuttle_plan_reads_node(plan);
	foreach(lc, subplan->parParam)
		params = bms_add_member(params, lfirst_int(lc));
	return shuttle_find_batch_scan(plan, params, asking->statement) != NULL;
}

/* True if a subquery reads parameters of the loop that are not among its
 * arguments: they would belong to another row. */
static bool
reads_params(Node *node, void *context)
{
	const SubPlan *subplan = (const SubPlan *) node;
	const ShuttleFinishedPlan *finished = context;
	Bitmapset  *read;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, SubPlan))
		return expression_tree_walker(node, reads_params, context);
	read = bms_copy(((Plan *) list_nth(finished->statement->subplans,
									   subplan->plan_id - 1))->extParam);
	foreach(lc, subplan->parParam)
		read = bms_del_member(read, lfirst_int(lc));
	return bms_overlap(read, finished->loop_params);
}

/* The column of a target list that has a Var; a new one if there is none. */
static Var *
find_column(const Var *var, List **targetlist)
{
	TargetEntry *entry;
	ListCell   *lc;

	foreach(lc, *targetlist)
	{
		entry = lfirst_node(TargetEntry, lc);
		if (equal(entry->expr, var))
			return makeVarFromTargetEntry(INNER_VAR, entry);
	}
	entry = makeTargetEntry(copyObject((Expr *) var), list_length(*targetlist) + 1, NULL,
							false);
	*targetlist = lappend(*targetlist, entry);
	return makeVarFromTargetEntry(INNER_VAR, entry);
}

/* Replaces a node's Vars by columns of its target list. Costs of subqueries,
 * which nobody reads any more, must not tell partitions apart. */
static Node *
column_mutator(Node *node, List **targetlist)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) find_column((Var *) node, targetlist);
	result = expression_tree_mutator(node, column_mutator, targetlist);
	if (IsA(result, SubPlan))
	{
		((SubPlan *) result)->startup_cost = 0;
		((SubPlan *) result)->per_call_cost = 0;
	}
	return result;
}

/* True if a node computes nothing that might fail for rows that it no longer
 * leaves out. */
static bool
returns_columns(const List *targetlist)
{
	ListCell   *lc;

	foreach(lc, targetlist)
	{
		const Node *expr = (const Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(expr, Var) && !IsA(expr, Const) && !IsA(expr, Param))
			return false;
	}
	return true;
}

/* What a scan or a join gives up; false if nothing. */
static bool
find_given_up(Plan *plan, const Asking *asking, GivenUp *given)
{
	List	  **conditions = shuttle_late_conditions(plan);
	List	   *taken = NIL;
	ListCell   *lc;

	*given = (GivenUp)
	{
		.plan = plan
	};
	if (conditions == NULL || plan->initPlan != NIL || !returns_columns(plan->targetlist))
		return false;
	foreach(lc, *conditions)
	{
		if (taken != NIL || asks_again(lfirst(lc), asking))
			taken = lappend(taken, lfirst(lc));
		else
			given->kept = lappend(given->kept, lfirst(lc));
	}
	given->targetlist = list_copy(plan->targetlist);
	given->conditions = (List *) column_mutator((Node *) taken, &given->targetlist);
	return taken != NIL;
}

/* ---- through an Append */

/* What the children give up, each the same conditions over the same columns;
 * NIL if they do not. */
static List *
find_given_by_children(const Append *append, const PlannedStmt *statement)
{
	Asking		asking = {statement, list_length(append->appendplans) > 1};
	List	   *all = NIL;
	ListCell   *lc;

	foreach(lc, append->appendplans)
	{
		GivenUp    *given = palloc_object(GivenUp);
		const GivenUp *first = all == NIL ? given : linitial(all);
		Plan	   *child = lfirst(lc);

		if (list_length(child->targetlist) != list_length(append->plan.targetlist) ||
			!find_given_up(child, &asking, given) ||
			!equal(given->conditions, first->conditions))
			return NIL;
		all = lappend(all, given);
	}
	return all;
}

/* Has a node return a child's further columns. */
static void
pass_columns(List **targetlist, List *child_targetlist, int varno)
{
	ListCell   *lc;

	for_each_from(lc, child_targetlist, list_length(*targetlist))
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		*targetlist = lappend(*targetlist,
							  makeTargetEntry((Expr *) makeVarFromTargetEntry(varno, entry),
											  entry->resno, NULL, false));
	}
}

/* ---- from the inner side to the loop */

static bool
may_take(const NestLoop *loop, const List *conditions, ShuttleFinishedPlan *context)
{
	ListCell   *lc;

	if (loop->join.inner_unique &&
		(loop->join.joinqual != NIL || tells_unique(&loop->join, conditions)))
		return false;
	context->loop_params = NULL;
	foreach(lc, loop->nestParams)
		context->loop_params = bms_add_member(context->loop_params,
											  lfirst_node(NestLoopParam, lc)->paramno);
	return !reads_params((Node *) conditions, context);
}

static void
give_up(const GivenUp *given)
{
	*shuttle_late_conditions(given->plan) = given->kept;
	given->plan->targetlist = given->targetlist;
}

/* The conditions that a scan, a join or an Append below the loop gives up. */
static List *
take_conditions(Plan *inner, const NestLoop *loop, ShuttleFinishedPlan *context)
{
	List	   *all;
	ListCell   *lc;

	if (IsA(inner, Append) && inner->initPlan == NIL)
		all = find_given_by_children((Append *) inner, context->statement);
	else
	{
		Asking		asking = {context->statement, false};
		GivenUp    *given = palloc_object(GivenUp);

		all = find_given_up(inner, &asking, given) ? list_make1(given) : NIL;
	}
	if (all == NIL || !may_take(loop, ((GivenUp *) linitial(all))->conditions, context))
		return NIL;
	foreach(lc, all)
		give_up(lfirst(lc));
	if (IsA(inner, Append))
		pass_columns(&inner->targetlist, ((GivenUp *) linitial(all))->targetlist, OUTER_VAR);
	return ((GivenUp *) linitial(all))->conditions;
}

/* Replaces parameters of the loop by the outer columns that they come from. */
static Node *
outer_column_mutator(Node *node, const NestLoop *loop)
{
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Param) || ((Param *) node)->paramkind != PARAM_EXEC)
		return expression_tree_mutator(node, outer_column_mutator, (void *) loop);
	foreach(lc, loop->nestParams)
	{
		const NestLoopParam *param = lfirst_node(NestLoopParam, lc);

		if (param->paramno == ((Param *) node)->paramid)
			return copyObject((Node *) param->paramval);
	}
	return copyObject(node);
}

static void
consider_loop(NestLoop *loop, ShuttleFinishedPlan *context)
{
	Plan	   *inner = innerPlan(loop);
	CustomScan *routed = shuttle_is_routed_append_plan(inner) ? (CustomScan *) inner : NULL;
	List	   *conditions;

	if (loop->join.jointype != JOIN_INNER || loop->join.plan.qual != NIL)
		return;
	if (routed != NULL)
		inner = outerPlan(routed);
	conditions = take_conditions(inner, loop, context);
	if (conditions == NIL)
		return;
	if (routed != NULL)
	{
		pass_columns(&routed->scan.plan.targetlist, inner->targetlist, INDEX_VAR);
		pass_columns(&routed->custom_scan_tlist, inner->targetlist, OUTER_VAR);
	}
	loop->join.joinqual = list_concat((List *)
									  outer_column_mutator((Node *) conditions, loop),
									  loop->join.joinqual);
}

void
shuttle_move_filters(Plan *plan, ShuttleFinishedPlan *context)
{
	Plan	  **child;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return;
	check_stack_depth();
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		shuttle_move_filters(*child, context);
	if (IsA(plan, NestLoop))
		consider_loop((NestLoop *) plan, context);
}
