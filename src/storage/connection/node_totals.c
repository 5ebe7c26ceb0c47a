/*-------------------------------------------------------------------------
 * node_totals.c
 *	  Totals of requests per server, for the view shuttle.node_stats.
 *
 * Each connection counts for itself; at the end of a transaction its counts
 * are added to the server's entry in shared memory. The entry is made when
 * connecting, since the end of a transaction must not allocate. Without shared
 * memory the view sums up this session's connections.
 *
 * Memory: the table has a fixed size. A new entry replaces the one updated
 * longest ago, so entries of dropped servers disappear in time.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/connection/shared_nodes.h"
#include "storage/shuttle_node_control.h"

static SharedTotals *find_entry(Oid serverid);
static SharedTotals *make_entry(Oid serverid);
static void make_room(void);
static void tell_all_at_exit(int code, Datum arg);
static List *own_totals(void);

void
shuttle_node_totals_enter(ShuttleNode *node)
{
	static bool registered = false;

	if (node->shown.counted_since == 0)
		node->shown.counted_since = GetCurrentTimestamp();
	if (shuttle_shared_totals == NULL)
		return;
	if (!registered)
		before_shmem_exit(tell_all_at_exit, (Datum) 0);
	registered = true;

	LWLockAcquire(shuttle_shared_totals_lock, LW_EXCLUSIVE);
	(void) make_entry(node->key.serverid);
	LWLockRelease(shuttle_shared_totals_lock);
	node->shown.entry_missing = false;
}

/* The caller holds the lock. */
static SharedTotals *
make_entry(Oid serverid)
{
	TotalsKey	key = {MyDatabaseId, serverid};
	SharedTotals *entry = find_entry(serverid);
	bool		found;

	if (entry != NULL)
		return entry;
	make_room();
	entry = hash_search(shuttle_shared_totals, &key, HASH_ENTER_NULL, &found);
	if (entry == NULL)
		return NULL;
	entry->since = GetCurrentTimestamp();
	pg_atomic_init_u64(&entry->last_told, (uint64) entry->since);
	for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
		pg_atomic_init_u64(&entry->value[i], 0);
	return entry;
}

static SharedTotals *
find_entry(Oid serverid)
{
	TotalsKey	key = {MyDatabaseId, serverid};

	return hash_search(shuttle_shared_totals, &key, HASH_FIND, NULL);
}

static void
make_room(void)
{
	HASH_SEQ_STATUS scan;
	SharedTotals *entry;
	SharedTotals *oldest = NULL;

	if (hash_get_num_entries(shuttle_shared_totals) < SHUTTLE_MOST_SERVERS)
		return;
	hash_seq_init(&scan, shuttle_shared_totals);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (oldest == NULL ||
			pg_atomic_read_u64(&entry->last_told) <
			pg_atomic_read_u64(&oldest->last_told))
			oldest = entry;
	}
	(void) hash_search(shuttle_shared_totals, &oldest->key, HASH_REMOVE, NULL);
}

/* Runs after a commit: neither allocates nor raises. */
void
shuttle_node_totals_tell(ShuttleNode *node)
{
	SharedTotals *entry;

	if (shuttle_shared_totals == NULL || !node->shown.counted)
		return;
	LWLockAcquire(shuttle_shared_totals_lock, LW_SHARED);
	entry = find_entry(node->key.serverid);
	if (entry != NULL)
	{
		for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
		{
			if (node->shown.counts[i] != 0)
				pg_atomic_fetch_add_u64(&entry->value[i], node->shown.counts[i]);
			node->shown.counts[i] = 0;
		}
		pg_atomic_write_u64(&entry->last_told, (uint64) GetCurrentTimestamp());
		node->shown.counted = false;
	}
	LWLockRelease(shuttle_shared_totals_lock);
	node->shown.entry_missing = entry == NULL;
}

void
shuttle_node_totals_add(Oid serverid, ShuttleNodeTotal total, int64 n)
{
	SharedTotals *entry;
	dlist_iter	iter;

	if (shuttle_shared_totals != NULL)
	{
		LWLockAcquire(shuttle_shared_totals_lock, LW_EXCLUSIVE);
		entry = make_entry(serverid);
		if (entry != NULL)
			pg_atomic_fetch_add_u64(&entry->value[total], n);
		LWLockRelease(shuttle_shared_totals_lock);
		return;
	}
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->key.serverid != serverid)
			continue;
		node->shown.counts[total] += n;
		break;
	}
}

static void
tell_all(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
		shuttle_node_totals_tell(dlist_container(ShuttleNode, link, iter.cur));
}

static void
tell_all_at_exit(int code, Datum arg)
{
	tell_all();
}

/* ---- reading */

List *
shuttle_node_totals(void)
{
	List	   *list = NIL;
	HASH_SEQ_STATUS scan;
	SharedTotals *entry;

	if (shuttle_shared_totals == NULL)
		return own_totals();
	tell_all();
	LWLockAcquire(shuttle_shared_totals_lock, LW_SHARED);
	hash_seq_init(&scan, shuttle_shared_totals);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		ShuttleNodeTotals *totals;

		if (entry->key.databaseid != MyDatabaseId)
			continue;
		totals = palloc_object(ShuttleNodeTotals);
		totals->serverid = entry->key.serverid;
		totals->since = entry->since;
		for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
			totals->value[i] = (int64) pg_atomic_read_u64(&entry->value[i]);
		list = lappend(list, totals);
	}
	LWLockRelease(shuttle_shared_totals_lock);
	return list;
}

/* A server has one connection per user mapping. */
static List *
own_totals(void)
{
	List	   *list = NIL;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		ShuttleNodeTotals *totals = NULL;
		ListCell   *cell;

		foreach(cell, list)
		{
			if (((ShuttleNodeTotals *) lfirst(cell))->serverid == node->key.serverid)
				totals = lfirst(cell);
		}
		if (totals == NULL)
		{
			totals = palloc0_object(ShuttleNodeTotals);
			totals->serverid = node->key.serverid;
			totals->since = node->shown.counted_since;
			list = lappend(list, totals);
		}
		totals->since = Min(totals->since, node->shown.counted_since);
		for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
			totals->value[i] += node->shown.counts[i];
	}
	return list;
}

void
shuttle_node_totals_reset(Oid serverid)
{
	TimestampTz now = GetCurrentTimestamp();
	HASH_SEQ_STATUS scan;
	SharedTotals *entry;
	dlist_iter	iter;

	shuttle_round_trip_forget(serverid);
	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (OidIsValid(serverid) && node->key.serverid != serverid)
			continue;
		memset(node->shown.counts, 0, sizeof(node->shown.counts));
		node->shown.counted_since = now;
	}
	if (shuttle_shared_totals == NULL)
		return;

	LWLockAcquire(shuttle_shared_totals_lock, LW_EXCLUSIVE);
	hash_seq_init(&scan, shuttle_shared_totals);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->key.databaseid != MyDatabaseId ||
			(OidIsValid(serverid) && entry->key.serverid != serverid))
			continue;
		entry->since = now;
		for (int i = 0; i < SHUTTLE_NNODE_TOTALS; i++)
			pg_atomic_write_u64(&entry->value[i], 0);
	}
	LWLockRelease(shuttle_shared_totals_lock);
}
