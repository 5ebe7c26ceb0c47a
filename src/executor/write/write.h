/*-------------------------------------------------------------------------
 * write.h
 *	  Rows written to storage nodes: INSERT, UPDATE, DELETE, MERGE and COPY.
 *
 * Files: foreign_modify.c and foreign_direct.c are the callbacks that core's
 * ModifyTable calls; write_run.c steers ModifyTable so that rows are buffered
 * and flushed at the end of its source; write_buffer.c, write_pieces.c,
 * write_values.c and write_sql.c make requests of buffered rows;
 * write_behind.c keeps INSERTs that nobody waits for yet; keyed_*.c join rows
 * that are here with tables of a node; merge_run.c runs the parts of a MERGE.
 *
 * In: rows and plans of core. Out: requests, true counts and RETURNING rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_H

#include "access/xact.h"

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_utility.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- rows that are changed by name (target_rows.c, foreign_modify.c) */

/* True while a MERGE is run by its node (merge_run.c). */
extern bool shuttle_runs_merge(const EState *estate);

/* Those of a foreign table in a MERGE, which its scans and actions share, made at need;
 * NULL in other statements. */
extern ShuttleTargetRows *shuttle_merge_target_rows(EState *estate, Oid relid,
													const char *table_name);

/* The input of a MERGE's node that reads everything; NULL: it is another node. */
extern PlanState *shuttle_merge_reading(const PlanState *node);

/* The plan of WITH that this one scans to its end; NULL likewise. */
extern PlanState *shuttle_merge_rows(const PlanState *node);

/* Called once. */
extern void shuttle_merge_register(void);

/* Behind ExecutorStart, before ExecutorEnd and behind COPY: note the servers of
 * postgres_fdw that are written to. */
extern void shuttle_other_writes_start(QueryDesc *queryDesc, int eflags);
extern void shuttle_other_writes_end(QueryDesc *queryDesc);
extern void shuttle_other_writes_copied(const CopyStmt *copy);

/* ---- ModifyTable (write_run.c) */

/* Lists the ModifyTableStates of a statement, each once. */
extern List *shuttle_modify_tables(const QueryDesc *query);

/* Behind ExecutorStart: takes over a statement's ModifyTables. */
extern void shuttle_write_run_start(QueryDesc *query, int eflags);

/* Callback: sends what was written before a savepoint. */
extern void shuttle_write_run_savepoint(SubXactEvent event, SubTransactionId self,
										SubTransactionId parent, void *arg);

/* Says how the transaction would commit now, with DIST and VERBOSE. */
extern void shuttle_write_explain_commit(ExplainState *es);

/* The run that the write belongs to; NULL: it is not steered by us (COPY). */
extern ShuttleWriteRun *shuttle_write_run_find(const ModifyTableState *node);

/* Begins the run of a COPY, if it was not begun. */
extern void shuttle_write_run_begin_copy(ModifyTableState *node);

/* The statement ends: a COPY's rows are flushed, files are closed. */
extern void shuttle_write_run_end(const ModifyTableState *node);

/* A buffered write takes a row; may send what is buffered. */
extern void shuttle_write_run_add(ShuttleWriteRun *run, ShuttleWrite *write,
								  TupleTableSlot *slot,
								  TupleTableSlot *plan_slot);

/* The two halves of that; take: false where the row was changed before. */
extern bool shuttle_write_run_take(ShuttleWriteRun *run, ShuttleWrite *write,
								   TupleTableSlot *slot, TupleTableSlot *plan_slot);
extern void shuttle_write_run_send_full(ShuttleWriteRun *run, ShuttleWrite *write);

/* Says how many rows of RETURNING a statement is run for; 0: all. */
extern void shuttle_write_run_limit(const QueryDesc *query, uint64 count);

/* Counts a row that core does not count, and keeps it for RETURNING. */
extern void shuttle_write_run_count(ShuttleWriteRun *run, ResultRelInfo *target,
									TupleTableSlot *slot, TupleTableSlot *plan_slot);

/*
 * Sends what other executor runs than that of estate have buffered for the
 * node, and waits: called before a request that could see it.
 */
extern void shuttle_write_flush_others(ShuttleNode *node, const EState *estate);

/* ---- INSERTs that are not waited for (write_behind.c, plpgsql_statements.c) */

/* Around ExecutorRun and ExecutorFinish. */
extern void shuttle_write_behind_enter(void);
extern void shuttle_write_behind_exit(void);

/* Runs a CALL or DO. */
extern void shuttle_write_behind_call(ProcessUtility_hook_type run,
									  SHUTTLE_UTILITY_PARAMETERS);

/* Callbacks. */
extern void shuttle_write_behind_end_transaction(XactEvent event, void *arg);
extern void shuttle_write_behind_end_savepoint(SubXactEvent event, SubTransactionId self,
											   SubTransactionId parent, void *arg);

/* True where statements that begin at a nest level of the transaction need not be
 * waited for: another one's end will be. */
extern bool shuttle_write_behind_is_on(int nest_level);

/* False where a block with EXCEPTION may be being entered that we do not know of. */
extern bool shuttle_write_behind_is_safe(void);

/* Takes over a request that was sent and not answered, of nrows rows.  Errors: of
 * earlier ones. */
extern void shuttle_write_behind_leave(ShuttleWrite *write, ShuttleRequest *request,
									   int nrows, int64 nbytes);

/* Waits for all that were sent at a nest level or deeper.  Errors: theirs. */
extern void shuttle_write_behind_finish(int level);

/* PL/pgSQL is about to enter a block with EXCEPTION.  Errors: as above. */
extern void shuttle_write_behind_enter_block(void);

/* Has PL/pgSQL tell us of the statements that it begins from now on. */
extern void shuttle_plpgsql_statements_see(void);

/* True where it does. */
extern bool shuttle_plpgsql_statements_are_seen(void);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_H */
