/*-------------------------------------------------------------------------
 * safe_values.h
 *	  Values that are computed before it is known whether they are needed.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_SAFE_VALUES_H
#define SHUTTLE_EXECUTOR_AHEAD_SAFE_VALUES_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

/* ---- run-time pruning in EvalPlanQual (recheck_pruning.c) */

/* Called in a node's begin callback, before its children begin. */
extern void shuttle_recheck_pruning_init(EState *estate);

/* ---- what may fail (caught_error.c) */

/* True if an expression is more than a parameter or constant. */
extern bool shuttle_computes_value(Node *expression);

/*
 * True if a subtransaction can begin and end now; in parallel mode not always.
 */
extern bool shuttle_can_begin_subtransaction(void);

/* Behind ExecutorStart: notes the command ID, which
 * shuttle_can_begin_subtransaction() needs. */
extern void shuttle_caught_error_start(const QueryDesc *queryDesc);

/*
 * Calls work in a subtransaction. An error rolls it back and is dropped, unless
 * it has another cause, such as a cancel. Returns false after an error, and if
 * no subtransaction is possible.
 */
extern bool shuttle_try(void (*work) (void *arg), void *arg);

/* The same if a subtransaction is possible; returns the error, or NULL. */
extern ErrorData *shuttle_catch_error(void (*work) (void *arg), void *arg);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_SAFE_VALUES_H */
