/*-------------------------------------------------------------------------
 * remote_values.h
 *	  Values that a scan sends or receives: its parameters, states of
 *	  aggregates, and the node's plans for EXPLAIN.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H
#define SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- states of partial aggregates (foreign_aggregate.c, collected.c) */

/* Makes a scan's decoder compute the columns that shuttle_postgres_fdw_add_scan_states()
 * added to the plan, if any. */
extern void shuttle_foreign_states_add(ShuttleDecoder *decoder,
									   const ForeignScan *plan,
									   MemoryContext owner);

/* A part of string_agg(), serialized for our aggregate. delimiter: NULL: none.
 * Both are detoasted text or bytea. */
extern bytea *shuttle_collected_text(const struct varlena *delimiter,
									 const struct varlena *text);

/* ---- what EXPLAIN shows of nodes (explain_remote.c) */

/* Records a sent statement, in memory context owner. */
extern void shuttle_explain_remote_keep(ShuttleAsked **asked, const ShuttleStatement *sent,
										MemoryContext owner);

/* The same in the query's context, if EXPLAIN may print nodes' plans; *asked is
 * NULL at first. */
static inline void
shuttle_explain_remote_note(ShuttleAsked **asked, const ShuttleStatement *sent, EState *estate)
{
	if (unlikely(shuttle_settings.explain_remote) && estate->es_instrument != 0)
		shuttle_explain_remote_keep(asked, sent, estate->es_query_cxt);
}

/*
 * Prints the node's plans of recorded statements if EXPLAIN wants them, each
 * below its SQL, unless that is the only one and is printed elsewhere. shown:
 * the SQL printed elsewhere; NULL: all. Errors: cancel; an error of the node is
 * printed.
 */
extern void shuttle_explain_remote_asked(const ShuttleAsked *asked, ShuttleNode *node,
										 const char *shown, ExplainState *es);

/* Prints the quals that the node checks, with DIST. */
extern void shuttle_explain_remote_filter(ForeignScanState *scan, ExplainState *es);

#endif							/* SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H */
