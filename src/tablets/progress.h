/*-------------------------------------------------------------------------
 * progress.h
 *	  What the view shuttle.progress shows of the session's work on a table.
 *
 * In: the phases of distributing a table, copying it to nodes, or bringing it
 * back. Out: numbers in the server's own progress machinery.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_PROGRESS_H
#define SHUTTLE_TABLETS_PROGRESS_H

/* Numbers are those of the view. */
typedef enum ShuttleProgressCommand
{
	SHUTTLE_PROGRESS_DISTRIBUTE = 1,
	SHUTTLE_PROGRESS_REFERENCE,
	SHUTTLE_PROGRESS_LOCAL
} ShuttleProgressCommand;

typedef enum ShuttleProgressPhase
{
	SHUTTLE_PROGRESS_TABLES = 1,
	SHUTTLE_PROGRESS_ROWS,
	SHUTTLE_PROGRESS_KEYS,
	SHUTTLE_PROGRESS_ANALYZE
} ShuttleProgressPhase;

/* Rows and bytes of our requests are counted from here on, until
 * shuttle_progress_end(), an error, or the end of the current memory context. */
extern void shuttle_progress_start(ShuttleProgressCommand command);

/* Shows a phase of a table, which is locked. Rows are counted anew if it is
 * another table. */
extern void shuttle_progress_show(Oid relid, ShuttleProgressPhase phase);

/* Adds rows that requests do not count. */
extern void shuttle_progress_add_rows(int64 nrows);

extern void shuttle_progress_end(void);

#endif							/* SHUTTLE_TABLETS_PROGRESS_H */
