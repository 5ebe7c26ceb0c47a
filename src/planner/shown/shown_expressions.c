/*-------------------------------------------------------------------------
 * shown_expressions.c
 *	  Expressions as postgres_fdw is shown them, so that nodes compute them.
 *
 * - COALESCE (a, b) is shown as CASE WHEN a IS NOT NULL THEN a ELSE b END, and
 *   NULLIF (a, b) as CASE WHEN a = b THEN NULL ELSE a END: postgres_fdw ships CASE only.
 * - date_trunc('month', t) and extract() have the default collation of their constant, which
 *   they ignore. postgres_fdw ships a function only if its collation comes from a column of
 *   the node, and so ships none of these, nor groups by them. It is shown none.
 * - What a node would compute otherwise (base/meanings.c) is shown as the COALESCE of it
 *   alone, which postgres_fdw does not ship.
 *
 * In finished plans the expressions are as they were written, since core compares them in
 * grouping columns, and users read them in EXPLAIN. A CASE that was made here has a location
 * of its own, which equal() ignores.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"

#include "base/shuttle_compat_planner.h"
#include "base/shuttle_meanings.h"
#include "planner/shown/shown.h"

/* The location of a CASE or COALESCE that stands for another expression. */
#define SHOWN_LOCATION (-2)

/* The first arguments are written twice: 2^n times if they are nested. */
#define MOST_NESTED 4

/* ---- functions that ignore their collation */

/* Their first argument names a field, or an encoding. */
static bool
ignores_collation(Oid function)
{
	switch (function)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_INTERVAL:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_DATE:
		case F_DATE_PART_TEXT_TIME:
		case F_DATE_PART_TEXT_TIMETZ:
		case F_DATE_PART_TEXT_INTERVAL:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIME:
		case F_EXTRACT_TEXT_TIMETZ:
		case F_EXTRACT_TEXT_INTERVAL:
			return true;
		default:
			return false;
	}
}

static bool
is_ignoring(const Node *node)
{
	return IsA(node, FuncExpr) && ignores_collation(((const FuncExpr *) node)->funcid);
}

/* ---- COALESCE and NULLIF */

static bool
is_shown_case(const Node *node)
{
	return IsA(node, CaseExpr) && ((const CaseExpr *) node)->location == SHOWN_LOCATION;
}

/* How deep shown CASEs are nested in a node. */
static bool
find_depth(Node *node, int *depth)
{
	int			inside = 0;

	if (node == NULL)
		return false;
	(void) expression_tree_walker(node, find_depth, &inside);
	*depth = Max(*depth, inside + (is_shown_case(node) ? 1 : 0));
	return false;
}

static bool
may_be_written_twice(Node *node)
{
	int			depth = 0;

	(void) find_depth(node, &depth);
	return depth < MOST_NESTED && !contain_volatile_functions(node) && !contain_subplans(node);
}

static Node *
make_case(Oid type, Oid collation, List *whens, Expr *otherwise)
{
	CaseExpr   *shown = makeNode(CaseExpr);

	shown->casetype = type;
	shown->casecollid = collation;
	shown->args = whens;
	shown->defresult = otherwise;
	shown->location = SHOWN_LOCATION;
	return (Node *) shown;
}

static Node *
show_coalesce(CoalesceExpr *written)
{
	List	   *whens = NIL;
	ListCell   *cell;

	if (list_length(written->args) < 2)
		return (Node *) written;
	foreach(cell, written->args)
	{
		NullTest   *test;

		if (lnext(written->args, cell) == NULL)
			break;
		if (!may_be_written_twice(lfirst(cell)))
			return (Node *) written;
		test = makeNode(NullTest);
		test->arg = lfirst(cell);
		test->nulltesttype = IS_NOT_NULL;
		test->location = -1;
		whens = lappend(whens, shuttle_merge_when((Expr *) test, copyObject(lfirst(cell))));
	}
	return make_case(written->coalescetype, written->coalescecollid, whens,
					 llast(written->args));
}

