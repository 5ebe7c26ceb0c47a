/*-------------------------------------------------------------------------
 * call_cursors.c
 *	  Whether a PL/pgSQL function closes the cursors that it opens.
 *
 * A cursor that stays open can be read until the transaction ends, but on a node nobody
 * will. It is surely closed if CLOSE stands behind OPEN in the same list of statements,
 * and nothing in between leaves the list. Errors need not be looked at: one that is caught
 * outside of the list ends the cursor with the block's subtransaction.
 *
 * Memory: the current context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/router/call_cursors.h"

void
shuttle_call_cursors_open(ShuttleCallCursors *cursors, int cursor)
{
	cursors->opened = lappend_int(cursors->opened, cursor);
	cursors->nopen++;
}

/* A CLOSE in another list than OPEN may not be executed. */
void
shuttle_call_cursors_close(ShuttleCallCursors *cursors, int cursor)
{
	int			nopened = list_length(cursors->opened);

	cursors->opened = list_delete_int(cursors->opened, cursor);
	cursors->nopen -= nopened - list_length(cursors->opened);
}

ShuttleCallCursors
shuttle_call_cursors_begin_list(ShuttleCallCursors *cursors)
{
	ShuttleCallCursors outer = *cursors;

	cursors->opened = NIL;
	return outer;
}

void
shuttle_call_cursors_end_list(ShuttleCallCursors *cursors, ShuttleCallCursors outer)
{
	cursors->may_stay |= cursors->nopen > outer.nopen;
	cursors->opened = outer.opened;
	cursors->nopen = outer.nopen;
}

void
shuttle_call_cursors_leave(ShuttleCallCursors *cursors, bool is_inner)
{
	cursors->may_stay |= cursors->nopen > (is_inner ? cursors->nopen_outside : 0);
}
