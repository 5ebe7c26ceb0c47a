/*-------------------------------------------------------------------------
 * row_need.h
 *	  How many rows a node of the plan will be asked for: an estimate, and a
 *	  minimum.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_ROW_NEED_H
#define SHUTTLE_EXECUTOR_FACTS_ROW_NEED_H

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
extern bool shuttle_row_need_join_gives_one(const JoinState *join);

/* True if a foreign scan's SELECT returns at most one row. */
extern bool shuttle_row_need_scan_gives_one(const ForeignScanState *node);

/* True if a Limit takes the first row of its child, and no other. */
extern bool shuttle_row_need_limit_takes_one(const PlanState *node);

#endif							/* SHUTTLE_EXECUTOR_FACTS_ROW_NEED_H */
