/*-------------------------------------------------------------------------
 * early.h
 *	  Requests sent before the executor asks for them.
 *
 * early_start.c	sends scans that will surely be read before any answer arrives
 * late_start.c	what has to wait for that (early_start.h)
 * costly_input.c	which input of a join waits for a row of the other
 * row_goal.c	how many rows nodes will be asked for
 * cut_nodes.c	nodes whose transactions begin together
 *
 * In: the state of a plan that starts. Out: requests that are under way.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_EARLY_EARLY_H
#define SHUTTLE_EXECUTOR_EARLY_EARLY_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "executor/executor_types.h"

/* ---- early start (early_start.c, late_start.c) */

/*
 * If shuttle.enable_early_start is on, sends the request for the first page of
 * every scan below root that will be read. count: rows that the run will take;
 * 0: all.
 */
extern void shuttle_early_start(PlanState *root, uint64 count);

/* A scan that was told of later is sent: starts the nodes that waited for it. */
extern void shuttle_late_start_run(ShuttleLaterStart *later);

/* Starts the initplans that compute params if several still have to run. */
extern void shuttle_early_start_params(EState *estate, const Bitmapset *params);

/* Before ExecutorRun: starts scans early. */
extern void shuttle_early_start_run(QueryDesc *queryDesc, ScanDirection direction,
									uint64 count);

/* ---- nodes that are read in one state (cut_nodes.c) */

/*
 * shuttle_early_start_run(), and first begins the transactions of all nodes that the plan can read, if they
 * are to be read in one state. Returns true if query->snapshot was replaced for that.
 * Errors: 40001.
 */
extern bool shuttle_cut_nodes_run(QueryDesc *query, ScanDirection direction, uint64 count);

/* ---- inputs that wait (costly_input.c) */

/* True if the second input of a join, which is read only if the first has a row, costs
 * so much more that it should wait for that row. */
extern bool shuttle_costly_input_is_second(PlanState *second, const Plan *first);

/* ---- row goals (row_goal.c) */

/* The most rows that a LIMIT can read from its child; 0: no limit. max_rows:
 * the most rows that the nodes above can read. */
extern double shuttle_row_goal_below_limit(LimitState *node, double max_rows);

/* Before ExecutorRun: sets the row goals of Look Aheads and scans. */
extern void shuttle_row_goal_run(QueryDesc *queryDesc, ScanDirection direction,
								 uint64 count);

#endif							/* SHUTTLE_EXECUTOR_EARLY_EARLY_H */
