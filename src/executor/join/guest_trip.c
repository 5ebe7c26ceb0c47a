/*-------------------------------------------------------------------------
 * guest_trip.c
 *	  How far servers of stock postgres_fdw are, as its scans show.
 *
 * Its connections are its own, so we can only time the first row of a scan:
 * DECLARE and FETCH, two round trips and the server's work. A scan node's
 * table of callbacks is replaced for that one call. Memory: the replacement
 * lives in the query's context, like the node.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "portability/instr_time.h"

#include "executor/join/served_scan.h"
#include "executor/join/transport.h"
#include "executor/shuttle_executor.h"
#include "storage/shuttle_storage.h"

#define ROUND_TRIPS_OF_FIRST_ROW 2

typedef struct TimedScan
{
	FdwRoutine	routine;		/* must be first: fdwroutine points here */
	FdwRoutine *original;
} TimedScan;

static TupleTableSlot *
iterate_timed_scan(ForeignScanState *node)
{
	TimedScan  *timed = (TimedScan *) node->fdwroutine;
	Oid			serverid = ((ForeignScan *) node->ss.ps.plan)->fs_server;
	TupleTableSlot *slot;
	instr_time	start;
	instr_time	elapsed;

	node->fdwroutine = timed->original;
	INSTR_TIME_SET_CURRENT(start);
	slot = timed->original->IterateForeignScan(node);
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	shuttle_round_trip_add(serverid, INSTR_TIME_GET_MILLISEC(elapsed) /
						   ROUND_TRIPS_OF_FIRST_ROW);
	return slot;
}

/* Makes a scan time its first row if it is stock postgres_fdw's. */
static void
time_scan(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	TimedScan  *timed;

	if (plan->operation != CMD_SELECT || plan->scan.plan.async_capable ||
		shuttle_served_scan_is_served(node) ||
		node->fdwroutine->IterateForeignScan !=
		shuttle_postgres_fdw_get_routine()->IterateForeignScan)
		return;
	timed = palloc(sizeof(TimedScan));
	timed->routine = *node->fdwroutine;
	timed->routine.IterateForeignScan = iterate_timed_scan;
	timed->original = node->fdwroutine;
	node->fdwroutine = &timed->routine;
}

bool
shuttle_guest_trip_walker(PlanState *node, void *context)
{
	if (IsA(node, ForeignScanState))
		time_scan((ForeignScanState *) node);
	return planstate_tree_walker(node, shuttle_guest_trip_walker, context);
}
