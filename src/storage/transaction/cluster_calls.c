/*-------------------------------------------------------------------------
 * cluster_calls.c
 *	  Calls of the cluster room, which is above this one, by pointers that it
 *	  has set: recovery of leftover prepared transactions, search for deadlocks.
 *
 * two_phase.c calls it as well, for commits over several nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "utils/memutils.h"

#include "base/shuttle_compat.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"

const ShuttleCommitMethods *shuttle_cluster_methods = NULL;
bool		shuttle_cluster_has_prepared = false;

void
shuttle_cluster_set_methods(const ShuttleCommitMethods *cluster_methods)
{
	shuttle_cluster_methods = cluster_methods;
}

/* ---- leftover prepared transactions */

/* Running sessions have prepared transactions, too, but not for long. The
 * answer comes in the same round trip as the settings'. */
void
shuttle_cluster_find_prepared(ShuttleNode *node)
{
	char	   *prefix = shuttle_cluster_methods != NULL ? shuttle_cluster_methods->prefix() : NULL;
	char	   *sql;

	if (node->commit.look_sql != NULL)
		pfree(node->commit.look_sql);
	node->commit.look_sql = NULL;
	if (prefix == NULL)
		return;
	sql = psprintf("SELECT FROM pg_catalog.pg_prepared_xacts"
				   " WHERE pg_catalog.starts_with(gid, '%s')"
				   " AND prepared < pg_catalog.now() - interval '1 second' LIMIT 1",
				   prefix);
	node->commit.look_sql = MemoryContextStrdup(node->cxt, sql);
}

void
shuttle_cluster_node_moved(void)
{
	if (shuttle_cluster_methods != NULL)
		shuttle_cluster_methods->in_doubt(true);
}

void
shuttle_cluster_recover_prepared(void)
{
	dlist_iter	iter;

	shuttle_cluster_has_prepared = false;
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (!node->commit.left_prepared)
			continue;
		node->commit.left_prepared = false;
		shuttle_cluster_methods->recover(node->key.serverid, node->userid);
	}
}

/* ---- waiting for locks */

bool
shuttle_cluster_can_find_deadlocks(void)
{
	return shuttle_cluster_methods != NULL && IsTransactionState() && !IsParallelWorker();
}

void
shuttle_cluster_find_deadlocks(void)
{
	List	   *waited = NIL;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		ShuttleServerUser *one;

		if (node->connection.state != NODE_READY || node->queue.nin_flight == 0 || node->rollback.awaited)
			continue;
		one = palloc_object(ShuttleServerUser);
		one->serverid = node->key.serverid;
		one->userid = node->userid;
		waited = lappend(waited, one);
	}
	if (waited != NIL)
		shuttle_cluster_methods->look_for_deadlock(waited);
}
