/*-------------------------------------------------------------------------
 * windows.c
 *	  Shared memory of commits on several nodes: what those who commit write.
 *
 * 1. All nodes have prepared, and said by which transaction identifiers.
 * 2. The window opens: from here on readers look whether their snapshots show
 *	  all of these transactions or none.
 * 3. The local commit: what was written here is visible.
 * 4. Each node answers COMMIT PREPARED: its part is visible.
 * 5. The window ends, and is kept for a while for readers whose snapshots are
 *	  older.
 *
 * A part is visible on its node only between 2 and its acknowledgement, so whoever
 * sees one part and not another one finds the window, if it looks when all of its
 * snapshots are taken: the window is open, or has ended after the reader began.
 *
 * A window whose node does not answer stays open when its session goes on; recovery
 * ends it. After a crash of this server, and if a node's standby is promoted, windows
 * may be missing: until recovery has finished what is prepared on a node, it does not
 * count as recovered, and readers wait for that.
 *
 * Memory: about 2 MB of shared memory.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_wait_events.h"
#include "storage/connection/connection.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/transaction.h"
#include "storage/transaction/two_phase.h"
#include "storage/transaction/windows.h"

Windows    *shuttle_windows = NULL;

/* The window of the transaction being committed. */
static Window *own = NULL;
static bool own_committed = false;
static bool own_stays = false;	/* when the transaction ends */
static bool wrote_locally = false;

static int	ndoubtful(void);
static void forget_recovered(Oid serverid);
static void leave_at_exit(int code, Datum arg);

/* ---- shared memory */

static int
count_slots(void)
{
	return MaxBackends + SHUTTLE_MOST_DOUBTFUL;
}

static Size
size_of_header(void)
{
	return MAXALIGN(add_size(offsetof(Windows, active), mul_size(count_slots(), sizeof(int))));
}

Size
shuttle_windows_memory_size(void)
{
	return add_size(add_size(size_of_header(), mul_size(count_slots(), sizeof(Window))),
					mul_size(MaxBackends, sizeof(pg_atomic_uint32)));
}

void
shuttle_windows_set_up_memory(LWLock *lock)
{
	bool		found;

	shuttle_windows = ShmemInitStruct("pg_shuttle windows", shuttle_windows_memory_size(), &found);
	if (found)
		return;
	memset(shuttle_windows, 0, shuttle_windows_memory_size());
	shuttle_windows->lock = lock;
	ConditionVariableInit(&shuttle_windows->changed);
	pg_atomic_init_u64(&shuttle_windows->clock, 1);
	pg_atomic_init_u32(&shuttle_windows->any_here, 0);
	pg_atomic_init_u32(&shuttle_windows->alone_wanted, 0);
	pg_atomic_init_u64(&shuttle_windows->alone_since, 0);
	shuttle_windows->nslots = count_slots();
	shuttle_windows->slots = (Window *) ((char *) shuttle_windows + size_of_header());
	for (int i = 0; i < shuttle_windows->nslots; i++)
	{
		shuttle_windows->active[i] = i;
		pg_atomic_init_u32(&shuttle_windows->slots[i].acknowledged, 0);
	}
	shuttle_windows->alone = (pg_atomic_uint32 *) (shuttle_windows->slots + shuttle_windows->nslots);
	for (int i = 0; i < MaxBackends; i++)
		pg_atomic_init_u32(&shuttle_windows->alone[i], 0);
}

uint64
shuttle_windows_tick(void)
{
	return pg_atomic_fetch_add_u64(&shuttle_windows->clock, 1) + 1;
}

uint64
shuttle_windows_clock(void)
{
	uint64		now;

	if (shuttle_windows == NULL)
		return 0;
	now = pg_atomic_read_u64(&shuttle_windows->clock);
	pg_memory_barrier();
	return now;
}

/* ---- opening */

static bool
is_part(const ShuttleNode *node)
{
	return node->commit.two_phase == TWO_PHASE_DONE ||
		(shuttle_transaction_is_open(node) && node->transaction.wrote);
}

/* A statement without BEGIN commits when it is sent: no window was wanted then. */
static bool
has_statement(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (is_part(node) && node->transaction.is_statement)
			return true;
	}
	return false;
}

static int
count_parts(void)
{
	int			nparts = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
		nparts += is_part(dlist_container(ShuttleNode, link, iter.cur));
	return nparts;
}

