/*-------------------------------------------------------------------------
 * remote_values.h
 *	  Values that travel with a scan: its parameters, states of aggregates, and
 *	  what EXPLAIN asks the node.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H
#define SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_settings.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- states of partial aggregates (foreign_aggregate.c) */

/* Has a scan's decoder compute the columns that shuttle_scan_add_states() added
 * to the plan, if any. */
extern void shuttle_foreign_states_add(ShuttleDecoder *decoder,
									   const ForeignScan *plan,
									   MemoryContext owner);

/*
 * A part of string_agg() as our aggregate reads it.  delimiter: NULL: none.
 * Both are texts, or bytea, without compression.
 */
extern bytea *shuttle_collected_text(const struct varlena *delimiter,
									 const struct varlena *text);

/* ---- what EXPLAIN shows of nodes (explain_remote.c) */

/* Keeps a statement that is sent, in memory of owner. */
extern void shuttle_asked_keep(ShuttleAsked **asked, const ShuttleStatement *sent,
							   MemoryContext owner);

/* The same in the query's memory, where its plan may be printed with nodes' own
 * plans; *asked is NULL at first. */
static inline void
shuttle_asked_note(ShuttleAsked **asked, const ShuttleStatement *sent, EState *estate)
{
	if (unlikely(shuttle_settings.explain_remote) && estate->es_instrument != 0)
		shuttle_asked_keep(asked, sent, estate->es_query_cxt);
}

/*
 * Prints the node's plans of them, where EXPLAIN wants that.  Above the plan stands
 * its statement, unless it is the only one, and the one that is shown besides.
 * shown: that one; NULL: whatever was sent.
 * Errors: cancel; what the node refuses is printed.
 */
extern void shuttle_asked_explain(const ShuttleAsked *asked, ShuttleNode *node,
								  const char *shown, ExplainState *es);

/* Prints the conditions of a table's scan that the node checks, with DIST. */
extern void shuttle_storage_filter_explain(ForeignScanState *scan, ExplainState *es);

/* ---- parameters of requests (parameters.c) */

/* Prepares expressions that become $1, $2, ...; NULL for an empty list. */
extern ShuttleParameters *shuttle_parameters_create(List *expressions,
													PlanState *parent);

/* How many there are; 0 for NULL. */
extern int	shuttle_parameters_count(const ShuttleParameters *parameters);

/*
 * True where a scan's parameters stand for literals (planner/statement/literal_plans.c).  The
 * node that used to plan the literals has to plan these values, unless one row is all
 * that can be found.
 */
extern bool shuttle_has_literals(const ForeignScan *scan);

/*
 * Evaluates them to texts, under the settings that values travel with.  The
 * texts live in the per-tuple memory of econtext, the array until next time.
 */
extern const char *const *shuttle_parameters_evaluate(ShuttleParameters *parameters,
													  ExprContext *econtext);

/* Parameters of the plan (PARAM_EXEC) that the expressions depend on. */
extern Bitmapset *shuttle_exec_params(List *expressions);

#endif							/* SHUTTLE_EXECUTOR_SCAN_REMOTE_VALUES_H */
