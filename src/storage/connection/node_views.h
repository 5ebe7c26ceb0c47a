/*-------------------------------------------------------------------------
 * node_views.h
 *	  What sessions tell each other of their nodes: totals of servers and
 *	  slots of connections, in shared memory.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_NODE_VIEWS_H
#define SHUTTLE_STORAGE_CONNECTION_NODE_VIEWS_H

#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/hsearch.h"

#include "storage/shuttle_storage.h"

/* Servers of all databases; the one that was used longest ago makes room. */
#define SHUTTLE_MOST_SERVERS 1024

typedef struct TotalsKey
{
	Oid			databaseid;
	Oid			serverid;
} TotalsKey;

/*
 * Entries come and go under the exclusive lock; values are added to under the
 * shared one.
 */
typedef struct SharedTotals
{
	TotalsKey	key;
	TimestampTz since;
	pg_atomic_uint64 last_told;
	pg_atomic_uint64 value[SHUTTLE_NNODE_TOTALS];
} SharedTotals;

/* Changed by the session that has it, under the mutex. */
typedef struct SharedSlot
{
	slock_t		mutex;
	bool		used;			/* under the lock of all slots */
	volatile bool ended;		/* connection ended; a signal handler may set
								 * it */
	int			next_free;		/* -1: none */
	Oid			databaseid;
	ShuttleNodeInfo info;
} SharedSlot;

typedef struct SharedSlots
{
	LWLock	   *lock;			/* exclusive to take a slot or give it back */
	int			nslots;
	int			first_free;
	SharedSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} SharedSlots;

/* ---- shared_memory.c; NULL where there is none */

extern SharedSlots *shuttle_shared_slots;
extern HTAB *shuttle_shared_totals;
extern LWLock *shuttle_totals_lock;

/* ---- node_list.c */

extern void shuttle_slots_clear(SharedSlots *slots, LWLock *lock, int nslots);

#endif							/* SHUTTLE_STORAGE_CONNECTION_NODE_VIEWS_H */
