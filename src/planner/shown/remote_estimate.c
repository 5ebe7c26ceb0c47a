/*-------------------------------------------------------------------------
 * remote_estimate.c
 *	  Asks a node's planner what a path over foreign tables costs.
 *
 * postgres_fdw would ask on its own connection, so its option is refused on
 * our wrapper; shuttle_remote_estimate asks on ours. The node explains the
 * path's SELECT, which postgres_fdw makes in a dry run. The formulas from
 * there to the path's cost are those of postgres_fdw
 * (estimate_path_cost_size), so that plans are the same.
 *
 * Memory: the estimate of a plain path of a relation lives in
 * root->planner_cxt, others in the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/batch_cost.h"
#include "planner/facts/planning_memo.h"
#include "planner/shown/shown.h"
#include "storage/shuttle_storage.h"

/* Our kind in planning_memo.c. */
#define ESTIMATE_KEY (-7)

static int	dry_runs = 0;		/* that are being made, while texts are proved */

/* Reads the numbers from the first line of EXPLAIN. */
static void
read_explain_line(void *arg, const ShuttleRow *row)
{
	ShuttleEstimate *estimate = arg;
	const char *numbers;

	if (estimate->found || row->values[0] == NULL)
		return;
	numbers = strstr(row->values[0], "(cost=");
	if (numbers == NULL)
		return;
	estimate->found = sscanf(numbers, "(cost=%lf..%lf rows=%lf width=%d)",
							 &estimate->startup_cost, &estimate->total_cost,
							 &estimate->retrieved_rows, &estimate->width) == 4;
}

/* Texts that are only looked at are not proved. */
static ForeignScan *
plan_unproved(PlannerInfo *root, ForeignPath *path, Oid relid, List *clauses)
{
	RelOptInfo *rel = path->path.parent;
	ForeignScan *volatile scan = NULL;

	dry_runs++;
	PG_TRY();
	{
		scan = rel->fdwroutine->GetForeignPlan(root, rel, relid, path, NIL, clauses, NULL);
	}
	PG_FINALLY();
	{
		dry_runs--;
	}
	PG_END_TRY();
	return scan;
}

ForeignScan *
shuttle_remote_estimate_dry_run(PlannerInfo *root, ForeignPath *path, List *more_clauses)
{
	RelOptInfo *rel = path->path.parent;
	Oid			relid = InvalidOid;
	List	   *clauses = NIL;

	if (IS_SIMPLE_REL(rel))
	{
		relid = planner_rt_fetch(rel->relid, root)->relid;
		clauses = list_concat_copy(rel->baserestrictinfo, more_clauses);
		if (path->path.param_info != NULL)
			clauses = list_concat(clauses, path->path.param_info->ppi_clauses);
	}
	return shuttle_settings.debug_prove_texts ? plan_unproved(root, path, relid, clauses) :
		rel->fdwroutine->GetForeignPlan(root, rel, relid, path, NIL, clauses, NULL);
}

bool
shuttle_remote_estimate_is_dry_run(void)
{
	return dry_runs > 0;
}

/* Adds the cost of local quals and the target list. */
static void
add_local_costs(PlannerInfo *root, RelOptInfo *rel, const ForeignScan *scan,
				ShuttleEstimate *estimate)
{
	List	   *quals = scan->scan.plan.qual;
	PathTarget *target = rel->reltarget;
	QualCost	cost;

	estimate->rows = clamp_row_est(estimate->retrieved_rows *
								   clauselist_selectivity(root, quals, rel->relid,
														  JOIN_INNER, NULL));
	cost_qual_eval(&cost, quals, root);
	estimate->startup_cost += cost.startup + target->cost.startup;
	estimate->total_cost += cost.per_tuple * estimate->retrieved_rows +
		target->cost.startup + target->cost.per_tuple * estimate->rows;

	/* the node computes the columns of groups */
	if (IS_UPPER_REL(rel))
	{
		cost_qual_eval(&cost, scan->fdw_scan_tlist, root);
		estimate->startup_cost -= cost.startup;
		estimate->total_cost -= cost.startup + cost.per_tuple * estimate->rows;
	}
}

/* Asks the node for an estimate of a path. */
static void
ask_node(PlannerInfo *root, ForeignPath *path, ShuttleEstimate *estimate)
{
	RelOptInfo *rel = path->path.parent;
	Oid			userid = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	ForeignScan *scan = shuttle_remote_estimate_dry_run(root, path, NIL);
	char	   *sql = shuttle_batch_sql_without_values(scan);

	if (sql == NULL)
		return;
	shuttle_query(shuttle_connection_get(rel->serverid, userid),
				  psprintf("EXPLAIN %s", sql), SHUTTLE_READS, 1,
				  read_explain_line, estimate);
	if (estimate->found)
		add_local_costs(root, rel, scan, estimate);
}

const ShuttleEstimate *
shuttle_remote_estimate_of_path(PlannerInfo *root, ForeignPath *path)
{
	ShuttleEstimate *estimate = palloc0_object(ShuttleEstimate);

	ask_node(root, path, estimate);
	return estimate->found ? estimate : NULL;
}

const ShuttleEstimate *
shuttle_remote_estimate_of_rel(PlannerInfo *root, ForeignPath *path)
{
	RelOptInfo *rel = path->path.parent;
	Relids		relids = IS_UPPER_REL(rel) ? NULL : rel->relids;
	RelOptInfo *owner = IS_UPPER_REL(rel) ? rel : NULL;
	ShuttleEstimate *estimate = shuttle_planning_memo_find_set(root, owner, ESTIMATE_KEY, relids);

	if (estimate == NULL)
	{
		estimate = MemoryContextAllocZero(root->planner_cxt,
										  sizeof(ShuttleEstimate));
		ask_node(root, path, estimate);
		shuttle_planning_memo_add_set(root, owner, ESTIMATE_KEY, relids, estimate);
	}
	return estimate->found ? estimate : NULL;
}

void
shuttle_remote_estimate_apply(PlannerInfo *root, ForeignPath *path,
							  const ShuttleEstimate *estimate)
{
	ShuttleServerCost server = shuttle_batch_cost_of_server(root, path->path.parent->serverid);

	path->path.rows = estimate->rows;
	path->path.startup_cost = estimate->startup_cost + server.reach;
	path->path.total_cost = estimate->total_cost + server.reach +
		estimate->retrieved_rows * server.row;
}
