/*-------------------------------------------------------------------------
 * server_kind.c
 *	  Which servers can be asked for batches of keys, and how.
 *
 * Planning asks that for each partition of a table, several times over, and
 * each answer takes four look-ups in catalogs and a call of the wrapper's
 * handler.  What was found holds until a server, a wrapper or a function
 * changes: the callback only notes that.
 * Memory: "shuttle servers" below CacheMemoryContext, emptied by a change.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "executor/executor_internal.h"
#include "executor/look_ahead_internal.h"
#include "executor/shuttle_executor.h"

typedef struct KnownServer
{
	Oid			serverid;		/* must be first: the key */
	const ShuttleTransport *transport;
} KnownServer;

static HTAB *known = NULL;
static bool changed = false;

static void
servers_changed(Datum argument, int cache, uint32 hash)
{
	changed = true;
}

/* Begins with nothing known: at first, and after a change. */
static void
forget_servers(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(KnownServer),
	};

	if (known == NULL)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, servers_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, servers_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(PROCOID, servers_changed, (Datum) 0);
	}
	else
		hash_destroy(known);
	known = NULL;
	changed = false;
	control.hcxt = CacheMemoryContext;
	known = hash_create("shuttle servers", 16, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static const ShuttleTransport *
find_transport(Oid serverid)
{
	if (shuttle_foreign_is_ours(GetFdwRoutineByServerId(serverid)))
		return &shuttle_engine_transport;
	if (shuttle_server_is_peer(serverid))
		return &shuttle_guest_transport;
	return NULL;
}

const ShuttleTransport *
shuttle_transport_for(Oid serverid)
{
	KnownServer *server;
	const ShuttleTransport *transport;

	if (known == NULL || changed)
		forget_servers();
	server = hash_search(known, &serverid, HASH_FIND, NULL);
	if (server != NULL)
		return server->transport;

	/* a change that is noticed here is one that may not be in what is found */
	transport = find_transport(serverid);
	server = hash_search(known, &serverid, HASH_ENTER, NULL);
	server->transport = transport;
	return transport;
}

bool
shuttle_server_is_ours(Oid serverid)
{
	return shuttle_transport_for(serverid) == &shuttle_engine_transport;
}

bool
shuttle_can_look_ahead(const FdwRoutine *routine, Oid serverid)
{
	if (routine != NULL && shuttle_foreign_is_ours(routine))
		return true;
	return OidIsValid(serverid) && shuttle_transport_for(serverid) != NULL;
}
