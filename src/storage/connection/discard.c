/*-------------------------------------------------------------------------
 * discard.c
 *	  DISCARD on the session's connections to nodes.
 *
 * It removes what functions and views left in the session on a node (temporary
 * tables, settings, advisory locks, sequence positions), as if they had run
 * locally. DISCARD ALL runs outside the transaction; the connection gets its
 * settings again. Other forms are part of the transaction. A pooler's
 * connection is skipped outside a transaction: nothing there is ours.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/request/pipeline.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"

static bool
is_quiet(void *arg)
{
	ShuttleNode *node = arg;

	return node->queue.nin_flight == 0 || node->connection.state != NODE_READY;
}

/* Waits first: the COMMIT of a read-only transaction may be outstanding. */
static void
discard_session(ShuttleNode *node)
{
	shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT, is_quiet, node);
	shuttle_connection_check(node);
	if (node->connection.state != NODE_READY)
		return;
	shuttle_prepared_clear(node);
	shuttle_command_add(node, COMMAND_SETTINGS, "DISCARD ALL")->ignore_error = true;
	shuttle_command_add(node, COMMAND_SYNC, NULL);
	shuttle_node_append_settings(node);
	shuttle_pipeline_send(node);
}

void
shuttle_discard_all(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->connection.state == NODE_READY && !node->options.pooled &&
			!shuttle_transaction_is_open(node))
			discard_session(node);
	}
}

void
shuttle_discard_part(const char *sql)
{
	ShuttleStatement statement = {
		.sql = sql,
		.effect = SHUTTLE_LOCKS,	/* nothing has to be committed */
		.size = SHUTTLE_SIZE_CERTAIN,
		.tag_only = true,
	};
	List	   *requests = NIL;
	dlist_iter	iter;
	ListCell   *cell;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!shuttle_transaction_is_open(node))
		{
			if (node->options.pooled)
				continue;
			shuttle_connection_check(node);
		}
		if (node->connection.state == NODE_READY)
			requests = lappend(requests,
							   shuttle_request_send(node, &statement,
													CurrentMemoryContext));
	}
	foreach(cell, requests)
	{
		(void) shuttle_request_finish(lfirst(cell));
		shuttle_request_close(lfirst(cell));
	}
}
