/*-------------------------------------------------------------------------
 * shuttle_late_locks.h
 *	  Door of the executor: row locks that are taken when rows are returned.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_SHUTTLE_LATE_LOCKS_H
#define SHUTTLE_EXECUTOR_SHUTTLE_LATE_LOCKS_H

#include "nodes/plannodes.h"

/* True of a scan that need not lock the rows that it reads: its node takes no LIMIT. */
extern bool shuttle_late_locks_are_possible(const ForeignScan *scan);

/* Takes the row locks out of a scan's SELECT. */
extern void shuttle_late_locks_unlock(ForeignScan *scan);

/* Makes a Lock Ahead that passes its child's columns on (lock_ahead.c). columns: the numbers of
 * those of ctid and tableoid by which rows are locked, or NIL if each is locked alone. tables:
 * range table indexes of the tablets. The caller sets costs. */
extern CustomScan *shuttle_lock_ahead_make(Plan *child, List *targetlist, List *scan_targetlist,
										   List *columns, const Bitmapset *tables);

#endif							/* SHUTTLE_EXECUTOR_SHUTTLE_LATE_LOCKS_H */
