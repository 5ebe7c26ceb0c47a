/*-------------------------------------------------------------------------
 * two_phase.h
 *	  Commits over several nodes: all of them, or none.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H
#define SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H

#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- two_phase.c */

/* A node is about to be written to.  Errors: it can't take part in a commit
 * together with another one that was. */
extern void shuttle_two_phase_check_writer(ShuttleNode *node);

/* Decides what part each node has in the commit.  Returns true where some are
 * to be prepared.  Errors: one that can't be. */
extern bool shuttle_two_phase_plan(bool in_worker);

/* Names the transaction; asks a node to prepare it; writes the commit record.
 * Errors: those of the local server. */
extern void shuttle_two_phase_name(void);
extern void shuttle_two_phase_send(ShuttleNode *node);
extern void shuttle_two_phase_record(void);

/* Waits for the node's answer.  Errors: the node did not prepare it. */
extern void shuttle_two_phase_check(ShuttleNode *node);

/* A connection is to be made: has it ask whether something of ours was left
 * prepared on the node. */
extern void shuttle_two_phase_look(ShuttleNode *node);

/* Some have answered so. */
extern bool shuttle_left_prepared;

/* Has that finished.  Errors: cancel and the like. */
extern void shuttle_two_phase_recover(void);

/* The answer to PREPARE TRANSACTION, or to what came behind the local commit;
 * runs in the pump. */
extern void shuttle_two_phase_answer(ShuttleNode *node,
									 const ShuttleCommand *command, bool failed);

/* The local transaction has committed: so do all that are prepared.  Waits, for
 * a while; neither allocates nor raises. */
extern void shuttle_two_phase_finish(void);

/* The local transaction has failed: rolls back what is prepared.  Never waits
 * or raises. */
extern void shuttle_two_phase_undo(void);

/* The local transaction is over. */
extern void shuttle_two_phase_forget(ShuttleNode *node);

/* True where a look for deadlocks makes sense: the session has a transaction on
 * a node that may hold locks. */
extern bool shuttle_deadlock_can_look(void);

/* Looks for one.  Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the like. */
extern void shuttle_deadlock_look_now(void);

#endif							/* SHUTTLE_STORAGE_TRANSACTION_TWO_PHASE_H */
