/*-------------------------------------------------------------------------
 * call_cursors.h
 *	  Whether a PL/pgSQL function closes the cursors that it opens.
 *
 * Told of its statements in the order of the text, list by list.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_ROUTER_CALL_CURSORS_H
#define SHUTTLE_EXECUTOR_ROUTER_CALL_CURSORS_H

#include "nodes/pg_list.h"

/* Numbers of variables. */
typedef struct ShuttleCallCursors
{
	List	   *opened;			/* and not closed, by this list of statements */
	int			nopen;			/* by this and outer lists, */
	int			nopen_outside;	/* and outside of the innermost loop */
	bool		may_stay;		/* one of them may stay open */
} ShuttleCallCursors;

extern void shuttle_call_cursors_open(ShuttleCallCursors *cursors, int cursor);
extern void shuttle_call_cursors_close(ShuttleCallCursors *cursors, int cursor);

/* A list begins: what is returned goes to its end. */
extern ShuttleCallCursors shuttle_call_cursors_begin_list(ShuttleCallCursors *cursors);
extern void shuttle_call_cursors_end_list(ShuttleCallCursors *cursors, ShuttleCallCursors outer);

/* RETURN, or EXIT or CONTINUE. is_inner: of the innermost loop. */
extern void shuttle_call_cursors_leave(ShuttleCallCursors *cursors, bool is_inner);

#endif							/* SHUTTLE_EXECUTOR_ROUTER_CALL_CURSORS_H */
