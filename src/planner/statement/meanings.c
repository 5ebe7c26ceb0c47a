/*-------------------------------------------------------------------------
 * meanings.c
 *	  Expressions that are marked immutable, and mean something else on a node.
 *
 * A value as text depends on settings, though PostgreSQL marks output functions
 * immutable, and sessions on nodes have settings of their own. An operator of a user
 * calls a function that nodes may have, and has a name that they have not.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/parsenodes.h"
#include "utils/fmgroids.h"

#include "planner/statement/meanings.h"

/* extra_float_digits, bytea_output, and quote_all_identifiers. */
bool
shuttle_writes_as_set(Oid function, void *context)
{
	switch (function)
	{
		case F_FLOAT4OUT:
		case F_FLOAT8OUT:
		case F_POINT_OUT:
		case F_LSEG_OUT:
		case F_LINE_OUT:
		case F_BOX_OUT:
		case F_PATH_OUT:
		case F_POLY_OUT:
		case F_CIRCLE_OUT:
		case F_BYTEAOUT:
		case F_QUOTE_IDENT:
			return true;
		default:
			return false;
	}
}

static bool
is_built_in(Oid oid)
{
	return oid < FirstGenbkiObjectId;
}

bool
shuttle_is_users_operator(const Node *node)
{
	ListCell   *lc;

	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return !is_built_in(((const OpExpr *) node)->opno);
		case T_ScalarArrayOpExpr:
			return !is_built_in(((const ScalarArrayOpExpr *) node)->opno);
		case T_RowCompareExpr:
			foreach(lc, ((const RowCompareExpr *) node)->opnos)
			{
				if (!is_built_in(lfirst_oid(lc)))
					return true;
			}
			return false;
		default:
			return false;
	}
}

bool
shuttle_sorts_by_users_operator(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (!is_built_in(clause->eqop) || !is_built_in(clause->sortop))
			return true;
	}
	return false;
}
