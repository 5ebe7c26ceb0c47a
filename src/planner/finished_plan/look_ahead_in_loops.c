/*-------------------------------------------------------------------------
 * look_ahead_in_loops.c
 *	  Puts a Look Ahead under nested loops that core planned by itself, and
 *	  a routed append over the Appends on their inner side.
 *
 * Our paths do not cover loops over LATERAL subqueries, remote estimates,
 * Memoize and loops forced by pg_hint_plan. In the finished plan, each nested
 * loop gets a Look Ahead if a foreign scan below its inner side uses one of
 * the loop's parameters. Which scans are looked ahead for is found when the
 * plan starts.
 *
 * The statement during whose planning the library is loaded does not pass our
 * planner hook: it has only the Look Aheads of our paths, and a notice says so
 * if a subquery lacks one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/group/group.h"
#include "planner/group/unions.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/shuttle_planner.h"
#include "planner/statement/statement.h"

static bool is_active = false;	/* our planner hook was called */
static int	nplanning = 0;		/* depth of our planner hook */

static Plan *place_in(Plan *plan, ShuttleFinishedPlan *context);

int
shuttle_largest_plan_id(Plan *plan)
{
	int			largest = 0;
	Plan	  **child;

	if (plan == NULL)
		return 0;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		int			below = shuttle_largest_plan_id(*child);

		largest = Max(largest, below);
	}
	return Max(plan->plan_node_id, largest);
}

int
shuttle_next_plan_id(const PlannedStmt *statement)
{
	int			largest = shuttle_largest_plan_id(statement->planTree);
	ListCell   *lc;

	foreach(lc, statement->subplans)
	{
		int			below = shuttle_largest_plan_id((Plan *) lfirst(lc));

		largest = Max(largest, below);
	}
	return largest + 1;
}

static bool
uses_any_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			bms_is_member(((Param *) node)->paramid, (Bitmapset *) context);
	return expression_tree_walker(node, uses_any_walker, context);
}

bool
shuttle_uses_params(Node *expression, const Bitmapset *params)
{
	return uses_any_walker(expression, (void *) params);
}

const ForeignScan *
shuttle_find_batch_scan(Plan *plan, const Bitmapset *params,
						const PlannedStmt *statement)
{
	const ForeignScan *scan;
	Plan	  **child;
	ListCell   *lc;

	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return NULL;
	if (IsA(plan, ForeignScan))
	{
		scan = (const ForeignScan *) plan;
		if (shuttle_uses_params((Node *) scan->fdw_exprs, params) &&
			shuttle_scan_can_batch(scan) &&
			shuttle_can_look_ahead(NULL, scan->fs_server))
			return scan;
	}
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if ((scan = shuttle_find_batch_scan(*child, params, statement)) != NULL)
			return scan;
	}
	foreach(lc, plan->initPlan)
	{
		Plan	   *initplan = (Plan *) list_nth(statement->subplans,
												 lfirst_node(SubPlan, lc)->plan_id - 1);

		if ((scan = shuttle_find_batch_scan(initplan, params, statement)) != NULL)
			return scan;
	}
	return NULL;
}

void
shuttle_make_targetlists(Plan *child, List **targetlist, List **scan_targetlist)
{
	ListCell   *lc;

	*targetlist = *scan_targetlist = NIL;
	foreach(lc, child->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		TargetEntry *copy;
		Var		   *var;

		var = makeVarFromTargetEntry(OUTER_VAR, entry);
		*scan_targetlist = lappend(*scan_targetlist,
								   makeTargetEntry((Expr *) var, entry->resno,
												   entry->resname, false));
		copy = flatCopyTargetEntry(entry);
		copy->expr = (Expr *) palloc_object(Var);
		memcpy(copy->expr, var, sizeof(Var));
		((Var *) copy->expr)->varno = INDEX_VAR;
		*targetlist = lappend(*targetlist, copy);
	}
}

/* Fills in what core's planner would, for a node over child. */
static Plan *
finish_plan(Plan *plan, const Plan *child, ShuttleFinishedPlan *context)
{
	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	plan->plan_node_id = context->next_id++;
	shuttle_plan_copy_disabled(plan, child);
	return plan;
}

Plan *
shuttle_finish_node(CustomScan *node, Plan *child, ShuttleFinishedPlan *context)
{
	/* only a direct child of an Append may wait for its rows */
	child->async_capable = false;
	return finish_plan(&node->scan.plan, child, context);
}

/*
 * Adds a Material, for a parent that needs backward scan or mark and restore.
 */
