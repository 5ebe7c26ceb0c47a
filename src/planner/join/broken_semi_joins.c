/*-------------------------------------------------------------------------
 * broken_semi_joins.c
 *	  Drops shipped semi joins that the node could not run.
 *
 * From 17 on postgres_fdw ships a semi join as EXISTS, even if a join qual
 * must be checked locally. It then selects the inner columns of that qual
 * outside of the EXISTS, and the node answers 42P01. The broken path must not
 * get into add_path(): it could displace correct paths.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "executor/shuttle_executor.h"
#include "planner/join/node_joins.h"
#include "planner/scan/scan.h"
#include "planner/shown/shown.h"

/* True if the scan checks a qual here that uses the hidden inner side. */
static bool
reads_hidden_side(PlannerInfo *root, ForeignPath *path, const RelOptInfo *inner)
{
	ForeignScan *scan = shuttle_remote_estimate_dry_run(root, path, NIL);

	return bms_overlap(pull_varnos(root, (Node *) scan->scan.plan.qual),
					   inner->relids);
}

/* GetForeignJoinPaths for postgres_fdw's wrapper and ours. */
static void
add_foreign_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
				  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	GetForeignJoinPaths_function add_paths =
		shuttle_server_routine_is_ours(joinrel->fdwroutine) ? shuttle_remote_join_paths :
		shuttle_postgres_fdw_get_routine()->GetForeignJoinPaths;
	List	   *others = joinrel->pathlist;
	List	   *added;
	ListCell   *lc;

	if (type != JOIN_SEMI)
	{
		add_paths(root, joinrel, outer, inner, type, extra);
		return;
	}
	joinrel->pathlist = NIL;
	add_paths(root, joinrel, outer, inner, type, extra);
	added = joinrel->pathlist;
	joinrel->pathlist = others;
	foreach(lc, added)
	{
		if (!reads_hidden_side(root, lfirst_node(ForeignPath, lc), inner))
			add_path(joinrel, lfirst(lc));
	}
}

void
shuttle_broken_semi_joins_drop(RelOptInfo *rel)
{
	/* each RelOptInfo has its own copy of the FdwRoutine */
	rel->fdwroutine->GetForeignJoinPaths = add_foreign_joins;
}
