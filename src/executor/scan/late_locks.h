/*-------------------------------------------------------------------------
 * late_locks.h
 *	  Row locks that are taken when rows are returned, not when they are read.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SCAN_LATE_LOCKS_H
#define SHUTTLE_EXECUTOR_SCAN_LATE_LOCKS_H

#include "foreign/fdwapi.h"

#include "base/shuttle_counters.h"
#include "executor/facts/row_need.h"

/* ---- locks (late_locks.c) */

extern void shuttle_late_locks_fill(FdwRoutine *routine);

/* Gets ready to lock rows that a scan reads. */
extern void shuttle_late_lock_begin(ForeignScanState *scan);

/* Has requests of a table counted. */
extern void shuttle_late_lock_count(ExecRowMark *mark, ShuttleCounters *counters);

/* Asks for locks on rows of one table, in that order, without waiting. Core's LockRows takes
 * the answer, row by row. */
extern void shuttle_late_lock_send(ExecRowMark *mark, const ItemPointerData *tids, int ntids);

/* ---- Lock Ahead (lock_ahead.c) */

extern void shuttle_lock_ahead_register(void);

/* Sets how many rows the node above is sure to take. */
extern void shuttle_lock_ahead_set_need(PlanState *node, const ShuttleNeedStep *need);

#endif							/* SHUTTLE_EXECUTOR_SCAN_LATE_LOCKS_H */
