/*-------------------------------------------------------------------------
 * write_source.c
 *	  Whether the rows that a statement writes are all read before the first
 *	  of them is written.
 *
 * What is read later on a node sees what was written there before.  So a source
 * is read to its end that asks nodes again and again, and one that calls STABLE
 * functions of users: PostgreSQL shows these the state before the statement
 * (trap 24).  VOLATILE functions see the rows that were written so far; where
 * such a one is called as well, no rows are kept for STABLE ones.
 *
 * Memory: none of its own.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "executor/look_ahead_internal.h"
#include "executor/shuttle_executor.h"
#include "executor/write_internal.h"

/* What is looked for in a source, and in the CTEs that it scans. */
typedef struct Search
{
	bool		(*matches) (PlanState *node);
	List	   *ctes;			/* that were looked at */
} Search;

static bool
search_walker(PlanState *node, Search *search)
{
	if (search->matches(node))
		return true;
	if (IsA(node, CteScanState))
	{
		PlanState  *cte = ((CteScanState *) node)->cteplanstate;

		if (!list_member_ptr(search->ctes, cte))
		{
			search->ctes = lappend(search->ctes, cte);
			if (search_walker(cte, search))
				return true;
		}
	}
	return planstate_tree_walker(node, search_walker, search);
}

static bool
has_node(PlanState *source, bool (*matches) (PlanState *node))
{
	Search		search = {.matches = matches};
	bool		found = search_walker(source, &search);

	list_free(search.ctes);
	return found;
}

static bool
asks_by_values(PlanState *node)
{
	return shuttle_is_look_ahead(node) ||
		(IsA(node, ForeignScanState) &&
		 shuttle_exec_params(((ForeignScan *) node->plan)->fdw_exprs) != NULL);
}

static bool
reads_node(PlanState *node)
{
	return IsA(node, ForeignScanState);
}

bool
shuttle_source_asks_again(PlanState *source)
{
	return source != NULL && IsA(source, MaterialState) &&
		has_node(source, asks_by_values) && has_node(source, reads_node);
}

/* PostgreSQL's own functions do not read tables that users write. */
static bool
is_stable_of_users(Oid function, void *context)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) == PROVOLATILE_STABLE;
}

static bool
calls_walker(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, is_stable_of_users, context) ||
		 expression_tree_walker(node, calls_walker, context));
}

/* What a node computes of its rows. */
static bool
own_expressions_call(const Plan *plan)
{
	ListCell   *lc;

	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return calls_walker((Node *) ((const ForeignScan *) plan)->fdw_exprs, NULL);
		case T_ValuesScan:
			return calls_walker((Node *) ((const ValuesScan *) plan)->values_lists, NULL);
		case T_FunctionScan:
			foreach(lc, ((const FunctionScan *) plan)->functions)
			{
				if (calls_walker(((RangeTblFunction *) lfirst(lc))->funcexpr, NULL))
					return true;
			}
			return false;
		case T_HashJoin:
			if (calls_walker((Node *) ((const HashJoin *) plan)->hashclauses, NULL))
				return true;
			/* FALLTHROUGH */
		case T_NestLoop:
		case T_MergeJoin:
			return calls_walker((Node *) ((const Join *) plan)->joinqual, NULL);
		default:
			return false;
	}
}

static bool
node_calls(PlanState *node)
{
	return calls_walker((Node *) node->plan->targetlist, NULL) ||
		calls_walker((Node *) node->plan->qual, NULL) ||
		own_expressions_call(node->plan);
}

bool
shuttle_source_sees_snapshot(PlanState *source)
{
	/* of a single row all is computed before it is written */
	return !(IsA(source, ResultState) && outerPlanState(source) == NULL) &&
		has_node(source, node_calls) && !shuttle_outer_shows_effects(source);
}