void
shuttle_windows_note_local(void)
{
	wrote_locally = shuttle_windows != NULL && shuttle_cluster_methods != NULL &&
		!IsParallelWorker() && TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		(count_parts() > 0 || shuttle_windows_follow_alone()) &&
		shuttle_cluster_methods->wrote_here();
}

void
shuttle_windows_forget_local(void)
{
	wrote_locally = false;
}

static void
register_exit(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(leave_at_exit, (Datum) 0);
	registered = true;
}

/* Gets the lock while no fence is up. */
static void
lock_without_fence(void)
{
	uint32		event = shuttle_wait_event(SHUTTLE_WAIT_FENCE);

	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	if (shuttle_windows->fence_owner == 0)
		return;
	LWLockRelease(shuttle_windows->lock);
	ConditionVariablePrepareToSleep(&shuttle_windows->changed);
	for (;;)
	{
		LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
		if (shuttle_windows->fence_owner == 0)
			break;
		LWLockRelease(shuttle_windows->lock);
		ConditionVariableSleep(&shuttle_windows->changed, event);
	}
	ConditionVariableCancelSleep();
}

/* Fills the window's parts. A node that commits without preparing has not told its xid. */
static void
add_parts(Window *window)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		WindowPart *part;

		if (!is_part(node))
			continue;
		node->commit.window_part = ++window->nparts;
		if (window->nparts > SHUTTLE_MOST_PARTS)
			continue;
		part = &window->parts[window->nparts - 1];
		part->system = node->epoch.system_identifier;
		part->serverid = node->key.serverid;
		part->xid = node->commit.xid;
	}
}

static bool
shares_server(const Window *window, const Window *other)
{
	if (window->wrote_here && other->wrote_here)
		return true;
	if (window->nparts > SHUTTLE_MOST_PARTS || other->nparts > SHUTTLE_MOST_PARTS)
		return true;
	for (int i = 0; i < window->nparts; i++)
	{
		for (int j = 0; j < other->nparts; j++)
		{
			if (window->parts[i].serverid == other->parts[j].serverid ||
				(window->parts[i].system != 0 && window->parts[i].system == other->parts[j].system))
				return true;
		}
	}
	return false;
}

/*
 * The transaction may have changed rows of others that are visible on its nodes, and not on all
 * of theirs yet. Who sees it must see them, too, on whatever node. The exclusive lock is held.
 */
static void
mark_earlier(const Window *window)
{
	for (int i = 0; i < shuttle_windows->nactive; i++)
	{
		Window	   *other = &shuttle_windows->slots[shuttle_windows->active[i]];

		if (other != window && !shuttle_window_is_alone(other) &&
			(pg_atomic_read_u32(&other->acknowledged) & SHUTTLE_PART_HERE) != 0 &&
			shares_server(window, other))
			other->seen = true;
	}
}

/* A window without parts yet; the exclusive lock is taken. */
static Window *
begin_window(uint64 fxid, bool wrote_here)
{
	Window	   *window;

	register_exit();
	lock_without_fence();
	Assert(shuttle_windows->nactive < shuttle_windows->nslots);
	window = &shuttle_windows->slots[shuttle_windows->active[shuttle_windows->nactive++]];
	window->returned = window->end = 0;
	window->fxid = fxid;
	window->database = MyDatabaseId;
	window->wrote_here = wrote_here;
	window->seen = false;
	window->nparts = 0;
	pg_atomic_write_u32(&window->acknowledged, 0);
	return window;
}

/* From here on readers find it. Releases the lock. */
static void
show_window(Window *window)
{
	if (window->wrote_here)
		pg_atomic_write_u32(&shuttle_windows->any_here, 1);
	window->start = shuttle_windows_tick();
	mark_earlier(window);
	LWLockRelease(shuttle_windows->lock);
	own = window;
	own_committed = own_stays = false;
}

void
shuttle_windows_open(void)
{
	Window	   *window;
	int			nparts;

	/* those of a standby are on the primary server */
	if (shuttle_windows == NULL || own != NULL || RecoveryInProgress())
		return;
	nparts = count_parts() + wrote_locally;
	if (nparts == 0 || (nparts == 1 && (has_statement() || !shuttle_windows_follow_alone())))
		return;
	window = begin_window(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()), wrote_locally);
	add_parts(window);
	show_window(window);
}

