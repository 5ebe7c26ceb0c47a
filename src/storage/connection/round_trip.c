/*-------------------------------------------------------------------------
 * round_trip.c
 *	  How long a round trip to a server takes, for the planner.
 *
 * It is the shortest of the last answers: what is longer had other reasons.
 * A session knows it from its own, for servers of our wrapper from each node's
 * connection, for stock ones from what the executor tells.  One that has no
 * answer yet takes what another session has found, where the library was
 * preloaded and so has shared memory.
 * Memory: what the executor tells lives in TopMemoryContext.
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

/* Answers after which the shortest is looked for anew. */
#define WINDOW 16

/* Others are told of a change by more than this part. */
#define WORTH_TELLING 0.1

/* Servers that sessions tell each other of; the oldest gives way. */
#define MOST_SERVERS 256

/* A server of stock postgres_fdw. */
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
	int			next;			/* to be used for a new server */
	SharedTrip	trips[MOST_SERVERS];
} SharedTrips;

static HTAB *guest_trips = NULL;
static SharedTrips *shared_trips = NULL;	/* NULL: not preloaded */

/* The entry of a server in shared memory, or NULL; the lock is held. */
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

/* Tells other sessions.  Never raises: called while connections are pumped. */
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

/* The shortest of the session's connections to a server, or -1. */
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
