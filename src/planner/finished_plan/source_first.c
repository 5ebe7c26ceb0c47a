/*-------------------------------------------------------------------------
 * source_first.c
 *	  Has the source of a statement that writes be read before the first row is written.
 *
 * Later batches of keys must not see what the statement writes. A Material makes
 * the ModifyTable's source be read to its end first (modify_table.c). VOLATILE
 * functions see the rows that were written before theirs: those of the source's
 * columns are computed above it, by a Result, when their row is written.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "base/shuttle_expressions.h"
#include "executor/shuttle_executor.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/shuttle_planner.h"

static bool
has_look_ahead(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL || shuttle_node_is_look_ahead_plan(plan))
		return plan != NULL;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (has_look_ahead(*child))
			return true;
	}
	return false;
}

/* True of a VOLATILE column that a node above can compute from columns of this one: subqueries, and parameters
 * that they set for each row, stay where they are. */
static bool
can_rise(const TargetEntry *entry)
{
	return shuttle_expression_has(entry->expr, SHUTTLE_HAS_VOLATILE_FUNCTION) &&
		!shuttle_expression_has(entry->expr, SHUTTLE_HAS_PLAN_PARAM) && !contain_subplans((Node *) entry->expr);
}

static bool
any_can_rise(const List *targetlist)
{
	const ListCell *cell;

	foreach(cell, targetlist)
	{
		if (can_rise(lfirst(cell)))
			return true;
	}
	return false;
}

/* Puts what a node above reads in place of columns of the node below. */
static Node *
read_from_below(Node *node, void *below)
{
	if (node != NULL && IsA(node, Var))
		return (Node *) makeVarFromTargetEntry(OUTER_VAR, tlist_member((Expr *) node, below));
	return expression_tree_mutator(node, read_from_below, below);
}

/* Takes volatile columns out of a plan, which returns what they need instead. Returns the columns
 * that a node above it has. */
static List *
take_volatile(Plan *plan)
{
	List	   *above = NIL;
	List	   *below = NIL;
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		const TargetEntry *entry = lfirst(cell);

		below = add_to_flat_tlist(below, can_rise(entry) ? pull_var_clause((Node *) entry->expr, 0) :
								  list_make1(entry->expr));
	}
	foreach(cell, plan->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst(cell));

		/* ModifyTable looks for the NULLs of dropped and generated columns */
		if (can_rise(entry))
			entry->expr = (Expr *) read_from_below((Node *) entry->expr, below);
		else if (!IsA(entry->expr, Const))
			entry->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, tlist_member(entry->expr, below));
		above = lappend(above, entry);
	}
	plan->targetlist = below;
	return above;
}

static bool
is_join(const Plan *plan)
{
	return IsA(plan, NestLoop) || IsA(plan, HashJoin) || IsA(plan, MergeJoin);
}

/* The child of a node that computes something of each row of its child, and no more; NULL: it is none. */
static Plan **
computed_from(Plan *plan)
{
	if (IsA(plan, SubqueryScan))
		return &((SubqueryScan *) plan)->subplan;
	return IsA(plan, Result) && outerPlan(plan) != NULL && ((const Result *) plan)->resconstantqual == NULL ?
		&outerPlan(plan) : NULL;
}

/* True if VOLATILE functions can be computed above a Material. */
static bool
computes_volatile(Plan *source)
{
	Plan	  **child = computed_from(source);

	if (child == NULL)
		return is_join(source) && any_can_rise(source->targetlist);
	return shuttle_expression_has(source->targetlist, SHUTTLE_HAS_VOLATILE_FUNCTION) ||
		shuttle_expression_has(source->qual, SHUTTLE_HAS_VOLATILE_FUNCTION) || computes_volatile(*child);
}

static Plan *
materialize(Plan *source, ShuttleFinishedPlan *context)
{
	Plan	  **child = computed_from(source);
	List	   *above;

	if (!computes_volatile(source))
		return shuttle_plan_materialize(source, context);
	if (child != NULL)
	{
		*child = materialize(*child, context);
		return source;
	}
	above = take_volatile(source);
	return shuttle_plan_project(shuttle_plan_materialize(source, context), above, context);
}

void
shuttle_plan_read_source_first(ModifyTable *plan, ShuttleFinishedPlan *context)
{
	ListCell   *lc;

	if (!has_look_ahead(outerPlan(plan)) ||
		shuttle_node_is_keyed_write_plan(outerPlan(plan)))
		return;
	foreach(lc, plan->resultRelations)
	{
		RangeTblEntry *rte = rt_fetch(lfirst_int(lc), context->statement->rtable);

		if (rte->relkind == RELKIND_FOREIGN_TABLE ||
			rte->relkind == RELKIND_PARTITIONED_TABLE)
		{
			outerPlan(plan) = materialize(outerPlan(plan), context);
			return;
		}
	}
}
