/*-------------------------------------------------------------------------
 * plan_facts.c
 *	  What is known of PostgreSQL's plan nodes, and walks over running plans.
 *
 * A CTE is scanned by any number of nodes.  A walk that follows each scan would
 * visit the first of a chain of k CTEs 2^k times, so walks make a note.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "base/shuttle_compat.h"
#include "executor/ahead/plan_facts.h"

/* ---- walks */

/* What shuttle_any_node() looks for. */
typedef struct Search
{
	bool		(*matches) (PlanState *node);
	ShuttleVisits visits;
} Search;

int *
shuttle_visit_note(ShuttleVisits *visits, const PlanState *plan)
{
	ListCell   *seen;
	ListCell   *note;

	CHECK_FOR_INTERRUPTS();
	forboth(seen, visits->plans, note, visits->notes)
	{
		if (lfirst(seen) == plan)
			return lfirst(note);
	}
	visits->plans = lappend(visits->plans, unconstify(PlanState *, plan));
	visits->notes = lappend(visits->notes, palloc0_object(int));
	return llast(visits->notes);
}

static bool
search_walker(PlanState *node, Search *search)
{
	if (search->matches(node))
		return true;
	if (IsA(node, CteScanState))
	{
		PlanState  *cte = ((CteScanState *) node)->cteplanstate;
		int		   *visited = shuttle_visit_note(&search->visits, cte);

		if ((*visited)++ == 0 && search_walker(cte, search))
			return true;
	}
	return planstate_tree_walker(node, search_walker, search);
}

bool
shuttle_any_node(PlanState *root, bool (*matches) (PlanState *node))
{
	Search		search = {.matches = matches};
	bool		found = search_walker(root, &search);

	list_free_deep(search.visits.notes);
	list_free(search.visits.plans);
	return found;
}
