/*-------------------------------------------------------------------------
 * snapshot.c
 *	  Numbers of local snapshots.
 *
 * A snapshot that is registered or active keeps its address, and all
 * executions under it share it; so an address stands for one snapshot while
 * an owner that lives as long has asked for its number.
 *
 * Memory: a list of live snapshots in TopMemoryContext, as long as queries are
 * nested; the owners' reset callbacks take entries out.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "utils/memutils.h"

#include "storage/storage_internal.h"

typedef struct LiveSnapshot
{
	dlist_node	link;
	Snapshot	snapshot;
	TransactionId xmax;			/* in case the address is used again while an */
	CommandId	curcid;			/* owner outlives its snapshot a little */
	uint64		number;
	int			nowners;
} LiveSnapshot;

typedef struct SnapshotOwner
{
	MemoryContextCallback callback;
	LiveSnapshot *live;
} SnapshotOwner;

static dlist_head live_snapshots = DLIST_STATIC_INIT(live_snapshots);
static uint64 last_number = 0;

/* What the last caller got: most ask again and again. */
static MemoryContext last_owner = NULL;
static LiveSnapshot *last_live = NULL;

static LiveSnapshot *find_live(Snapshot snapshot);
static void forget_owner(void *arg);

uint64
shuttle_snapshot_number(Snapshot snapshot, MemoryContext owner)
{
	SnapshotOwner *holder;
	LiveSnapshot *live;

	if (snapshot == InvalidSnapshot)
		return last_number;
	if (owner == last_owner && last_live->snapshot == snapshot &&
		last_live->curcid == snapshot->curcid)
		return last_live->number;

	live = find_live(snapshot);
	if (live == NULL)
	{
		live = MemoryContextAlloc(TopMemoryContext, sizeof(LiveSnapshot));
		live->snapshot = snapshot;
		live->xmax = snapshot->xmax;
		live->curcid = snapshot->curcid;
		live->number = ++last_number;
		live->nowners = 0;
		dlist_push_head(&live_snapshots, &live->link);
	}
	live->nowners++;

	holder = MemoryContextAlloc(owner, sizeof(SnapshotOwner));
	holder->live = live;
	holder->callback.func = forget_owner;
	holder->callback.arg = holder;
	MemoryContextRegisterResetCallback(owner, &holder->callback);
	last_owner = owner;
	last_live = live;
	return live->number;
}

static LiveSnapshot *
find_live(Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &live_snapshots)
	{
		LiveSnapshot *live = dlist_container(LiveSnapshot, link, iter.cur);

		if (live->snapshot == snapshot && live->xmax == snapshot->xmax &&
			live->curcid == snapshot->curcid)
			return live;
	}
	return NULL;
}

static void
forget_owner(void *arg)
{
	LiveSnapshot *live = ((SnapshotOwner *) arg)->live;

	if (live == last_live)
	{
		last_owner = NULL;
		last_live = NULL;
	}
	if (--live->nowners > 0)
		return;
	dlist_delete(&live->link);
	pfree(live);
}
