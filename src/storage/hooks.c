/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks of the storage room, and the order of its parts.
 *
 * Core calls transaction callbacks and executor hooks in reverse order of
 * registration. This room's transaction callbacks are registered first, so
 * executor/ has finished its writes when storage/ commits.
 *
 * Not here: process exit callbacks in connection.c, connection_slots.c and
 * node_totals.c, registered at first use; their order does not matter.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_executor.h"
#include "storage/connection/connection.h"
#include "storage/connection/node_state.h"
#include "storage/shuttle_storage.h"
#include "storage/transaction/cut.h"
#include "storage/transaction/transaction.h"

static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;
static ExecutorRun_hook_type previous_run = standard_ExecutorRun;
static ExecutorFinish_hook_type previous_finish = standard_ExecutorFinish;

static void
request_memory(void)
{
	if (previous_request != NULL)
		previous_request();
	shuttle_shared_memory_request();
}

static void
set_up_memory(void)
{
	if (previous_startup != NULL)
		previous_startup();
	shuttle_shared_memory_set_up();
}

static void
run_executor(SHUTTLE_EXECUTOR_RUN_PARAMETERS)
{
	shuttle_snapshot_run(previous_run, SHUTTLE_EXECUTOR_RUN_ARGUMENTS);
}

static void
finish_executor(QueryDesc *query)
{
	shuttle_snapshot_finish(previous_finish, query);
}

void
shuttle_storage_init(void)
{
	if (process_shared_preload_libraries_in_progress)
	{
		previous_request = shmem_request_hook;
		shmem_request_hook = request_memory;
		previous_startup = shmem_startup_hook;
		shmem_startup_hook = set_up_memory;
	}
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, shuttle_connection_options_changed,
								  (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, shuttle_connection_options_changed,
								  (Datum) 0);
	shuttle_cut_init();
	RegisterXactCallback(shuttle_transaction_end, NULL);
	RegisterSubXactCallback(shuttle_transaction_end_savepoint, NULL);
}

/* Called after all other rooms: the snapshot must be in use before their hooks
 * ask nodes or evaluate expressions. */
void
shuttle_storage_init_outermost(void)
{
	if (ExecutorRun_hook != NULL)
		previous_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	if (ExecutorFinish_hook != NULL)
		previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
}
