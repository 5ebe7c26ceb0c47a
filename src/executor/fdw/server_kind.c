/*-------------------------------------------------------------------------
 * server_kind.c
 *	  Which servers can be asked for batches of keys, and by which
 *	  transport.
 *
 * Planning asks this several times per partition, and each answer takes four
 * catalog look-ups and a call of the handler. Answers are cached until a
 * server, wrapper or function changes; the callback only sets a flag.
 *
 * Memory: "shuttle servers" in CacheMemoryContext, emptied after a change.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "executor/fdw/fdw.h"
#include "executor/fdw/scan_text.h"
#include "executor/join/transport.h"
#include "executor/shuttle_executor.h"

typedef struct KnownServer
{
	Oid			serverid;		/* must be first: the key */
	bool		is_postgres_fdw;	/* uses postgres_fdw's handler */
	bool		has_transport;	/* transport is known */
	const ShuttleTransport *transport;
} KnownServer;

static HTAB *known = NULL;
static bool changed = false;

static void
servers_changed(Datum argument, int cache, uint32 hash)
{
	changed = true;
}

/* Empties the cache, at first use and after a change. */
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

/* Compares the handler's symbol, so that postgres_fdw's library is not loaded
 * for other wrappers' tables. */
static bool
uses_postgres_fdw_handler(Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);
	Oid			handler = GetForeignDataWrapper(server->fdwid)->fdwhandler;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(handler));
	Datum symbol;
	bool		isnull;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	symbol = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

	result = !isnull && strcmp(TextDatumGetCString(symbol), SHUTTLE_POSTGRES_FDW_HANDLER) == 0;
	ReleaseSysCache(tuple);
	return result;
}

static KnownServer *
find_server(Oid serverid)
{
	KnownServer *server;
	bool		is_postgres_fdw;

	if (known == NULL || changed)
		forget_servers();
	server = hash_search(known, &serverid, HASH_FIND, NULL);
	if (server != NULL)
		return server;

	/*
	 * reading the catalogs may process invalidations: a change noticed now
	 * may be missing in what we read
	 */
	is_postgres_fdw = uses_postgres_fdw_handler(serverid);
	server = hash_search(known, &serverid, HASH_ENTER, NULL);
	server->is_postgres_fdw = is_postgres_fdw;
	server->has_transport = false;
	return server;
}

bool
shuttle_server_is_postgres_fdw(Oid serverid)
{
	return find_server(serverid)->is_postgres_fdw;
}

const ShuttleTransport *
shuttle_transport_for(Oid serverid)
{
	KnownServer *server = find_server(serverid);
	const ShuttleTransport *transport;

	if (server->has_transport)
		return server->transport;
	if (shuttle_foreign_is_ours(GetFdwRoutineByServerId(serverid)))
		transport = &shuttle_engine_transport;
	else
		transport = server->is_postgres_fdw ? &shuttle_guest_transport : NULL;
	server->transport = transport;
	server->has_transport = true;
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
