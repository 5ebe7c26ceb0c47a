/*-------------------------------------------------------------------------
 * unawaited_update.h
 *	  Routed writes of PL/pgSQL functions that are not waited for (unawaited_update.c).
 *
 * In: the statements of PL/pgSQL functions, and the queries that begin. Out:
 * whether a routed write may be left.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_BEHIND_UNAWAITED_UPDATE_H
#define SHUTTLE_EXECUTOR_BEHIND_UNAWAITED_UPDATE_H

#include "nodes/plannodes.h"
#include "plpgsql.h"

/* Called when the client's statement begins to run; NULL: its triggers do. */
extern void shuttle_unawaited_update_client(const PlannedStmt *statement);

/* Called when the client's CALL or DO begins; InvalidOid: DO. */
extern void shuttle_unawaited_update_call(Oid procedure);

/* Called by PL/pgSQL's plugin. Those before a statement and at the end of a function
 * wait for what may not be left. Errors: those of what was left. */
extern void shuttle_unawaited_update_begin_function(const PLpgSQL_execstate *estate);
extern void shuttle_unawaited_update_end_function(const PLpgSQL_execstate *estate);
extern void shuttle_unawaited_update_begin_statement(PLpgSQL_execstate *estate,
													 const PLpgSQL_stmt *statement);

/* The same, also called when a transaction or savepoint is rolled back. */
extern void shuttle_unawaited_update_end_statement(void);

/* True if something is left, and the transaction has written here: triggers that
 * were deferred may read. */
extern bool shuttle_unawaited_update_may_be_late(void);

#endif							/* SHUTTLE_EXECUTOR_BEHIND_UNAWAITED_UPDATE_H */
