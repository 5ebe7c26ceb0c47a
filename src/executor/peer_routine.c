/*-------------------------------------------------------------------------
 * peer_routine.c
 *	  postgres_fdw's table of callbacks, and the servers that use it.
 *
 * Its handler is the only one of its functions that is exported on every
 * version of the server.  The routine lives as long as the session.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/shuttle_compat.h"
#include "executor/executor_internal.h"
#include "executor/shuttle_executor.h"

#define PEER_HANDLER "postgres_fdw_handler"

const FdwRoutine *
shuttle_peer_get_routine(void)
{
	static FdwRoutine *routine = NULL;

	LOCAL_FCINFO(fcinfo, 0);
	PGFunction	handler;
	MemoryContext old;

	if (routine != NULL)
		return routine;
	handler = load_external_function("$libdir/postgres_fdw", PEER_HANDLER,
									 true, NULL);
	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, NULL, NULL);
	old = MemoryContextSwitchTo(TopMemoryContext);
	routine = (FdwRoutine *) DatumGetPointer(handler(fcinfo));
	MemoryContextSwitchTo(old);
	return routine;
}

/*
 * By the handler's symbol, so that another wrapper's tables never load
 * postgres_fdw's library.
 */
bool
shuttle_server_is_peer(Oid serverid)
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

	result = !isnull && strcmp(TextDatumGetCString(symbol), PEER_HANDLER) == 0;
	ReleaseSysCache(tuple);
	return result;
}
