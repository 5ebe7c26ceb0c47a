/*-------------------------------------------------------------------------
 * scan.h
 *	  Scans of foreign tables, joins and aggregates that run on a storage
 *	  node.
 *
 * Files: foreign_scan.c has the callbacks of a scan; foreign_async.c those
 * below an asynchronous Append; remote_scan.c sends its SELECT; target_rows.c
 * says which row of the node is meant; foreign_locks.c puts row locks into the SELECT; late_locks.c takes them when rows are returned,
 * lock_ahead.c some at once;
 * foreign_sample.c takes samples; scan_decoder.c sets up decoders, whose rows
 * storage/values/row_values.c decodes; foreign_aggregate.c and collected.c make aggregate states from a node's
 * answers; explain_remote.c collects what EXPLAIN shows of the node.
 *
 * In: a plan of postgres_fdw. Out: tuples in the scan's slot.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_SCAN_H
#define SHUTTLE_EXECUTOR_SCAN_SCAN_H

#include "foreign/fdwapi.h"

#include "base/shuttle_compat_explain.h"
#include "executor/facts/row_need.h"
#include "storage/shuttle_storage.h"

/* How a scan reads the target of an UPDATE or DELETE. */
typedef struct ShuttleTargetScan
{
	ShuttleTargetRows *rows;
	AttrNumber	ctid_column;	/* in a join's rows; 0: the tuple's own ctid */
	const char *sql;			/* the SELECT with tableoid as last column */
	List	   *attributes;		/* ints: attribute number of each column */
} ShuttleTargetScan;

/* ---- callbacks (foreign_scan.c, foreign_async.c) */
extern void shuttle_foreign_scan_fill(FdwRoutine *routine);
extern void shuttle_foreign_async_fill(FdwRoutine *routine);

/* ---- decoders of scans (scan_decoder.c) */

/* A decoder of the scan's rows; other arguments as of
 * shuttle_row_decoder_create(). */
extern ShuttleDecoder *shuttle_scan_decoder_create(ForeignScanState *scan,
												   List *attributes,
												   int first_column,
												   MemoryContext owner);

/* ---- the sending of scans (remote_scan.c) */

/* True if the scan was not sent, only reads, and needs no value that the plan
 * has yet to compute: it can be sent at any time. beside_running: the part of the plan
 * that it belongs to is being executed, so values from above it are set. */
extern bool shuttle_remote_scan_can_start(ForeignScanState *scan, bool beside_running);

/* Lists a scan that begins and needs no value of the plan as unsent. */
extern void shuttle_remote_scan_list(ForeignScanState *scan);

/* awaits_params: true if the scan waits for initplans only, whose values it
 * sends unchanged. has_params: true if they have all run. */
extern bool shuttle_remote_scan_awaits_params(ForeignScanState *scan);
extern bool shuttle_remote_scan_has_params(ForeignScanState *scan);

/* Sets what is started when the scan is sent because its rows are needed. False if the
 * scan is not ours, or a Look Ahead serves it. */
extern bool shuttle_remote_scan_set_later(ForeignScanState *scan,
										  ShuttleLaterStart *later);

/* Sets scans that are merged with it: when it asks for more rows, those that
 * will soon have to ask do so, too. */
extern void shuttle_remote_scan_read_beside(ForeignScanState *scan, List *scans);

/*
 * Tells that whoever reads a row of the scan will read all, so that more than a
 * page may be locked at a time. together: scans that are read together, and so
 * may be sent together.
 */
extern void shuttle_remote_scan_read_whole(ForeignScanState *scan, List *together);

/*
 * Sets how many rows the plan above will read from now on; 0: all. Scans that
 * are not ours are left alone. need: tells how many rows are sure to be needed,
 * for scans that lock. may_stop: the plan may stop at any row.
 */
extern void shuttle_remote_scan_set_goal(ForeignScanState *scan, double rows, bool may_stop,
										 const ShuttleNeedStep *need);

