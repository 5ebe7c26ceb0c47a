/*-------------------------------------------------------------------------
 * worker.c
 *	  Background workers: the launcher, and those that finish prepared
 *	  transactions.
 *
 * If the library is in shared_preload_libraries, a launcher process starts
 * with the server, connected to no database. First it has every database
 * looked at, for what a crash left behind; later those in which transactions
 * were prepared, every shuttle.recovery_interval until nothing is left, and at
 * once if something went wrong. Each look is a short-lived worker of its own:
 * a permanent connection would block DROP DATABASE.
 *
 * The launcher's third task is in beat.c.
 *
 * The launcher also starts workers that copy statistics (statistics_launch.c),
 * without waiting for them.
 *
 * ROLLBACK or a crash may overtake a PREPARE that is still on its way, so one
 * clean look proves nothing: such a database is looked at for a minute after
 * all its nodes have answered. If a node does not answer, looks get rarer.
 *
 * Memory: a table of databases of fixed size in shared memory. If it is full,
 * all databases are looked at, one by one as entries get free; until then they
 * are in the launcher's list "waiting".
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/shuttle_settings.h"
#include "base/shuttle_wait_events.h"
#include "cluster/commit/commit.h"
#include "cluster/commit/workers.h"
#include "cluster/common/lease.h"
#include "cluster/shuttle_cluster.h"

#define MOST_DATABASES 1024
#define DOUBT_MS (60 * 1000)
#define MOST_BACKOFF 2			/* in recovery_intervals */
#define MOST_FAILED_BACKOFF 12	/* after looks that failed */
#define IDLE_S 3600

typedef struct DatabaseToLook
{
	Oid			databaseid;		/* InvalidOid: free entry */
	TimestampTz until;			/* looked at until then, even if nothing is
								 * left */
	TimestampTz next;
	int			backoff;		/* intervals to the next look */
	TimestampTz soon;			/* since when it is wanted soon; 0: it is not */
	bool		wanted_again;	/* again since the last look began */
	bool		told;			/* the last look reported its result */
} DatabaseToLook;

typedef struct RecoveryShared
{
	slock_t		mutex;
	Latch	   *latch;			/* the launcher's; or NULL */
	bool		overflow;
	DatabaseToLook databases[MOST_DATABASES];
} RecoveryShared;

static RecoveryShared *shared = NULL;

/* Databases to look at that have no entry in the table yet. */
static List *waiting = NIL;

extern PGDLLEXPORT void shuttle_worker_launcher_main(Datum arg);
extern PGDLLEXPORT void shuttle_worker_look_main(Datum databaseid);

static void want(Oid databaseid, bool soon);
static void want_all(void);
static long look_at_due(void);
static void look_at(Oid databaseid);
static void note_failure(Oid databaseid, bool is_gone);

void
shuttle_worker_register(void)
{
	BackgroundWorker worker = {
		.bgw_name = "pg_shuttle recovery",
		.bgw_type = "pg_shuttle recovery",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = 5,
		.bgw_library_name = "pg_shuttle",
		.bgw_function_name = "shuttle_worker_launcher_main",
	};

	RegisterBackgroundWorker(&worker);
}

void
shuttle_worker_memory_request(void)
{
	RequestAddinShmemSpace(sizeof(RecoveryShared));
}