/* The system identifier of a server that the session has met; 0: unknown. */
static uint64
system_of(Oid serverid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->key.serverid == serverid && node->epoch.system_identifier != 0)
			return node->epoch.system_identifier;
	}
	return 0;
}

static void
open_for(uint64 fxid, bool wrote_here, const ShuttlePreparedPart *parts, int nparts)
{
	Window	   *window;

	Assert(own == NULL);
	window = begin_window(fxid, wrote_here);
	for (int i = 0; i < Min(nparts, SHUTTLE_MOST_PARTS); i++)
	{
		window->parts[i].system = parts[i].system != 0 ? parts[i].system : system_of(parts[i].serverid);
		window->parts[i].xid = parts[i].xid;
		window->parts[i].serverid = parts[i].serverid;
	}
	window->nparts = nparts;
	show_window(window);
}

/* Whether it wrote here is not known any more: that it did is the safe assumption. */
void
shuttle_windows_open_prepared(uint64 fxid, const ShuttlePreparedPart *parts, int nparts)
{
	if (shuttle_windows != NULL && (nparts > 0 || shuttle_windows_follow_alone()))
		open_for(fxid, true, parts, nparts);
}

bool
shuttle_windows_are_there(void)
{
	return shuttle_windows != NULL;
}

void
shuttle_windows_open_standby(uint64 fxid, const ShuttlePreparedPart *parts, int nparts)
{
	open_for(fxid, false, parts, nparts);
	own_stays = true;
}

/* ---- ending */

void
shuttle_windows_free(Window *window)
{
	int			slot = window - shuttle_windows->slots;

	window->start = 0;
	for (int i = 0; i < shuttle_windows->nactive; i++)
	{
		if (shuttle_windows->active[i] != slot)
			continue;
		shuttle_windows->nactive--;
		shuttle_windows->active[i] = shuttle_windows->active[shuttle_windows->nactive];
		shuttle_windows->active[shuttle_windows->nactive] = slot;
		return;
	}
}

static void
remember_here(const Window *window)
{
	EndedHere  *place = &shuttle_windows->ended_here[shuttle_windows->nended_here++ %
													 SHUTTLE_MOST_ENDED_HERE];

	if (place->number != 0)
		shuttle_windows->lost_fxid = Max(shuttle_windows->lost_fxid, place->fxid);
	place->fxid = window->fxid;
	place->number = shuttle_windows->nended;
}

/* Moves it to those that have ended. */
void
shuttle_windows_end(Window *window)
{
	Window	   *place = &shuttle_windows->ended[shuttle_windows->nended++ % SHUTTLE_MOST_ENDED];

	shuttle_windows->lost_end = Max(shuttle_windows->lost_end, place->end);
	window->end = shuttle_windows_tick();
	memcpy(place, window, sizeof(Window));
	if (window->wrote_here)
		remember_here(window);
	shuttle_windows_free(window);
}

/* True if COMMIT was sent to the only node, and its answer did not come. */
static bool
is_unknown(const Window *window)
{
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.window_part > 0 && (node->commit.pending || node->commit.unknown))
			return shuttle_window_is_alone(window);
	}
	return false;
}

/* Who sees it knows its identifier, and ends it. Without one, reads that overlap this
 * moment are begun anew. */
static void
leave_unknown(Window *window)
{
	if (window->parts[0].xid != 0 && ndoubtful() < SHUTTLE_MOST_DOUBTFUL)
		window->returned = SHUTTLE_NOT_TOLD;
	else
	{
		shuttle_windows->lost_end = shuttle_windows_tick();
		shuttle_windows_free(window);
	}
}

void
shuttle_windows_abort(void)
{
	/* nodes may be committing what a decided one stands for */
	if (own == NULL || (own_stays && own_committed))
		return;
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	if (is_unknown(own))
		leave_unknown(own);
	else
		shuttle_windows_free(own);
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
	own = NULL;
}

static void
acknowledge(Window *window, int part)
{
	if (part > 0 && part <= SHUTTLE_MOST_PARTS)
		pg_atomic_fetch_or_u32(&window->acknowledged, UINT32_C(1) << (part - 1));
}

void
shuttle_windows_committed(void)
{
	if (own == NULL)
		return;
	own_committed = true;
	pg_atomic_fetch_or_u32(&own->acknowledged, SHUTTLE_PART_HERE);
	if (own->wrote_here)
		ConditionVariableBroadcast(&shuttle_windows->changed);
}

