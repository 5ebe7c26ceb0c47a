/*-------------------------------------------------------------------------
 * sure_values.h
 *	  Values that are computed before it is known that they are needed.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_AHEAD_SURE_VALUES_H
#define SHUTTLE_EXECUTOR_AHEAD_SURE_VALUES_H

#include "nodes/execnodes.h"

/* ---- run-time pruning where rows are checked again (recheck_pruning.c) */

/* Called when a node begins, before its children do. */
extern void shuttle_recheck_pruning_init(EState *estate);

/* ---- what may fail (caught_error.c) */

/* True where an expression is more than a parameter or constant. */
extern bool shuttle_computes_value(Node *expression);

/* Says if a subtransaction can begin, and end, now: beside parallel workers not always. */
extern bool shuttle_can_begin_subtransaction(void);

/* Installs the hook that this needs. */
extern void shuttle_catch_error_init(void);

/*
 * Does something in a subtransaction of its own; an error ends it and is
 * forgotten, but for one that has another cause, such as a cancel.
 * Returns false if there was one, and where no subtransaction is possible.
 */
extern bool shuttle_try(void (*work) (void *arg), void *arg);

/* The same where a subtransaction is possible; returns the error, or NULL. */
extern ErrorData *shuttle_catch_error(void (*work) (void *arg), void *arg);

#endif							/* SHUTTLE_EXECUTOR_AHEAD_SURE_VALUES_H */
