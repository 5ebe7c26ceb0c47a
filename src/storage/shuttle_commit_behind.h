/*-------------------------------------------------------------------------
 * shuttle_commit_behind.h
 *	  COMMIT in the packet of a statement that is the whole transaction
 *	  (node_commit.c).
 *
 * In: the statement's request. Out: whether its node has committed.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COMMIT_BEHIND_H
#define SHUTTLE_COMMIT_BEHIND_H

#include "storage/shuttle_storage.h"

/*
 * True if the next statement to the node may be all that the local transaction
 * does, here and on nodes: nothing was written before it.
 */
extern bool shuttle_node_commit_behind_is_possible(const ShuttleNode *node);

/* Notes that a cursor WITH HOLD is planned: it is read when the transaction commits. */
extern void shuttle_node_commit_note_held_cursor(void);

/*
 * Sends COMMIT behind the request, which must be all that the local transaction
 * writes or locks, and in its packet if that goes on. Returns false, and sends nothing, if a lost connection would
 * leave it unknown whether the node has committed. Errors: out of memory.
 */
extern bool shuttle_node_commit_behind_send(ShuttleRequest *request);

/*
 * Waits for the answer to that COMMIT. Returns true if the node has committed: a
 * cancel then comes too late for the transaction. False: it was rolled back, as
 * the request has failed or must be sent again; reading it tells. Errors: that
 * of COMMIT; those of connections: the node may have committed.
 */
extern bool shuttle_node_commit_behind_await(ShuttleRequest *request);

/* True if it is known that the node has rolled back instead. */
extern bool shuttle_node_commit_behind_has_failed(const ShuttleNode *node);

/* True if no row's variable-length values can exceed most_bytes: then a row can be kept in
 * memory when the node has committed (row_values.c). */
extern bool shuttle_row_decoder_is_narrow(const ShuttleDecoder *decoder,
										  int most_bytes);

#endif							/* SHUTTLE_COMMIT_BEHIND_H */
