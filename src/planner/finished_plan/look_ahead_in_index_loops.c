/*-------------------------------------------------------------------------
 * look_ahead_in_index_loops.c
 *	  Puts a Look Ahead under nested loops over local index scans.
 *
 * Each nested loop whose inner side looks up rows of a local table by a btree
 * gets a Look Ahead that prefetches their pages. That can only pay if many
 * rows are looked up and the pages may not be cached: the tables and indexes
 * together must be larger than a part of shared_buffers and of
 * effective_cache_size. Whether it does pay is measured while it runs
 * (local_prefetch.c). Nothing is placed below a Gather: parallel workers do
 * not look ahead.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_am.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_settings.h"
#include "planner/finished_plan/finished_plan.h"

/* Fewer outer rows get no Look Ahead. */
#define LEAST_OUTER_ROWS 50

/*
 * Tables and indexes that fit in 1/CACHED_SHARE of the cache count as cached.
 */
#define CACHED_SHARE 4

/* All rows of a node are wanted. */
#define NO_LIMIT HUGE_VAL

/* What the inner side of a loop reads. */
typedef struct InnerSize
{
	PlannedStmt *statement;
	const Bitmapset *params;	/* nestParams of the loop */
	double		pages;
} InnerSize;

/* ---- what an inner side reads */

/* Pages at the last ANALYZE, or now. */
static double
count_pages(Relation rel, bool analyzed)
{
	return analyzed ? rel->rd_rel->relpages : RelationGetNumberOfBlocks(rel);
}

/* Pages of the index and table that a scan reads; 0 if it cannot be prefetched.
 * The planner holds locks on both. */
static double
pages_of_scan(Oid table, Oid index, bool index_only)
{
	Relation	heap = RelationIdGetRelation(table);
	Relation	btree = RelationIdGetRelation(index);
	bool		analyzed;
	double		pages = 0;

	/* a hypothetical index (HypoPG) cannot be opened */
	if (btree == NULL)
	{
		RelationClose(heap);
		return 0;
	}
	analyzed = heap->rd_rel->reltuples >= 0;

	if (btree->rd_rel->relam == BTREE_AM_OID && !RelationUsesLocalBuffers(heap))
	{
		pages = count_pages(btree, analyzed);
		if (!index_only)
			pages += count_pages(heap, analyzed);
	}
	RelationClose(btree);
	RelationClose(heap);
	return pages;
}

static void
add_scan(InnerSize *size, const Scan *scan, Oid index, List *conditions)
{
	if (shuttle_plan_uses_params((Node *) conditions, size->params))
		size->pages += pages_of_scan(rt_fetch(scan->scanrelid,
											  size->statement->rtable)->relid,
									 index, IsA(scan, IndexOnlyScan));
}

/* Adds the index scans at and below a node that take the loop's parameters. */
static void
add_scans(InnerSize *size, Plan *plan)
{
	Plan	  **child;
	bool		reads_others;	/* children besides outer and inner */

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return;
	if (IsA(plan, IndexScan))
		add_scan(size, (Scan *) plan, ((IndexScan *) plan)->indexid,
				 ((IndexScan *) plan)->indexqual);
	else if (IsA(plan, IndexOnlyScan))
		add_scan(size, (Scan *) plan, ((IndexOnlyScan *) plan)->indexid,
				 ((IndexOnlyScan *) plan)->indexqual);
	reads_others = IsA(plan, SubqueryScan) ||
		(IsA(plan, Append) && !shuttle_append_prunes((Append *) plan));
	for (int i = 0; (i < 2 || reads_others) && (child = shuttle_plan_child(plan, i)) != NULL; i++)
		add_scans(size, *child);
}

/* ---- placing */

static void
place_under(NestLoop *loop, ShuttleFinishedPlan *context)
{
	Plan	   *child = outerPlan(loop);
	ShuttleLookAheadPlan plan = {
		.batch_size = shuttle_planning_settings()->batch_size,
		.local = SHUTTLE_LOCAL_ONLY,
	};
	List	   *targetlist;
	List	   *scan_targetlist;

	if (context->next_id == 0)
		context->next_id = shuttle_plan_next_id(context->statement);
	shuttle_plan_make_targetlists(child, &targetlist, &scan_targetlist);
	outerPlan(loop) =
		shuttle_plan_finish_node(shuttle_look_ahead_make(child, targetlist,
														 scan_targetlist, &plan),
								 child, context);
}

/* limit: outer rows that the plan above will read. */
static void
consider_loop(NestLoop *loop, double limit, ShuttleFinishedPlan *context)
{
	InnerSize	size = {.statement = context->statement};
	Bitmapset  *params = NULL;
	ListCell   *lc;

	if (loop->nestParams == NIL ||
		Min(limit, outerPlan(loop)->plan_rows) < LEAST_OUTER_ROWS)
		return;
	foreach(lc, loop->nestParams)
		params = bms_add_member(params, lfirst_node(NestLoopParam, lc)->paramno);
	size.params = params;
	add_scans(&size, innerPlan(loop));
	if (size.pages <= (double) Min(NBuffers, effective_cache_size) / CACHED_SHARE)
		return;
	if (shuttle_node_is_look_ahead_plan(outerPlan(loop)))
		shuttle_look_ahead_add_local((CustomScan *) outerPlan(loop));
	else
		place_under(loop, context);
}

/* How many rows of its outer plan a node reads, to see if a Look Ahead can pay;
 * row_goal.c has the rules for a running plan. */
static double
limit_of_outer(const Plan *plan, double limit)
{
	switch (nodeTag(plan))
	{
		case T_Limit:
			return Min(limit, plan->plan_rows);
		case T_NestLoop:
			return limit * outerPlan(plan)->plan_rows / Max(plan->plan_rows, 1);
		case T_Result:
		case T_LockRows:
		case T_CustomScan:
		case T_ProjectSet:
			return limit;
		default:
			return NO_LIMIT;
	}
}

/* Places nodes at and below a plan of which limit rows will be read. */
static void
visit(Plan *plan, double limit, ShuttleFinishedPlan *context)
{
	Plan	  **child;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return;
	if (IsA(plan, NestLoop))
		consider_loop((NestLoop *) plan, limit_of_outer(plan, limit), context);
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (child == &outerPlan(plan))
			visit(*child, limit_of_outer(plan, limit), context);
		else
			visit(*child, child == &innerPlan(plan) ? NO_LIMIT : limit, context);
	}
}

/* False if no plan of the statement can have a loop: most statements are not walked. */
static bool
has_two_inputs(const PlannedStmt *statement)
{
	int			ninputs = 0;
	ListCell   *lc;

	foreach(lc, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind != RTE_JOIN && !shuttle_is_grouping(rte) && ++ninputs == 2)
			return true;
	}
	return false;
}

void
shuttle_look_ahead_place_in_index_loops(PlannedStmt *statement)
{
	ShuttleFinishedPlan context = {.statement = statement};
	const ShuttleSettings *settings = shuttle_planning_settings();
	ListCell   *lc;

	if (!settings->enable_local_look_ahead || settings->batch_size == 1 ||
		!has_two_inputs(statement))
		return;
	visit(statement->planTree, NO_LIMIT, &context);
	foreach(lc, statement->subplans)
		visit((Plan *) lfirst(lc), NO_LIMIT, &context);
}
