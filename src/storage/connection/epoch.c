/*-------------------------------------------------------------------------
 * epoch.c
 *	  Notices connections to a server that is no longer the node's primary.
 *
 * A promotion begins a new timeline. A primary that was frozen, or cut off,
 * while its standby was promoted does not know: it answers with old rows on
 * connections that still work. So a new connection asks for the server's
 * system identifier and timeline, and this file keeps the highest timeline of
 * each server. A session on an older one leaves it:
 *
 * - at its next transaction, unseen by the user (transaction.c);
 * - while it waits for an answer, by looking once a second (wait.c);
 * - a new connection at once, before an answer is used (pipeline.c).
 *
 * Another system identifier means that the node was replaced: the newest
 * connection is right, since nothing says which one is newer. So nobody is
 * locked out. A lower timeline of the same system is refused until somebody
 * alters the hosts of the server, or calls shuttle.forget_epoch().
 *
 * Only servers that ask for a primary (target_session_attrs) are followed, and
 * not through a pooler, where a connection has no server of its own.
 *
 * All sessions share this if the library is preloaded; else each has its own.
 *
 * Memory: shared memory, or one chunk of TopMemoryContext.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "storage/connection/connection.h"
#include "storage/connection/epoch.h"
#include "storage/shuttle_node_control.h"

/* Servers that are remembered; a new one replaces the oldest. */
#define MOST_SERVERS 256

typedef struct ServerEpoch
{
	Oid			database;
	Oid			serverid;		/* invalid: unused */
	uint32		hosts;			/* as in NodeEpoch */
	uint32		timeline;
	uint64		system_identifier;
	char		address[128];
} ServerEpoch;

typedef struct EpochMemory
{
	slock_t		lock;
	int			next;			/* slot for the next new server */
	pg_atomic_uint64 nchanges;	/* changes with every value below */
	ServerEpoch servers[MOST_SERVERS];
} EpochMemory;

bool		shuttle_epoch_news = false;

static EpochMemory *memory = NULL;

static void
clear(EpochMemory *new)
{
	memset(new, 0, sizeof(EpochMemory));
	SpinLockInit(&new->lock);
	pg_atomic_init_u64(&new->nchanges, 1);
}

/* Without shared memory, makes the session's own. False: out of memory. */
static bool
have_memory(void)
{
	if (memory == NULL)
	{
		memory = MemoryContextAllocExtended(TopMemoryContext, sizeof(EpochMemory),
											MCXT_ALLOC_NO_OOM);
		if (memory != NULL)
			clear(memory);
	}
	return memory != NULL;
}

/* The server's entry, or NULL; the lock is held. */
static ServerEpoch *
find_server(Oid serverid)
{
	for (int i = 0; i < MOST_SERVERS; i++)
	{
		ServerEpoch *server = &memory->servers[i];

		if (server->serverid == serverid && server->database == MyDatabaseId)
			return server;
	}
	return NULL;
}

static ServerEpoch *
add_server(Oid serverid)
{
	ServerEpoch *server = &memory->servers[memory->next];

	memory->next = (memory->next + 1) % MOST_SERVERS;
	memset(server, 0, sizeof(ServerEpoch));
	server->database = MyDatabaseId;
	server->serverid = serverid;
	return server;
}

void
shuttle_epoch_begin(ShuttleNode *node, uint32 hosts)
{
	memset(&node->epoch, 0, sizeof(NodeEpoch));
	node->epoch.hosts = hosts;
}

/* How the entry and a connection differ. */
static EpochNews
compare(const ServerEpoch *server, const ShuttleNode *node)
{
	const NodeEpoch *epoch = &node->epoch;

	if (server->system_identifier != epoch->system_identifier)
		return EPOCH_REPLACED;
	return server->timeline != epoch->timeline ||
		strcmp(server->address, node->shown.address) != 0 ? EPOCH_MOVED : EPOCH_NO_NEWS;
}

/* Adds a primary to the memory. Returns false if it is an old one. */
static bool
note(ShuttleNode *node)
{
	NodeEpoch  *epoch = &node->epoch;
	ServerEpoch *server;
	bool		is_old = false;

	SpinLockAcquire(&memory->lock);
	server = find_server(node->key.serverid);

	/* With other hosts the server is another one. */
	if (server == NULL)
		server = add_server(node->key.serverid);
	else if (server->hosts == epoch->hosts)
	{
		is_old = server->system_identifier == epoch->system_identifier &&
			server->timeline > epoch->timeline;
		epoch->news = is_old ? EPOCH_NO_NEWS : compare(server, node);
		epoch->timeline_before = server->timeline;
		strlcpy(epoch->address_before, server->address, sizeof(epoch->address_before));
	}
	if (!is_old)
	{
		if (server->hosts != epoch->hosts || epoch->news != EPOCH_NO_NEWS)
			pg_atomic_fetch_add_u64(&memory->nchanges, 1);
		server->hosts = epoch->hosts;
		server->timeline = epoch->timeline;
		server->system_identifier = epoch->system_identifier;
		strlcpy(server->address, node->shown.address, sizeof(server->address));
	}
	epoch->compared_at = pg_atomic_read_u64(&memory->nchanges);
	SpinLockRelease(&memory->lock);
	epoch->is_old = is_old;
	return !is_old;
}

