/*-------------------------------------------------------------------------
 * shuttle_fdw.c
 *	  Handler of the foreign-data wrapper: postgres_fdw's table of callbacks
 *	  with our executor's functions laid over it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/fdwapi.h"

#include "base/shuttle_compat.h"
#include "executor/shuttle_executor.h"
#include "planner/shuttle_planner.h"

SHUTTLE_SQL_FUNCTION(shuttle_fdw_handler);

/* shuttle.fdw_handler(): the routine belongs to the caller's memory. */
Datum
shuttle_fdw_handler(PG_FUNCTION_ARGS)
{
	const FdwRoutine *postgres_fdw = shuttle_postgres_fdw_get_routine();
	FdwRoutine *routine = makeNode(FdwRoutine);

	*routine = *postgres_fdw;
	shuttle_foreign_fill_routine(routine, postgres_fdw);
	shuttle_planner_fill_routine(routine);
	PG_RETURN_POINTER(routine);
}
