/*-------------------------------------------------------------------------
 * server_kind.c
 *	  Whose servers and routines these are: ours, postgres_fdw's, or others.
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
#include "executor/shuttle_executor.h"

typedef struct KnownServer
{
	Oid			serverid;		/* must be first: the key */
	bool		is_postgres_fdw;	/* uses postgres_fdw's handler */
	bool		has_kind;		/* kind is known */
	ShuttleServerKind kind;
} KnownServer;

static BeginForeignScan_function our_begin = NULL;
static IterateForeignScan_function our_iterate = NULL;
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
	server->has_kind = false;
	return server;
}

bool
shuttle_server_is_postgres_fdw(Oid serverid)
{
	return find_server(serverid)->is_postgres_fdw;
}

void
shuttle_server_note_routine(const FdwRoutine *routine)
{
	our_begin = routine->BeginForeignScan;
	our_iterate = routine->IterateForeignScan;
}

bool
shuttle_server_routine_is_ours(const FdwRoutine *routine)
{
	return our_begin != NULL && routine->BeginForeignScan == our_begin;
}

bool
shuttle_server_scan_is_ours(const ForeignScanState *scan)
{
	return scan->fdwroutine->IterateForeignScan == our_iterate;
}

ShuttleServerKind
shuttle_server_kind(Oid serverid)
{
	KnownServer *server = find_server(serverid);
	ShuttleServerKind kind;

	if (server->has_kind)
		return server->kind;
	if (shuttle_server_routine_is_ours(GetFdwRoutineByServerId(serverid)))
		kind = SHUTTLE_SERVER_ENGINE;
	else
		kind = server->is_postgres_fdw ? SHUTTLE_SERVER_GUEST : SHUTTLE_SERVER_OTHER;
	server->kind = kind;
	server->has_kind = true;
	return kind;
}

bool
shuttle_server_is_ours(Oid serverid)
{
	return shuttle_server_kind(serverid) == SHUTTLE_SERVER_ENGINE;
}

bool
shuttle_server_can_look_ahead(const FdwRoutine *routine, Oid serverid)
{
	if (routine != NULL && shuttle_server_routine_is_ours(routine))
		return true;
	return OidIsValid(serverid) && shuttle_server_kind(serverid) != SHUTTLE_SERVER_OTHER;
}