bool
shuttle_epoch_take(ShuttleNode *node, const PGresult *result)
{
	NodeEpoch  *epoch = &node->epoch;
	char		timeline[9];

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1 ||
		PQnfields(result) != 2)
		return true;
	epoch->asked = true;
	epoch->is_standby = PQgetlength(result, 0, 1) == 0;
	epoch->system_identifier = strtoull(PQgetvalue(result, 0, 0), NULL, 10);

	/* The name of a WAL file begins with eight digits of the timeline. */
	strlcpy(timeline, PQgetvalue(result, 0, 1), sizeof(timeline));
	epoch->timeline = strtoul(timeline, NULL, 16);
	if (epoch->hosts == 0 || epoch->timeline == 0 || !have_memory())
		return true;
	if (!note(node))
		return false;
	shuttle_epoch_news |= epoch->news != EPOCH_NO_NEWS;
	return true;
}

bool
shuttle_epoch_is_old(ShuttleNode *node)
{
	NodeEpoch  *epoch = &node->epoch;
	const ServerEpoch *server;
	uint64		now;

	if (epoch->timeline == 0 || epoch->hosts == 0 || memory == NULL)
		return false;
	now = pg_atomic_read_u64(&memory->nchanges);
	if (now == epoch->compared_at)
		return epoch->is_old;
	SpinLockAcquire(&memory->lock);
	server = find_server(node->key.serverid);
	epoch->is_old = server != NULL && server->hosts == epoch->hosts &&
		(server->system_identifier != epoch->system_identifier ||
		 server->timeline > epoch->timeline);
	SpinLockRelease(&memory->lock);
	epoch->compared_at = now;
	return epoch->is_old;
}

void
shuttle_epoch_explain(const ShuttleNode *node, char *to, int room)
{
	ServerEpoch known = {0};
	const ServerEpoch *server;

	SpinLockAcquire(&memory->lock);
	server = find_server(node->key.serverid);
	if (server != NULL)
		known = *server;
	SpinLockRelease(&memory->lock);
	if (known.system_identifier == node->epoch.system_identifier)
		snprintf(to, room, "The server at %s is not the primary any more: it is on timeline %u, and the node on timeline %u, last seen at %s.",
				 node->shown.address, node->epoch.timeline, known.timeline, known.address);
	else
		snprintf(to, room, "The server at %s is not the node any more: another system was last seen at %s.",
				 node->shown.address, known.address);
}

void
shuttle_epoch_log(ShuttleNode *node)
{
	NodeEpoch  *epoch = &node->epoch;
	EpochNews	news = epoch->news;

	epoch->news = EPOCH_NO_NEWS;
	if (news == EPOCH_MOVED)
		ereport(LOG,
				(errmsg("storage node \"%s\" is at %s, timeline %u, before: %s, timeline %u",
						node->name, node->shown.address, epoch->timeline,
						epoch->address_before, epoch->timeline_before)));
	else if (news == EPOCH_REPLACED)
		ereport(LOG,
				(errmsg("storage node \"%s\" at %s, timeline %u, is another system than before: %s, timeline %u",
						node->name, node->shown.address, epoch->timeline,
						epoch->address_before, epoch->timeline_before),
				 errdetail("Its system identifier has changed."),
				 errhint("If the node was not replaced, correct the hosts of the server: they belong to different clusters.")));
}

void
shuttle_epoch_log_all(void)
{
	dlist_iter	iter;

	shuttle_epoch_news = false;
	dlist_foreach(iter, &shuttle_nodes)
		shuttle_epoch_log(dlist_container(ShuttleNode, link, iter.cur));
}

void
shuttle_epoch_forget(Oid serverid)
{
	ServerEpoch *server;

	if (!have_memory())
		return;
	SpinLockAcquire(&memory->lock);
	server = find_server(serverid);
	if (server != NULL)
		server->serverid = InvalidOid;
	pg_atomic_fetch_add_u64(&memory->nchanges, 1);
	SpinLockRelease(&memory->lock);
}

Size
shuttle_epoch_memory_size(void)
{
	return MAXALIGN(sizeof(EpochMemory));
}

void
shuttle_epoch_set_up_memory(void)
{
	bool		found;

	memory = ShmemInitStruct("pg_shuttle epochs", sizeof(EpochMemory), &found);
	if (!found)
		clear(memory);
}
