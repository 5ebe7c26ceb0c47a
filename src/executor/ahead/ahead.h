/*-------------------------------------------------------------------------
 * ahead.h
 *	  Requests sent and values computed before the executor asks for them, if
 *	  that cannot change a result or show an error too many.
 *
 * early_start.c	sends scans that will surely be read before any answer arrives
 * early_later.c	what has to wait for that (early_start.h)
 * costly_input.c	which input of a join waits for a row of the other
 * outbox.c		owns what was begun and not sent, and sends it in time (outbox.h)
 * row_goal.c, row_need.c	how many rows nodes will be asked for, and surely need
 * read_ahead.c	reads outer rows, keeps back their errors (row_need.h)
 * outer_effects.c, outer_errors.c, expression_errors.c	what reading ahead of
 *			time could show or raise (outer_side.h)
 * plan_facts.c	what each type of plan node does with its input, and its children
 * needed_params.c	which parameters a row needs in any case (plan_facts.h)
 * caught_error.c, safe_values.c	values computed before they are needed
 * recheck_pruning.c	run-time pruning in EvalPlanQual
 *
 * In: the state of a plan that starts. Out: requests that are under way.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_AHEAD_H
#define SHUTTLE_EXECUTOR_AHEAD_AHEAD_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "executor/executor_types.h"

/* ---- early start (early_start.c, early_later.c) */

/*
 * If shuttle.enable_early_start is on, sends the request for the first page of
 * every scan below root that will be read. count: rows that the run will take;
 * 0: all.
 */
extern void shuttle_early_start(PlanState *root, uint64 count);

/* A scan that was told of later is sent: starts the nodes that waited for it. */
extern void shuttle_early_start_later(ShuttleLaterStart *later);

/* Starts the initplans that compute params if several still have to run. */
extern void shuttle_early_start_params(EState *estate, const Bitmapset *params);

/* Before ExecutorRun: starts scans early. */
extern void shuttle_early_start_run(QueryDesc *queryDesc, ScanDirection direction,
									uint64 count);

/* ---- inputs that wait (costly_input.c) */

/* True if the second input of a join, which is read only if the first has a row, costs
 * so much more that it should wait for that row. */
extern bool shuttle_is_costly_input(PlanState *second, const Plan *first);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_AHEAD_H */
