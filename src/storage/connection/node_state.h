/*-------------------------------------------------------------------------
 * node_state.h
 *	  What is measured and shown of nodes: round trips, totals, liveness.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H
#define SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H

#include "storage/connection/connection.h"

/* ---- shared_memory.c */
extern void shuttle_shared_memory_request(void);
extern void shuttle_shared_memory_set_up(void);

/* ---- node_list.c */

/* The state of a connection changed; never raises. */
extern void shuttle_node_show(ShuttleNode *node);
extern void shuttle_node_show_ended(ShuttleNode *node);

/* It knows now where it leads to. */
extern void shuttle_node_note_address(ShuttleNode *node);

/* ---- node_totals.c */

static inline void
shuttle_node_count(ShuttleNode *node, ShuttleNodeTotal total, int64 n)
{
	node->shown.counts[total] += n;
	node->shown.counted = true;
}

/* Makes sure that the server is counted for.  Errors: none expected. */
extern void shuttle_node_totals_enter(ShuttleNode *node);

/* Tells what was counted; never raises. */
extern void shuttle_node_totals_tell(ShuttleNode *node);

/* ---- helper_process.c */

/*
 * Runs work in a child process, for calls that block and know no limit; its
 * output is read from the returned descriptor.  Returns false if there can be
 * no child.  Never raises.
 */
typedef struct HelperProcess
{
	pid_t		pid;
	int			fd;
} HelperProcess;
extern bool shuttle_helper_start(HelperProcess *helper,
								 void (*work) (void *arg, int fd), void *arg);

/* Ends a child, with force if it still runs; never raises. */
extern void shuttle_helper_end(HelperProcess *helper);

/* ---- round_trip.c */

/* Adds an answer's time, and tells other sessions.  Never raises. */
extern void shuttle_round_trip_add(RoundTrip *trip, Oid serverid, double ms);

/* In milliseconds; negative: not known. */
extern double shuttle_round_trip_shortest(const RoundTrip *trip);

/* Its part of shared memory. */
extern Size shuttle_round_trip_memory_size(void);
extern void shuttle_round_trip_set_up_memory(void);

/* ---- host_liveness.c */

/* The longest wait until one has to look at the node's host; -1: no limit. */
extern long shuttle_host_liveness_wait_ms(const ShuttleNode *node);

/* True if the host has not answered for too long; looks now and then only.
 * Never raises. */
extern bool shuttle_host_liveness_is_gone(ShuttleNode *node, TimestampTz now);

#endif							/* SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H */
