/*-------------------------------------------------------------------------
 * connection_slots.c
 *	  The connections of all sessions, for the view shuttle.nodes.
 *
 * Each connection has a slot in shared memory, which its session updates when
 * the connection's state changes. A session without shared memory shows only
 * its own connections; one that gets no slot is not shown to others.
 *
 * Memory: none of its own; shared_memory.c owns the slots.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/spin.h"

#include "base/shuttle_compat.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/connection/shared_nodes.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"

static bool leaving = false;	/* the session ends */

static SharedSlot *take_slot(ShuttleNode *node);
static void give_back(ShuttleNode *node);
static void give_back_all(int code, Datum arg);
static ShuttleNodeState shown_state(const ShuttleNode *node);
static void fill_info(const ShuttleNode *node, ShuttleNodeInfo *info);

void
shuttle_connection_slots_clear(SharedSlots *slots, LWLock *lock, int nslots)
{
	slots->lock = lock;
	slots->nslots = nslots;
	slots->first_free = nslots > 0 ? 0 : -1;
	for (int i = 0; i < nslots; i++)
	{
		SharedSlot *slot = &slots->slots[i];

		memset(slot, 0, sizeof(SharedSlot));
		SpinLockInit(&slot->mutex);
		slot->next_free = i + 1 < nslots ? i + 1 : -1;
	}
}

void
shuttle_connection_slot_show(ShuttleNode *node)
{
	SharedSlot *slot;
	ShuttleNodeInfo info;

	if (shuttle_shared_slots == NULL || leaving)
		return;
	if (node->connection.state == NODE_CLOSED)
	{
		give_back(node);
		return;
	}
	slot = node->shown.slot != NULL ? node->shown.slot : take_slot(node);
	if (slot == NULL)
		return;
	fill_info(node, &info);
	SpinLockAcquire(&slot->mutex);
	slot->info = info;
	slot->ended = node->connection.ended_idle;
	SpinLockRelease(&slot->mutex);
}

/* For a statement alone, which changes nothing else that is shown. */
void
shuttle_connection_slot_show_state(ShuttleNode *node)
{
	SharedSlot *slot = node->shown.slot;

	if (slot == NULL || leaving)
		return;
	SpinLockAcquire(&slot->mutex);
	slot->info.state = shown_state(node);
	SpinLockRelease(&slot->mutex);
}

/* Runs in a signal handler, so takes no lock. */
void
shuttle_connection_slot_show_ended(ShuttleNode *node)
{
	SharedSlot *slot = node->shown.slot;

	if (slot != NULL && !leaving)
		slot->ended = true;
}

static SharedSlot *
take_slot(ShuttleNode *node)
{
	static bool registered = false;
	SharedSlots *slots = shuttle_shared_slots;
	SharedSlot *slot = NULL;

	if (!registered)
		before_shmem_exit(give_back_all, (Datum) 0);
	registered = true;

	LWLockAcquire(slots->lock, LW_EXCLUSIVE);
	if (slots->first_free >= 0)
	{
		slot = &slots->slots[slots->first_free];
		slots->first_free = slot->next_free;
		slot->used = true;
		slot->ended = false;
		slot->busy = false;
		slot->databaseid = MyDatabaseId;
		fill_info(node, &slot->info);
	}
	LWLockRelease(slots->lock);
	node->shown.slot = slot;
	return slot;
}

static void
give_back(ShuttleNode *node)
{
	SharedSlots *slots = shuttle_shared_slots;
	SharedSlot *slot = node->shown.slot;

	if (slot == NULL)
		return;
	node->shown.slot = NULL;
	LWLockAcquire(slots->lock, LW_EXCLUSIVE);
	slot->used = false;
	slot->next_free = slots->first_free;
	slots->first_free = slot - slots->slots;
	LWLockRelease(slots->lock);
}

/* Runs before connections are closed, while locks can still be taken. */
static void
give_back_all(int code, Datum arg)
{
	dlist_iter	iter;

	leaving = true;
	dlist_foreach(iter, &shuttle_nodes)
		give_back(dlist_container(ShuttleNode, link, iter.cur));
}

static ShuttleNodeState
shown_state(const ShuttleNode *node)
{
	switch (node->connection.state)
	{
		case NODE_CONNECTING:
			return SHUTTLE_NODE_CONNECTING;
		case NODE_LOST:
			return SHUTTLE_NODE_LOST;
		default:
			return shuttle_transaction_is_open(node) ?
				SHUTTLE_NODE_IN_TRANSACTION : SHUTTLE_NODE_IDLE;
	}
}

/* From version 14 on the node reports when this changes. */
static bool
is_standby(const ShuttleNode *node)
{
	const char *report = node->connection.conn != NULL ?
		PQparameterStatus(node->connection.conn, "in_hot_standby") : NULL;

	return report != NULL ? strcmp(report, "on") == 0 : node->epoch.is_standby;
}

static void
fill_info(const ShuttleNode *node, ShuttleNodeInfo *info)
{
	info->serverid = node->key.serverid;
	info->userid = node->userid;
	info->pid = MyProcPid;
	info->state = shown_state(node);
	info->since = node->shown.connected_at;
	info->node_pid = node->connection.conn != NULL ? PQbackendPID(node->connection.conn) : 0;
	info->version = node->connection.conn != NULL ? PQserverVersion(node->connection.conn) : 0;
	info->least_trip_ms = node->shown.least_trip_ms;
	info->mean_trip_ms = node->shown.ntrips > 0 ? node->shown.sum_trips_ms / node->shown.ntrips : -1;
	strlcpy(info->address, node->shown.address, sizeof(info->address));
	info->timeline = node->epoch.timeline;
	info->is_standby = is_standby(node);
}

/* Call when connected: before that, a host name has no address. */
void
shuttle_connection_slot_note_address(ShuttleNode *node)
{
	const char *address = PQhostaddr(node->connection.conn);
	const char *port = PQport(node->connection.conn);

	if (address == NULL || address[0] == '\0')
		address = PQhost(node->connection.conn);
	if (address == NULL)
		address = "";
	snprintf(node->shown.address, sizeof(node->shown.address),
			 strchr(address, ':') != NULL ? "[%s]:%s" : "%s:%s",
			 address, port != NULL ? port : "");
}

List *
shuttle_connection_slots_list(void)
{
	List	   *list = NIL;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		ShuttleNodeInfo *info;

		if (node->connection.state == NODE_CLOSED || node->connection.ended_idle)
			continue;
		info = palloc_object(ShuttleNodeInfo);
		fill_info(node, info);
		list = lappend(list, info);
	}
	if (shuttle_shared_slots == NULL)
		return list;

	LWLockAcquire(shuttle_shared_slots->lock, LW_SHARED);
	for (int i = 0; i < shuttle_shared_slots->nslots; i++)
	{
		SharedSlot *slot = &shuttle_shared_slots->slots[i];
		ShuttleNodeInfo *info;

		if (!slot->used || slot->ended || slot->databaseid != MyDatabaseId)
			continue;
		info = palloc_object(ShuttleNodeInfo);
		SpinLockAcquire(&slot->mutex);
		*info = slot->info;
		SpinLockRelease(&slot->mutex);
		if (info->pid == MyProcPid)
			pfree(info);
		else
			list = lappend(list, info);
	}
	LWLockRelease(shuttle_shared_slots->lock);
	return list;
}
