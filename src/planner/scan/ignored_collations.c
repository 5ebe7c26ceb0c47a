/*-------------------------------------------------------------------------
 * ignored_collations.c
 *	  Removes collations that a function ignores: date_trunc(), extract().
 *
 * The parser gives date_trunc('month', t) the default collation of its
 * constant. postgres_fdw ships a function only if its collation comes from a
 * column of the node, and so ships none of these, nor groups by them. It is
 * shown them without the collation. In finished plans the collation is put
 * back, since core compares the expressions in grouping columns: it is that of
 * the function's first argument.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"

#include "planner/scan/scan.h"

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
has_ignored(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ignores_collation(((FuncExpr *) node)->funcid))
		return true;
	return expression_tree_walker(node, has_ignored, context);
}

/* Removes collations, or (*put_back) puts them back. */
static Node *
collation_mutator(Node *node, bool *put_back)
{
	if (node == NULL)
		return NULL;
	node = expression_tree_mutator(node, collation_mutator, put_back);
	if (IsA(node, FuncExpr) && ignores_collation(((FuncExpr *) node)->funcid))
	{
		FuncExpr   *call = (FuncExpr *) node;

		call->inputcollid = *put_back ? exprCollation(linitial(call->args)) : InvalidOid;
	}
	return node;
}

Node *
shuttle_without_ignored_collations(Node *node)
{
	bool		put_back = false;

	return has_ignored(node, NULL) ? collation_mutator(node, &put_back) : node;
}

Node *
shuttle_with_ignored_collations(Node *node)
{
	bool		put_back = true;

	return has_ignored(node, NULL) ? collation_mutator(node, &put_back) : node;
}
