/*-------------------------------------------------------------------------
 * explain_internal.h
 *	  What the files of the explain room share.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXPLAIN_INTERNAL_H
#define SHUTTLE_EXPLAIN_INTERNAL_H

#include "base/shuttle_compat_explain.h"
#include "explain/shuttle_explain.h"

/* Prints the totals of an executed plan, with the summary. */
extern void shuttle_explain_totals(ExplainState *es,
								   const ShuttleCounters *totals,
								   int64 peak_bytes);

#endif							/* SHUTTLE_EXPLAIN_INTERNAL_H */