void
shuttle_windows_acknowledge(const ShuttleNode *node)
{
	if (own == NULL || node->commit.window_part == 0)
		return;
	acknowledge(own, node->commit.window_part);

	/* The statement may go on for long behind its commit. */
	if (shuttle_window_is_alone(own))
	{
		LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
		mark_earlier(own);		/* its window may be older than its write */
		own->returned = shuttle_windows_tick();
		shuttle_windows_end(own);
		LWLockRelease(shuttle_windows->lock);
		own = NULL;
	}
	ConditionVariableBroadcast(&shuttle_windows->changed);
}

/* The node's COMMIT may be under way. */
void
shuttle_windows_note_xid(const ShuttleNode *node)
{
	if (own == NULL || node->commit.window_part == 0 || !shuttle_window_is_alone(own))
		return;
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	own->parts[0].xid = node->commit.xid;
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
}

/* True if nothing is known to be left of the node's part. */
static bool
part_is_over(const ShuttleNode *node)
{
	return node->commit.part != COMMIT_PREPARED_FIRST || node->commit.finished ||
		node->commit.finish_missing;
}

static bool
all_acknowledged(const Window *window)
{
	uint32		all = window->nparts >= SHUTTLE_MOST_PARTS ? (UINT32_C(1) << SHUTTLE_MOST_PARTS) - 1 :
		(UINT32_C(1) << window->nparts) - 1;

	return (pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &window->acknowledged)) & all) == all;
}

/* Without room for what is in doubt, readers have its servers recovered first. */
static void
leave_doubtful(Window *window, bool has_room)
{
	dlist_iter	iter;

	window->returned = shuttle_windows_tick();
	if (has_room)
		return;
	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.window_part > 0)
			forget_recovered(node->key.serverid);
	}
	shuttle_windows_free(window);
}

void
shuttle_windows_close(void)
{
	bool		all_over = true;
	dlist_iter	iter;

	if (own == NULL || own_stays)
		return;
	dlist_foreach(iter, &shuttle_nodes)
	{
		const ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);

		if (node->commit.window_part == 0)
			continue;
		if (part_is_over(node))
			acknowledge(own, node->commit.window_part);
		else
			all_over = false;
	}
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	if (all_over)
	{
		own->returned = shuttle_windows_tick();
		shuttle_windows_end(own);
	}
	else
		leave_doubtful(own, own->nparts <= SHUTTLE_MOST_PARTS &&
					   ndoubtful() < SHUTTLE_MOST_DOUBTFUL);
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
	own = NULL;
}

void
shuttle_windows_close_prepared(const ShuttlePreparedPart *parts, int nparts)
{
	bool		all_over = true;
	bool		has_room;

	if (own == NULL)
		return;
	for (int i = 0; i < nparts; i++)
	{
		if (parts[i].over)
			acknowledge(own, i + 1);
		else
			all_over = false;
	}
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	has_room = nparts <= SHUTTLE_MOST_PARTS && ndoubtful() < SHUTTLE_MOST_DOUBTFUL;
	own->returned = shuttle_windows_tick();
	if (all_over)
		shuttle_windows_end(own);
	else if (!has_room)
	{
		for (int i = 0; i < nparts; i++)
			forget_recovered(parts[i].serverid);
		shuttle_windows_free(own);
	}
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
	own = NULL;
}

static int
ndoubtful(void)
{
	int			n = 0;

	for (int i = 0; i < shuttle_windows->nactive; i++)
		n += shuttle_windows->slots[shuttle_windows->active[i]].returned != 0;
	return n;
}

/* The session ends. A transaction that has not committed is aborted later. */
static void
leave_at_exit(int code, Datum arg)
{
	shuttle_windows_lower_fence();
	if (own != NULL && own_committed)
	{
		LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
		own->returned = shuttle_windows_tick();
		LWLockRelease(shuttle_windows->lock);
		own = NULL;
	}
}

/* ---- recovery */

static bool
is_listed(uint64 fxid, const uint64 *held, int nheld)
{
	for (int i = 0; i < nheld; i++)
	{
		if (held[i] == fxid)
			return true;
	}
	return false;
}

