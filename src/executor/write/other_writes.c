/*-------------------------------------------------------------------------
 * other_writes.c
 *	  Notices writes through servers of stock postgres_fdw, which take no part
 *	  in a commit over several nodes.
 *
 * A statement's targets are known when it starts, partitions that its rows went
 * to when it ends; those of a COPY are all that its rows could have gone to.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/shuttle_utility.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorEnd_hook_type previous_end = NULL;
static ProcessUtility_hook_type previous_utility = NULL;

static void
note_foreign_table(Oid relid)
{
	Oid			serverid = GetForeignServerIdByRelId(relid);

	if (shuttle_server_is_postgres_fdw(serverid))
		shuttle_commit_note_other_server(serverid);
}

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

		if (entry->relkind == RELKIND_FOREIGN_TABLE)
			note_foreign_table(entry->relid);
	}
}

/* Partitions are found as rows come. */
static void
end_executor(QueryDesc *queryDesc)
{
	ListCell   *cell;

	foreach(cell, queryDesc->estate->es_tuple_routing_result_relations)
	{
		Relation	rel = ((ResultRelInfo *) lfirst(cell))->ri_RelationDesc;

		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
			note_foreign_table(RelationGetRelid(rel));
	}
	if (previous_end != NULL)
		previous_end(queryDesc);
	else
		standard_ExecutorEnd(queryDesc);
}

static void
note_copy(const CopyStmt *copy)
{
	Oid			relid;
	ListCell   *cell;

	if (!copy->is_from || copy->relation == NULL)
		return;
	relid = RangeVarGetRelid(copy->relation, NoLock, true);
	if (!OidIsValid(relid))
		return;
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
		note_foreign_table(relid);
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return;
	foreach(cell, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			note_foreign_table(lfirst_oid(cell));
	}
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest,
				QueryCompletion *qc)
{
	bool		copies = IsA(pstmt->utilityStmt, CopyStmt);

	shuttle_utility_run(previous_utility, pstmt, queryString, readOnlyTree,
						context, params, queryEnv, dest, qc);
	if (copies)
		note_copy(castNode(CopyStmt, pstmt->utilityStmt));
}

void
shuttle_other_writes_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = end_executor;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
