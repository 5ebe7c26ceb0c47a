/*-------------------------------------------------------------------------
 * host_order.c
 *	  Which of a server's hosts to try first.
 *
 * For each server with several hosts this file remembers the one that was taken
 * last and those that did not answer in time. A late host is tried after all
 * others, and once a minute, by one session, at its own place. It stops being
 * late when it answers.
 *
 * All sessions share this if the library is preloaded; else each has its own.
 * Hosts are known by hash values, so that an altered server needs no care.
 *
 * Memory: shared memory, or one chunk of TopMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "storage/connection/host_race.h"

/* Servers that are remembered; a new one replaces the oldest. */
#define MOST_SERVERS 256
#define MOST_LATE 8

#define LATE_MS (60 * 1000)

typedef enum Place
{
	PLACE_GOOD,
	PLACE_LISTED,
	PLACE_LATE
} Place;

typedef struct LateHost
{
	uint32		host;
	TimestampTz until;			/* then it is tried again; 0: unused */
} LateHost;

typedef struct ServerHosts
{
	Oid			database;
	Oid			serverid;		/* invalid: unused */
	uint32		good;			/* the host taken last; 0: none */
	LateHost	late[MOST_LATE];
} ServerHosts;

typedef struct HostMemory
{
	slock_t		lock;
	int			next;			/* slot for the next new server */
	ServerHosts servers[MOST_SERVERS];
} HostMemory;

static HostMemory *memory = NULL;

/* The server's entry, or NULL; the lock is held. */
static ServerHosts *
find_server(Oid serverid)
{
	for (int i = 0; i < MOST_SERVERS; i++)
	{
		ServerHosts *server = &memory->servers[i];

		if (server->serverid == serverid && server->database == MyDatabaseId)
			return server;
	}
	return NULL;
}

static ServerHosts *
enter_server(Oid serverid)
{
	ServerHosts *server = find_server(serverid);

	if (server != NULL)
		return server;
	server = &memory->servers[memory->next];
	memory->next = (memory->next + 1) % MOST_SERVERS;
	memset(server, 0, sizeof(ServerHosts));
	server->database = MyDatabaseId;
	server->serverid = serverid;
	return server;
}

static LateHost *
find_late(ServerHosts *server, uint32 host)
{
	for (int i = 0; i < MOST_LATE; i++)
	{
		if (server->late[i].until != 0 && server->late[i].host == host)
			return &server->late[i];
	}
	return NULL;
}

/* Also gives a late host its turn, once a minute. */
static Place
place_of(ServerHosts *server, uint32 host, bool good_first, TimestampTz now,
		 bool *late)
{
	LateHost   *entry = find_late(server, host);

	*late = entry != NULL;
	if (entry != NULL && now < entry->until)
		return PLACE_LATE;
	if (entry != NULL)
		entry->until = TimestampTzPlusMilliseconds(now, LATE_MS);
	return good_first && host == server->good ? PLACE_GOOD : PLACE_LISTED;
}

/* Without shared memory, makes the session's own. False: out of memory. */
static bool
have_memory(void)
{
	if (memory == NULL)
	{
		memory = MemoryContextAllocExtended(TopMemoryContext, sizeof(HostMemory),
											MCXT_ALLOC_ZERO | MCXT_ALLOC_NO_OOM);
		if (memory != NULL)
			SpinLockInit(&memory->lock);
	}
	return memory != NULL;
}

void
shuttle_host_order(Oid serverid, const uint32 *hosts, int nhosts, bool good_first,
				   int *order, bool *late)
{
	TimestampTz now = GetCurrentTimestamp();
	Place		place[SHUTTLE_MOST_HOSTS];
	ServerHosts *server;

	Assert(nhosts <= SHUTTLE_MOST_HOSTS);
	memset(late, 0, nhosts * sizeof(bool));
	if (!have_memory())
		return;
	SpinLockAcquire(&memory->lock);
	server = find_server(serverid);
	for (int i = 0; i < nhosts; i++)
		place[i] = server == NULL ? PLACE_LISTED :
			place_of(server, hosts[i], good_first, now, &late[i]);
	SpinLockRelease(&memory->lock);

	/* Insertion sort: it is stable, and there are few. */
	for (int i = 1; i < nhosts; i++)
	{
		int			host = order[i];
		int			at = i;

		for (; at > 0 && place[order[at - 1]] > place[host]; at--)
			order[at] = order[at - 1];
		order[at] = host;
	}
}

bool
shuttle_host_order_note_good(Oid serverid, uint32 host)
{
	ServerHosts *server;
	bool		moved;

	if (!have_memory())
		return false;
	SpinLockAcquire(&memory->lock);
	server = enter_server(serverid);
	moved = server->good != 0 && server->good != host;
	server->good = host;
	SpinLockRelease(&memory->lock);
	return moved;
}

void
shuttle_host_order_note_late(Oid serverid, uint32 host, bool late)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LATE_MS);
	ServerHosts *server;
	LateHost   *entry;

	if (!have_memory())
		return;
	SpinLockAcquire(&memory->lock);
	server = late ? enter_server(serverid) : find_server(serverid);
	entry = server == NULL ? NULL : find_late(server, host);

	/* If all places are taken, the last one makes room. */
	for (int i = 0; i < MOST_LATE && late && entry == NULL; i++)
	{
		if (server->late[i].until == 0 || i == MOST_LATE - 1)
			entry = &server->late[i];
	}
	if (entry != NULL)
	{
		entry->host = host;
		entry->until = late ? until : 0;
	}
	SpinLockRelease(&memory->lock);
}

void
shuttle_host_order_note_old(Oid serverid, uint32 host)
{
	ServerHosts *server;

	if (!have_memory())
		return;
	SpinLockAcquire(&memory->lock);
	server = find_server(serverid);
	if (server != NULL && server->good == host)
		server->good = 0;
	SpinLockRelease(&memory->lock);
	shuttle_host_order_note_late(serverid, host, true);
}

Size
shuttle_host_order_memory_size(void)
{
	return MAXALIGN(sizeof(HostMemory));
}

void
shuttle_host_order_set_up_memory(void)
{
	bool		found;

	memory = ShmemInitStruct("pg_shuttle hosts", sizeof(HostMemory), &found);
	if (!found)
	{
		memset(memory, 0, sizeof(HostMemory));
		SpinLockInit(&memory->lock);
	}
}