/* A part that was prepared when the window opened, and is not any more, is visible. */
static void
acknowledge_server(Window *window, Oid serverid)
{
	for (int i = 0; i < Min(window->nparts, SHUTTLE_MOST_PARTS); i++)
	{
		if (window->parts[i].serverid == serverid)
			acknowledge(window, i + 1);
	}
	if (all_acknowledged(window))
		shuttle_windows_end(window);
}

void
shuttle_windows_reconcile(Oid serverid, uint64 asked_at, const uint64 *held, int nheld)
{
	if (shuttle_windows == NULL)
		return;
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	for (int i = shuttle_windows->nactive - 1; i >= 0; i--)
	{
		Window	   *window = &shuttle_windows->slots[shuttle_windows->active[i]];

		if (window->returned != 0 && window->returned != SHUTTLE_NOT_TOLD && window->start <= asked_at &&
			window->database == MyDatabaseId && !is_listed(window->fxid, held, nheld))
			acknowledge_server(window, serverid);
	}
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
}

/* The lock is held. */
static WindowServer *
find_recovered(Oid serverid)
{
	for (int i = 0; i < shuttle_windows->nrecovered; i++)
	{
		WindowServer *server = &shuttle_windows->recovered[i];

		if (server->serverid == serverid && server->database == MyDatabaseId)
			return server;
	}
	return NULL;
}

static void
forget_recovered(Oid serverid)
{
	WindowServer *server = find_recovered(serverid);

	if (server != NULL)
		memset(server, 0, sizeof(WindowServer));
}

bool
shuttle_windows_is_recovered(const ShuttleNode *node, uint64 at)
{
	const WindowServer *server;
	bool		is_recovered;

	LWLockAcquire(shuttle_windows->lock, LW_SHARED);
	server = find_recovered(node->key.serverid);
	is_recovered = server != NULL && server->timeline == node->epoch.timeline &&
		server->noted_at <= at;
	LWLockRelease(shuttle_windows->lock);
	return is_recovered;
}

void
shuttle_windows_note_recovered(const ShuttleNode *node)
{
	WindowServer *server;

	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	server = find_recovered(node->key.serverid);
	if (server == NULL)
	{
		server = &shuttle_windows->recovered[shuttle_windows->next_recovered];
		shuttle_windows->next_recovered = (shuttle_windows->next_recovered + 1) % SHUTTLE_MOST_RECOVERED;
		shuttle_windows->nrecovered = Min(shuttle_windows->nrecovered + 1, SHUTTLE_MOST_RECOVERED);
	}
	if (server->serverid != node->key.serverid)
		server->noted_at = 0;
	server->database = MyDatabaseId;
	server->serverid = node->key.serverid;
	if (server->timeline != node->epoch.timeline || server->noted_at == 0)
		server->noted_at = shuttle_windows_tick();
	server->timeline = node->epoch.timeline;
	LWLockRelease(shuttle_windows->lock);
}

/* ---- the fence */

/* Commits get at least as long as the last fence lasted; the lock is held. */
static long
fence_wait_ms(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (shuttle_windows->fence_owner != 0)
		return 100;
	return shuttle_windows->fence_next <= now ? 0 :
		Max(1, TimestampDifferenceMilliseconds(now, shuttle_windows->fence_next));
}

void
shuttle_windows_raise_fence(void)
{
	uint32		event = shuttle_wait_event(SHUTTLE_WAIT_FENCE);

	register_exit();
	ConditionVariablePrepareToSleep(&shuttle_windows->changed);
	for (;;)
	{
		long		wait_ms;

		LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
		wait_ms = fence_wait_ms();
		if (wait_ms == 0)
		{
			shuttle_windows->fence_owner = MyProcPid;
			shuttle_windows->fence_raised = GetCurrentTimestamp();
		}
		LWLockRelease(shuttle_windows->lock);
		if (wait_ms == 0)
			break;
		(void) ConditionVariableTimedSleep(&shuttle_windows->changed, wait_ms, event);
	}
	ConditionVariableCancelSleep();
}

void
shuttle_windows_lower_fence(void)
{
	TimestampTz now;

	if (shuttle_windows == NULL || shuttle_windows->fence_owner != MyProcPid)
		return;
	now = GetCurrentTimestamp();
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	shuttle_windows->fence_owner = 0;
	shuttle_windows->fence_next = now + (now - shuttle_windows->fence_raised);
	LWLockRelease(shuttle_windows->lock);
	ConditionVariableBroadcast(&shuttle_windows->changed);
}