static Plan *
materialize(Plan *child, ShuttleFinishedPlan *context)
{
	Material   *material = makeNode(Material);
	Plan	   *plan = &material->plan;
	ListCell   *lc;

	foreach(lc, child->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		/* ModifyTable looks for the NULLs of dropped and generated columns. */
		if (!IsA(entry->expr, Const))
			entry->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, entry);
		plan->targetlist = lappend(plan->targetlist, entry);
	}
	plan->lefttree = child;
	return finish_plan(plan, child, context);
}

static bool
has_look_ahead(Plan *plan)
{
	Plan	  **child;

	if (plan == NULL || shuttle_is_look_ahead_plan(plan))
		return plan != NULL;
	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
	{
		if (has_look_ahead(*child))
			return true;
	}
	return false;
}

/*
 * Later batches of keys must not see what the statement writes. The Material
 * makes the ModifyTable's source be read to its end before the first write
 * (modify_table.c).
 */
static void
read_source_first(ModifyTable *plan, ShuttleFinishedPlan *context)
{
	ListCell   *lc;

	if (!has_look_ahead(outerPlan(plan)) ||
		shuttle_is_keyed_write_plan(outerPlan(plan)))
		return;
	foreach(lc, plan->resultRelations)
	{
		RangeTblEntry *rte = rt_fetch(lfirst_int(lc), context->statement->rtable);

		if (rte->relkind == RELKIND_FOREIGN_TABLE ||
			rte->relkind == RELKIND_PARTITIONED_TABLE)
		{
			outerPlan(plan) = materialize(outerPlan(plan), context);
			return;
		}
	}
}

/* Puts what a function returns for each child of a node in the child's place. */
static void
replace_children(Plan *plan, Plan *(*replace) (Plan *child, ShuttleFinishedPlan *context),
				 ShuttleFinishedPlan *context)
{
	Plan	  **child;

	for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
		*child = replace(*child, context);
}

/* True if an Append prunes at run time and has a foreign scan among its
 * children. */
static bool
wants_routes(Plan *plan)
{
	ListCell   *lc;

	if (!IsA(plan, Append) || !shuttle_append_prunes((Append *) plan))
		return false;
	foreach(lc, ((Append *) plan)->appendplans)
	{
		if (IsA(lfirst(lc), ForeignScan) &&
			shuttle_scan_can_batch((ForeignScan *) lfirst(lc)) &&
			shuttle_can_look_ahead(NULL,
								   ((ForeignScan *) lfirst(lc))->fs_server))
			return true;
	}
	return false;
}

Plan *
shuttle_route_appends(Plan *plan, ShuttleFinishedPlan *context)
{
	List	   *targetlist;
	List	   *scan_targetlist;

	if (plan == NULL || shuttle_is_routed_append_plan(plan) ||
		IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	if (wants_routes(plan))
	{
		shuttle_make_targetlists(plan, &targetlist, &scan_targetlist);
		return shuttle_finish_node(shuttle_routed_append_make(plan, targetlist,
															  scan_targetlist),
								   plan, context);
	}
	replace_children(plan, shuttle_route_appends, context);
	return plan;
}

/* Puts a Look Ahead for a scan between a loop and its outer side. */
static void
place_under(NestLoop *loop, const ForeignScan *scan, ShuttleFinishedPlan *context)
{
	Plan	   *child = outerPlan(loop);
	ShuttleLookAheadPlan plan = {
		.batch_size = shuttle_planning_batch_size(scan->fs_server),
	};
	List	   *targetlist;
	List	   *scan_targetlist;
	Plan	   *look;

	shuttle_make_targetlists(child, &targetlist, &scan_targetlist);
	look = shuttle_finish_node(shuttle_look_ahead_make(child, targetlist,
													   scan_targetlist, &plan),
							   child, context);
	outerPlan(loop) = look;
}

static void
consider_loop(NestLoop *loop, ShuttleFinishedPlan *context)
{
	Bitmapset  *params = NULL;
	const ForeignScan *scan;
	ListCell   *lc;

	if (loop->nestParams == NIL)
		return;
	foreach(lc, loop->nestParams)
		params = bms_add_member(params, lfirst_node(NestLoopParam, lc)->paramno);
	scan = shuttle_find_batch_scan(innerPlan(loop), params, context->statement);
	if (scan == NULL)
		return;

	/* our path has the Look Ahead already, but maybe no routed append */
	if (!shuttle_is_look_ahead_plan(outerPlan(loop)))
		place_under(loop, scan, context);
	innerPlan(loop) = shuttle_route_appends(innerPlan(loop), context);
}

/* Places nodes at and below a plan. Returns the plan or what replaces it. */
static Plan *
place_in(Plan *plan, ShuttleFinishedPlan *context)
{
	if (plan == NULL || IsA(plan, Gather) || IsA(plan, GatherMerge))
		return plan;
	replace_children(plan, place_in, context);
	if (IsA(plan, NestLoop))
		consider_loop((NestLoop *) plan, context);
	if (IsA(plan, ModifyTable))
		read_source_first((ModifyTable *) plan, context);
	if (IsA(plan, MergeJoin) && !((MergeJoin *) plan)->skip_mark_restore &&
		shuttle_is_look_ahead_plan(innerPlan(plan)))
		innerPlan(plan) = materialize(innerPlan(plan), context);
	return shuttle_place_for_subplans(plan, context);
}

/* Without NO SCROLL a cursor can be fetched backwards if its plan supports
 * that. CURSOR_OPT_FAST_PLAN tells that a cursor's query is being planned. */
static bool
may_go_back(int cursor_options)
{
	return (cursor_options & (CURSOR_OPT_SCROLL | CURSOR_OPT_FAST_PLAN)) != 0 &&
		(cursor_options & CURSOR_OPT_NO_SCROLL) == 0;
}

/* Collects the nodes that execCurrentOf() descends through to the scan of a
 * local table, and that scan. Returns false if there is none. */
static bool
find_positioned(Plan *plan, ShuttleFinishedPlan *context)
{
	bool		found = false;
	Plan	  **child;

	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_Result:
		case T_Limit:
		case T_Append:
		case T_SubqueryScan:
			for (int i = 0; (child = shuttle_plan_child(plan, i)) != NULL; i++)
				found = find_positioned(*child, context) || found;
			break;
		default:
			found = shuttle_scans_local_table(plan);
			break;
	}
	if (found)
		context->positioned = lappend(context->positioned, plan);
	return found;
}