void
shuttle_worker_memory_set_up(void)
{
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("pg_shuttle recovery", sizeof(RecoveryShared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(RecoveryShared));
		SpinLockInit(&shared->mutex);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* ---- what sessions say */

void
shuttle_worker_wake(bool soon)
{
	if (shared != NULL)
		want(MyDatabaseId, soon);
}

bool
shuttle_worker_is_running(void)
{
	return shared != NULL && shared->latch != NULL &&
		shuttle_settings.recovery_interval_s > 0;
}

/* Runs after commits: neither allocates nor raises. */
static void
want(Oid databaseid, bool soon)
{
	TimestampTz now = GetCurrentTimestamp();
	DatabaseToLook *place = NULL;
	bool		is_new = false;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		DatabaseToLook *candidate = &shared->databases[i];

		if (candidate->databaseid == databaseid)
		{
			place = candidate;
			break;
		}
		if (place == NULL && !OidIsValid(candidate->databaseid))
			place = candidate;
	}
	if (place == NULL)
		shared->overflow = true;
	else
	{
		if (place->databaseid != databaseid)
		{
			memset(place, 0, sizeof(DatabaseToLook));
			place->databaseid = databaseid;
			place->told = true;
			is_new = true;
			place->next = TimestampTzPlusMilliseconds(now,
													  shuttle_settings.recovery_interval_s * INT64CONST(1000));
		}
		place->wanted_again = true;
		if (soon)
		{
			if (place->soon == 0)
				place->soon = now;
			place->until = TimestampTzPlusMilliseconds(now, DOUBT_MS);
		}
	}
	SpinLockRelease(&shared->mutex);

	/* the launcher may be in a long sleep */
	if (soon || is_new)
		shuttle_worker_wake_launcher();
}

void
shuttle_worker_wake_launcher(void)
{
	Latch	   *latch;

	SpinLockAcquire(&shared->mutex);
	latch = shared->latch;
	SpinLockRelease(&shared->mutex);
	if (latch != NULL)
		SetLatch(latch);
}

/* ---- the process that starts workers */

/* A normal stop is no error. With exit code 1 the server starts the launcher
 * again if only the launcher was asked to end. */
static void
end_if_asked(void)
{
	if (ProcDiePending)
		proc_exit(1);
	CHECK_FOR_INTERRUPTS();
}

static void
forget_latch(int code, Datum arg)
{
	SpinLockAcquire(&shared->mutex);
	shared->latch = NULL;
	SpinLockRelease(&shared->mutex);
}

void
shuttle_worker_launcher_main(Datum arg)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	before_shmem_exit(forget_latch, (Datum) 0);
	SpinLockAcquire(&shared->mutex);
	shared->latch = MyLatch;
	SpinLockRelease(&shared->mutex);
	want_all();
	for (;;)
	{
		long		wait_ms = shuttle_settings.recovery_interval_s == 0 ?
			IDLE_S * 1000L : look_at_due();

		wait_ms = Min(wait_ms, shuttle_statistics_start_due());
		wait_ms = Min(wait_ms, shuttle_beat_if_due());
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 wait_ms, shuttle_wait_event(SHUTTLE_WAIT_RECOVERY));
		ResetLatch(MyLatch);
		end_if_asked();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

/* Calls a function for each database. */
static void
scan_databases(void (*take) (Form_pg_database form, void *arg), void *arg)
{
	Relation	catalog;
	TableScanDesc scan;
	HeapTuple	tuple;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	catalog = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(catalog, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
		take((Form_pg_database) GETSTRUCT(tuple), arg);
	table_endscan(scan);
	table_close(catalog, AccessShareLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
}

static void
want_open(Form_pg_database form, void *arg)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(TopMemoryContext);

	if (form->datallowconn && !form->datistemplate)
		waiting = lappend_oid(waiting, form->oid);
	MemoryContextSwitchTo(old_cxt);
}

/* Requests a look at all databases that allow connections. */
static void
want_all(void)
{
	scan_databases(want_open, NULL);
}

static bool
has_room(void)
{
	bool		found = false;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES && !found; i++)
		found = !OidIsValid(shared->databases[i].databaseid);
	SpinLockRelease(&shared->mutex);
	return found;
}

static void
give_places(void)
{
	while (waiting != NIL && has_room())
	{
		want(linitial_oid(waiting), true);
		waiting = list_delete_first(waiting);
	}
}

typedef struct WantedState
{
	Oid			databaseid;
	ShuttleDatabaseState state;
} WantedState;

static void
take_state(Form_pg_database form, void *arg)
{
	WantedState *wanted = arg;

	if (form->oid == wanted->databaseid)
		wanted->state = form->datallowconn ? SHUTTLE_DATABASE_OPEN : SHUTTLE_DATABASE_CLOSED;
}

ShuttleDatabaseState
shuttle_worker_database_state(Oid databaseid)
{
	WantedState wanted = {.databaseid = databaseid,.state = SHUTTLE_DATABASE_GONE};

	scan_databases(take_state, &wanted);
	return wanted.state;
}

/* The interval begins at the end of a look: a look may take longer than the
 * interval, and blocks DROP DATABASE meanwhile. */
static void
put_off(DatabaseToLook *place, TimestampTz now)
{
	place->next = TimestampTzPlusMilliseconds(now, shuttle_settings.recovery_interval_s *
											  INT64CONST(1000) * place->backoff);
}

static TimestampTz
due_since(const DatabaseToLook *place)
{
	return place->soon != 0 ? Min(place->soon, place->next) : place->next;
}

/* Takes the database that has been due longest, or sets *wait_ms to the time until one
 * is due. */
static Oid
take_due(long *wait_ms)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = TimestampTzPlusMilliseconds(now, IDLE_S * INT64CONST(1000));
	DatabaseToLook *oldest = NULL;
	Oid			databaseid = InvalidOid;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		DatabaseToLook *place = &shared->databases[i];

		if (!OidIsValid(place->databaseid) || due_since(place) >= next)
			continue;
		oldest = place;
		next = due_since(place);
	}
	if (oldest != NULL && next <= now)
	{
		databaseid = oldest->databaseid;
		oldest->told = false;
		oldest->soon = 0;
		oldest->wanted_again = false;
		oldest->backoff = Max(oldest->backoff, 1);
		put_off(oldest, now);
	}
	SpinLockRelease(&shared->mutex);
	*wait_ms = Max(1, TimestampDifferenceMilliseconds(now, next));
	return databaseid;
}

