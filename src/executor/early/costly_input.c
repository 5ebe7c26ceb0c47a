/*-------------------------------------------------------------------------
 * costly_input.c
 *	  Says which input of a join is not sent before the other one has a row.
 *
 * If the first input turns out to be empty, the second one is not read; if it was sent,
 * nodes have worked in vain, perhaps through whole tables. If it waits for the first row
 * of the first input, nodes could have begun earlier: by a round trip, the work here on
 * that row, and the time of other nodes for it. So an input waits only if it costs many
 * times that.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"

#include "cluster/shuttle_cluster.h"
#include "executor/early/early.h"
#include "executor/facts/plan_facts.h"
#include "executor/shuttle_executor.h"

/* How many times the cost of the other input's first row and of a round trip. */
#define MUCH_COSTLIER 20

/* How many times the cost of all of the other input. */
#define COSTLIER 4

typedef struct Search
{
	ForeignScanState *found;
	ShuttleVisits visits;		/* CTEs that were searched */
} Search;

/* Finds a scan of a foreign table of ours. */
static bool
search_walker(PlanState *node, Search *search)
{
	check_stack_depth();
	if (IsA(node, ForeignScanState) &&
		shuttle_server_routine_is_ours(((ForeignScanState *) node)->fdwroutine))
	{
		search->found = (ForeignScanState *) node;
		return true;
	}
	if (IsA(node, CteScanState))
	{
		PlanState  *cte = ((CteScanState *) node)->cteplanstate;
		int		   *visited = shuttle_plan_visit_note(&search->visits, cte);

		return (*visited)++ == 0 && search_walker(cte, search);
	}
	return planstate_tree_walker(node, search_walker, search);
}

/* What a round trip to one of the nodes that an input reads costs; 0: it reads none. */
static Cost
find_trip_cost(PlanState *input)
{
	Search		search = {NULL};

	(void) search_walker(input, &search);
	if (search.found == NULL)
		return 0;
	return shuttle_trip_price(((ForeignScan *) search.found->ss.ps.plan)->fs_server).cost;
}

/* A Hash has the cost of the CTEs below it (planner/finished_plan/hash_of_cte.c). */
bool
shuttle_costly_input_is_second(PlanState *second, const Plan *first)
{
	Cost		cost = second->plan->total_cost;

	return cost >= COSTLIER * first->total_cost && cost >= MUCH_COSTLIER * first->startup_cost &&
		cost >= MUCH_COSTLIER * (first->startup_cost + find_trip_cost(second));
}
