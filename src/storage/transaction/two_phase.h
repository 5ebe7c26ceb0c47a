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

/* Decides each node's part in the commit. Returns true if some nodes are to
 * prepare. Errors: one of them cannot. */
extern bool shuttle_two_phase_plan(bool in_worker);

/* Names the transaction; sends PREPARE to a node; writes the commit record.
 * Errors: those of the local server. */
extern void shuttle_two_phase_name(void);
extern void shuttle_two_phase_send(ShuttleNode *node);
extern void shuttle_two_phase_record(void);

/* Waits for the node's answer. Errors: it did not prepare. */
extern void shuttle_two_phase_check(ShuttleNode *node);

/* Takes the answer to PREPARE TRANSACTION, or to the command after the local
 * commit; runs in the pump. */
extern void shuttle_two_phase_answer(ShuttleNode *node,
									 const ShuttleCommand *command, bool failed);

/* The local transaction has committed: commits prepared ones. Waits for a
 * while; neither allocates nor raises. */
extern void shuttle_two_phase_finish(void);

/* The local transaction has failed: rolls back prepared ones. Never waits or
 * raises. */
extern void shuttle_two_phase_undo(void);

/* The local transaction is over. */
extern void shuttle_two_phase_forget(ShuttleNode *node);

/* ---- cluster_calls.c */

/* What the cluster room does; NULL: it is not there. */
extern const ShuttleCommitMethods *shuttle_commit_methods;

/* Makes the query by which a new connection finds leftover prepared
 * transactions of this database. */
extern void shuttle_two_phase_look(ShuttleNode *node);

/* A promoted standby took a node's place: it may have prepared what the node had
 * already finished. Never raises. */
extern void shuttle_two_phase_node_moved(void);

/* Some node has leftover prepared transactions. */
extern bool shuttle_left_prepared;

/* Recovers them. Errors: cancel and the like. */
extern void shuttle_two_phase_recover(void);

/* True if deadlocks can be looked for now. */
extern bool shuttle_deadlock_can_look(void);

/* Looks for one.  Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the like. */
extern void shuttle_deadlock_look_now(void);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H */
