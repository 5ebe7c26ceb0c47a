/*-------------------------------------------------------------------------
 * look_ahead_in_subplans.c
 *	  Puts a Look Ahead at plan nodes with correlated subqueries.
 *
 * A node evaluates its SubPlans for each row. Either the Look Ahead goes above
 * that node and takes over its target list and its quals from the first one
 * with a SubPlan on, in order, and the node only returns the columns that they
 * need. Or, for a Result or an aggregate that evaluates SubPlans on its input
 * rows, it goes below. SubPlans are found by number, so they may move. Nothing
 * is put over a cursor's scan that WHERE CURRENT OF may need.
 *
 * A SubPlan is certain if it is evaluated for each row. Others (in CASE, OR, a
 * later qual, FILTER) are conditional: they are looked ahead for only if an
 * error can be thrown away, which the executor decides.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"

#include "base/shuttle_compat_expressions.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_settings.h"
#include "planner/finished_plan/finished_plan.h"

/* What a walk over a node's expressions finds. */
typedef struct FindContext
{
	PlannedStmt *statement;
	bool		conditional;	/* the expression may not be evaluated for
								 * each row */
	const ForeignScan *scan;	/* the first one that can be looked ahead for */
	ShuttleLookAheadPlan plan;
} FindContext;

/* Columns that expressions moved to the Look Ahead need from the node below. */
typedef struct MoveContext
{
	List	   *columns;
} MoveContext;

static bool find_walker(Node *node, FindContext *context);
static bool has_subplan_walker(Node *node, void *context);

/* ---- which SubPlans */

/* A foreign scan in the subquery that uses one of its parameters, or NULL. */
static const ForeignScan *
scan_of_subplan(const SubPlan *subplan, PlannedStmt *statement)
{
	Bitmapset  *params = NULL;
	ListCell   *lc;

	if (subplan->parParam == NIL || subplan->useHashTable ||
		subplan->subLinkType == CTE_SUBLINK)
		return NULL;
	foreach(lc, subplan->args)
	{
		/*
		 * arguments are evaluated ahead: they must not fail or have side
		 * effects
		 */
		if (!IsA(lfirst(lc), Var) && !IsA(lfirst(lc), Aggref))
			return NULL;
	}
	foreach(lc, subplan->parParam)
		params = bms_add_member(params, lfirst_int(lc));
	return shuttle_plan_find_batch_scan((Plan *) list_nth(statement->subplans,
														  subplan->plan_id - 1),
										params, statement);
}

static void
add_subplan(const SubPlan *subplan, FindContext *context)
{
	const ForeignScan *scan = scan_of_subplan(subplan, context->statement);

	if (scan == NULL)
		return;
	if (context->scan == NULL)
		context->scan = scan;
	if (context->conditional)
		context->plan.conditional = lappend_int(context->plan.conditional,
												subplan->plan_id);
	else
		context->plan.certain = lappend_int(context->plan.certain,
											subplan->plan_id);
}

/* Walks an expression that may not be evaluated for each row. */
static void
find_conditional(Node *node, FindContext *context)
{
	bool		before = context->conditional;

	context->conditional = true;
	(void) find_walker(node, context);
	context->conditional = before;
}

/* The first member is evaluated if the list is; the others may be skipped. */
static void
find_in_sequence(List *list, FindContext *context)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (lc == list_head(list))
			(void) find_walker((Node *) lfirst(lc), context);
		else
			find_conditional((Node *) lfirst(lc), context);
	}
}

/* Further columns are compared only if the first ones are equal. */
static void
find_in_row_compare(RowCompareExpr *expr, FindContext *context)
{
	find_in_sequence(expr->largs, context);
	find_in_sequence(expr->rargs, context);
}

/* Subscripts of NULL are not evaluated. */
static void
find_in_subscripts(SubscriptingRef *expr, FindContext *context)
{
	(void) find_walker((Node *) expr->refexpr, context);
	find_conditional((Node *) expr->refupperindexpr, context);
	find_conditional((Node *) expr->reflowerindexpr, context);
	find_conditional((Node *) expr->refassgnexpr, context);
}

