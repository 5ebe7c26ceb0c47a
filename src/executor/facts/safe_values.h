/*-------------------------------------------------------------------------
 * safe_values.h
 *	  Values that are computed before it is known whether they are needed
 *	  (safe_values.c, caught_error.c), and run-time pruning in EvalPlanQual
 *	  (recheck_pruning.c).
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_FACTS_SAFE_VALUES_H
#define SHUTTLE_EXECUTOR_FACTS_SAFE_VALUES_H

#include "executor/execdesc.h"
#include "nodes/execnodes.h"

#include "base/shuttle_compat.h"

/* ---- run-time pruning in EvalPlanQual (recheck_pruning.c) */

/* Called in a node's begin callback, before its children begin. */
extern void shuttle_recheck_pruning_init(EState *estate);

/* ---- what may fail (caught_error.c) */

/* True if an expression is more than a parameter or constant. */
extern bool shuttle_computes_value(Node *expression);

/*
 * True if a subtransaction can begin and end now; in parallel mode not always.
 */
extern bool shuttle_caught_error_is_possible(void);

/* Behind ExecutorStart: notes the command ID, which
 * shuttle_caught_error_is_possible() needs. */
extern void shuttle_caught_error_start(const QueryDesc *queryDesc);

/*
 * Calls work in a subtransaction. An error rolls it back and is dropped, unless
 * it has another cause, such as a cancel. Returns false after an error, and if
 * no subtransaction is possible.
 */
extern bool shuttle_caught_error_try(void (*work) (void *arg), void *arg);

/* The same if a subtransaction is possible; returns the error, or NULL. */
extern ErrorData *shuttle_caught_error_run(void (*work) (void *arg), void *arg);

/* ---- reading ahead (caught_error.c) */

#define SHUTTLE_ERRCODE_PAUSE MAKE_SQLSTATE('S', 'H', '0', '0', '1')

/* True while an outer row is read that the plan may never need. */
extern bool shuttle_caught_error_reads_ahead(void);

/* Raises the error that ends reading ahead, before a request that may fail. The
 * nodes below the Look Ahead are called again when the row is needed. */
pg_noreturn extern void shuttle_caught_error_pause(void);

/* Notes that reading ahead begins or ends; returns what was noted before. */
extern bool shuttle_caught_error_set_reads_ahead(bool reads);

#endif							/* SHUTTLE_EXECUTOR_FACTS_SAFE_VALUES_H */
