/*-------------------------------------------------------------------------
 * beat.c
 *	  Tells standbys that are query nodes that they follow: the launcher commits an
 *	  empty transaction every two seconds, and they know its time when they have
 *	  replayed it (lease.c).
 *
 * It begins when a query node is registered, or when the look at a database after the start of
 * the server has found one, and goes on until the server stops.
 *
 * Memory: a flag in shared memory.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "cluster/commit/workers.h"
#include "cluster/shuttle_cluster.h"

#define BEAT_MS 2000
#define NO_BEAT_MS (3600 * 1000L)

static bool *wanted = NULL;

SHUTTLE_SQL_FUNCTION(shuttle_begin_beat);

void
shuttle_beat_memory_request(void)
{
	RequestAddinShmemSpace(sizeof(bool));
}

void
shuttle_beat_memory_set_up(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	wanted = ShmemInitStruct("pg_shuttle beat", sizeof(bool), &found);
	if (!found)
		*wanted = false;
	LWLockRelease(AddinShmemInitLock);
}

void
shuttle_beat_begin(void)
{
	if (wanted == NULL || *wanted)
		return;
	*wanted = true;
	shuttle_worker_wake_launcher();
}

long
shuttle_beat_if_due(void)
{
	static TimestampTz next = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!*wanted)
		return NO_BEAT_MS;
	if (next <= now)
	{
		StartTransactionCommand();
		(void) GetTopTransactionId();
		CommitTransactionCommand();

		/* an empty transaction's commit is not flushed */
		XLogFlush(XactLastCommitEnd);
		next = TimestampTzPlusMilliseconds(now, BEAT_MS);
	}
	return Max(1, TimestampDifferenceMilliseconds(now, next));
}

/* shuttle.begin_beat() */
Datum
shuttle_begin_beat(PG_FUNCTION_ARGS)
{
	if (wanted == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("query nodes need a background worker of the primary server"),
				 errhint("Set shared_preload_libraries to \"%s\" and restart it.", "pg_shuttle")));
	shuttle_beat_begin();

	/* sessions may know that there are no query nodes */
	CacheInvalidateRelcacheByRelid(shuttle_extension_table(SHUTTLE_TABLE_QUERY_NODE_LEASES));
	PG_RETURN_VOID();
}
