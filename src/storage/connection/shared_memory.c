/*-------------------------------------------------------------------------
 * shared_memory.c
 *	  Shared memory of the storage room, if the library is in
 *	  shared_preload_libraries.
 *
 * It holds totals of servers, slots for connections to nodes, round trips, the
 * order of hosts, timelines, paused nodes, and commits on several nodes. Without it each
 * session knows only its own.
 *
 * Memory: about 2 MB for 100 sessions, requested when the server starts.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "base/shuttle_compat_session.h"
#include "storage/connection/epoch.h"
#include "storage/connection/host_race.h"
#include "storage/connection/node_state.h"
#include "storage/connection/shared_nodes.h"
#include "storage/transaction/windows.h"

#define TRANCHE "pg_shuttle"
#define NLOCKS 3

/* On average: a session may use more. */
#define SLOTS_PER_BACKEND 8

SharedSlots *shuttle_shared_slots = NULL;
HTAB	   *shuttle_shared_totals = NULL;
LWLock	   *shuttle_shared_totals_lock = NULL;

static int
count_slots(void)
{
	return SLOTS_PER_BACKEND * MaxBackends;
}

static Size
size_of_slots(void)
{
	return add_size(offsetof(SharedSlots, slots),
					mul_size(count_slots(), sizeof(SharedSlot)));
}

void
shuttle_shared_memory_request(void)
{
	RequestAddinShmemSpace(size_of_slots());
	RequestAddinShmemSpace(shuttle_round_trip_memory_size());
	RequestAddinShmemSpace(shuttle_host_order_memory_size());
	RequestAddinShmemSpace(shuttle_epoch_memory_size());
	RequestAddinShmemSpace(shuttle_pause_memory_size());
	RequestAddinShmemSpace(shuttle_windows_memory_size());
	RequestAddinShmemSpace(hash_estimate_size(SHUTTLE_MOST_SERVERS,
											  sizeof(SharedTotals)));
	RequestNamedLWLockTranche(TRANCHE, NLOCKS);
}

void
shuttle_shared_memory_set_up(void)
{
	HASHCTL		control = {
		.keysize = sizeof(TotalsKey),
		.entrysize = sizeof(SharedTotals),
	};
	LWLockPadded *locks;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	locks = GetNamedLWLockTranche(TRANCHE);
	shuttle_shared_totals_lock = &locks[0].lock;
	shuttle_shared_totals = shuttle_shmem_init_hash("pg_shuttle totals of nodes",
													SHUTTLE_MOST_SERVERS, &control,
													HASH_ELEM | HASH_BLOBS);
	shuttle_shared_slots = ShmemInitStruct("pg_shuttle connections",
										   size_of_slots(), &found);
	if (!found)
		shuttle_connection_slots_clear(shuttle_shared_slots, &locks[1].lock, count_slots());
	shuttle_round_trip_set_up_memory();
	shuttle_host_order_set_up_memory();
	shuttle_epoch_set_up_memory();
	shuttle_pause_set_up_memory();
	shuttle_windows_set_up_memory(&locks[2].lock);
	LWLockRelease(AddinShmemInitLock);
}
