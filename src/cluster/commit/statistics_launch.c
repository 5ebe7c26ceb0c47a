/*-------------------------------------------------------------------------
 * statistics_launch.c
 *	  When the launcher starts workers that copy statistics of nodes.
 *
 * A session that uses a server of ours enters its database into a table. Every
 * shuttle.statistics_interval the launcher starts a short-lived worker in each
 * of these databases, one at a time, and goes on with its other duties: a
 * permanent connection would block DROP DATABASE. A worker that does not find
 * the extension removes the entry.
 *
 * Memory: a table of fixed size in shared memory. A database that finds it full
 * is entered when another one is gone.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/shuttle_settings.h"
#include "cluster/commit/workers.h"
#include "cluster/shuttle_cluster.h"

#define MOST_DATABASES 1024
#define IDLE_MS (3600 * 1000L)

typedef struct DatabaseTurn
{
	Oid			databaseid;		/* InvalidOid: free entry */
	TimestampTz last;			/* end of its last worker, or its entry */
} DatabaseTurn;

typedef struct StatisticsShared
{
	slock_t		mutex;
	DatabaseTurn databases[MOST_DATABASES];
} StatisticsShared;

static StatisticsShared *shared = NULL;

/* The launcher's: the worker that runs, or NULL. */
static BackgroundWorkerHandle *running = NULL;
static Oid	running_in = InvalidOid;

static DatabaseTurn *find_turn(Oid databaseid);
static void set_turn(Oid databaseid, Oid next_databaseid);
static Oid	take_due(long *wait_ms);
static void start_worker(Oid databaseid);

void
shuttle_statistics_memory_request(void)
{
	RequestAddinShmemSpace(sizeof(StatisticsShared));
}

void
shuttle_statistics_memory_set_up(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("pg_shuttle statistics", sizeof(StatisticsShared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(StatisticsShared));
		SpinLockInit(&shared->mutex);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* ---- what sessions and workers say */

void
shuttle_statistics_want(void)
{
	bool		is_new = false;
	TimestampTz now;

	if (shared == NULL || shuttle_settings.statistics_interval_s == 0)
		return;
	now = GetCurrentTimestamp();
	SpinLockAcquire(&shared->mutex);
	if (find_turn(MyDatabaseId) == NULL)
	{
		DatabaseTurn *turn = find_turn(InvalidOid);

		is_new = turn != NULL;
		if (is_new)
		{
			turn->databaseid = MyDatabaseId;
			turn->last = now;
		}
	}
	SpinLockRelease(&shared->mutex);

	/* it may be in a long sleep */
	if (is_new)
		shuttle_worker_wake_launcher();
}

void
shuttle_statistics_not_wanted(void)
{
	set_turn(MyDatabaseId, InvalidOid);
}

/* The entry of a database, or for InvalidOid a free one; under the mutex. */
static DatabaseTurn *
find_turn(Oid databaseid)
{
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		if (shared->databases[i].databaseid == databaseid)
			return &shared->databases[i];
	}
	return NULL;
}

/* Puts a database off until the interval is over, or frees its entry. */
static void
set_turn(Oid databaseid, Oid next_databaseid)
{
	TimestampTz now = GetCurrentTimestamp();
	DatabaseTurn *turn;

	SpinLockAcquire(&shared->mutex);
	turn = find_turn(databaseid);
	if (turn != NULL)
	{
		turn->databaseid = next_databaseid;
		turn->last = now;
	}
	SpinLockRelease(&shared->mutex);
}

/* ---- what the launcher does */

long
shuttle_statistics_start_due(void)
{
	long		wait_ms;
	Oid			databaseid;
	pid_t		pid;

	if (running != NULL)
	{
		if (GetBackgroundWorkerPid(running, &pid) != BGWH_STOPPED)
			return IDLE_MS;
		pfree(running);
		running = NULL;
		set_turn(running_in, running_in);
	}
	if (shuttle_settings.statistics_interval_s == 0)
		return IDLE_MS;
	databaseid = take_due(&wait_ms);
	if (OidIsValid(databaseid))
	{
		ShuttleDatabaseState state = shuttle_worker_database_state(databaseid);

		set_turn(databaseid, state == SHUTTLE_DATABASE_GONE ? InvalidOid : databaseid);
		if (state == SHUTTLE_DATABASE_OPEN)
			start_worker(databaseid);
	}
	return wait_ms;
}

/* Finds the database that has been due longest, or sets *wait_ms to the time until one
 * is due. */
static Oid
take_due(long *wait_ms)
{
	int64		interval_ms = shuttle_settings.statistics_interval_s * INT64CONST(1000);
	TimestampTz now = GetCurrentTimestamp();
	const DatabaseTurn *oldest = NULL;
	TimestampTz due = 0;
	Oid			databaseid = InvalidOid;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		const DatabaseTurn *turn = &shared->databases[i];

		if (OidIsValid(turn->databaseid) && (oldest == NULL || turn->last < oldest->last))
			oldest = turn;
	}
	if (oldest != NULL)
	{
		due = TimestampTzPlusMilliseconds(oldest->last, interval_ms);
		if (due <= now)
			databaseid = oldest->databaseid;
	}
	SpinLockRelease(&shared->mutex);
	*wait_ms = oldest == NULL ? IDLE_MS :
		Min(IDLE_MS, Max(0, TimestampDifferenceMilliseconds(now, due)));
	return databaseid;
}

static void
start_worker(Oid databaseid)
{
	BackgroundWorker worker = {
		.bgw_name = "pg_shuttle statistics worker",
		.bgw_type = "pg_shuttle statistics worker",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "pg_shuttle",
		.bgw_function_name = "shuttle_statistics_worker_main",
		.bgw_main_arg = ObjectIdGetDatum(databaseid),
		.bgw_notify_pid = MyProcPid,
	};
	MemoryContext old_cxt = MemoryContextSwitchTo(TopMemoryContext);

	if (RegisterDynamicBackgroundWorker(&worker, &running))
		running_in = databaseid;
	else
	{
		running = NULL;
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start a worker to copy statistics"),
				 errhint("Raise max_worker_processes.")));
	}
	MemoryContextSwitchTo(old_cxt);
}
