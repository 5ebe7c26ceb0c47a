/*-------------------------------------------------------------------------
 * write.h
 *	  Rows written to storage nodes: INSERT, UPDATE, DELETE, MERGE and COPY.
 *
 * foreign_modify.c, foreign_direct.c	the callbacks that ModifyTable calls
 * modify_table.c, modify_send.c, write_source.c	control ModifyTable: buffer rows, flush them at the
 *			end of the source, read the source first if need be
 * write_buffer.c, write_pieces.c, write_values.c, write_sql.c	buffered rows and
 *			their requests; write_counts.c: how many rows were written;
 *			write_follow_up.c: triggers and RETURNING
 * write_move.c		rows that an UPDATE moves between partitions
 * remote_default.c	columns left to the node
 * remote_table.c	what a node says of its table
 * foreign_truncate.c	TRUNCATE
 * merge_run.c		the parts of a MERGE
 * reference_writes.c, other_writes.c	writes refused, or only noted
 * explain_writes.c	EXPLAIN of written tables
 *
 * In: rows and plans of core. Out: requests, true counts and RETURNING rows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_WRITE_WRITE_H
#define SHUTTLE_EXECUTOR_WRITE_WRITE_H

#include "foreign/fdwapi.h"

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_utility.h"
#include "executor/executor_types.h"
#include "storage/shuttle_storage.h"

/* ---- MERGE of foreign partitions (merge_run.c) */

/* The first input of a MERGE's node, which reads everything; NULL: another
 * node. */
extern PlanState *shuttle_merge_reading(const PlanState *node);

/* The CTE's plan that this input scans to its end; NULL: another node. */
extern PlanState *shuttle_merge_rows(const PlanState *node);

/* Called once per session. */
extern void shuttle_merge_register(void);

/* ---- writes by postgres_fdw itself (other_writes.c) */

/* After ExecutorStart, before ExecutorEnd and after COPY: note which
 * postgres_fdw servers are written to. */
extern void shuttle_other_writes_start(QueryDesc *queryDesc, int eflags);
extern void shuttle_other_writes_end(QueryDesc *queryDesc);
extern void shuttle_other_writes_copied(const CopyStmt *copy);

/* A COPY without FREEZE, with a notice, if it writes to one of our foreign
 * tables; any other statement as it is. */
extern PlannedStmt *shuttle_other_writes_thaw(PlannedStmt *statement);

/* ---- ModifyTable (modify_table.c, modify_send.c) */

/* Lists the ModifyTableStates of a statement, each once. */
extern List *shuttle_modify_tables(const QueryDesc *query);

/* After ExecutorStart: puts our functions around a statement's ModifyTables. */
extern void shuttle_modify_start(QueryDesc *query, int eflags);

/* EXPLAIN (ANALYZE, DIST, VERBOSE): how the transaction would commit now. */
extern void shuttle_modify_explain_commit(ExplainState *es);

/* Behind ExecutorFinish: sends rows that have waited for copies of reference tables. */
extern void shuttle_modify_finish(const QueryDesc *query);

/* Our state of a ModifyTable, by it or by its source; NULL: we do not control it. */
extern ShuttleModify *shuttle_modify_find(const PlanState *node);

/* Begins a COPY, unless it has begun. */
extern void shuttle_modify_begin_copy(ModifyTableState *node);

/* At the statement's end: flushes a COPY's rows, closes tuplestores. */
extern void shuttle_modify_end(const ModifyTableState *node);

/* Buffers a row; may send what is buffered. Returns false if the statement changed
 * the row before. */
extern bool shuttle_modify_add(ShuttleModify *modify, ShuttleWrite *write,
							   TupleTableSlot *slot,
							   TupleTableSlot *plan_slot);

/* The two halves of that. */
extern bool shuttle_modify_take(ShuttleModify *modify, ShuttleWrite *write,
								TupleTableSlot *slot, TupleTableSlot *plan_slot);
extern void shuttle_modify_send_full(ShuttleModify *modify, ShuttleWrite *write);

/* Sets how many more RETURNING rows this ExecutorRun wants; 0: all. */
extern void shuttle_modify_limit(const QueryDesc *query, uint64 count);

/* Counts a row that core does not count, and keeps its RETURNING row. */
extern void shuttle_modify_count(ShuttleModify *modify, ResultRelInfo *target,
								 TupleTableSlot *slot, TupleTableSlot *plan_slot);

/* ---- TRUNCATE (foreign_truncate.c) */
extern void shuttle_foreign_truncate_fill(FdwRoutine *routine);

/* Runs a TRUNCATE, and awaits what nodes say to it. */
extern void shuttle_foreign_truncate_run(ProcessUtility_hook_type run,
										 SHUTTLE_UTILITY_PARAMETERS);

#endif							/* SHUTTLE_EXECUTOR_WRITE_WRITE_H */
