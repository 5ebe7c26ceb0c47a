/*-------------------------------------------------------------------------
 * transaction.h
 *	  Transactions on nodes, which follow the local one.
 *
 * Files: transaction.c adds what a request needs before it; snapshot.c numbers
 * local snapshots; transaction_end.c commits and releases savepoints, by
 * node_commit.c for one node and two_phase.c for several; transaction_abort.c
 * rolls back;
 * cluster_calls.c has prepared transactions recovered and deadlocks found;
 * node_reset.c resets a node after an error of a speculative request, and sends
 * a new connection's settings.
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

/* Sends and reads what is possible now, including recoveries. Errors: out of
 * memory. */
extern void shuttle_node_progress(ShuttleNode *node);

/* Adds the settings of a transaction, if the connection is a pooler's. */
extern void shuttle_node_add_local_settings(ShuttleNode *node);

/* Adds a SET LOCAL to the node's transaction. */
extern void shuttle_node_add_local_setting(ShuttleNode *node, const char *name,
										   const char *value);

/* Adds a new connection's settings before all unsent commands. */
extern void shuttle_node_prepend_settings(ShuttleNode *node);

/* Appends the packets of these settings. */
extern void shuttle_node_append_settings(ShuttleNode *node);

/* ---- transaction.c */

/* The nest level that commands sent now belong to. */
extern int	shuttle_transaction_level(void);

/* Notes that a plan of the current nest level may use the node. */
extern void shuttle_transaction_want(ShuttleNode *node);

typedef void (*ShuttleRequestCall) (ShuttleRequest *request);

/*
 * Adds what a request needs before it: BEGIN, COMMIT and BEGIN, savepoints,
 * timeouts. Waits only if an open answer has to be read first; complete does
 * so. Errors: that of the node's transaction, lost connections.
 */
extern void shuttle_transaction_prepare(ShuttleNode *node, ShuttleEffect effect,
										uint64 snapshot, int nest_level,
										bool fast_start,
										ShuttleRequestCall complete);

/* True if the node has a transaction of the current local one. */
static inline bool
shuttle_transaction_is_open(const ShuttleNode *node)
{
	return node->transaction.kind != TRANSACTION_NONE;
}

/*
 * Begins a transaction that is the next request and nothing else, without a command.
 * Returns false if that is not possible. snapshot: as for shuttle_transaction_prepare().
 * Errors: those of the connection.
 */
extern bool shuttle_transaction_begin_statement(ShuttleNode *node, ShuttleEffect effect, uint64 snapshot);

/* Waits until no speculative request can fail any more. */
extern void shuttle_transaction_await_speculative(ShuttleNode *node);

/* The node's transaction has ended, by a command or with its connection. */
extern void shuttle_transaction_forget(ShuttleNode *node);

/* What cut.c does for requests and transactions; it is above them, as it sends requests
 * again. */
typedef struct ShuttleCutCalls
{
	/*
	 * A transaction of this local snapshot begins on the node: adds what asks
	 * for its own, if that is wanted at once.
	 */
	void		(*begin) (ShuttleNode *node, uint64 snapshot);

	/*
	 * True if nothing is known to be read together with a statement under
	 * this snapshot.
	 */
	bool		(*may_be_alone) (uint64 snapshot);

	/* A request under this snapshot will use the node's transaction. */
	void		(*join) (ShuttleNode *node, uint64 snapshot);

	/*
	 * It is about to be replaced by that of another snapshot: what was asked
	 * for in it is checked first.
	 */
	void		(*before_end) (ShuttleNode *node);

	/*
	 * Under REPEATABLE READ: begins on all nodes, and settles before the
	 * first write.
	 */
	void		(*before_request) (ShuttleNode *node, ShuttleEffect effect, uint64 snapshot);

	/* True if an answer has to be admitted before it is used. */
	bool		(*is_member) (const ShuttleNode *node, uint64 snapshot);

	/*
	 * The answer of a request is about to be used. Returns false if that is
	 * not possible without a wait, and wait is false. Errors: 40001, 0A000.
	 */
	bool		(*admit) (ShuttleNode *node, uint64 generation, uint64 snapshot, bool wait);

	/* The local transaction is over, or a level was rolled back, or released. */
	void		(*forget_all) (void);
	void		(*forget_level) (int level);
	void		(*release_level) (int level);
} ShuttleCutCalls;

extern const ShuttleCutCalls *shuttle_cut_calls;

/* ---- snapshot.c */

/* Notes that the node is read under the local snapshot of this number. */
extern void shuttle_snapshot_note_reader(ShuttleNode *node, uint64 number);

/* True if a running statement, or a STABLE function it called, has read the
 * node in its present transaction. */
extern bool shuttle_snapshot_is_needed(const ShuttleNode *node);

/* Run, or finish, a plan; its snapshot is in use meanwhile. */
extern void shuttle_snapshot_run(ExecutorRun_hook_type run_plan,
								 SHUTTLE_EXECUTOR_RUN_PARAMETERS);
extern void shuttle_snapshot_finish(ExecutorFinish_hook_type finish_plan,
									QueryDesc *queryDesc);

/* ---- transaction_end.c; callbacks of the server */
extern void shuttle_transaction_end(XactEvent event, void *arg);
extern void shuttle_transaction_end_savepoint(SubXactEvent event, SubTransactionId self,
											  SubTransactionId parent, void *arg);

/* A node has committed: no cancel is heeded until the local transaction has ended. */
extern void shuttle_transaction_hold_cancels(void);

/* ---- node_commit.c */

/* Sends COMMIT in a packet of its own, so that the node ends its transaction even
 * if that has failed. Errors: out of memory. */
extern void shuttle_node_commit_send(ShuttleNode *node);

/* Waits for the answer if the commit depends on it, else until COMMIT is flushed.
 * Errors: that of COMMIT, lost connections, cancel. */
extern void shuttle_node_commit_check(ShuttleNode *node);

/* ---- transaction_abort.c */

/* Rolls all nodes back to the state before a nest level; 1: the transaction.
 * Never raises. */
extern void shuttle_transaction_roll_back_all(int level);

/* Sends ROLLBACK, or ROLLBACK TO the savepoint of a level. cancelled: a cancel
 * was sent, so wait for the answer before sending more. Never raises. */
extern void shuttle_transaction_roll_back(ShuttleNode *node, int level,
										  bool cancelled);

/* Cancels a COMMIT that is waited for, for at most a second. Afterwards it was
 * answered, or the connection is lost and commit.unknown set; never raises. */
extern void shuttle_transaction_stop_commit(ShuttleNode *node);

/*
 * Prepares the end of a read-only transaction with unread answers: they precede
 * that of COMMIT, and a running statement could delay it for long. If they do
 * not arrive soon, they are cancelled and the transaction is rolled back.
 * Errors: cancel and the like.
 */
extern void shuttle_transaction_leave_unread(ShuttleNode *node);

/* Waits a while for the end of the last transaction; then closes the
 * connection. Errors: cancel and the like. */
extern void shuttle_transaction_await_rollback(ShuttleNode *node);

/* The packet of a ROLLBACK [TO] was answered; never raises. */
extern void shuttle_transaction_rolled_back(ShuttleNode *node);

/* Reads answers until condition holds, the connection ends, or deadline is
 * over; never raises. Returns whether the condition holds. */
extern bool shuttle_transaction_wait_quietly(ShuttleNode *node,
											 bool (*condition) (const ShuttleNode *node),
											 TimestampTz deadline);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_TRANSACTION_H */
