/*-------------------------------------------------------------------------
 * peer_routine.c
 *	  postgres_fdw's table of callbacks.
 *
 * Its handler is the only one of its functions that is exported on every
 * version of the server.  The routine lives as long as the session.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "utils/memutils.h"

#include "executor/executor_internal.h"
#include "executor/shuttle_executor.h"

const FdwRoutine *
shuttle_peer_get_routine(void)
{
	static FdwRoutine *routine = NULL;

	LOCAL_FCINFO(fcinfo, 0);
	PGFunction	handler;
	MemoryContext old;

	if (routine != NULL)
		return routine;
	handler = load_external_function("$libdir/postgres_fdw", SHUTTLE_PEER_HANDLER,
									 true, NULL);
	InitFunctionCallInfoData(*fcinfo, NULL, 0, InvalidOid, NULL, NULL);
	old = MemoryContextSwitchTo(TopMemoryContext);
	routine = (FdwRoutine *) DatumGetPointer(handler(fcinfo));
	MemoryContextSwitchTo(old);
	return routine;
}