/* Makes our scan pause if it is read ahead and has no row yet; false for other
 * scans. */
extern bool shuttle_remote_scan_pause(ForeignScanState *scan);

/* A larger LIMIT saves nothing, and could not be printed exactly. */
#define SHUTTLE_MAX_SHIPPED_LIMIT 1e15

/*
 * The most rows that the plan can ever read, without offset; 0: unlimited.
 * Shipped as LIMIT if there is no local filter. The second function returns the
 * shipped LIMIT.
 */
extern void shuttle_remote_scan_set_max_rows(ForeignScanState *scan, double rows);
extern double shuttle_remote_scan_limit(const ForeignScanState *scan);

/*
 * Sends a scan's request if it was not sent, without waiting. nest_level: of
 * the subtransaction it belongs to; 0: the current one. speculative: the plan may
 * never read it.
 */
extern void shuttle_remote_scan_send(ForeignScanState *scan, int nest_level, bool speculative);

/* ---- foreign scans (foreign_scan.c) */

/*
 * Runs the scan's node without waiting. Returns its next row, or an empty slot
 * or NULL at the end or if *pending (no row is here yet). The first call after
 * sending is always pending, as in postgres_fdw.
 */
extern TupleTableSlot *shuttle_foreign_scan_try(ForeignScanState *scan, bool *pending);

/* The request of a scan that was sent. */
extern ShuttleRequest *shuttle_foreign_scan_request(ForeignScanState *scan);

/* ---- row locks (foreign_locks.c) */

/* The SELECT that the scan sends: postgres_fdw's, with the statement's row
 * locks. Errors: tables of a join are to be locked in different ways. */
extern const char *shuttle_foreign_scan_sql(ForeignScanState *scan);

/* The words behind FOR, and behind the tables; NULL: LCS_NONE, or locks are waited for. */
extern const char *shuttle_foreign_lock_strength(LockClauseStrength strength);
extern const char *shuttle_foreign_lock_policy(LockWaitPolicy policy);

/* Explains the scan as postgres_fdw does, with the SELECT as it is sent. */
extern void shuttle_foreign_scan_explain(ForeignScanState *scan,
										 ExplainState *es);

/* ---- samples (foreign_sample.c) */

/* The SELECT of a starting scan, with a seed so that each rescan finds the same
 * sample. */
extern const char *shuttle_foreign_sample_sql(const char *sql);

/* ---- rows that are changed by name (target_rows.c) */
extern ShuttleTargetRows *shuttle_target_rows_create(const char *table_name,
													 MemoryContext cxt);

/* Turns a row's ctid in the plan back into the node's, and returns the row's
 * table there; InvalidOid: unknown. */
extern Oid	shuttle_target_rows_decode(const ShuttleTargetRows *rows,
									   ItemPointer ctid);

/* Raises that more rows were changed than meant (trap 22). */
extern void shuttle_target_rows_refuse_several(ShuttleWrite *write, uint64 nrows);

/*
 * sql, attributes: the SELECT to be sent and its columns. Returns NULL if the
 * scan reads no target, or the SELECT's shape is unknown. In the current
 * context.
 */
extern ShuttleTargetScan *shuttle_target_scan_create(ForeignScanState *scan,
													 const char *sql,
													 List *attributes);

/* Changes a decoded row's ctid so that it also identifies its table. */
extern void shuttle_target_scan_name_row(ShuttleTargetScan *target,
										 HeapTuple tuple, TupleDesc desc);

/* True if the statement is a MERGE that merge_run.c runs. */
extern bool shuttle_runs_merge(const EState *estate);

/* The target rows of a foreign table in a MERGE, shared by its scans and
 * actions, created on first use. NULL in other statements. */
extern ShuttleTargetRows *shuttle_target_rows_of_merge(EState *estate, Oid relid,
													   const char *table_name);

#endif							/* SHUTTLE_EXECUTOR_SCAN_SCAN_H */
