/*-------------------------------------------------------------------------
 * outbox.c
 *	  What was begun and not sent yet goes out before what must not overtake it.
 *
 * Three lists of the session hold such things.  They call each other in one
 * direction, and this file stands above them:
 * - write_run.c: rows that statements have buffered.  A read, or a write, of
 *	 another statement has to find them on the node, so they are flushed first;
 *	 each flush sends scans that must not see its rows,
 * - unsent_scans.c: scans that were begun (remote_scan.c sends them).  A write
 *	 must not be seen by them, so they are sent before it,
 * - write_behind.c: INSERTs that were sent and are not waited for.  A node answers
 *	 in the order in which it was asked, so nothing has to wait for them.
 * Before a savepoint write_run.c sends both of the first, in this order: scans of
 * what is changed, then rows.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/ahead/ahead.h"
#include "executor/write/write.h"

void
shuttle_outbox_before_read(ShuttleNode *node, const EState *estate)
{
	shuttle_write_flush_others(node, estate);
}

void
shuttle_outbox_before_write(ShuttleNode *node, const EState *estate)
{
	shuttle_write_flush_others(node, estate);
	shuttle_unsent_send_older(node, shuttle_unsent_number());
}
