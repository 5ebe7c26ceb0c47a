/*-------------------------------------------------------------------------
 * pause.c
 *	  Nodes at which no new transaction begins, for a planned switchover.
 *
 * A session says in its slot (shared_nodes.h) that it uses the node, and then
 * looks whether the node is paused; if it is, it takes that back and waits. Who
 * pauses a node notes that first, and then counts the slots. So a transaction
 * either waits or is counted. A session without a slot is not counted.
 *
 * A pause has an end: nobody depends on the one who began it.
 *
 * Memory: a small table in shared memory.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/connection/shared_nodes.h"
#include "storage/shuttle_node_control.h"

#define MOST_PAUSED 64

typedef struct PausedNode
{
	Oid			database;
	Oid			serverid;		/* invalid: unused */
	TimestampTz until;
} PausedNode;

typedef struct PauseMemory
{
	slock_t		lock;
	pg_atomic_uint32 nused;		/* entries, also of pauses that are over */
	PausedNode	nodes[MOST_PAUSED];
} PauseMemory;

static PauseMemory *memory = NULL;	/* NULL: not preloaded */

static void
require_memory(void)
{
	if (memory == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("nodes can only be paused if pg_shuttle is in \"shared_preload_libraries\""),
				 errdetail("Sessions would not know of it."),
				 errhint("Add pg_shuttle to shared_preload_libraries, and restart this server.")));
}

/* Returns an entry, or NULL; the lock is held. InvalidOid: an unused one. */
static PausedNode *
find_node(Oid serverid)
{
	for (int i = 0; i < MOST_PAUSED; i++)
	{
		PausedNode *node = &memory->nodes[i];

		if (node->serverid == serverid &&
			(!OidIsValid(serverid) || node->database == MyDatabaseId))
			return node;
	}
	return NULL;
}

/* Removes pauses that are over; the lock is held. */
static void
remove_ended(TimestampTz now)
{
	for (int i = 0; i < MOST_PAUSED; i++)
	{
		PausedNode *node = &memory->nodes[i];

		if (!OidIsValid(node->serverid) || node->until > now)
			continue;
		node->serverid = InvalidOid;
		pg_atomic_fetch_sub_u32(&memory->nused, 1);
	}
}

void
shuttle_pause_begin(Oid serverid, TimestampTz until)
{
	PausedNode *node;

	require_memory();
	SpinLockAcquire(&memory->lock);
	remove_ended(GetCurrentTimestamp());
	node = find_node(serverid);
	if (node == NULL)
	{
		node = find_node(InvalidOid);
		if (node != NULL)
		{
			node->database = MyDatabaseId;
			node->serverid = serverid;
			pg_atomic_fetch_add_u32(&memory->nused, 1);
		}
	}
	if (node != NULL)
		node->until = until;
	SpinLockRelease(&memory->lock);
	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many nodes are paused"),
				 errdetail("The limit is %d.", MOST_PAUSED)));
	pg_memory_barrier();
}

bool
shuttle_pause_end(Oid serverid)
{
	PausedNode *node;
	bool		was_paused;

	require_memory();
	SpinLockAcquire(&memory->lock);
	remove_ended(GetCurrentTimestamp());
	node = find_node(serverid);
	was_paused = node != NULL;
	if (was_paused)
	{
		node->serverid = InvalidOid;
		pg_atomic_fetch_sub_u32(&memory->nused, 1);
	}
	SpinLockRelease(&memory->lock);
	return was_paused;
}

TimestampTz
shuttle_pause_ends_at(Oid serverid)
{
	PausedNode *node;
	TimestampTz until;

	if (memory == NULL || pg_atomic_read_u32(&memory->nused) == 0)
		return 0;
	SpinLockAcquire(&memory->lock);
	node = find_node(serverid);
	until = node == NULL ? 0 : node->until;
	SpinLockRelease(&memory->lock);
	return until > GetCurrentTimestamp() ? until : 0;
}

int
shuttle_pause_count_users(Oid serverid)
{
	SharedSlots *slots = shuttle_shared_slots;
	int			nusers = 0;

	LWLockAcquire(slots->lock, LW_SHARED);
	for (int i = 0; i < slots->nslots; i++)
	{
		const SharedSlot *slot = &slots->slots[i];

		if (slot->used && slot->busy && slot->databaseid == MyDatabaseId &&
			slot->info.serverid == serverid && slot->info.pid != MyProcPid)
			nusers++;
	}
	LWLockRelease(slots->lock);
	return nusers;
}

/* ---- sessions */

static void
say(ShuttleNode *node, bool busy)
{
	if (node->shown.slot != NULL)
		node->shown.slot->busy = busy;
}

bool
shuttle_pause_is_over(void *arg)
{
	return shuttle_pause_ends_at(((ShuttleNode *) arg)->key.serverid) == 0;
}

bool
shuttle_pause_enter(ShuttleNode *node)
{
	if (memory == NULL)
		return true;
	say(node, true);
	pg_memory_barrier();
	node->connection.paused = !shuttle_pause_is_over(node);
	if (node->connection.paused)
		say(node, false);
	return !node->connection.paused;
}

void
shuttle_pause_leave(ShuttleNode *node)
{
	say(node, false);
	node->connection.paused = false;
}

Size
shuttle_pause_memory_size(void)
{
	return MAXALIGN(sizeof(PauseMemory));
}

void
shuttle_pause_set_up_memory(void)
{
	bool		found;

	memory = ShmemInitStruct("pg_shuttle pauses", sizeof(PauseMemory), &found);
	if (found)
		return;
	memset(memory, 0, sizeof(PauseMemory));
	SpinLockInit(&memory->lock);
	pg_atomic_init_u32(&memory->nused, 0);
}
