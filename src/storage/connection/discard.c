/*-------------------------------------------------------------------------
 * discard.c
 *	  DISCARD, on the connections that a session has to nodes.
 *
 * What functions and views left behind in the session on a node (temporary
 * tables, settings, advisory locks, positions of sequences) goes as it would
 * go if they had run here.  DISCARD ALL is no part of a transaction; behind it
 * a connection is like a new one and gets its settings again.  The others join
 * the transaction, as they do here.  A session of a pool has nothing of ours
 * between transactions, and what others have there is theirs.
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

/* The COMMIT of a transaction that only read may be on its way still. */
static void
discard_session(ShuttleNode *node)
{
	shuttle_wait_until(node, SHUTTLE_WAIT_COMMIT, is_quiet, node);
	shuttle_connection_check(node);
	if (node->connection.state != NODE_READY)
		return;
	shuttle_prepared_clear(node);
	shuttle_pipeline_add(node, COMMAND_SETTINGS, "DISCARD ALL")->ignore_error = true;
	shuttle_pipeline_add(node, COMMAND_SYNC, NULL);
	shuttle_pipeline_add_settings(node);
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
		.effect = SHUTTLE_LOCKS,	/* nothing is left to be committed */
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
