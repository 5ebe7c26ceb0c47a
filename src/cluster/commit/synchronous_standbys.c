/*-------------------------------------------------------------------------
 * synchronous_standbys.c
 *	  Whether this server's synchronous standbys have what it has committed.
 *
 * A commit waits for them, but a cancel or a shutdown ends the wait, and the
 * server then takes the transaction for committed. Nodes must not: a standby
 * that is promoted would not know of it, and roll back what other nodes still
 * have prepared. Nor may they be told to roll back by a server in whose place a standby
 * was promoted, and which does not know of it yet: that standby has later records.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat_session.h"
#include "base/shuttle_wait_events.h"
#include "cluster/commit/commit.h"

#define LOOK_MS 10

bool
shuttle_synchronous_standbys_have(XLogRecPtr lsn)
{
	bool		replicated;

	if (max_wal_senders == 0)
		return true;
	LWLockAcquire(SyncRepLock, LW_SHARED);
	replicated = !shuttle_sync_standbys_defined() ||
		lsn <= WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH];
	LWLockRelease(SyncRepLock);
	return replicated;
}

/*
 * Writes a record that does nothing. Whoever confirms it follows this server now, and
 * has all that was committed before.
 */
static XLogRecPtr
write_nothing(void)
{
	char		nothing = 0;
	XLogRecPtr	lsn;

	XLogBeginInsert();
	XLogRegisterData(&nothing, sizeof(nothing));
	lsn = XLogInsert(RM_XLOG_ID, XLOG_NOOP);
	XLogFlush(lsn);
	return lsn;
}

bool
shuttle_synchronous_standbys_await(int limit_ms)
{
	XLogRecPtr	lsn = max_wal_senders > 0 && shuttle_sync_standbys_defined() ?
		write_nothing() : InvalidXLogRecPtr;
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit_ms);

	while (!shuttle_synchronous_standbys_have(lsn))
	{
		if (GetCurrentTimestamp() >= deadline)
			return false;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_MS,
						 shuttle_wait_event(SHUTTLE_WAIT_RECOVERY));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}
