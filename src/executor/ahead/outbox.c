/*-------------------------------------------------------------------------
 * outbox.c
 *	  Sends what was begun and not sent yet before requests that must not
 *	  overtake it.
 *
 * Three lists of the session hold such work. They call each other in one
 * direction; this file stands above them:
 *
 * - write_run.c: buffered rows. A read or write of another statement must find
 *	 them on the node: they are flushed before. Each flush sends the scans that
 *	 must not see its rows.
 * - unsent_scans.c: scans that were begun (remote_scan.c sends them). They must
 *	 not see a later write: they are sent before it.
 * - write_behind.c: INSERTs that were sent and are not waited for. A node answers
 *	 requests in order, so nothing has to wait for them.
 *
 * Before a savepoint write_run.c sends first the scans of the tables to be
 * changed, then the rows.
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
