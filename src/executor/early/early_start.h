/*-------------------------------------------------------------------------
 * early_start.h
 *	  The walk that starts scans (early_start.c), and what it leaves for later
 *	  (late_start.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_EARLY_EARLY_START_H
#define SHUTTLE_EXECUTOR_EARLY_EARLY_START_H

#include "executor/executor_types.h"
#include "executor/facts/plan_facts.h"

/* What the nodes above want of a node. */
typedef struct ShuttleDemand
{
	bool		all;			/* every row */
	bool		certain;		/* it will be run, unless an error comes
								 * before */
	bool		whole;			/* if one row is read, all are */
	double		rows;			/* if not all: the least number; 0: unknown */
	ShuttleLaterStart *later;	/* nodes that have to wait; NULL: none may */
	ShuttleVisits *visits;		/* CTEs visited by this walk */
	bool		noting;			/* only tell scans about later, start none */
	bool		in_part;		/* in a part that is executed on its own */
} ShuttleDemand;

/* ---- the walk (early_start.c) */

/* Starts the scans at and below a node that will be read. */
extern void shuttle_early_start_visit(PlanState *node, ShuttleDemand demand);

/* The demand on an input if it differs from the demand on its node. */
extern ShuttleDemand shuttle_early_demand_of_input(ShuttleDemand above, bool all, bool certain,
												   bool whole);

/* ---- later (late_start.c) */

extern ShuttleLaterStart *shuttle_late_start_create(void);

/* Counts a scan that was told to start the others. */
extern void shuttle_late_start_count_scan(ShuttleLaterStart *later);

/* A node that waits for initplans: a scan, or an Append or MergeAppend that prunes. */
extern void shuttle_late_start_wait(PlanState *node, ShuttleDemand demand);

/* Has a node wait for the first of its own scans. Changes the demand to one that tells
 * the scans so. */
extern void shuttle_late_start_wait_anew(PlanState *node, ShuttleDemand *demand);

/* Tells the scans of a part, which start each other whenever it is executed. all: it is
 * read to its end then. */
extern void shuttle_late_start_note_part(PlanState *root, bool all, ShuttleDemand above);
extern void shuttle_late_start_note_subplan(SubPlanState *subplan, ShuttleDemand above);

#endif							/* SHUTTLE_EXECUTOR_EARLY_EARLY_START_H */
