/*-------------------------------------------------------------------------
 * union_types.c
 *	  UNION ALL of branches whose columns differ in type.
 *
 * Core casts the output of such branches, and for that keeps the UNION ALL as
 * a subquery, so that quals and aggregates of the outer query do not reach the
 * branches' tables. We put the same casts into the branches, and core makes
 * them children of one relation.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"

#include "base/shuttle_settings.h"
#include "planner/facts/node_reads.h"
#include "planner/rewrite/rewrite.h"

/* Visits a branch. casts: the SetOperationStmts above it, innermost first.
 * Returns true to stop. */
typedef bool (*BranchVisitor) (RangeTblEntry *rte, List *casts);

static bool
visit_branches(Query *query, Node *node, List *casts, BranchVisitor visit)
{
	SetOperationStmt *operation = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return visit(rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable), casts);
	casts = lcons(operation, list_copy(casts));
	return visit_branches(query, operation->larg, casts, visit) ||
		visit_branches(query, operation->rarg, casts, visit);
}

static bool
is_union_all(Node *node)
{
	const SetOperationStmt *operation = (const SetOperationStmt *) node;

	check_stack_depth();
	return IsA(node, RangeTblRef) ||
		(operation->op == SETOP_UNION && operation->all &&
		 is_union_all(operation->larg) && is_union_all(operation->rarg));
}

/* ---- what is looked at */

static bool
differs(const TargetEntry *entry, List *casts)
{
	ListCell   *lc;

	foreach(lc, casts)
	{
		SetOperationStmt *operation = lfirst_node(SetOperationStmt, lc);

		if (list_nth_oid(operation->colTypes, entry->resno - 1) !=
			exprType((Node *) entry->expr))
			return true;
	}
	return false;
}

static bool
any_differs(RangeTblEntry *rte, List *casts)
{
	ListCell   *lc;

	foreach(lc, rte->subquery->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (!entry->resjunk && differs(entry, casts))
			return true;
	}
	return false;
}

/* True if a cast would change the branch's grouping or sorting, or cannot be
 * put into it. */
static bool
keeps_its_types(RangeTblEntry *rte, List *casts)
{
	const Query *branch = rte->subquery;
	ListCell   *lc;

	if (!any_differs(rte, casts))
		return false;
	if (branch->setOperations != NULL || branch->distinctClause != NIL ||
		branch->hasTargetSRFs)
		return true;
	foreach(lc, branch->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (entry->ressortgroupref != 0 && !entry->resjunk && differs(entry, casts))
			return true;
	}
	return false;
}

/* ---- the casts */

/* As core does above a branch, but explicit: postgres_fdw leaves implicit casts
 * out, and the node would not cast bpchar to text by itself. */
static Expr *
cast_as(Expr *value, const SetOperationStmt *operation, int column)
{
	Oid			type = list_nth_oid(operation->colTypes, column);
	Oid			collation = list_nth_oid(operation->colCollations, column);
	Node	   *node = (Node *) value;

	if (exprType(node) != type)
		node = coerce_type(NULL, node, exprType(node), type, -1, COERCION_IMPLICIT,
						   COERCE_EXPLICIT_CAST, -1);
	if (exprCollation(node) != collation)
		node = applyRelabelType(node, type, exprTypmod(node), collation,
								COERCE_EXPLICIT_CAST, -1, false);
	return (Expr *) node;
}

static bool
cast_columns(RangeTblEntry *rte, List *casts)
{
	ListCell   *lc;
	ListCell   *cast;

	foreach(lc, rte->subquery->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (entry->resjunk || !differs(entry, casts))
			continue;
		foreach(cast, casts)
			entry->expr = cast_as(entry->expr, lfirst_node(SetOperationStmt, cast),
								  entry->resno - 1);
	}
	return false;
}

static void
cast_branches(Query *query)
{
	Node	   *operations = query->setOperations;

	/* core would not flatten these anyway */
	if (operations == NULL || query->sortClause != NIL || query->limitCount != NULL ||
		query->limitOffset != NULL || query->rowMarks != NIL || query->cteList != NIL ||
		!is_union_all(operations))
		return;
	if (visit_branches(query, operations, NIL, any_differs) &&
		!visit_branches(query, operations, NIL, keeps_its_types) &&
		shuttle_node_is_read_by((Node *) query))
		(void) visit_branches(query, operations, NIL, cast_columns);
}

static bool
cast_in(Node *node, void *context)
{
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, cast_in, context);
	cast_branches(query);
	return shuttle_walk_queries_below(query, cast_in, context);
}

PlannedStmt *
shuttle_union_types_plan(Query *query, ShuttlePlanCall call)
{
	if (shuttle_settings.enable_storage_aggregate)
		(void) cast_in((Node *) query, NULL);
	return shuttle_plan_rest(query, call);
}
