/*-------------------------------------------------------------------------
 * transport.h
 *	  How requests for keys travel: over our connections, or over
 *	  postgres_fdw's.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H
#define SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H

#include "base/shuttle_compat_explain.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- transports (transport_guest.c, transport_engine.c) */

/*
 * How requests for ranges of keys are sent. open: once a scan; does not talk to
 * the node. send: does not wait; the SELECT is fenced if
 * shuttle_served_scan_fences() says so. next: one row and its key, counted from
 * 0 within the request; the tuple is allocated in the current context.
 * close_answer: also before the end; never waits. explain: prints more than the
 * counters; may be NULL.
 */
typedef struct ShuttleTransport
{
	bool		is_engine;
	ShuttleChannel *(*open) (ShuttleServedScan *scan);
	ShuttleAnswer *(*send) (ShuttleChannel *channel, ShuttleKeySet *set,
							int first, int nkeys, bool speculative);
	ShuttleStatus (*next) (ShuttleAnswer *answer, bool wait,
						   int *ordinal, HeapTuple *tuple);
	void		(*close_answer) (ShuttleAnswer *answer);
	void		(*close) (ShuttleChannel *channel);
	void		(*explain) (const ShuttleChannel *channel, ExplainState *es);
} ShuttleTransport;
extern const ShuttleTransport shuttle_transport_guest;
extern const ShuttleTransport shuttle_transport_engine;

/* ---- round trips of guests (guest_trip.c) */

/* Makes stock postgres_fdw's scans at and below a node, except served ones,
 * time their first rows. */
extern bool shuttle_guest_trip_walker(PlanState *node, void *context);

#endif							/* SHUTTLE_EXECUTOR_JOIN_TRANSPORT_H */