/* Any cursor over one table may be used with WHERE CURRENT OF. With FOR UPDATE
 * core finds the row by its ExecRowMark instead. */
static bool
has_position(const PlannedStmt *statement, int cursor_options)
{
	return (cursor_options & CURSOR_OPT_FAST_PLAN) != 0 &&
		statement->rowMarks == NIL;
}

static void
place_look_ahead(PlannedStmt *statement, int cursor_options)
{
	ShuttleFinishedPlan context = {
		.statement = statement,
		.next_id = shuttle_next_plan_id(statement),
	};
	bool		backward;
	ListCell   *lc;

	if (has_position(statement, cursor_options))
		(void) find_positioned(statement->planTree, &context);
	backward = may_go_back(cursor_options) &&
		ExecSupportsBackwardScan(statement->planTree);
	statement->planTree = place_in(statement->planTree, &context);
	if (backward && !ExecSupportsBackwardScan(statement->planTree))
		statement->planTree = materialize(statement->planTree, &context);
	foreach(lc, statement->subplans)
		lfirst(lc) = place_in((Plan *) lfirst(lc), &context);
}

/* False for statements like SELECT 1, which need nothing from us. */
static bool
may_read(const Query *query)
{
	return query->rtable != NIL || query->hasSubLinks || query->cteList != NIL;
}

PlannedStmt *
shuttle_place_plan(Query *query, ShuttlePlanCall call)
{
	PlannedStmt *statement;

	is_active = true;
	if (!may_read(query))
		return shuttle_plan_rest(query, call);
	nplanning++;
	shuttle_planning_settings_begin();

	/*
	 * The depth is a number of the session: no memory or resource that an
	 * error frees belongs to it.
	 */
	PG_TRY();
	{
		statement = shuttle_plan_rest(query, call);
	}
	PG_FINALLY();
	{
		nplanning--;
	}
	PG_END_TRY();
	if (shuttle_reads_foreign_table(statement))
	{
		shuttle_finish_collected_aggregates(statement);
		shuttle_price_hashes_of_ctes(statement);
	}
	if (shuttle_planning_settings()->enable_batched_join &&
		shuttle_reads_foreign_table(statement))
		place_look_ahead(statement, call.cursor_options);
	shuttle_place_local(statement);
	return statement;
}

bool
shuttle_place_is_active(void)
{
	return is_active;
}

bool
shuttle_place_is_planning(void)
{
	return nplanning > 0;
}

/* A subquery is correlated if its parent level has plan_params for it. */
void
shuttle_place_report_late_load(const PlannerInfo *root)
{
	static bool told = false;

	if (is_active || told || !shuttle_settings.enable_batched_join ||
		root->parent_root == NULL || root->parent_root->plan_params == NIL)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("pg_shuttle was loaded too late to batch the subqueries of this statement"),
			 errhint("Load it before: session_preload_libraries = 'pg_shuttle'.")));
}
