/*-------------------------------------------------------------------------
 * semi_joins.c
 *	  Keeps back semi joins that postgres_fdw ships and no node can run.
 *
 * From 17 on postgres_fdw ships a semi join as EXISTS, also where a condition
 * between its sides has to stay here.  The columns of the inner side that this
 * condition reads are then asked for outside of the EXISTS, and the node
 * answers 42P01.  The broken path must not meet the others of its relation:
 * they would lose to it, and be gone.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/join/node_joins.h"
#include "planner/scan/scan.h"

/* True where a scan that joins on the node checks here what only its inner
 * side has. */
static bool
reads_hidden_side(PlannerInfo *root, ForeignPath *path, const RelOptInfo *inner)
{
	ForeignScan *scan = shuttle_dry_run(root, path, NIL);

	return bms_overlap(pull_varnos(root, (Node *) scan->scan.plan.qual),
					   inner->relids);
}

/* GetForeignJoinPaths of relations of postgres_fdw and of our wrapper. */
static void
add_foreign_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
				  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	GetForeignJoinPaths_function add_paths =
		shuttle_foreign_is_ours(joinrel->fdwroutine) ? shuttle_remote_join_paths :
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
shuttle_keep_back_semi_joins(RelOptInfo *rel)
{
	/* the routine is the relation's own copy */
	rel->fdwroutine->GetForeignJoinPaths = add_foreign_joins;
}