/* Looks at one database that is due. Returns how long none is. */
static long
look_at_due(void)
{
	long		wait_ms;
	Oid			databaseid;

	give_places();
	databaseid = take_due(&wait_ms);
	if (OidIsValid(databaseid))
	{
		ShuttleDatabaseState state = shuttle_worker_database_state(databaseid);

		if (state == SHUTTLE_DATABASE_OPEN)
			look_at(databaseid);
		note_failure(databaseid, state == SHUTTLE_DATABASE_GONE);
		return 0;
	}
	if (shared->overflow && waiting == NIL)
	{
		shared->overflow = false;
		want_all();
		return 0;
	}
	return wait_ms;
}

/* WaitForBackgroundWorkerShutdown() would end the launcher by FATAL. */
static void
await_worker(BackgroundWorkerHandle *handle)
{
	pid_t		pid;

	for (;;)
	{
		end_if_asked();
		if (GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED)
			return;
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, shuttle_beat_if_due(),
						 shuttle_wait_event(SHUTTLE_WAIT_RECOVERY));
		ResetLatch(MyLatch);
	}
}

/* Starts a worker and waits for its end. If none can start, the next turn tries
 * again. */
static void
look_at(Oid databaseid)
{
	BackgroundWorker worker = {
		.bgw_name = "pg_shuttle recovery worker",
		.bgw_type = "pg_shuttle recovery worker",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "pg_shuttle",
		.bgw_function_name = "shuttle_worker_look_main",
		.bgw_main_arg = ObjectIdGetDatum(databaseid),
		.bgw_notify_pid = MyProcPid,
	};
	BackgroundWorkerHandle *handle;

	if (RegisterDynamicBackgroundWorker(&worker, &handle))
	{
		await_worker(handle);
		pfree(handle);
	}
	else
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start a worker to finish prepared transactions"),
				 errhint("Raise max_worker_processes.")));
}

/* After a look without a result, or if the database allows no connections, the
 * next look comes later each time. */
static void
note_failure(Oid databaseid, bool is_gone)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		DatabaseToLook *place = &shared->databases[i];

		if (place->databaseid != databaseid || place->told)
			continue;
		place->backoff = Min(2 * place->backoff, MOST_FAILED_BACKOFF);
		put_off(place, now);
		if (is_gone)
			place->databaseid = InvalidOid;
	}
	SpinLockRelease(&shared->mutex);
}

/* ---- a look at one database */

/*
 * Settings of the database or role must not end a look, nor make it wait for
 * standbys or other transactions. Removing a record need not be durable: it
 * would be removed again.
 */
void
shuttle_worker_keep_settings_out(void)
{
	static const char *const settings[][2] = {
		{"transaction_timeout", "0"},
		{"statement_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		{"lock_timeout", "10s"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"synchronous_commit", "off"},
	};

	for (int i = 0; i < lengthof(settings); i++)
	{
		/* transaction_timeout is new in 17 */
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	}
}

/* Reports a look's result. A database with nothing left is removed. */
static void
tell_result(Oid databaseid, bool here, bool left)
{
	TimestampTz now = GetCurrentTimestamp();

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MOST_DATABASES; i++)
	{
		DatabaseToLook *place = &shared->databases[i];

		if (place->databaseid != databaseid)
			continue;
		place->told = true;
		if (left)
		{
			place->until = TimestampTzPlusMilliseconds(now, DOUBT_MS);
			put_off(place, now);
		}
		place->backoff = left ? Min(2 * Max(place->backoff, 1), MOST_BACKOFF) : 1;
		if (!here || (!left && !place->wanted_again && place->until <= now))
			place->databaseid = InvalidOid;
	}
	SpinLockRelease(&shared->mutex);
}

static void
log_finished(List *nodes)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		const RecoveryNode *node = lfirst(cell);

		if (node->ncommitted + node->nrolled_back > 0)
			ereport(LOG,
					(errmsg("recovery on storage node \"%s\" committed %d and rolled back %d prepared transactions",
							node->name, node->ncommitted, node->nrolled_back)));
	}
}

void
shuttle_worker_look_main(Datum databaseid)
{
	bool		left = false;
	bool		here;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(databaseid), InvalidOid, 0);
	shuttle_worker_keep_settings_out();

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	pgstat_report_activity(STATE_RUNNING, "finishing prepared transactions");
	here = OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_IDENTITY));
	if (here)
	{
		List	   *nodes = shuttle_recovery_nodes();

		if (shuttle_lease_list() != NIL)
			shuttle_beat_begin();
		left = shuttle_recovery_run(nodes, SHUTTLE_RECOVERY_WAIT_MS);
		log_finished(nodes);
	}
	CommitTransactionCommand();
	pgstat_report_stat(true);
	tell_result(DatumGetObjectId(databaseid), here, left);
}
