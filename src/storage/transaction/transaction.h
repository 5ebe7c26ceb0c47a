/*-------------------------------------------------------------------------
 * transaction.h
 *	  Transactions on nodes, in step with the local one.
 *
 * Files: transaction.c says what goes in front of a request; snapshot.c which
 * local snapshot a node's transaction shows; transaction_end.c commits and
 * releases; transaction_abort.c rolls back; two_phase.c commits over several
 * nodes; node_reset.c brings a node back after an error of a request that was
 * sent ahead, and gives a new connection its settings.
 *
 * In: events of the local transaction. Out: BEGIN, SAVEPOINT, COMMIT and
 * PREPARE TRANSACTION in the packets of requests.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_TRANSACTION_H
#define SHUTTLE_STORAGE_TRANSACTION_TRANSACTION_H

#include "access/xact.h"

#include "base/shuttle_compat_executor.h"
#include "storage/connection/node.h"
#include "storage/shuttle_storage.h"

/* ---- node_reset.c */

/* Sends and reads what can be sent and read now, recoveries included.
 * Errors: out of memory. */
extern void shuttle_pipeline_progress(ShuttleNode *node);

/* Adds the settings of a transaction, where the session is a pool's. */
extern void shuttle_pipeline_add_local_settings(ShuttleNode *node);

/* Has the node's transaction set something. */
extern void shuttle_pipeline_add_local_setting(ShuttleNode *node, const char *name,
											   const char *value);

/* Puts a new connection's settings in front of what waits to be sent. */
extern void shuttle_pipeline_settings(ShuttleNode *node);

/* Adds the packets that make them, behind what is there. */
extern void shuttle_pipeline_add_settings(ShuttleNode *node);

/* ---- transaction.c */

/* The nesting level that what is sent now belongs to. */
extern int	shuttle_transaction_level(void);

/* Remembers that a plan of the current nesting level may use the node. */
extern void shuttle_transaction_want(ShuttleNode *node);

typedef void (*ShuttleRequestCall) (ShuttleRequest *request);

/*
 * Puts in front of a request what its transaction needs: BEGIN, or COMMIT and
 * BEGIN, savepoints, timeouts.  Waits only where an open answer has to get out
 * of the way.  complete: reads such an answer to its end.
 * Errors: that of the node's transaction, lost connections.
 */
extern void shuttle_transaction_prepare(ShuttleNode *node, ShuttleEffect effect,
										uint64 snapshot, int nest_level,
										bool fast_start,
										ShuttleRequestCall complete);

/* True where the node is in a transaction of the current local one. */
static inline bool
shuttle_transaction_is_open(const ShuttleNode *node)
{
	return node->transaction.kind != TRANSACTION_NONE;
}

/* Waits until nothing that was sent ahead can still spoil the transaction. */
extern void shuttle_transaction_await_ahead(ShuttleNode *node);

/* The node's transaction has ended, in the node or with its connection. */
extern void shuttle_transaction_forget(ShuttleNode *node);

/* ---- snapshot.c */

/* The node is read under the local snapshot of that number. */
extern void shuttle_snapshot_note_reader(ShuttleNode *node, uint64 number);

/* True where a statement that is on the stack has read the node in its present
 * transaction, or a STABLE function that it called. */
extern bool shuttle_snapshot_is_needed(const ShuttleNode *node);

/* Run, and finish, a plan, whose snapshot is in use meanwhile. */
extern void shuttle_snapshot_run(ExecutorRun_hook_type run_plan,
								 SHUTTLE_EXECUTOR_RUN_PARAMETERS);
extern void shuttle_snapshot_finish(ExecutorFinish_hook_type finish_plan,
									QueryDesc *queryDesc);

/* ---- transaction_end.c; callbacks of the server */
extern void shuttle_transaction_end(XactEvent event, void *arg);
extern void shuttle_transaction_end_savepoint(SubXactEvent event, SubTransactionId self,
											  SubTransactionId parent, void *arg);

/* ---- transaction_abort.c */

/* Rolls all nodes back to what was before a level; 1 is the transaction.  Never
 * raises. */
extern void shuttle_transaction_roll_back_all(int level);

/* Sends ROLLBACK, or ROLLBACK TO the savepoint of a level.
 * cancelled: what ran there was, so nothing else goes out before the answer.
 * Never raises. */
extern void shuttle_transaction_roll_back(ShuttleNode *node, int level,
										  bool cancelled);

/*
 * Cancels a COMMIT that is waited for, a second at most.  Behind that it was answered,
 * or the connection is lost and commit_unknown set; never raises.
 */
extern void shuttle_transaction_stop_commit(ShuttleNode *node);

/*
 * A read-only transaction may end while answers are unread that nobody wants:
 * they would stand in front of the COMMIT, and a statement that still runs
 * could hold it up for long.  Answers that do not come soon are cancelled, and
 * the transaction is rolled back.  Errors: cancel and the like.
 */
extern void shuttle_transaction_leave_unread(ShuttleNode *node);

/* Waits a while for the end of the last transaction; closes the connection
 * where that does not come.  Errors: cancel and the like. */
extern void shuttle_transaction_await_rollback(ShuttleNode *node);

/* The packet of a ROLLBACK [TO] was answered; never raises. */
extern void shuttle_transaction_rolled_back(ShuttleNode *node);

/* Reads what is on its way until condition holds, the connection is gone, or
 * deadline is over; never raises.  Returns whether the condition holds. */
extern bool shuttle_transaction_wait_quietly(ShuttleNode *node,
											 bool (*condition) (const ShuttleNode *node),
											 TimestampTz deadline);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_TRANSACTION_H */
