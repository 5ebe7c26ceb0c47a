/*-------------------------------------------------------------------------
 * connections.c
 *	  shuttle.disconnect(), and DISCARD on nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_utility.h"
#include "cluster/cluster_internal.h"
#include "cluster/commit_internal.h"
#include "storage/shuttle_storage.h"

static ProcessUtility_hook_type previous_utility = NULL;

SHUTTLE_SQL_FUNCTION(shuttle_disconnect);

static void run_utility(PlannedStmt *pstmt, const char *queryString,
						bool readOnlyTree, ProcessUtilityContext context,
						ParamListInfo params, QueryEnvironment *queryEnv,
						DestReceiver *dest, QueryCompletion *qc);
static void discard(DiscardMode mode);

void
shuttle_cluster_init(void)
{
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_utility;
	shuttle_commit_init();
	shuttle_recovery_worker_init();
}

/* shuttle.disconnect(server) */
Datum
shuttle_disconnect(PG_FUNCTION_ARGS)
{
	Oid			serverid = InvalidOid;

	if (!PG_ARGISNULL(0))
		serverid = shuttle_server_find(NameStr(*PG_GETARG_NAME(0)));
	PG_RETURN_BOOL(shuttle_node_disconnect(serverid) > 0);
}

static void
run_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *queryEnv, DestReceiver *dest,
			QueryCompletion *qc)
{
	shuttle_utility_run(previous_utility, pstmt, queryString, readOnlyTree,
						context, params, queryEnv, dest, qc);
	if (IsA(pstmt->utilityStmt, DiscardStmt))
		discard(castNode(DiscardStmt, pstmt->utilityStmt)->target);
}

/* Repeats on nodes what DISCARD did here. */
static void
discard(DiscardMode mode)
{
	switch (mode)
	{
		case DISCARD_ALL:
			shuttle_discard_all();
			break;
		case DISCARD_PLANS:
			shuttle_discard_part("DISCARD PLANS");
			break;
		case DISCARD_SEQUENCES:
			shuttle_discard_part("DISCARD SEQUENCES");
			break;
		case DISCARD_TEMP:
			shuttle_discard_part("DISCARD TEMP");
			break;
	}
}
