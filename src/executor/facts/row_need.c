/*-------------------------------------------------------------------------
 * row_need.c
 *	  How many rows a plan surely needs from now on.
 *
 * A goal (row_goal.c) is a guess made before the first row: it does not know
 * how many rows a join drops or returns. Scans that lock rows must not guess
 * (trap 21). So they compute the need whenever they want more rows: the
 * executor run and the LIMITs above know how many rows they have, and a Look
 * Ahead how many it holds and has not returned. At least one row is needed, or
 * the scan would not have been called.
 *
 * Memory: steps are on the stack while goals are passed down; scans and Look
 * Aheads that need them later copy them into the query's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor_types.h"
#include "executor/facts/row_need.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/shuttle_executor.h"

struct ShuttleRowNeed
{
	int			nsteps;
	ShuttleNeedStep steps[FLEXIBLE_ARRAY_MEMBER];	/* the lowest node first */
};

/* The rows that a LIMIT still reads if the node above wants so many. */
static double
needed_below_limit(const LimitState *limit, double wanted)
{
	/* LIMIT and OFFSET are not evaluated yet */
	if (limit->lstate == LIMIT_INITIAL)
		return 1;
	wanted += Max(limit->offset - limit->position, 0);
	if (limit->noCount)
		return wanted;
	return Min(wanted, (double) limit->offset + limit->count - limit->position);
}

static double
needed_below(const ShuttleNeedStep *step, double wanted)
{
	const LookAheadState *look;

	switch (step->kind)
	{
		case SHUTTLE_NEED_RUN:
			return step->rows - step->node->state->es_processed;
		case SHUTTLE_NEED_LIMIT:
			return needed_below_limit((const LimitState *) step->node, wanted);
		case SHUTTLE_NEED_HELD:
			look = (const LookAheadState *) step->node;
			return wanted - (look->rows_pulled - look->rows_taken);
		case SHUTTLE_NEED_ONE:
			return 1;
		case SHUTTLE_NEED_PART:
			break;
	}
	return isinf(wanted) ? wanted : 1;
}

double
shuttle_row_need_count(const ShuttleRowNeed *need)
{
	double		rows = INFINITY;

	for (int i = need == NULL ? 0 : need->nsteps; i > 0; i--)
		rows = Max(needed_below(&need->steps[i - 1], rows), 1);
	return rows;
}

ShuttleRowNeed *
shuttle_row_need_copy(ShuttleRowNeed *old, const ShuttleNeedStep *last,
					  EState *estate)
{
	ShuttleRowNeed *need;
	int			nsteps = 0;

	if (old != NULL)
		pfree(old);
	for (const ShuttleNeedStep *step = last; step != NULL; step = step->above)
		nsteps++;
	if (nsteps == 0)
		return NULL;
	need = MemoryContextAlloc(estate->es_query_cxt,
							  offsetof(ShuttleRowNeed, steps) +
							  nsteps * sizeof(ShuttleNeedStep));
	need->nsteps = 0;
	for (; last != NULL; last = last->above)
		need->steps[need->nsteps++] = *last;
	return need;
}

/* True if a Limit takes the first row of its child, and no other. */
bool
shuttle_row_need_limit_takes_one(const PlanState *node)
{
	const Limit *limit = (const Limit *) node->plan;
	const Const *count = (const Const *) limit->limitCount;

	return count != NULL && IsA(count, Const) && !count->constisnull &&
		DatumGetInt64(count->constvalue) == 1 && limit->limitOffset == NULL &&
		limit->limitOption == LIMIT_OPTION_COUNT;
}

bool
shuttle_row_need_scan_gives_one(const ForeignScanState *node)
{
	const ForeignScan *plan = (const ForeignScan *) node->ss.ps.plan;
	const char *sql = plan->operation == CMD_SELECT ?
		shuttle_postgres_fdw_scan_sql(plan) : NULL;

	return sql != NULL && shuttle_remote_sql_limit(sql) == 1;
}

/* True if a node never returns more than one row in a run. */
static bool
gives_one(const PlanState *node)
{
	switch (nodeTag(node))
	{
		case T_LimitState:
			return shuttle_row_need_limit_takes_one(node) || gives_one(outerPlanState(node));
		case T_ForeignScanState:
			return shuttle_row_need_scan_gives_one((const ForeignScanState *) node);
		case T_SubqueryScanState:
			return gives_one(((const SubqueryScanState *) node)->subplan);
		case T_ResultState:
		case T_LockRowsState:
		case T_MaterialState:
		case T_MemoizeState:
			return outerPlanState(node) == NULL || gives_one(outerPlanState(node));
		default:
			return false;
	}
}

bool
shuttle_row_need_join_gives_one(const JoinState *join)
{
	return shuttle_join_takes_one(join) ||
		(IsA(join, NestLoopState) && gives_one(innerPlanState(join)));
}