/* Quals before the first one with a SubPlan stay in the node below. */
static void
find_in_quals(List *quals, FindContext *context)
{
	bool		moved = false;
	ListCell   *lc;

	foreach(lc, quals)
	{
		if (moved)
			find_conditional((Node *) lfirst(lc), context);
		else
			(void) find_walker((Node *) lfirst(lc), context);
		moved = moved || has_subplan_walker((Node *) lfirst(lc), NULL);
	}
}

/* Of CASE, the argument and the first condition are always evaluated. */
static void
find_in_case(CaseExpr *expr, FindContext *context)
{
	ListCell   *lc;

	(void) find_walker((Node *) expr->arg, context);
	foreach(lc, expr->args)
	{
		CaseWhen   *when = lfirst_node(CaseWhen, lc);

		if (lc == list_head(expr->args))
			(void) find_walker((Node *) when->expr, context);
		else
			find_conditional((Node *) when->expr, context);
		find_conditional((Node *) when->result, context);
	}
	find_conditional((Node *) expr->defresult, context);
}

static bool
find_walker(Node *node, FindContext *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SubPlan:
			add_subplan((SubPlan *) node, context);
			return false;
		case T_Aggref:
		case T_WindowFunc:
			return false;		/* evaluated on the node's input */
		case T_CaseExpr:
			find_in_case((CaseExpr *) node, context);
			return false;
		case T_CoalesceExpr:
			find_in_sequence(((CoalesceExpr *) node)->args, context);
			return false;
		case T_BoolExpr:
			find_in_sequence(((BoolExpr *) node)->args, context);
			return false;
		case T_RowCompareExpr:
			find_in_row_compare((RowCompareExpr *) node, context);
			return false;
		case T_SubscriptingRef:
			find_in_subscripts((SubscriptingRef *) node, context);
			return false;
		default:
			if (shuttle_is_json_query(node) && !context->conditional)
			{
				/* JSON_VALUE() and the like evaluate nothing for NULL */
				find_conditional(node, context);
				return false;
			}
			return expression_tree_walker(node, find_walker, context);
	}
}

/* The SubPlans in the arguments of aggregates. */
static bool
find_in_aggregates(Node *node, FindContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;

		if (aggregate->aggfilter != NULL)
			find_conditional((Node *) aggregate->args, context);
		else
			(void) find_walker((Node *) aggregate->args, context);
		return find_walker((Node *) aggregate->aggfilter, context);
	}
	return expression_tree_walker(node, find_in_aggregates, context);
}

/* ---- above an owner */

static bool
has_subplan_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Aggref) || IsA(node, WindowFunc))
		return false;
	return IsA(node, SubPlan) ||
		expression_tree_walker(node, has_subplan_walker, context);
}

/* Replaces what the node below computes by Vars of its output columns. */
static Node *
move_mutator(Node *node, MoveContext *context)
{
	ListCell   *lc;
	int			column = 0;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var) && !IsA(node, Aggref) && !IsA(node, WindowFunc) &&
		!IsA(node, GroupingFunc))
		return expression_tree_mutator(node, move_mutator, context);
	foreach(lc, context->columns)
	{
		column++;
		if (equal(lfirst(lc), node))
			break;
	}
	if (lc == NULL)
	{
		context->columns = lappend(context->columns, copyObject(node));
		column = list_length(context->columns);
	}
	return (Node *) makeVar(INDEX_VAR, column, exprType(node),
							exprTypmod(node), exprCollation(node), 0);
}

/* The conditions of a node whose target list and conditions may be evaluated by
 * a Look Ahead above; NULL: they may not. */
static List **
movable_conditions(Plan *plan)
{
	if (IsA(plan, Agg))
		return ((Agg *) plan)->aggsplit == AGGSPLIT_SIMPLE ? &plan->qual : NULL;
	return shuttle_late_conditions(plan);
}

/* Removes the quals from the first one with a SubPlan on; they keep their
 * order. */
static List *
take_quals(List **quals)
{
	List	   *kept = NIL;
	List	   *taken = NIL;
	ListCell   *lc;

	foreach(lc, *quals)
	{
		if (taken != NIL || has_subplan_walker((Node *) lfirst(lc), NULL))
			taken = lappend(taken, lfirst(lc));
		else
			kept = lappend(kept, lfirst(lc));
	}
	*quals = kept;
	return taken;
}

/*
 * Target lists of the node below (*targetlist) and of the scan tuple above it.
 */
