/*-------------------------------------------------------------------------
 * scan.h
 *	  Scans of foreign tables, joins and aggregates that run on a storage node.
 *
 * Files: foreign_scan.c holds the callbacks of a scan; foreign_async.c those
 * below an asynchronous Append; foreign_locks.c locks rows where they are;
 * foreign_sample.c takes samples there; scan_decoder.c makes tuples of answers;
 * parameters.c evaluates what travels as $1, $2, ...; foreign_aggregate.c and
 * collected.c make aggregate states of what a node answers; explain_remote.c
 * gathers what EXPLAIN shows of the node's part.
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

/* ---- callbacks (foreign_routine.c and the files it names) */
extern void shuttle_foreign_scan_fill(FdwRoutine *routine);
extern void shuttle_foreign_async_fill(FdwRoutine *routine);

/* ---- foreign scans (foreign_scan.c) */

/* The storage node of a scan, for the user that the scan runs as. */
extern ShuttleNode *shuttle_foreign_scan_node(ForeignScanState *scan);

/* What the scan's SELECT does on its node. */
extern ShuttleEffect shuttle_foreign_scan_effect(ForeignScanState *scan);

/*
 * Bounds of a scan's pages, by the options of its tables and their server: a
 * table's wins, and in a join the largest.  Rows of a page are fetch_size where
 * shuttle_fetch_limit is not set.  What is not set is the setting's.
 */
extern ShuttlePageLimits shuttle_foreign_page_limits(ForeignScanState *scan);

/*
 * What the rows of a scan's answer are decoded into: the scan's row type,
 * with the type of a table in place of a whole row's RECORD.
 */
extern TupleDesc shuttle_foreign_scan_desc(ForeignScanState *scan);

/* A decoder of the scan's rows (scan_decoder.c); attributes and first_column as
 * of shuttle_decoder_create(). */
extern ShuttleDecoder *shuttle_foreign_scan_decoder(ForeignScanState *scan,
													List *attributes,
													int first_column,
													MemoryContext owner);

/* ---- states of partial aggregates (foreign_aggregate.c) */

/* Number of the local snapshot that an executor run reads under. */
extern uint64 shuttle_foreign_snapshot(EState *estate);

/* True where the scan was not sent, only reads, and needs nothing that the
 * plan has yet to compute: it can be sent at any time. */
extern bool shuttle_foreign_scan_can_start(ForeignScanState *scan);

/* True for a scan, not sent either, that locks rows of a table which its statement
 * changes, and needs nothing that the plan has yet to compute. */
extern bool shuttle_foreign_scan_is_target(ForeignScanState *scan);

/*
 * True where it waits for uncorrelated subqueries only, whose values it sends as
 * they are; has_params: they have all run.
 */
extern bool shuttle_foreign_scan_awaits_params(ForeignScanState *scan);
extern bool shuttle_foreign_scan_has_params(ForeignScanState *scan);

/* When it is sent because its rows are wanted, others may be started. */
extern void shuttle_foreign_scan_set_later(ForeignScanState *scan,
										   ShuttleLaterStart *later);

/* Scans that are merged with it: where it has to ask for more rows, those ask as
 * well that will soon have to. */
extern void shuttle_foreign_scan_read_beside(ForeignScanState *scan, List *scans);

/*
 * Whoever reads a row of the scan will read all of them, so that more than a
 * page may be locked at a time; and all of the scans together, those of other
 * kinds left out, so that they may be sent with it.
 */
extern void shuttle_foreign_scan_read_whole(ForeignScanState *scan, List *together);

/*
 * Rows that the plan above will take of a scan of ours, from now on; 0: all.
 * Other scans are left alone.
 * need: what says how many are sure to be needed, while it locks rows.
 */
extern void shuttle_foreign_scan_set_goal(ForeignScanState *scan, double rows,
										  const ShuttleNeedStep *need);

/* Has a scan of ours pause where it is read ahead and has no row here; false of
 * another scan. */
extern bool shuttle_foreign_scan_pause(ForeignScanState *scan);

/*
 * Rows that the plan can never ask for more of, without its offset; 0: any
 * number.  They are shipped as LIMIT where no filter is left here.  The second
 * function says what is shipped.
 */
extern void shuttle_foreign_scan_set_bound(ForeignScanState *scan, double rows);
extern double shuttle_foreign_scan_bound(const ForeignScanState *scan);

/*
 * Sends a scan's request if it was not sent, without waiting.
 * nest_level: of the transaction that it belongs to; 0: the current one.
 * ahead: the plan might never read it.
 */
extern void shuttle_foreign_scan_send(ForeignScanState *scan, int nest_level, bool ahead);

/*
 * Runs the scan's node without waiting: its next row, or an empty slot or NULL
 * at the end, or where *pending says that no row is here yet.  The first call
 * after the request was sent is always pending, as an asynchronous request of
 * postgres_fdw is.
 */
extern TupleTableSlot *shuttle_foreign_scan_try(ForeignScanState *scan, bool *pending);

/* The request of a scan that was sent. */
extern ShuttleRequest *shuttle_foreign_scan_request(ForeignScanState *scan);

/* ---- row locks (foreign_locks.c) */

/*
 * The SELECT that the scan sends: postgres_fdw's, with the locks that the
 * statement asks for.
 * Errors: the tables of a join are to be locked in different ways.
 */
extern const char *shuttle_foreign_scan_sql(ForeignScanState *scan);

/* Explains the scan as postgres_fdw does, with the SELECT as it is sent. */
extern void shuttle_foreign_scan_explain(ForeignScanState *scan,
										 ExplainState *es);

/* ---- samples (foreign_sample.c) */

/* The SELECT of a scan that begins: each run of it finds the same sample. */
extern const char *shuttle_foreign_sample_sql(const char *sql);

#endif							/* SHUTTLE_EXECUTOR_SCAN_SCAN_H */