static Node *
show_nullif(NullIfExpr *written)
{
	Expr	   *first = linitial(written->args);
	OpExpr	   *equal;

	if (!may_be_written_twice((Node *) first))
		return (Node *) written;
	set_opfuncid((OpExpr *) written);
	equal = (OpExpr *) make_opclause(written->opno, BOOLOID, false, first,
									 lsecond(written->args), InvalidOid,
									 written->inputcollid);
	equal->opfuncid = written->opfuncid;
	return make_case(written->opresulttype, written->opcollid,
					 list_make1(shuttle_merge_when((Expr *) equal,
												   (Expr *) makeNullConst(written->opresulttype, -1,
																		  written->opcollid))),
					 copyObject(first));
}

static Node *
restore_coalesce(const CaseExpr *shown)
{
	CoalesceExpr *written = makeNode(CoalesceExpr);
	ListCell   *cell;

	written->coalescetype = shown->casetype;
	written->coalescecollid = shown->casecollid;
	foreach(cell, shown->args)
		written->args = lappend(written->args, lfirst_node(CaseWhen, cell)->result);
	written->args = lappend(written->args, shown->defresult);
	written->location = -1;
	return (Node *) written;
}

static Node *
restore_nullif(const CaseExpr *shown)
{
	OpExpr	   *written = (OpExpr *) linitial_node(CaseWhen, shown->args)->expr;

	written->xpr.type = T_NullIfExpr;
	written->opresulttype = shown->casetype;
	written->opcollid = shown->casecollid;
	return (Node *) written;
}

/* ---- what only this server knows */

static bool
is_marked(const Node *node)
{
	return IsA(node, CoalesceExpr) && ((const CoalesceExpr *) node)->location == SHOWN_LOCATION;
}

static Node *
mark(Node *node)
{
	CoalesceExpr *marked = makeNode(CoalesceExpr);

	marked->coalescetype = exprType(node);
	marked->coalescecollid = exprCollation(node);
	marked->args = list_make1(node);
	marked->location = SHOWN_LOCATION;
	return (Node *) marked;
}

/* ---- all */

static Node *
show_mutator(Node *node, bool *as_cases)
{
	if (node == NULL)
		return NULL;
	node = expression_tree_mutator(node, show_mutator, as_cases);
	if (IsA(node, CoalesceExpr) && *as_cases)
		return show_coalesce((CoalesceExpr *) node);
	if (IsA(node, NullIfExpr) && *as_cases && !shuttle_meaning_is_known_here_only(node))
		return show_nullif((NullIfExpr *) node);
	if (is_ignoring(node))
		((FuncExpr *) node)->inputcollid = InvalidOid;
	return shuttle_meaning_is_known_here_only(node) ? mark(node) : node;
}

static Node *
restore_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	node = expression_tree_mutator(node, restore_mutator, context);
	if (is_marked(node))
		return linitial(((CoalesceExpr *) node)->args);
	if (is_shown_case(node))
	{
		const CaseExpr *shown = (CaseExpr *) node;

		/* a stable value's IS NOT NULL may have a stand-in */
		return IsA(linitial_node(CaseWhen, shown->args)->expr, OpExpr) ?
			restore_nullif(shown) : restore_coalesce(shown);
	}
	if (is_ignoring(node))
	{
		FuncExpr   *call = (FuncExpr *) node;

		call->inputcollid = exprCollation(linitial(call->args));
	}
	return node;
}

static bool
has_written(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return is_ignoring(node) || IsA(node, CoalesceExpr) || IsA(node, NullIfExpr) ||
		shuttle_meaning_is_known_here_only(node) ||
		expression_tree_walker(node, has_written, context);
}

static bool
has_shown(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return is_ignoring(node) || is_shown_case(node) || is_marked(node) ||
		expression_tree_walker(node, has_shown, context);
}

Node *
shuttle_shown_expression(Node *node, bool as_cases)
{
	return has_written(node, NULL) ? show_mutator(node, &as_cases) : node;
}

Node *
shuttle_shown_expression_as_written(Node *node)
{
	return has_shown(node, NULL) ? restore_mutator(node, NULL) : node;
}
