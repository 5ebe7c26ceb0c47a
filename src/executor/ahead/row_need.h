/*-------------------------------------------------------------------------
 * row_need.h
 *	  How many rows a node of the plan will be asked for: an estimate, and a
 *	  minimum.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H
#define SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"

/* ---- rows needed (row_need.c) */

typedef enum ShuttleNeedKind
{
	SHUTTLE_NEED_RUN,			/* the rows that the executor run still wants */
	SHUTTLE_NEED_LIMIT,			/* the rows that a LIMIT still wants */
	SHUTTLE_NEED_HELD,			/* fewer: a Look Ahead holds some already */
	SHUTTLE_NEED_PART,			/* one, unless all are needed above */
	SHUTTLE_NEED_ONE
} ShuttleNeedKind;

/* How a node above changes the number of needed rows. */
typedef struct ShuttleNeedStep
{
	ShuttleNeedKind kind;
	PlanState  *node;
	double		rows;			/* that the executor run takes */
	const struct ShuttleNeedStep *above;	/* NULL: all rows are needed */
} ShuttleNeedStep;

/*
 * Copies steps into the query's memory and frees old; NULL if there are none.
 */
extern ShuttleRowNeed *shuttle_row_need_copy(ShuttleRowNeed *old,
											 const ShuttleNeedStep *last,
											 EState *estate);

/* How many rows the node will surely be asked for from now on, the current one
 * included, unless it ends before. INFINITY: all, also if need is NULL. */
extern double shuttle_row_need_count(const ShuttleRowNeed *need);

/* True if a join reads its inner side only up to the first row that matches. */
static inline bool
shuttle_join_takes_one(const JoinState *join)
{
	return join->single_match || join->jointype == JOIN_ANTI;
}

/* True if a join surely returns at most one row for each outer row. */
extern bool shuttle_join_gives_one(const JoinState *join);

/* True if a foreign scan's SELECT returns at most one row. */
extern bool shuttle_scan_gives_one(const ForeignScanState *node);

/* True if a Limit takes the first row of its child, and no other. */
extern bool shuttle_limit_takes_one(const PlanState *node);

/* ---- row goals (row_goal.c) */

/* The most rows that a LIMIT can read from its child; 0: no limit. max_rows:
 * the most rows that the nodes above can read. */
extern double shuttle_max_rows_below_limit(LimitState *node, double max_rows);

/* Before ExecutorRun: sets the row goals of Look Aheads and scans. */
extern void shuttle_row_goal_run(QueryDesc *queryDesc, ScanDirection direction,
								 uint64 count);

/* ---- rows that may not be needed, and their errors (read_ahead.c) */

/* True while an outer row is read that the plan may never need. */
extern bool shuttle_is_reading_ahead(void);

/* Raises the error that ends reading ahead, before a request that may fail. The
 * nodes below the Look Ahead are called again when the row is needed. */
pg_noreturn extern void shuttle_pause(void);

/* The next outer row for a batch, or NULL at the end or if look->stopped is set
 * to an error that must wait. */
extern TupleTableSlot *shuttle_read_outer(LookAheadState *look,
										  const ShuttleBatch *batch);

/* False if reading one more row may raise an error that cannot be kept back. */
extern bool shuttle_may_read_ahead(LookAheadState *look);

/* A row is needed: lets reading go on after a pause. */
extern void shuttle_read_on(LookAheadState *look);

/* Raises the error in look->stopped, if any. */
extern void shuttle_raise_stopped(LookAheadState *look);

/*
 * Makes the scans at and below a node pause before each request that may fail.
 */
extern bool shuttle_pause_walker(PlanState *node, void *context);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H */