static List *
make_scan_targetlist(List *columns, List **targetlist)
{
	List	   *scan_targetlist = NIL;
	ListCell   *lc;

	*targetlist = NIL;
	foreach(lc, columns)
	{
		AttrNumber	number = list_length(*targetlist) + 1;
		Node	   *expr = (Node *) lfirst(lc);
		Var		   *var = makeVar(OUTER_VAR, number, exprType(expr),
								  exprTypmod(expr), exprCollation(expr), 0);

		*targetlist = lappend(*targetlist, makeTargetEntry((Expr *) expr, number,
														   NULL, false));
		scan_targetlist = lappend(scan_targetlist,
								  makeTargetEntry((Expr *) var, number, NULL,
												  false));
	}
	return scan_targetlist;
}

static Plan *
place_above(Plan *owner, List **conditions, FindContext *found, ShuttleFinishedPlan *context)
{
	MoveContext move = {NIL};
	List	   *targetlist;
	List	   *quals;
	List	   *owner_targetlist;
	List	   *scan_targetlist;
	CustomScan *look;
	Plan	   *plan;

	targetlist = (List *) move_mutator((Node *) owner->targetlist, &move);
	quals = (List *) move_mutator((Node *) take_quals(conditions), &move);
	scan_targetlist = make_scan_targetlist(move.columns, &owner_targetlist);
	owner->targetlist = owner_targetlist;
	look = shuttle_look_ahead_make(owner, targetlist, scan_targetlist,
								   &found->plan);
	look->scan.plan.qual = quals;
	plan = shuttle_plan_finish_node(look, owner, context);
	shuttle_plan_move_initplans(owner, plan);
	return plan;
}

/* ---- below an owner */

static void
place_below_owner(Plan *owner, FindContext *found, ShuttleFinishedPlan *context)
{
	outerPlan(owner) =
		&shuttle_plan_look_ahead_above(outerPlan(owner), &found->plan, context)->scan.plan;
}

static bool
find_done(FindContext *found, ShuttleFinishedPlan *context)
{
	ListCell   *lc;

	if (found->scan == NULL)
		return false;
	found->plan.batch_size =
		shuttle_planning_batch_size(found->scan->fs_server);
	foreach(lc, found->plan.certain)
		shuttle_plan_route_subplan(lfirst_int(lc), context);
	foreach(lc, found->plan.conditional)
		shuttle_plan_route_subplan(lfirst_int(lc), context);
	return true;
}

Plan *
shuttle_look_ahead_place_filter(Plan *plan, int ncolumns, List *conditions,
								ShuttleFinishedPlan *context)
{
	FindContext found = {.statement = context->statement};
	Plan	   *above;

	find_in_quals(conditions, &found);
	if (!find_done(&found, context))
		found.plan.batch_size = shuttle_planning_settings()->batch_size;
	above = &shuttle_plan_look_ahead_above(plan, &found.plan, context)->scan.plan;
	above->targetlist = list_truncate(above->targetlist, ncolumns);
	above->qual = conditions;
	shuttle_plan_move_initplans(plan, above);
	return above;
}

Plan *
shuttle_look_ahead_place_in_subplans(Plan *plan, ShuttleFinishedPlan *context)
{
	FindContext above = {.statement = context->statement};
	FindContext below = {.statement = context->statement};
	List	  **conditions;

	if (context->statement->subplans == NIL)
		return plan;

	/* WHERE CURRENT OF needs this scan's current row to be the fetched one */
	if (list_member_ptr(context->positioned, plan))
		return plan;
	if (outerPlan(plan) != NULL && (IsA(plan, Result) || IsA(plan, Agg)))
	{
		below.conditional = IsA(plan, Result) && plan->qual != NIL;
		if (IsA(plan, Result))
			(void) find_walker((Node *) plan->targetlist, &below);
		else
			(void) find_in_aggregates((Node *) list_make2(plan->targetlist,
														  plan->qual), &below);
		if (find_done(&below, context))
			place_below_owner(plan, &below, context);
	}
	conditions = movable_conditions(plan);
	if (conditions != NULL)
	{
		find_in_quals(*conditions, &above);
		above.conditional = has_subplan_walker((Node *) *conditions, NULL);
		(void) find_walker((Node *) plan->targetlist, &above);
		if (find_done(&above, context))
			return place_above(plan, conditions, &above, context);
	}
	return plan;
}
