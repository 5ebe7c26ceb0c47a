/*-------------------------------------------------------------------------
 * ddl_index.c
 *	  CREATE INDEX, REINDEX and VACUUM of distributed tables.
 *
 * An index of a distributed table is made here for the parent only: it has no
 * storage. Nodes make it for their tablets.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/ddl/ddl.h"

void
shuttle_ddl_create_index(const ShuttleDdl *ddl)
{
	IndexStmt  *statement = copyObject(castNode(IndexStmt, ddl->pstmt->utilityStmt));

	if (statement->concurrent)
		shuttle_ddl_refuse(ddl->relid, "CREATE INDEX CONCURRENTLY",
						   "Leave out the word CONCURRENTLY; the table cannot be written while its storage nodes make the index.");
	if (statement->unique && shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_DISTRIBUTED)
		shuttle_ddl_check_unique(ddl->relid, "CREATE UNIQUE INDEX", statement->indexParams);
	shuttle_ddl_changes_note(ddl->relid);
	statement->relation->inh = false;
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

/* Runs a statement on all nodes of a table, each in a transaction of its own. */
static void
run_outside(const ShuttleDdl *ddl, const char *sql)
{
	List	   *servers = shuttle_table_servers(ddl->relid);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, list_length(servers));
	ListCell   *cell;
	int			nruns = 0;

	foreach(cell, servers)
	{
		runs[nruns].serverid = lfirst_oid(cell);
		runs[nruns].name = GetForeignServer(lfirst_oid(cell))->servername;
		runs[nruns].ok = true;
		runs[nruns++].nrows = -1;
	}
	shuttle_outside_run(sql, GetUserId(), runs, nruns, 0);
	for (int i = 0; i < nruns; i++)
	{
		if (runs[i].ok)
			continue;
		ereport(ERROR,
				(errcode(MAKE_SQLSTATE(runs[i].sqlstate[0], runs[i].sqlstate[1], runs[i].sqlstate[2],
									   runs[i].sqlstate[3], runs[i].sqlstate[4])),
				 errmsg("%s on storage node \"%s\" failed: %s", ddl->name, runs[i].name, runs[i].error),
				 errdetail("Other storage nodes may have done it."),
				 errhint("The statement can be repeated.")));
	}
}

void
shuttle_ddl_reindex(const ShuttleDdl *ddl)
{
	const ReindexStmt *statement = castNode(ReindexStmt, ddl->pstmt->utilityStmt);
	bool		is_index = ddl->targetid != ddl->relid;

	PreventInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, "REINDEX");
	if (statement->params != NIL)
		shuttle_ddl_refuse(ddl->relid, "REINDEX with options", "Leave out the options.");
	run_outside(ddl, psprintf("REINDEX %s %s", is_index ? "INDEX" : "TABLE",
							  shuttle_local_name(ddl->targetid)));
}

/* The options of VACUUM, as the user wrote them. */
static char *
vacuum_options(const VacuumStmt *statement)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		appendStringInfo(&text, "%s%s", text.len == 0 ? " (" : ", ", option->defname);
		if (option->arg != NULL)
			appendStringInfo(&text, IsA(option->arg, Integer) ? " %s" : " '%s'", defGetString(option));
	}
	appendStringInfoString(&text, text.len == 0 ? "" : ")");
	return text.data;
}

static bool
has_analyze(const VacuumStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "analyze") == 0)
			return defGetBoolean(option);
	}
	return false;
}

/* Core vacuums tables of this server, and analyzes distributed ones. It begins
 * new transactions, so the context is another one afterwards. */
void
shuttle_ddl_vacuum(const ShuttleDdl *ddl)
{
	VacuumStmt *others = copyObject(castNode(VacuumStmt, ddl->pstmt->utilityStmt));
	VacuumStmt *ours = copyObject(others);
	char	   *options = vacuum_options(others);
	List	   *relations = others->rels;
	MemoryContext statement_cxt = CurrentMemoryContext;
	ListCell   *cell;

	others->rels = ours->rels = NIL;
	ours->is_vacuumcmd = false;
	ours->options = NIL;
	if (!castNode(VacuumStmt, ddl->pstmt->utilityStmt)->is_vacuumcmd)
	{
		others->rels = relations;
		shuttle_ddl_run_here(ddl, (Node *) others);
		return;
	}
	PreventInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, "VACUUM");
	foreach(cell, relations)
	{
		VacuumRelation *relation = lfirst_node(VacuumRelation, cell);
		ShuttleTableKind kind;
		ShuttleDdl	one = *ddl;

		one.relid = shuttle_ddl_find(relation->relation, &kind);
		if (kind != SHUTTLE_TABLE_DISTRIBUTED)
		{
			others->rels = lappend(others->rels, relation);
			continue;
		}
		run_outside(&one, psprintf("VACUUM%s %s", options, shuttle_local_name(one.relid)));
		ours->rels = lappend(ours->rels, relation);
	}
	if (others->rels != NIL)
		shuttle_ddl_run_here(ddl, (Node *) others);
	(void) MemoryContextSwitchTo(statement_cxt);
	if (has_analyze(others))
		shuttle_ddl_run_here(ddl, (Node *) ours);
}
