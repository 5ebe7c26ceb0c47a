/*-------------------------------------------------------------------------
 * node_state.h
 *	  Measurements and views of nodes: round trips, totals, liveness.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H
#define SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H

#include "storage/connection/connection.h"

/* ---- shared_memory.c */
extern void shuttle_shared_memory_request(void);
extern void shuttle_shared_memory_set_up(void);

/* ---- connection_slots.c */

/* Shows a connection's new state to other sessions; never raises. */
extern void shuttle_connection_slot_show(ShuttleNode *node);
extern void shuttle_connection_slot_show_state(ShuttleNode *node);
extern void shuttle_connection_slot_show_ended(ShuttleNode *node);

/* Notes the address of a new connection. */
extern void shuttle_connection_slot_note_address(ShuttleNode *node);

/* ---- pause.c */

/* A transaction is about to begin on the node. Returns false if it has to wait,
 * since the node is paused. Never raises. */
extern bool shuttle_pause_enter(ShuttleNode *node);

/* For shuttle_wait_until(): true if the node is not paused any more. */
extern bool shuttle_pause_is_over(void *arg);

/* The local transaction has ended; never raises. */
extern void shuttle_pause_leave(ShuttleNode *node);

/* Shared memory of pause.c. */
extern Size shuttle_pause_memory_size(void);
extern void shuttle_pause_set_up_memory(void);

/* ---- node_totals.c */

static inline void
shuttle_node_count(ShuttleNode *node, ShuttleNodeTotal total, int64 n)
{
	node->shown.counts[total] += n;
	node->shown.counted = true;
}

/* Adds the node's server to the shared totals, unless it is there. */
extern void shuttle_node_totals_enter(ShuttleNode *node);

/* Adds the node's counts to the shared totals; never raises. */
extern void shuttle_node_totals_tell(ShuttleNode *node);

/* ---- helper_process.c */

/*
 * Runs work in a child process, for calls that block without a timeout; its
 * output is read from the returned descriptor. Returns false if no child can be
 * started. Never raises.
 */
typedef struct HelperProcess
{
	pid_t		pid;
	int			fd;
} HelperProcess;
extern bool shuttle_helper_start(HelperProcess *helper,
								 void (*work) (void *arg, int fd), void *arg);

/* Ends a child, by SIGKILL if it still runs; never raises. */
extern void shuttle_helper_end(HelperProcess *helper);

/* ---- round_trip.c */

/* In milliseconds, also of a connection that is slower than others have been lately;
 * negative: unknown. */
extern double shuttle_round_trip_of(const ShuttleNode *node);

/* Forgets the answers of a server (InvalidOid: of all in the database). */
extern void shuttle_round_trip_forget(Oid serverid);

/* Shared memory of round_trip.c. */
extern Size shuttle_round_trip_memory_size(void);
extern void shuttle_round_trip_set_up_memory(void);

/* ---- host_liveness.c */

/* How long a wait may last before the node's host is checked; -1: no limit. */
extern long shuttle_host_liveness_wait_ms(const ShuttleNode *node);

/* True if the host has been silent for too long; checks only now and then.
 * Never raises. */
extern bool shuttle_host_liveness_is_gone(ShuttleNode *node, TimestampTz now);

#endif							/* SHUTTLE_STORAGE_CONNECTION_NODE_STATE_H */
