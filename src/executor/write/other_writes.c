/*-------------------------------------------------------------------------
 * other_writes.c
 *	  Notes writes through stock postgres_fdw's servers, which take no part
 *	  in a commit over several nodes; and takes FREEZE out of a COPY into our
 *	  foreign tables.
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
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
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

/* The option FREEZE if a COPY ... FROM has it once; else NULL. */
static DefElem *
find_freeze(const CopyStmt *copy)
{
	DefElem    *found = NULL;
	ListCell   *cell;

	foreach(cell, copy->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "freeze") != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = option;
	}
	return found;
}

/* Core refuses FREEZE for foreign tables in late minor releases, and before
 * these said that the table was not made by the transaction. */
PlannedStmt *
shuttle_other_writes_thaw(PlannedStmt *statement)
{
	CopyStmt   *copy = castNode(CopyStmt, statement->utilityStmt);
	DefElem    *freeze = find_freeze(copy);
	Oid			relid;

	if (!copy->is_from || copy->relation == NULL || freeze == NULL || !defGetBoolean(freeze))
		return statement;
	relid = RangeVarGetRelid(copy->relation, NoLock, true);
	if (!OidIsValid(relid) || get_rel_relkind(relid) != RELKIND_FOREIGN_TABLE ||
		!shuttle_server_routine_is_ours(GetFdwRoutineByRelId(relid)))
		return statement;
	ereport(NOTICE,
			(errmsg("FREEZE has no effect on foreign table \"%s\"", copy->relation->relname),
			 errdetail("COPY does the same without it.")));
	statement = copyObject(statement);
	copy = castNode(CopyStmt, statement->utilityStmt);
	copy->options = list_delete_ptr(copy->options, find_freeze(copy));
	return statement;
}
