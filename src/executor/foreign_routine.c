/*-------------------------------------------------------------------------
 * foreign_routine.c
 *	  Which callbacks of the FdwRoutine are ours.
 *
 * Rule: all that execute, and none that plans. postgres_fdw's executing
 * callbacks would open a second connection to the node in the same transaction
 * (trap 16); its planning callbacks connect only with use_remote_estimate,
 * which our validator refuses.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/fdw/fdw.h"
#include "executor/scan/late_locks.h"
#include "executor/scan/scan.h"
#include "executor/shuttle_executor.h"
#include "executor/statistics/statistics.h"
#include "executor/write/write.h"
#include "executor/write/write_table.h"

void
shuttle_foreign_fill_routine(FdwRoutine *routine, const FdwRoutine *planner)
{
	shuttle_postgres_fdw_routine = planner;

	shuttle_foreign_scan_fill(routine);
	shuttle_late_locks_fill(routine);
	shuttle_foreign_direct_fill(routine);
	shuttle_foreign_modify_fill(routine);
	shuttle_foreign_truncate_fill(routine);
	shuttle_foreign_analyze_fill(routine);
	shuttle_foreign_import_fill(routine);
	shuttle_foreign_async_fill(routine);

	shuttle_server_note_routine(routine);
}
