/*-------------------------------------------------------------------------
 * behind.h
 *	  Writes within a client's statement that are not waited for.
 *
 * write_behind.c	their list, and when they have to be answered
 * unawaited_update.c	routed writes, which are left for a shorter time
 * plpgsql_statements.c	statements of PL/pgSQL, seen before they start
 * exception_blocks.c	blocks with EXCEPTION in which waiting would change nothing
 * assignments.c	what statements of such a block assign
 *
 * In: requests of write/ that are under way. Out: their errors, in the order of
 * their statements.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_BEHIND_BEHIND_H
#define SHUTTLE_EXECUTOR_BEHIND_BEHIND_H

#include "access/xact.h"
#include "executor/execdesc.h"

#include "base/shuttle_utility.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

extern void shuttle_write_behind_init(void);

/* Before ExecutorRun, before ExecutorFinish, and behind both. */
extern void shuttle_write_behind_run(const QueryDesc *query);
extern void shuttle_write_behind_enter(void);
extern void shuttle_write_behind_exit(void);

/* Executes a CALL or DO. */
extern void shuttle_write_behind_call(ProcessUtility_hook_type run,
									  SHUTTLE_UTILITY_PARAMETERS);

/* Called at a transaction's end, and when a savepoint begins or ends. */
extern void shuttle_write_behind_end_transaction(XactEvent event);
extern void shuttle_write_behind_savepoint(SubXactEvent event);

/* True if INSERTs of a statement that began at this transaction nest level need
 * not be waited for: an outer statement or the commit does so. */
extern bool shuttle_write_behind_is_on(int nest_level);

/* The same for INSERTs of a statement that is run within the current one. */
extern bool shuttle_write_behind_is_on_within(int nest_level);

/* False if PL/pgSQL may be entering a block with EXCEPTION unknown to us. */
extern bool shuttle_write_behind_is_safe(void);

/* True if the transaction ends with the statement that runs now, the client's own:
 * COMMIT may go behind it. */
extern bool shuttle_write_behind_commit_follows(void);

/* Takes over a request of nrows rows that is not answered yet. Errors: those of
 * earlier requests. */
extern void shuttle_write_behind_leave(ShuttleWrite *write, ShuttleRequest *request,
									   int nrows, int64 nbytes);

/* The same for a write of a routed statement, which may be left only if
 * shuttle_unawaited_update_is_possible(). */
extern void shuttle_write_behind_leave_routed(ShuttleNode *node, ShuttleRequest *request);

/* Waits for all requests sent at a nest level or deeper. Errors: theirs. */
extern void shuttle_write_behind_finish(int level);

/* Called when PL/pgSQL is about to enter a block with EXCEPTION. Errors: as
 * above. */
extern void shuttle_write_behind_enter_block(void);

/* Installs a PL/pgSQL plugin that sees each statement before it starts. */
extern void shuttle_plpgsql_statements_see(void);

/* True if that plugin is the one that PL/pgSQL calls. */
extern bool shuttle_plpgsql_statements_are_seen(void);

/* ---- routed writes (unawaited_update.c) */

/* True if the routed write that runs need not be waited for. */
extern bool shuttle_unawaited_update_is_possible(void);

/* Takes over its request, as above. */
extern void shuttle_unawaited_update_send(ShuttleNode *node, ShuttleRequest *request);

/* Called before a routed statement is sent to a node: waits for what was left on
 * another one. */
extern void shuttle_unawaited_update_before_request(const ShuttleNode *node);

/* Part of ExecutorStart, when it is known whether the statement is routed: waits for
 * what was left before one that is not, which then gets a new snapshot. */
extern void shuttle_unawaited_update_start(QueryDesc *query);

#endif							/* SHUTTLE_EXECUTOR_BEHIND_BEHIND_H */
