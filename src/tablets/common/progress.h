/*-------------------------------------------------------------------------
 * progress.h
 *	  What the view shuttle.progress shows.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_COMMON_PROGRESS_H
#define SHUTTLE_TABLETS_COMMON_PROGRESS_H

/* Numbers are those of the view. */
typedef enum ShuttleProgressCommand
{
	SHUTTLE_PROGRESS_DISTRIBUTE = 1,
	SHUTTLE_PROGRESS_REFERENCE,
	SHUTTLE_PROGRESS_LOCAL,
	SHUTTLE_PROGRESS_MOVE
} ShuttleProgressCommand;

typedef enum ShuttleProgressPhase
{
	SHUTTLE_PROGRESS_TABLES = 1,
	SHUTTLE_PROGRESS_ROWS,
	SHUTTLE_PROGRESS_KEYS,
	SHUTTLE_PROGRESS_ANALYZE,
	SHUTTLE_PROGRESS_FOLLOW,
	SHUTTLE_PROGRESS_CHANGE,
	SHUTTLE_PROGRESS_CLEAN
} ShuttleProgressPhase;

/* What is shown of tablets that move. */
typedef struct ShuttleMoveProgress
{
	Oid			tablet;			/* one of them */
	int			number;			/* of the move, from 1 on */
	int			nmoves;			/* of a list */
	int64		bytes;			/* on the new node, of all of them */
	int64		estimated_bytes;	/* on the old node */
} ShuttleMoveProgress;

/* Rows and bytes of our requests are counted from here on, until
 * shuttle_progress_end(), an error, or the end of the current memory context. */
extern void shuttle_progress_start(ShuttleProgressCommand command);

/* Shows a phase of a table, which is locked. Rows are counted anew if it is
 * another table. */
extern void shuttle_progress_show(Oid relid, ShuttleProgressPhase phase);

/* Adds rows that requests do not count. */
extern void shuttle_progress_add_rows(int64 nrows);

/* Shows a move; requests are not counted. */
extern void shuttle_progress_move(const ShuttleMoveProgress *move, ShuttleProgressPhase phase);

extern void shuttle_progress_end(void);

#endif							/* SHUTTLE_TABLETS_COMMON_PROGRESS_H */
