/*-------------------------------------------------------------------------
 * explain_internal.h
 *	  What the files of the explain room share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXPLAIN_INTERNAL_H
#define SHUTTLE_EXPLAIN_INTERNAL_H

#include "executor/executor.h"

#include "base/shuttle_compat_executor.h"
#include "base/shuttle_compat_explain.h"
#include "base/shuttle_utility.h"
#include "explain/shuttle_explain.h"

/* Prints the totals of an executed plan, with the summary. */
extern void shuttle_explain_totals(ExplainState *es,
								   const ShuttleCounters *totals,
								   int64 peak_bytes);

/* ---- dist_option.c: what hooks.c calls */

/* Makes the option known to core, from 18 on. */
extern void shuttle_dist_register(void);

/* Runs an EXPLAIN, which has a frame meanwhile. */
extern void shuttle_dist_explain(ProcessUtility_hook_type explain,
								 SHUTTLE_UTILITY_PARAMETERS);

/* Notes the ExplainState of the innermost EXPLAIN. */
extern void shuttle_dist_learn_state(ExplainState *es);

/* Start, run and finish a plan; rows scanned are counted if DIST shows them. */
extern void shuttle_dist_start(ExecutorStart_hook_type start_plan,
							   QueryDesc *queryDesc, int eflags);
extern void shuttle_dist_run(ExecutorRun_hook_type run_plan,
							 SHUTTLE_EXECUTOR_RUN_PARAMETERS);
extern void shuttle_dist_finish(ExecutorFinish_hook_type finish_plan,
								QueryDesc *queryDesc);

/* Prints the totals of an explained plan before it ends. */
extern void shuttle_dist_end(QueryDesc *queryDesc);

#endif							/* SHUTTLE_EXPLAIN_INTERNAL_H */
