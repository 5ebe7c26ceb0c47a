/*-------------------------------------------------------------------------
 * fewer_groups.c
 *	  The price of a node's groups, of which there may be fewer than core expects.
 *
 * To group in vain costs a node little, and to return all rows costs much if they have few
 * groups. Core multiplies the numbers of values of the columns, up to the number of rows,
 * also those that depend on each other, or that a join leaves few of: so the price is for the
 * mean of what core says and of the groups of one column. And far more rows than expected may
 * come of a join, but no more groups than there are values: so a join's groups may cost a
 * little more than its rows.
 *
 * The estimate stays: joins above would trust it, and few rows where many come cost more
 * than the other way round.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "planner/facts/batch_cost.h"
#include "planner/group/group.h"
#include "planner/scan/remote_paths.h"

/* A join's groups may cost this part of the join more than its rows. */
#define DOUBTFUL_JOIN 0.01

/* How many of the groups may not be there. */
static double
count_doubtful_groups(const ShuttleGrouping *grouping, RelOptInfo *child, List *exprs,
					  double ngroups)
{
	double		most = 1;
	ListCell   *cell;

	if (list_length(exprs) < 2)
		return 0;
	foreach(cell, shuttle_grouping_translate(grouping, child, exprs))
		most = Max(most, estimate_num_groups(grouping->root, list_make1(lfirst(cell)),
											 child->rows, NULL, NULL));
	return Max(0, ngroups - clamp_row_est(sqrt(most * ngroups)));
}

void
shuttle_fewer_groups_expect(const ShuttleGrouping *grouping, RelOptInfo *child, Path *groups)
{
	PlannerInfo *root = grouping->root;
	List	   *exprs = get_sortgrouplist_exprs(grouping->clause, grouping->targetlist);
	const Path *rows = child->cheapest_total_path;
	Cost		less;

	if (exprs == NIL || list_length(grouping->node_clause) != list_length(exprs) ||
		shuttle_remote_paths_have_estimate(root, child))
		return;
	less = count_doubtful_groups(grouping, child, exprs, groups->rows) *
		shuttle_batch_cost_of_server(root, child->serverid).postgres_fdw_row;
	if (IS_JOIN_REL(child) && rows != NULL)
		less += DOUBTFUL_JOIN * rows->total_cost;
	groups->total_cost = Max(groups->startup_cost, groups->total_cost - less);
}
