/*-------------------------------------------------------------------------
 * one_group.c
 *	  Aggregation without GROUP BY whose aggregates are not needed.
 *
 * A query with aggregates and no GROUP BY returns one row even for empty
 * input. If all aggregates are folded away or not used by the outer query,
 * postgres_fdw ships a SELECT without any, which returns all rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"

#include "executor/shuttle_executor.h"
#include "planner/shown/shown.h"

bool
shuttle_one_group_is_lost(PlannerInfo *root, const RelOptInfo *grouped, Node *having)
{
	return root->parse->hasAggs && root->parse->groupClause == NIL &&
		root->parse->groupingSets == NIL &&
		!contain_agg_clause((Node *) grouped->reltarget->exprs) &&
		!contain_agg_clause(having);
}

/* postgres_fdw's path may have displaced core's, so we make one. */
static void
group_here(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, Node *having)
{
	AggClauseCosts costs = {0};

	grouped->pathlist = NIL;
	grouped->partial_pathlist = NIL;
	add_path(grouped, (Path *)
			 create_agg_path(root, grouped, input->cheapest_total_path,
							 grouped->reltarget, AGG_PLAIN, AGGSPLIT_SIMPLE,
							 NIL, (List *) having, &costs, 1));
}

void
shuttle_one_group_mend(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
					   RelOptInfo *output, void *extra)
{
	Node	   *having;

	if (stage != UPPERREL_GROUP_AGG || !OidIsValid(output->serverid) ||
		!shuttle_server_is_postgres_fdw(output->serverid))
		return;
	having = ((GroupPathExtraData *) extra)->havingQual;
	if (shuttle_one_group_is_lost(root, output, having))
		group_here(root, input, output, having);
}
