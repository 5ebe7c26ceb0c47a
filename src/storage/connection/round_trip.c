/*-------------------------------------------------------------------------
 * round_trip.c
 *	  How long a round trip to a server takes, for the planner.
 *
 * It is the shortest of the answers of the last five to ten minutes: longer ones had
 * other causes, and some busy minutes must not change plans. For servers of our wrapper the
 * answers come from pipeline.c, for servers of postgres_fdw from the executor. If the
 * library is preloaded, all sessions add to one figure, in shared memory.
 *
 * After a pause a window of time has to have a few answers before it ends, so that no
 * single answer decides.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"

/* The minimum is over one to two windows of this length, and so many answers. */
#define WINDOW_MS 300000
#define WINDOW_ANSWERS 16

/* A new server replaces another one if there are more. */
#define MOST_SERVERS 256

typedef struct RoundTrip
{
	Oid			database;
	Oid			serverid;		/* invalid: unused */
	TimestampTz began;			/* the current window */
	int64		nanswers;		/* in the current window */
	double		now_ms;			/* shortest in the current window */
	double		before_ms;		/* shortest in the window before */
} RoundTrip;

typedef struct RoundTrips
{
	slock_t		lock;
	RoundTrip	trips[MOST_SERVERS];
} RoundTrips;

static RoundTrips own_trips;
static RoundTrips *shared_trips = NULL; /* NULL: not preloaded */

static RoundTrips *
lock_trips(void)
{
	if (shared_trips == NULL)
		return &own_trips;
	SpinLockAcquire(&shared_trips->lock);
	return shared_trips;
}

static void
unlock_trips(void)
{
	if (shared_trips != NULL)
		SpinLockRelease(&shared_trips->lock);
}

/* The server's entry, or an unused one, or one to be replaced. */
static RoundTrip *
find_trip(RoundTrips *trips, Oid serverid)
{
	for (int i = 0; i < MOST_SERVERS; i++)
	{
		RoundTrip  *trip = &trips->trips[(serverid + i) % MOST_SERVERS];

		if (!OidIsValid(trip->serverid) ||
			(trip->serverid == serverid && trip->database == MyDatabaseId))
			return trip;
	}
	return &trips->trips[serverid % MOST_SERVERS];
}

static bool
is_known(const RoundTrip *trip, Oid serverid)
{
	return trip->serverid == serverid && trip->database == MyDatabaseId && trip->nanswers > 0;
}

static void
start_window(RoundTrip *trip, TimestampTz now, double before_ms, double ms)
{
	trip->began = now;
	trip->nanswers = 0;
	trip->before_ms = before_ms;
	trip->now_ms = ms;
}

void
shuttle_round_trip_add(Oid serverid, double ms)
{
	TimestampTz now = GetCurrentTimestamp();
	RoundTrip  *trip = find_trip(lock_trips(), serverid);

	if (!is_known(trip, serverid))
	{
		trip->database = MyDatabaseId;
		trip->serverid = serverid;
		start_window(trip, now, ms, ms);
	}
	else if (trip->nanswers >= WINDOW_ANSWERS &&
			 TimestampDifferenceExceeds(trip->began, now, WINDOW_MS))
		start_window(trip, now, trip->now_ms, ms);
	trip->nanswers++;
	trip->now_ms = Min(trip->now_ms, ms);
	unlock_trips();
}

double
shuttle_round_trip_ms(Oid serverid)
{
	const RoundTrip *trip = find_trip(lock_trips(), serverid);
	double		ms = is_known(trip, serverid) ? Min(trip->now_ms, trip->before_ms) : -1;

	unlock_trips();
	return ms;
}

double
shuttle_round_trip_of(const ShuttleNode *node)
{
	return Max(shuttle_round_trip_ms(node->key.serverid), node->shown.least_trip_ms);
}

void
shuttle_round_trip_forget(Oid serverid)
{
	RoundTrips *trips = lock_trips();

	for (int i = 0; i < MOST_SERVERS; i++)
	{
		RoundTrip  *trip = &trips->trips[i];

		if (trip->database == MyDatabaseId &&
			(trip->serverid == serverid || !OidIsValid(serverid)))
			trip->nanswers = 0;
	}
	unlock_trips();
}

Size
shuttle_round_trip_memory_size(void)
{
	return MAXALIGN(sizeof(RoundTrips));
}

void
shuttle_round_trip_set_up_memory(void)
{
	bool		found;

	shared_trips = ShmemInitStruct("pg_shuttle round trips", sizeof(RoundTrips), &found);
	if (!found)
	{
		memset(shared_trips, 0, sizeof(RoundTrips));
		SpinLockInit(&shared_trips->lock);
	}
}
