/*-------------------------------------------------------------------------
 * windows_alone.c
 *	  Windows of commits with a single part, which only reads that are ordered need.
 *
 * A commit on one node, or here alone, cannot be seen in part. But two reads can see two
 * of them in different orders, so reads that are ordered with all commits need
 * windows for them, too: strict ones, and REPEATABLE READ transactions. Nobody else pays for
 * that: such commits have windows from the first such read on, until there was none for
 * some time.
 *
 * Why none is missed: who commits sets its mark (alone), and then looks whether windows are
 * wanted. Who reads says that they are, and then waits until no mark of before is
 * left. Only then alone_since is set, and only snapshots that are taken behind that
 * count. Local ones are taken before we could look at the clock, so
 * what counts is alone_since at the end of the transaction before, or at BEGIN.
 *
 * Memory: in that of windows.c.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "storage/transaction/windows.h"

/* Commits have windows for so long after the last read that is ordered. */
#define KEPT_MS (10 * 60 * 1000)

#define LOOK_AGAIN_MS 2

static uint64 alone_before = 0;

static pg_atomic_uint32 *
own_mark(void)
{
	return &shuttle_windows->alone[MyProc - ProcGlobal->allProcs];
}

bool
shuttle_windows_want_xid(void)
{
	return shuttle_windows != NULL && pg_atomic_read_u32(&shuttle_windows->alone_wanted) != 0;
}

static bool
is_unused(void)
{
	return TimestampDifferenceExceeds(shuttle_windows->alone_used_at, GetCurrentTimestamp(), KEPT_MS);
}

static void
stop_if_unused(void)
{
	if (!is_unused())
		return;
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	if (is_unused())
	{
		pg_atomic_write_u64(&shuttle_windows->alone_since, 0);
		pg_atomic_write_u32(&shuttle_windows->alone_wanted, 0);
		for (int i = shuttle_windows->nactive - 1; i >= 0; i--)
		{
			Window	   *window = &shuttle_windows->slots[shuttle_windows->active[i]];

			if (window->returned == SHUTTLE_NOT_TOLD)
				shuttle_windows_free(window);
		}
	}
	LWLockRelease(shuttle_windows->lock);
}

bool
shuttle_windows_follow_alone(void)
{
	if (shuttle_windows == NULL || IsParallelWorker())
		return false;
	if (shuttle_windows_want_xid())
		stop_if_unused();
	pg_atomic_write_u32(own_mark(), 1);
	pg_memory_barrier();
	if (!shuttle_windows_want_xid())
		return false;
	pg_atomic_write_u32(own_mark(), 0);
	return true;
}

void
shuttle_windows_end_alone(void)
{
	if (shuttle_windows == NULL || MyProc == NULL || IsParallelWorker())
		return;
	if (pg_atomic_read_u32(own_mark()) != 0)
		pg_atomic_write_u32(own_mark(), 0);
	alone_before = pg_atomic_read_u64(&shuttle_windows->alone_since);
}

/* A transaction that has taken no snapshot knows more than the one before it. */
void
shuttle_windows_begin_transaction(void)
{
	if (shuttle_windows != NULL && !FirstSnapshotSet)
		alone_before = pg_atomic_read_u64(&shuttle_windows->alone_since);
}

uint64
shuttle_windows_alone_before(void)
{
	return alone_before;
}

/* Waits for one that is under way without a window. */
static void
await(pg_atomic_uint32 *mark, TimestampTz deadline)
{
	while (pg_atomic_read_u32(mark) != 0)
	{
		if (GetCurrentTimestamp() >= deadline)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not read in the order of commits"),
					 errdetail("A commit that was under way before the first such read has not ended."),
					 errhint("Repeat the transaction.")));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_AGAIN_MS, shuttle_wait_event(SHUTTLE_WAIT_WINDOW));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

void
shuttle_windows_want_alone(void)
{
	TimestampTz deadline;

	if (pg_atomic_read_u64(&shuttle_windows->alone_since) != 0)
		return;
	deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), shuttle_settings.commit_wait_ms);
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	pg_atomic_write_u32(&shuttle_windows->alone_wanted, 1);
	shuttle_windows->alone_used_at = GetCurrentTimestamp();
	LWLockRelease(shuttle_windows->lock);
	for (int i = 0; i < MaxBackends; i++)
	{
		if (&shuttle_windows->alone[i] != own_mark())
			await(&shuttle_windows->alone[i], deadline);
	}
	LWLockAcquire(shuttle_windows->lock, LW_EXCLUSIVE);
	if (pg_atomic_read_u32(&shuttle_windows->alone_wanted) != 0 &&
		pg_atomic_read_u64(&shuttle_windows->alone_since) == 0)
	{
		pg_atomic_write_u32(&shuttle_windows->any_here, 1);
		pg_atomic_write_u64(&shuttle_windows->alone_since, shuttle_windows_tick());
	}
	LWLockRelease(shuttle_windows->lock);
}
