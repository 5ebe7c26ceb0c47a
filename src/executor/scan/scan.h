/*-------------------------------------------------------------------------
 * scan.h
 *	  Scans of foreign tables, joins and aggregates that run on a storage
 *	  node.
 *
 * Files: foreign_scan.c has the callbacks of a scan; foreign_async.c those
 * below an asynchronous Append; remote_scan.c sends its SELECT; scan_facts.c reads
 * facts from its plan; foreign_locks.c puts row locks into the SELECT;
 * foreign_sample.c takes samples; scan_decoder.c sets up decoders, whose rows
 * storage/values/row_values.c decodes; parameters.c evaluates $1, $2, ...;
 * foreign_aggregate.c and collected.c make aggregate states from a node's
 * answers; explain_remote.c collects what EXPLAIN shows of the node.
 *
 * In: a plan of postgres_fdw. Out: tuples in the scan's slot.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_SCAN_H
#define SHUTTLE_EXECUTOR_SCAN_SCAN_H

#include "foreign/fdwapi.h"

#include "base/shuttle_compat_explain.h"
#include "executor/ahead/row_need.h"
#include "storage/shuttle_storage.h"

/* ---- callbacks (foreign_scan.c, foreign_async.c) */
extern void shuttle_foreign_scan_fill(FdwRoutine *routine);
extern void shuttle_foreign_async_fill(FdwRoutine *routine);

/* ---- what a scan's plan says (scan_facts.c) */

/* The storage node of a scan, as the scan's user. */
extern ShuttleNode *shuttle_foreign_scan_node(ForeignScanState *scan);

/* Whether the scan's SELECT reads, locks or may write. */
extern ShuttleEffect shuttle_foreign_scan_effect(ForeignScanState *scan);

/*
 * Limits of a scan's pages, from the options of its tables and server, else the
 * settings. A table's option overrides its server's; in a join the largest
 * counts. If shuttle_fetch_limit is not set, fetch_size counts.
 */
extern ShuttlePageLimits shuttle_foreign_page_limits(ForeignScanState *scan);

/* The row type that a scan's answer is decoded into: the scan's, with the
 * table's row type instead of RECORD for whole-row columns. */
extern TupleDesc shuttle_foreign_scan_desc(ForeignScanState *scan);

/* True if the scan's statement writes a table that it reads, also through
 * another table (partition, parent). The second: and if the scan may be read
 * again after the write; its rows are then kept. */
extern bool shuttle_reads_written_table(const ForeignScanState *scan);
extern bool shuttle_may_read_behind_write(const ForeignScanState *scan, int eflags);

/* Number of the snapshot that an executor run uses. */
extern uint64 shuttle_foreign_snapshot(EState *estate);

/* ---- decoders of scans (scan_decoder.c) */

/* A decoder of the scan's rows; other arguments as of
 * shuttle_decoder_create(). */
extern ShuttleDecoder *shuttle_foreign_scan_decoder(ForeignScanState *scan,
													List *attributes,
													int first_column,
													MemoryContext owner);

/* ---- the sending of scans (remote_scan.c) */

/* True if the scan was not sent, only reads, and needs no value that the plan
 * has yet to compute: it can be sent at any time. beside_running: the part of the plan
 * that it belongs to is being executed, so values from above it are set. */
extern bool shuttle_foreign_scan_can_start(ForeignScanState *scan, bool beside_running);

/* Lists a scan that begins and needs no value of the plan as unsent. */
extern void shuttle_foreign_scan_list(ForeignScanState *scan);

/* awaits_params: true if the scan waits for initplans only, whose values it
 * sends unchanged. has_params: true if they have all run. */
extern bool shuttle_foreign_scan_awaits_params(ForeignScanState *scan);
extern bool shuttle_foreign_scan_has_params(ForeignScanState *scan);

/* Sets what is started when the scan is sent because its rows are needed. False if the
 * scan is not ours, or a Look Ahead serves it. */
extern bool shuttle_foreign_scan_set_later(ForeignScanState *scan,
										   ShuttleLaterStart *later);

/* Sets scans that are merged with it: when it asks for more rows, those that
 * will soon have to ask do so, too. */
extern void shuttle_foreign_scan_read_beside(ForeignScanState *scan, List *scans);

/*
 * Tells that whoever reads a row of the scan will read all, so that more than a
 * page may be locked at a time. together: scans that are read together, and so
 * may be sent together.
 */
extern void shuttle_foreign_scan_read_whole(ForeignScanState *scan, List *together);

/*
 * Sets how many rows the plan above will read from now on; 0: all. Scans that
 * are not ours are left alone. need: tells how many rows are sure to be needed,
 * for scans that lock. may_stop: the plan may stop at any row.
 */
extern void shuttle_foreign_scan_set_goal(ForeignScanState *scan, double rows, bool may_stop,
										  const ShuttleNeedStep *need);

/* Makes our scan pause if it is read ahead and has no row yet; false for other
 * scans. */
extern bool shuttle_foreign_scan_pause(ForeignScanState *scan);

/* A larger LIMIT saves nothing, and could not be printed exactly. */
#define SHUTTLE_MAX_SHIPPED_LIMIT 1e15

/*
 * The most rows that the plan can ever read, without offset; 0: unlimited.
 * Shipped as LIMIT if there is no local filter. The second function returns the
 * shipped LIMIT.
 */
extern void shuttle_foreign_scan_set_max_rows(ForeignScanState *scan, double rows);
extern double shuttle_foreign_scan_limit(const ForeignScanState *scan);

/*
 * Sends a scan's request if it was not sent, without waiting. nest_level: of
 * the subtransaction it belongs to; 0: the current one. speculative: the plan may
 * never read it.
 */
extern void shuttle_foreign_scan_send(ForeignScanState *scan, int nest_level, bool speculative);

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

/* Explains the scan as postgres_fdw does, with the SELECT as it is sent. */
extern void shuttle_foreign_scan_explain(ForeignScanState *scan,
										 ExplainState *es);

/* ---- samples (foreign_sample.c) */

/* The SELECT of a starting scan, with a seed so that each rescan finds the same
 * sample. */
extern const char *shuttle_foreign_sample_sql(const char *sql);

#endif							/* SHUTTLE_EXECUTOR_SCAN_SCAN_H */
