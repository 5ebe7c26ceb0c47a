/*-------------------------------------------------------------------------
 * row_need.h
 *	  How many rows a node of the plan will be asked for: as a guess, and surely.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H
#define SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "base/shuttle_compat.h"
#include "executor/executor_types.h"

/* ---- rows that are sure to be needed (row_need.c) */

typedef enum ShuttleNeedKind
{
	SHUTTLE_NEED_RUN,			/* so many as a run takes and has not got */
	SHUTTLE_NEED_LIMIT,			/* so many as a LIMIT has not got */
	SHUTTLE_NEED_HELD,			/* fewer by those that a Look Ahead holds */
	SHUTTLE_NEED_PART,			/* one, where not all are needed above */
	SHUTTLE_NEED_ONE
} ShuttleNeedKind;

/* What a node above does to the number of rows that are needed. */
typedef struct ShuttleNeedStep
{
	ShuttleNeedKind kind;
	PlanState  *node;
	double		rows;			/* of a run */
	const struct ShuttleNeedStep *above;	/* NULL: all rows are needed */
} ShuttleNeedStep;

/* Keeps steps for the rest of the query, in place of old ones; NULL of none. */
extern ShuttleRowNeed *shuttle_row_need_copy(ShuttleRowNeed *old,
											 const ShuttleNeedStep *last,
											 EState *estate);

/* Rows that the node will surely be asked for still, or else be at its end, this
 * one included; INFINITY: all, also of NULL. */
extern double shuttle_row_need_count(const ShuttleRowNeed *need);

/* True where a join surely makes at most one row of each outer row. */
extern bool shuttle_join_gives_one(const JoinState *join);

/* True where a foreign scan's SELECT gives one row at most. */
extern bool shuttle_scan_gives_one(const ForeignScanState *node);

/* True where a Limit takes the first row of its child, and no other. */
extern bool shuttle_limit_takes_one(const PlanState *node);

/* ---- rows that may not be needed (read_ahead.c) */

/* True while an outer row is read that the plan may stop in front of. */
extern bool shuttle_is_reading_ahead(void);

/*
 * Ends reading ahead, in front of a request that may fail.  The nodes below the
 * Look Ahead are called again when the row is needed.
 */
pg_noreturn extern void shuttle_pause(void);

/* ---- early start (early_start.c) */

/* The most that a LIMIT can ever read, from how many the nodes above can; 0:
 * any number (row_goal.c). */
extern double shuttle_row_bound_below_limit(LimitState *node, double bound);

/* ---- Look Ahead (look_ahead.c) */

/* Before ExecutorRun: tells each Look Ahead its goal (row_goal.c). */
extern void shuttle_row_goal_run(QueryDesc *queryDesc, ScanDirection direction,
								 uint64 count);

/* ---- errors of outer rows (outer_errors.c, read_ahead.c) */

/*
 * The next outer row for a batch, or NULL: at the end, or where look->stopped
 * says what keeps it from being read ahead.
 */
extern TupleTableSlot *shuttle_read_outer(LookAheadState *look,
										  const ShuttleBatch *batch);

/* False where one more row would be read that may raise what cannot wait. */
extern bool shuttle_may_read_ahead(LookAheadState *look);

/* A row is needed: goes on where reading ahead had to wait for that. */
extern void shuttle_read_on(LookAheadState *look);

/* Raises what reading ahead was stopped by, if anything. */
extern void shuttle_raise_stopped(LookAheadState *look);

/* Has the scans at and below a node pause before they ask for more, where their
 * requests may fail. */
extern bool shuttle_pause_walker(PlanState *node, void *context);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_ROW_NEED_H */
