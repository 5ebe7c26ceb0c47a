/*-------------------------------------------------------------------------
 * finished_plan.c
 *	  What is done with a plan that core's planner has finished, in order.
 *
 * The statement during whose planning the library is loaded does not pass our
 * planner hook: it has only the Look Aheads of our paths, and a notice says so
 * if a subquery lacks one.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_planner.h"
#include "base/shuttle_settings.h"
#include "executor/shuttle_executor.h"
#include "planner/facts/planning_settings.h"
#include "planner/finished_plan/finished_plan.h"
#include "planner/group/unions.h"
#include "planner/shuttle_planner.h"

static bool is_active = false;	/* our planner hook was called */
static int	nplanning = 0;		/* depth of our planner hook */

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
			found = shuttle_plan_scans_local_table(plan);
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
place_late_locks(PlannedStmt *statement)
{
	ShuttleFinishedPlan context = {
		.statement = statement,
		.next_id = shuttle_plan_next_id(statement),
	};
	ListCell   *lc;

	shuttle_late_locks_place(statement->planTree, &context);
	foreach(lc, statement->subplans)
		shuttle_late_locks_place((Plan *) lfirst(lc), &context);
}

static void
place_look_ahead(PlannedStmt *statement, int cursor_options)
{
	ShuttleFinishedPlan context = {
		.statement = statement,
		.next_id = shuttle_plan_next_id(statement),
	};
	bool		backward;
	ListCell   *lc;

	if (statement->subplans != NIL)
	{
		statement->planTree = shuttle_late_filters_move(statement->planTree, &context);
		foreach(lc, statement->subplans)
			lfirst(lc) = shuttle_late_filters_move((Plan *) lfirst(lc), &context);
	}
	if (has_position(statement, cursor_options))
		(void) find_positioned(statement->planTree, &context);
	backward = may_go_back(cursor_options) &&
		ExecSupportsBackwardScan(statement->planTree);
	statement->planTree = shuttle_look_ahead_place_in_loops(statement->planTree, &context);
	if (backward && !ExecSupportsBackwardScan(statement->planTree))
		statement->planTree = shuttle_plan_materialize(statement->planTree, &context);
	foreach(lc, statement->subplans)
		lfirst(lc) = shuttle_look_ahead_place_in_loops((Plan *) lfirst(lc), &context);
}

/* False for statements like SELECT 1, which need nothing from us. */
static bool
may_read(const Query *query)
{
	return query->rtable != NIL || query->hasSubLinks || query->cteList != NIL;
}

/*
 * pg_plan_advice, which looks at the plan if advice is to be shown or judged, knows no custom
 * scan below a join. Nobody can tell before whether it will look, so its internal error is made
 * a refusal that says what helps.
 */
static PlannedStmt *
plan_that_is_walked(Query *query, ShuttlePlanCall call)
{
	static const char unknown[] = "plan node has no RTIs: ";
	MemoryContext cxt = CurrentMemoryContext;
	PlannedStmt *statement = NULL;

	PG_TRY();
	{
		statement = shuttle_plan_rest(query, call);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_INTERNAL_ERROR || error->message == NULL ||
			strncmp(error->message, unknown, sizeof(unknown) - 1) != 0 ||
			atoi(error->message + sizeof(unknown) - 1) != T_CustomScan)
			PG_RE_THROW();
		FlushErrorState();
		error->sqlerrcode = ERRCODE_FEATURE_NOT_SUPPORTED;
		error->message = pstrdup("plan advice cannot be given for the plan of a batched join");
		error->hint = pstrdup("Set shuttle.enable_batched_join = off for this statement, or advise another kind of join.");
		ReThrowError(error);
	}
	PG_END_TRY();
	return statement;
}

PlannedStmt *
shuttle_finished_plan_plan(Query *query, ShuttlePlanCall call)
{
	PlannedStmt *statement;
	bool		reads_foreign;

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
		statement = shuttle_plans_are_walked() ?
			plan_that_is_walked(query, call) : shuttle_plan_rest(query, call);
	}
	PG_FINALLY();
	{
		nplanning--;
	}
	PG_END_TRY();
	reads_foreign = shuttle_reads_foreign_table(statement);
	if (reads_foreign)
	{
		shuttle_collected_aggregates_finish(statement);
		shuttle_hash_of_cte_price(statement);
		shuttle_join_pruning_add(statement);
	}
	if (reads_foreign && statement->rowMarks != NIL)
		place_late_locks(statement);
	if (reads_foreign && shuttle_planning_settings()->enable_batched_join)
		place_look_ahead(statement, call.cursor_options);
	shuttle_look_ahead_place_in_index_loops(statement);
	return statement;
}

bool
shuttle_planner_is_active(void)
{
	return is_active;
}

bool
shuttle_planner_is_planning(void)
{
	return nplanning > 0;
}

/* A subquery is correlated if its parent level has plan_params for it. */
void
shuttle_planner_report_late_load(const PlannerInfo *root)
{
	static bool told = false;

	if (is_active || told || !shuttle_settings.enable_batched_join ||
		root->parent_root == NULL || root->parent_root->plan_params == NIL)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("pg_shuttle was loaded too late to batch the subqueries of this statement"),
			 errhint("Load it before: add pg_shuttle to session_preload_libraries.")));
}
