/*-------------------------------------------------------------------------
 * barrier.c
 *	  Keeps query nodes that are standbys from writing while definitions
 *	  change here.
 *
 * lease.c says what a standby needs to write. The barrier is an AccessExclusiveLock on
 * the table of leases, held to the end of the transaction, that all registered query nodes have
 * replayed, or that is older than their lease and a second. Standbys that have replayed it write
 * when the transaction has ended, by its definitions: it invalidates the table, so that they
 * know of it before they can lock the table.
 *
 * A query node that is connected and has not replayed it yet, is waited for: a
 * reader there may hold replay up. Without a connection it has only its lease.
 *
 * A new query node writes when it has replayed its row, which waits for those who look for it here:
 * the lock that they keep.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_session.h"
#include "base/shuttle_wait_events.h"
#include "cluster/common/lease.h"
#include "cluster/shuttle_cluster.h"

#define LOOK_EVERY_MS 10
#define CLOCKS_MS 1000			/* so far clocks may differ */
#define LONGEST_WAIT_MS 60000

SHUTTLE_SQL_FUNCTION(shuttle_await_query_nodes);

/* How far a query node has replayed; invalid: it is not connected. */
static XLogRecPtr
replayed_by(const char *name)
{
	ReplicationSlot *slot = SearchNamedReplicationSlot(name, true);
	XLogRecPtr	replayed = InvalidXLogRecPtr;
	pid_t		pid;

	if (slot == NULL || max_wal_senders == 0)
		return InvalidXLogRecPtr;
	pid = shuttle_slot_pid(slot);
	for (int i = 0; pid != 0 && i < max_wal_senders; i++)
	{
		WalSnd	   *sender = &WalSndCtl->walsnds[i];

		SpinLockAcquire(&sender->mutex);
		if (sender->pid == pid)
			replayed = Max(sender->apply, 1);	/* it may not have said
												 * anything yet */
		SpinLockRelease(&sender->mutex);
	}
	return replayed;
}

static void
raise_late(const char *name, int waited_ms)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("query node \"%s\" holds up a change of definitions", name),
			 errdetail("It is connected, and has not replayed the lock of this transaction within %d s.", waited_ms / 1000),
			 errhint("A statement there may be in the way, or replay is paused. Repeat the statement later, or stop the query node.")));
}

static void
warn_of_gone(const char *name)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("query node \"%s\" is not connected", name),
			 errdetail("Each change of definitions waits until its lease is over."),
			 errhint("SELECT shuttle.forget_query_node(%s) if it does not come back.", quote_literal_cstr(name))));
}

/* Waits for one query node. */
static void
await(const ShuttleLease *lease, XLogRecPtr lsn, TimestampTz raised_at)
{
	int			limit_ms = LockTimeout > 0 ? LockTimeout : LONGEST_WAIT_MS;

	for (;;)
	{
		XLogRecPtr	replayed = replayed_by(lease->name);
		int64		waited_ms = (GetCurrentTimestamp() - raised_at) / 1000;

		if (replayed >= lsn)
			return;
		if (replayed == InvalidXLogRecPtr && waited_ms > lease->seconds * INT64CONST(1000) + CLOCKS_MS)
		{
			warn_of_gone(lease->name);
			return;
		}
		if (replayed != InvalidXLogRecPtr && waited_ms > limit_ms)
			raise_late(lease->name, limit_ms);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_EVERY_MS,
						 shuttle_wait_event(SHUTTLE_WAIT_QUERY_NODES));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Locks the table of leases. Returns them; NIL: there are none, and no one can be added before
 * the end of the transaction. */
static List *
lock_leases(Oid relid)
{
	if (shuttle_lease_list() == NIL)
	{
		LockRelationOid(relid, ShareLock);
		if (shuttle_lease_list() == NIL)
			return NIL;
		UnlockRelationOid(relid, ShareLock);
	}
	LockRelationOid(relid, AccessExclusiveLock);
	CacheInvalidateRelcacheByRelid(relid);
	return shuttle_lease_list();
}

void
shuttle_barrier_raise(void)
{
	Oid			relid = RecoveryInProgress() ? InvalidOid : shuttle_extension_table(SHUTTLE_TABLE_QUERY_NODE_LEASES);
	List	   *leases = OidIsValid(relid) ? lock_leases(relid) : NIL;
	TimestampTz raised_at;
	XLogRecPtr	lsn;
	ListCell   *cell;

	if (leases == NIL)
		return;

	/* the lock is in WAL, but not flushed */
	lsn = XactLastRecEnd;
	XLogFlush(lsn);
	raised_at = GetCurrentTimestamp();
	foreach(cell, leases)
		await(lfirst(cell), lsn, raised_at);
}

/* shuttle.await_query_nodes() */
Datum
shuttle_await_query_nodes(PG_FUNCTION_ARGS)
{
	shuttle_barrier_raise();
	PG_RETURN_VOID();
}
