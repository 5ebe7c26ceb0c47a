/*-------------------------------------------------------------------------
 * late_filters.c
 *	  Moves conditions with subqueries to where they cost less: from the inner
 *	  side of a nested loop to the loop, and from an Append's children above it.
 *
 * The children of an Append would each ask nodes for a hashed subquery, and hash
 * it, for themselves. A Look Ahead above the Append does so once.
 *
 * The inner side of a nested loop starts again for each outer row. Its Look Ahead
 * would collect the few rows of one start; one above the loop collects whole
 * batches (look_ahead_in_subplans.c puts it there next).
 *
 * Only conditions of inner joins move, and they keep their order: first those of
 * the node below, from the first one that has such a subquery on, then those of the
 * join. So each is tested for the same rows as before, in the same sequence; also if
 * one fails, is volatile, or is a security barrier. The nodes below return the
 * columns that the conditions need.
 * Outer values come to an inner side as parameters of the loop, which become
 * columns again.
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

/* What a node gives up to the one above. */
typedef struct GivenUp
{
	Plan	   *plan;
	int			varno;			/* of its columns in the node above */
	List	   *kept;			/* conditions that stay */
	List	   *targetlist;		/* with the columns that the others need */
	List	   *conditions;		/* the others, over columns of varno */
} GivenUp;

/* Which subqueries ask nodes again and again. */
typedef struct Asking
{
	const PlannedStmt *statement;
	bool		by_children;	/* each child of an Append has the condition */
	bool		only_hashed;	/* others are asked in batches where they are */
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
	if (asking->only_hashed)
		return false;
	foreach(lc, subplan->parParam)
		params = bms_add_member(params, lfirst_int(lc));
	return shuttle_plan_find_batch_scan(plan, params, asking->statement) != NULL;
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

/* The column that has a Var of the node below; a new one if there is none. */
static Var *
find_column(const Var *var, GivenUp *given)
{
	TargetEntry *entry;
	ListCell   *lc;

	foreach(lc, given->targetlist)
	{
		entry = lfirst_node(TargetEntry, lc);
		if (equal(entry->expr, var))
			return makeVarFromTargetEntry(given->varno, entry);
	}
	entry = makeTargetEntry(copyObject((Expr *) var), list_length(given->targetlist) + 1,
							NULL, false);
	given->targetlist = lappend(given->targetlist, entry);
	return makeVarFromTargetEntry(given->varno, entry);
}

/* Replaces a node's Vars by columns of its target list. Costs of subqueries,
 * which nobody reads any more, must not tell partitions apart. */
static Node *
column_mutator(Node *node, GivenUp *given)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) find_column((Var *) node, given);
	result = expression_tree_mutator(node, column_mutator, given);
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
find_given_up(Plan *plan, int varno, const Asking *asking, GivenUp *given)
{
	List	  **conditions = shuttle_late_conditions(plan);
	List	   *taken = NIL;
	ListCell   *lc;

	*given = (GivenUp)
	{
		.plan = plan,
			.varno = varno
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
	given->conditions = (List *) column_mutator((Node *) taken, given);
	return taken != NIL;
}

/* ---- through an Append */

/* What the children give up, each the same conditions over the same columns;
 * NIL if they do not. */
static List *
find_given_by_children(const Plan *append, List *children, int varno, const Asking *asking)
{
	List	   *all = NIL;
	ListCell   *lc;

	foreach(lc, children)
	{
		GivenUp    *given = palloc_object(GivenUp);
		const GivenUp *first = all == NIL ? given : linitial(all);
		Plan	   *child = lfirst(lc);

		if (list_length(child->targetlist) != list_length(append->targetlist) ||
			!find_given_up(child, varno, asking, given) ||
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

/* Takes away what nodes give up, of an Append above them, too. Returns the
 * conditions. */
static List *
take_given_up(List *all, Plan *append)
{
	const GivenUp *first = linitial(all);
	ListCell   *lc;

	foreach(lc, all)
	{
		GivenUp    *given = lfirst(lc);

		*shuttle_late_conditions(given->plan) = given->kept;
		given->plan->targetlist = given->targetlist;
	}
	if (append != NULL)
		pass_columns(&append->targetlist, first->targetlist, OUTER_VAR);
	return first->conditions;
}

static List *
children_of_append(const Plan *plan)
{
	if (IsA(plan, Append))
		return ((const Append *) plan)->appendplans;
	if (IsA(plan, MergeAppend))
		return ((const MergeAppend *) plan)->mergeplans;
	return NIL;
}

/* Puts a Look Ahead above an Append whose children would each hash the same
 * subqueries. Returns it, or the plan. */
static Plan *
consider_append(Plan *plan, ShuttleFinishedPlan *context)
{
	Asking		asking = {
		.statement = context->statement,
		.by_children = true,
		.only_hashed = true
	};
	List	   *children = children_of_append(plan);
	List	   *all = NIL;
	int			ncolumns = list_length(plan->targetlist);

	if (list_length(children) > 1)
		all = find_given_by_children(plan, children, INDEX_VAR, &asking);
	if (all == NIL)
		return plan;
	return shuttle_look_ahead_place_filter(plan, ncolumns, take_given_up(all, plan), context);
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

/* The conditions that a scan, a join or an Append below the loop gives up. */
static List *
take_conditions(Plan *inner, const NestLoop *loop, ShuttleFinishedPlan *context)
{
	Asking		asking = {.statement = context->statement};
	Plan	   *append = IsA(inner, Append) && inner->initPlan == NIL ? inner : NULL;
	List	   *all;

	if (append != NULL)
	{
		List	   *children = ((Append *) append)->appendplans;

		asking.by_children = list_length(children) > 1;
		all = find_given_by_children(append, children, INNER_VAR, &asking);
	}
	else
	{
		GivenUp    *given = palloc_object(GivenUp);

		all = find_given_up(inner, INNER_VAR, &asking, given) ? list_make1(given) : NIL;
	}
	if (all == NIL || !may_take(loop, ((GivenUp *) linitial(all))->conditions, context))
		return NIL;
	return take_given_up(all, append);
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
	CustomScan *routed = shuttle_node_is_routed_append_plan(inner) ? (CustomScan *) inner : NULL;
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

/* again: the plan is started again for each row of a loop. */
static Plan *
move_filters(Plan *plan, bool again, ShuttleFinishedPlan *context)
{
	Plan	  **child;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	check_stack_depth();
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		bool		child_again = again || shuttle_node_is_routed_append_plan(plan) ||
			(IsA(plan, NestLoop) && *child == innerPlan(plan));

		*child = move_filters(*child, child_again, context);
	}
	if (IsA(plan, NestLoop))
		consider_loop((NestLoop *) plan, context);
	return again ? plan : consider_append(plan, context);
}

Plan *
shuttle_late_filters_move(Plan *plan, ShuttleFinishedPlan *context)
{
	const PlannedStmt *statement = context->statement;
	bool		may_lock = statement->commandType != CMD_SELECT || statement->rowMarks != NIL;

	if (plan == NULL)			/* the subquery that core did not choose */
		return NULL;
	return move_filters(plan, may_lock || !bms_is_empty(plan->extParam), context);
}
