/*-------------------------------------------------------------------------
 * other_writes.c
 *	  Notes writes through stock postgres_fdw's servers, which take no part
 *	  in a commit over several nodes.
 *
 * A statement's targets are known when it starts, partitions that its rows
 * were routed to when it ends. For COPY, all partitions count that its rows
 * could have gone to.
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

#include "base/shuttle_compat_executor.h"
#include "cluster/shuttle_cluster.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"

static void
note_foreign_table(Oid relid)
{
	Oid			serverid = GetForeignServerIdByRelId(relid);

	if (shuttle_server_is_postgres_fdw(serverid))
		shuttle_commit_note_other_server(serverid);
}

void
shuttle_other_writes_start(QueryDesc *queryDesc, int eflags)
{
	PlannedStmt *statement = queryDesc->plannedstmt;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	SHUTTLE_EACH_WRITTEN(rtindex, statement)
	{
		const RangeTblEntry *entry = rt_fetch(rtindex, statement->rtable);

		if (entry->relkind == RELKIND_FOREIGN_TABLE)
			note_foreign_table(entry->relid);
	}
}

/* Partitions are opened as rows are routed to them. */
void
shuttle_other_writes_end(QueryDesc *queryDesc)
{
	ListCell   *cell;

	foreach(cell, queryDesc->estate->es_tuple_routing_result_relations)
	{
		Relation	rel = ((ResultRelInfo *) lfirst(cell))->ri_RelationDesc;

		if (rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
			note_foreign_table(RelationGetRelid(rel));
	}
}

void
shuttle_other_writes_copied(const CopyStmt *copy)
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
