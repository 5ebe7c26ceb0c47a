/*-------------------------------------------------------------------------
 * two_phase.h
 *	  Atomic commits on several nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H
#define SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- two_phase.c */

/* A node is about to be written to. Errors: it, or another written node, cannot
 * take part in an atomic commit. */
extern void shuttle_two_phase_check_writer(ShuttleNode *node);

/* A write is sent next. Errors: this server is a standby, and may not write now, or not on all these
 * nodes. */
extern void shuttle_two_phase_check_standby(ShuttleNode *node);

/* Decides each node's part in the commit. Returns true if some nodes are to
 * prepare. Errors: one of them cannot. */
extern bool shuttle_two_phase_plan(bool in_worker);

/* The same for PREPARE TRANSACTION by the client. Errors: a node that wrote may not
 * prepare; the library is not preloaded. */
extern bool shuttle_two_phase_plan_client(void);

/* Asks for the identifier of the node's transaction. */
extern void shuttle_two_phase_ask_xid(ShuttleNode *node);

/* Names the transaction; sends PREPARE to a node; writes the commit record.
 * Errors: those of the local server. */
extern void shuttle_two_phase_name(void);
extern void shuttle_two_phase_send(ShuttleNode *node);
extern void shuttle_two_phase_record(void);

/* Waits for the node's answer. Errors: it did not prepare. */
extern void shuttle_two_phase_check(ShuttleNode *node);

/* All nodes have prepared. Returns true if another server has decided that the transaction commits; false: the local
 * commit decides. Errors: it does not commit, or may not. */
extern bool shuttle_two_phase_decide(void);

/* Takes the answer to PREPARE TRANSACTION, or to the command after the local
 * commit; runs in the pump. */
extern void shuttle_two_phase_answer(ShuttleNode *node,
									 const ShuttleCommand *command, bool failed);

/* The local transaction has committed: commits prepared ones. Waits for a
 * while; neither allocates nor raises. */
extern void shuttle_two_phase_finish(void);

/* The local transaction is prepared, with its parts on nodes. Never raises. */
extern void shuttle_two_phase_prepared(void);

/* The local transaction has failed: rolls back prepared ones, if no other server may have committed
 * them. Never waits or raises. */
extern void shuttle_two_phase_undo(void);

/* The local transaction is over. */
extern void shuttle_two_phase_forget(ShuttleNode *node);

/* ---- cluster_calls.c */

/* What the cluster room does; NULL: it is not there. */
extern const ShuttleCommitMethods *shuttle_cluster_methods;

/* Makes the query by which a new connection finds leftover prepared
 * transactions of this database. */
extern void shuttle_cluster_find_prepared(ShuttleNode *node);

/* A promoted standby took a node's place: it may have prepared what the node had
 * already finished. Never raises. */
extern void shuttle_cluster_node_moved(void);

/* Some node has leftover prepared transactions. */
extern bool shuttle_cluster_has_prepared;

/* Recovers them. Errors: cancel and the like. */
extern void shuttle_cluster_recover_prepared(void);

/* True if deadlocks can be looked for now. */
extern bool shuttle_cluster_can_find_deadlocks(void);

/* Looks for one.  Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the like. */
extern void shuttle_cluster_find_deadlocks(void);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H */
