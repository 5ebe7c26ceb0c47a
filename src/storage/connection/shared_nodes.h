/*-------------------------------------------------------------------------
 * shared_nodes.h
 *	  Shared memory of the views: totals of servers, and slots of
 *	  connections.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_SHARED_NODES_H
#define SHUTTLE_STORAGE_CONNECTION_SHARED_NODES_H

#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/hsearch.h"

#include "storage/shuttle_storage.h"

/* Servers of all databases; the least recently used one makes room. */
#define SHUTTLE_MOST_SERVERS 1024

typedef struct TotalsKey
{
	Oid			databaseid;
	Oid			serverid;
} TotalsKey;

/* Entries are added and removed under the exclusive lock; values change under
 * the shared lock. */
typedef struct SharedTotals
{
	TotalsKey	key;
	TimestampTz since;
	pg_atomic_uint64 last_told;
	pg_atomic_uint64 value[SHUTTLE_NNODE_TOTALS];
} SharedTotals;

/* Changed by its session, under the mutex. */
typedef struct SharedSlot
{
	slock_t		mutex;
	bool		used;			/* under the lock of SharedSlots */
	volatile bool ended;		/* connection ended; set by a signal handler,
								 * too */
	volatile bool busy;			/* its session has, or begins, a transaction
								 * on the node (pause.c) */
	int			next_free;		/* -1: none */
	Oid			databaseid;
	ShuttleNodeInfo info;
} SharedSlot;

typedef struct SharedSlots
{
	LWLock	   *lock;			/* exclusive: to take or free a slot */
	int			nslots;
	int			first_free;
	SharedSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} SharedSlots;

/* ---- shared_memory.c; NULL: library not preloaded */

extern SharedSlots *shuttle_shared_slots;
extern HTAB *shuttle_shared_totals;
extern LWLock *shuttle_shared_totals_lock;

/* ---- connection_slots.c */

extern void shuttle_connection_slots_clear(SharedSlots *slots, LWLock *lock, int nslots);

#endif							/* SHUTTLE_STORAGE_CONNECTION_SHARED_NODES_H */
