/*-------------------------------------------------------------------------
 * shuttle_unawaited.h
 *	  Writes that their statement does not wait for.
 *
 * In: a request whose owner goes on. Out: its answer or error, also after an
 * error of another statement.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_UNAWAITED_H
#define SHUTTLE_UNAWAITED_H

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/*
 * Hands an unanswered write over to another owner, so that its sender can go on
 * without waiting. No statement counts it any more; if it has to be sent again,
 * it goes before later requests. Its error is raised to whoever finishes it, or
 * to an earlier reader of another request to the node. origin: context of the
 * statement, as from GetErrorContextStack(), shown with its errors instead of
 * the reader's context; may be NULL. Returns true if COMMIT may be sent behind
 * it: it was sent, on a connection that has worked lately. If that were lost,
 * nobody could tell whether the node had committed.
 */
extern bool shuttle_request_leave(ShuttleRequest *request, MemoryContext owner,
								  const char *origin);

/*
 * For abort callbacks: waits for such a write as a rollback would, for a short
 * time and without raising. Returns true if it was written. Else sets *error,
 * NULL if that is unknown; the caller releases or raises it.
 */
extern bool shuttle_transaction_unawaited_is_written(ShuttleRequest *request,
													 ShuttleNodeError **error);

/* The SQLSTATE of such an error. */
extern int	shuttle_node_error_sqlstate(const ShuttleNodeError *error);

extern void shuttle_node_error_release_unawaited(ShuttleNodeError **error);

/* Raises and releases such an error; NULL: one that says that it is unknown. */
pg_noreturn extern void shuttle_node_error_raise_unawaited(ShuttleNode *node,
														   ShuttleNodeError *error);

#endif							/* SHUTTLE_UNAWAITED_H */
