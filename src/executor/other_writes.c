/*-------------------------------------------------------------------------
 * other_writes.c
 *	  Notices writes through servers of stock postgres_fdw, which take no part
 *	  in a commit over several nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "parser/parsetree.h"

#include "base/shuttle_compat.h"
#include "cluster/shuttle_cluster.h"
#include "executor/executor_internal.h"
#include "executor/shuttle_executor.h"

static ExecutorStart_hook_type previous_start = NULL;

static void
start_executor(QueryDesc *queryDesc, int eflags)
{
	PlannedStmt *statement = queryDesc->plannedstmt;
	ListCell   *cell;

	if (previous_start != NULL)
		previous_start(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	foreach(cell, statement->resultRelations)
	{
		const RangeTblEntry *entry = rt_fetch(lfirst_int(cell), statement->rtable);
		Oid			serverid;

		if (entry->relkind != RELKIND_FOREIGN_TABLE)
			continue;
		serverid = GetForeignTable(entry->relid)->serverid;
		if (shuttle_server_is_peer(serverid))
			shuttle_commit_note_other_server(serverid);
	}
}

void
shuttle_other_writes_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
