/*-------------------------------------------------------------------------
 * read_ahead.c
 *	  Reads outer rows that the join may never need.
 *
 * If a LIMIT, an EXISTS, a cursor or a join may stop before the outer side's
 * end, an error of a row that is read ahead is not an error of the statement
 * yet. What the outer side may raise (outer_errors.c) decides:
 *
 *	nothing		rows are read as far ahead as batches want
 *	values		a row's error is kept, and raised when its turn comes; the rows
 *				before it are joined
 *	requests	a scan that would have to ask for more rows pauses: the batch
 *				ends there, and the next one goes on. So nothing is asked for
 *				that reading one row at a time would not have asked for
 *	anything	only rows that are surely needed are read, at the least one
 *
 * Errors are caught without a subtransaction, which would roll back what scans
 * hold. This is safe because only errors of built-in functions that hold
 * nothing are kept: the nodes that they leave are only ended or rescanned
 * afterwards. Such errors have no context, unlike those of functions that run
 * code. A pause is raised as an error, too, and always caught.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_executor.h"
#include "executor/executor_types.h"
#include "executor/facts/outer_side.h"
#include "executor/facts/safe_values.h"
#include "executor/fdw/postgres_fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/join.h"
#include "executor/join/served_scan.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"

/* A scan of stock postgres_fdw whose pages are counted. */
typedef struct CountedScan
{
	FdwRoutine	routine;		/* must be first: fdwroutine points here */
	FdwRoutine *original;
	int			fetch_size;
	int64		nrows;			/* since its last rescan */
} CountedScan;

/* ---- what reading ahead raises */

static bool
is_pause(const ErrorData *error)
{
	return error->sqlerrcode == SHUTTLE_ERRCODE_PAUSE;
}

/* True for errors of values, and for pauses. */
static bool
can_wait(const ErrorData *error)
{
	if (is_pause(error))
		return true;
	return error->context == NULL &&
		(ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_DATA_EXCEPTION ||
		 error->sqlerrcode == ERRCODE_CARDINALITY_VIOLATION ||
		 error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED);
}

/* Stops the timers of nodes that an error has left. */
static bool
leave_walker(PlanState *node, void *context)
{
	NodeInstrumentation *instrument = node->instrument;

	if (instrument != NULL && shuttle_is_timed(instrument))
		InstrStopNode(instrument, 0);
	return planstate_tree_walker(node, leave_walker, context);
}

/*
 * The next outer row. An error is kept in look->stopped if it can wait, else
 * raised. error_context_stack is empty meanwhile, so that only errors with a
 * context of their own have one.
 */
static TupleTableSlot *
read_row(LookAheadState *look)
{
	MemoryContext cxt = CurrentMemoryContext;
	bool		before = shuttle_caught_error_reads_ahead();
	TupleTableSlot *volatile row = NULL;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		shuttle_caught_error_set_reads_ahead(true);
		error_context_stack = NULL;
		row = ExecProcNode(outerPlanState(look));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(look->css.ss.ps.state->es_query_cxt);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	shuttle_caught_error_set_reads_ahead(before);
	if (error == NULL)
		return row;
	if (!can_wait(error))
		ThrowErrorData(error);
	(void) leave_walker(outerPlanState(look), NULL);
	look->stopped = error;
	return NULL;
}

TupleTableSlot *
shuttle_read_ahead_outer(LookAheadState *look, const ShuttleBatch *batch)
{
	bool		ahead = look->nbatches > 0 || batch->nrows > 0 || look->out_of_turn;

	if (shuttle_caught_error_reads_ahead() ||
		(ahead && (look->errors == SHUTTLE_RAISES_VALUES ||
				   look->errors == SHUTTLE_RAISES_REQUESTS)))
		return read_row(look);
	return ExecProcNode(outerPlanState(look));
}

bool
shuttle_read_ahead_is_allowed(LookAheadState *look)
{
	if (isinf(look->min_rows))
		return true;

	/* initplans have been executed by the first row, if all rows need them */
	if (!look->judged)
	{
		look->judged = true;
		look->errors = shuttle_outer_errors(outerPlanState(look), look->once);
	}
	return look->errors != SHUTTLE_RAISES_ANYTHING ||
		look->rows_pulled < look->min_rows;
}

void
shuttle_read_ahead_go_on(LookAheadState *look)
{
	if (look->stopped == NULL || !is_pause(look->stopped))
		return;
	FreeErrorData(look->stopped);
	look->stopped = NULL;
}

void
shuttle_read_ahead_raise_stopped(LookAheadState *look)
{
	if (look->stopped != NULL)
		ThrowErrorData(look->stopped);
}

/* ---- scans that pause */

static TupleTableSlot *
iterate_counted_scan(ForeignScanState *node)
{
	CountedScan *counted = (CountedScan *) node->fdwroutine;
	TupleTableSlot *slot;

	if (shuttle_caught_error_reads_ahead() && counted->nrows % counted->fetch_size == 0)
		shuttle_caught_error_pause();

	/* the first row may be timed, by another table of callbacks */
	node->fdwroutine = counted->original;
	slot = counted->original->IterateForeignScan(node);
	counted->original = node->fdwroutine;
	node->fdwroutine = &counted->routine;
	if (!TupIsNull(slot))
		counted->nrows++;
	return slot;
}

static void
rescan_counted_scan(ForeignScanState *node)
{
	CountedScan *counted = (CountedScan *) node->fdwroutine;

	counted->nrows = 0;
	counted->original->ReScanForeignScan(node);
}

static void
count_scan(ForeignScanState *node)
{
	CountedScan *counted;
	ShuttlePostgresFdwScan postgres_fdw;

	if (!shuttle_postgres_fdw_read_scan((ForeignScan *) node->ss.ps.plan, &postgres_fdw))
		return;
	counted = palloc0_object(CountedScan);
	counted->routine = *node->fdwroutine;
	counted->routine.IterateForeignScan = iterate_counted_scan;
	counted->routine.ReScanForeignScan = rescan_counted_scan;
	counted->original = node->fdwroutine;
	counted->fetch_size = postgres_fdw.fetch_size;
	node->fdwroutine = &counted->routine;
}

/* Makes a scan pause. Served scans and ours check by themselves. */
static void
prepare_scan(ForeignScanState *node)
{
	const ForeignScan *plan = (const ForeignScan *) node->ss.ps.plan;
	const char *sql;

	if (plan->operation != CMD_SELECT || plan->scan.plan.async_capable ||
		shuttle_served_scan_is_served(node) ||
		!shuttle_server_can_look_ahead(NULL, plan->fs_server) ||
		node->fdwroutine->IterateForeignScan == iterate_counted_scan)
		return;
	sql = shuttle_postgres_fdw_scan_sql(plan);
	if (sql != NULL && shuttle_remote_sql_may_fail(sql) &&
		!shuttle_remote_scan_pause(node))
		count_scan(node);
}

bool
shuttle_read_ahead_pause_walker(PlanState *node, void *context)
{
	if (IsA(node, ForeignScanState))
		prepare_scan((ForeignScanState *) node);
	return planstate_tree_walker(node, shuttle_read_ahead_pause_walker, context);
}
