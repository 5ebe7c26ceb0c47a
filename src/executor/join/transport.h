/*-------------------------------------------------------------------------
 * transport.h
 *	  How requests for keys travel: over our connections, or over postgres_fdw's.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H
#define SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H

#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- transports (transport_guest.c, transport_engine.c) */

/*
 * How a range of keys reaches the inner side.  open: once a scan, and does
 * not talk to the node.  send: does not wait; the SELECT is fenced where
 * shuttle_served_scan_fences() says so.  next: one row and the ordinal
 * of its key, from 0, within the answer; the tuple is allocated in the
 * current context.  close_answer: also before the end; never waits.
 * explain: prints what EXPLAIN shows beside the counters; may be NULL.
 */
typedef struct ShuttleTransport
{
	bool		is_engine;
	ShuttleChannel *(*open) (ShuttleServedScan *scan);
	ShuttleAnswer *(*send) (ShuttleChannel *channel, ShuttleKeySet *set,
							int first, int nkeys, bool ahead);
	ShuttleStatus (*next) (ShuttleAnswer *answer, bool wait,
						   int *ordinal, HeapTuple *tuple);
	void		(*close_answer) (ShuttleAnswer *answer);
	void		(*close) (ShuttleChannel *channel);
	void		(*explain) (const ShuttleChannel *channel, ExplainState *es);
} ShuttleTransport;
extern const ShuttleTransport shuttle_guest_transport;
extern const ShuttleTransport shuttle_engine_transport;

/* ---- round trips of guests (guest_trip.c) */

/* Has the first rows of the scans of stock postgres_fdw timed that nothing
 * serves, at and below a node. */
extern bool shuttle_guest_trip_walker(PlanState *node, void *context);

#endif							/* SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H */
