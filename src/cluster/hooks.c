/*-------------------------------------------------------------------------
 * hooks.c
 *	  The server's hooks that the cluster room uses, and the order of its parts.
 *
 * Not here: callbacks of caches that are registered at the first use, of which
 * no order is wanted (extension_tables.c, option_cache.c); the end of the
 * launcher's process (worker.c).
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "base/shuttle_utility.h"
#include "cluster/admin/admin.h"
#include "cluster/commit/commit.h"
#include "cluster/commit/workers.h"
#include "cluster/common/lease.h"
#include "cluster/shuttle_cluster.h"

static ProcessUtility_hook_type previous_utility = standard_ProcessUtility;
static shmem_request_hook_type previous_request = NULL;
static shmem_startup_hook_type previous_startup = NULL;

static void
run_utility(SHUTTLE_UTILITY_PARAMETERS)
{
	if (IsA(pstmt->utilityStmt, TransactionStmt))
		shuttle_prepared_end(previous_utility, SHUTTLE_UTILITY_ARGUMENTS);
	else
		previous_utility(SHUTTLE_UTILITY_ARGUMENTS);

	/* after core, which refuses DISCARD ALL inside a transaction */
	if (IsA(pstmt->utilityStmt, DiscardStmt))
		shuttle_disconnect_repeat_discard(castNode(DiscardStmt, pstmt->utilityStmt));
}

static void
request_memory(void)
{
	if (previous_request != NULL)
		previous_request();
	shuttle_worker_memory_request();
	shuttle_beat_memory_request();
	shuttle_statistics_memory_request();
}

static void
set_up_memory(void)
{
	if (previous_startup != NULL)
		previous_startup();
	shuttle_worker_memory_set_up();
	shuttle_beat_memory_set_up();
	shuttle_statistics_memory_set_up();
}

void
shuttle_cluster_init(void)
{
	if (ProcessUtility_hook != NULL)
		previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	shuttle_commit_init();
	shuttle_lease_init();
	if (process_shared_preload_libraries_in_progress)
	{
		previous_request = shmem_request_hook;
		shmem_request_hook = request_memory;
		previous_startup = shmem_startup_hook;
		shmem_startup_hook = set_up_memory;
		shuttle_worker_register();
	}
}
