/*-------------------------------------------------------------------------
 * round_trip.c
 *	  How long a round trip to a server takes, for the planner.
 *
 * It is the shortest of the last answers: longer ones had other causes. For
 * servers of our wrapper it comes from the session's connections, for servers
 * of postgres_fdw from the executor. A session without answers uses another
 * session's value, if the library is preloaded and so has shared memory.
 *
 * Memory: values from the executor are in TopMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/hsearch.h"

#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"

/* The minimum is over one to two windows of so many answers. */
#define WINDOW 16

/* Share of change above which other sessions are told. */
#define WORTH_TELLING 0.1

/* Servers in shared memory; a new one replaces the oldest. */
#define MOST_SERVERS 256

/* A server of postgres_fdw. */
typedef struct GuestTrip
{
	Oid			serverid;		/* hash key */
	RoundTrip	trip;
} GuestTrip;

typedef struct SharedTrip
{
	Oid			database;
	Oid			serverid;		/* invalid: unused */
	double		ms;
} SharedTrip;

typedef struct SharedTrips
{
	slock_t		lock;
	int			next;			/* slot for the next new server */
	SharedTrip	trips[MOST_SERVERS];
} SharedTrips;

static HTAB *guest_trips = NULL;
static SharedTrips *shared_trips = NULL;	/* NULL: not preloaded */

/* The server's entry in shared memory, or NULL; the lock is held. */
static SharedTrip *
find_shared(Oid serverid)
{
	for (int i = 0; i < MOST_SERVERS; i++)
	{
		SharedTrip *trip = &shared_trips->trips[i];

		if (trip->serverid == serverid && trip->database == MyDatabaseId)
			return trip;
	}
	return NULL;
}

/* Tells other sessions. Never raises: called while answers are read. */
static void
share(Oid serverid, double ms)
{
	SharedTrip *trip;

	SpinLockAcquire(&shared_trips->lock);
	trip = find_shared(serverid);
	if (trip == NULL)
	{
		trip = &shared_trips->trips[shared_trips->next];
		shared_trips->next = (shared_trips->next + 1) % MOST_SERVERS;
		trip->database = MyDatabaseId;
		trip->serverid = serverid;
	}
	trip->ms = ms;
	SpinLockRelease(&shared_trips->lock);
}

static double
read_shared(Oid serverid)
{
	SharedTrip *trip;
	double		ms = -1;

	SpinLockAcquire(&shared_trips->lock);
	trip = find_shared(serverid);
	if (trip != NULL)
		ms = trip->ms;
	SpinLockRelease(&shared_trips->lock);
	return ms;
}

void
shuttle_round_trip_add(RoundTrip *trip, Oid serverid, double ms)
{
	if (trip->nanswers == 0)
		trip->told_ms = -1;
	if (trip->nanswers % WINDOW == 0)
	{
		trip->before_ms = trip->nanswers == 0 ? ms : trip->now_ms;
		trip->now_ms = ms;
	}
	trip->nanswers++;
	trip->now_ms = Min(trip->now_ms, ms);
	ms = shuttle_round_trip_shortest(trip);
	if (shared_trips != NULL &&
		fabs(ms - trip->told_ms) > WORTH_TELLING * trip->told_ms)
	{
		share(serverid, ms);
		trip->told_ms = ms;
	}
}

double
shuttle_round_trip_shortest(const RoundTrip *trip)
{
	return trip->nanswers == 0 ? -1 : Min(trip->now_ms, trip->before_ms);
}

void
shuttle_round_trip_note(Oid serverid, double ms)
{
	GuestTrip  *guest;
	bool		found;

	if (guest_trips == NULL)
	{
		HASHCTL		control = {0};

		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(GuestTrip);
		guest_trips = hash_create("shuttle round trips", 16, &control,
								  HASH_ELEM | HASH_BLOBS);
	}
	guest = hash_search(guest_trips, &serverid, HASH_ENTER, &found);
	if (!found)
		guest->trip.nanswers = 0;
	shuttle_round_trip_add(&guest->trip, serverid, ms);
}

/* The shortest on the session's connections to a server, or -1. */
static double
read_nodes(Oid serverid)
{
	double		shortest_ms = -1;
	dlist_iter	iter;

	dlist_foreach(iter, &shuttle_nodes)
	{
		ShuttleNode *node = dlist_container(ShuttleNode, link, iter.cur);
		double		ms = shuttle_round_trip_shortest(&node->round_trip);

		if (node->key.serverid == serverid && ms >= 0 &&
			(shortest_ms < 0 || ms < shortest_ms))
			shortest_ms = ms;
	}
	return shortest_ms;
}

double
shuttle_round_trip_ms(Oid serverid)
{
	double		ms = read_nodes(serverid);
	GuestTrip  *guest = NULL;

	if (ms < 0 && guest_trips != NULL)
		guest = hash_search(guest_trips, &serverid, HASH_FIND, NULL);
	if (guest != NULL)
		ms = shuttle_round_trip_shortest(&guest->trip);
	if (ms < 0 && shared_trips != NULL)
		ms = read_shared(serverid);
	return ms;
}

Size
shuttle_round_trip_memory_size(void)
{
	return MAXALIGN(sizeof(SharedTrips));
}

void
shuttle_round_trip_set_up_memory(void)
{
	bool		found;

	shared_trips = ShmemInitStruct("pg_shuttle round trips",
								   sizeof(SharedTrips), &found);
	if (!found)
	{
		memset(shared_trips, 0, sizeof(SharedTrips));
		SpinLockInit(&shared_trips->lock);
	}
}
