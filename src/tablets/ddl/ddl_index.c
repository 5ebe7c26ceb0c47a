/*-------------------------------------------------------------------------
 * ddl_index.c
 *	  CREATE INDEX, REINDEX and VACUUM of distributed tables.
 *
 * An index of a distributed table is made here for the parent only: it has no
 * storage. Nodes make it for their tablets; with CONCURRENTLY, and REINDEX and
 * VACUUM, outside of the transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/partitions.h"
#include "tablets/common/table_facts.h"
#include "tablets/common/table_text.h"
#include "tablets/common/tablet_names.h"
#include "tablets/ddl/ddl.h"
#include "tablets/ddl/ddl_partitioned.h"
#include "tablets/needs/needs.h"
#include "tablets/shuttle_tablets.h"

/* How long CREATE INDEX CONCURRENTLY lets writers go first, and how often it looks. */
#define WRITERS_LIMIT_MS 10000
#define WRITERS_PAUSE_MS 20

#define REPEAT "Other storage nodes may have done it; the statement can be repeated."

/* An index as tablets get it. */
typedef struct TabletIndex
{
	char	   *name;			/* not quoted, without the tablet's */
	const char *definition;		/* what follows the name of the table */
	List	   *needed;			/* texts of the types and functions in it */
} TabletIndex;

/* ---- running statements outside of the transaction */

static ShuttleOutsideRun
run_on(Oid serverid)
{
	ShuttleOutsideRun run = {
		.serverid = serverid,
		.name = GetForeignServer(serverid)->servername,
		.ok = true,
		.nrows = -1,
	};

	return run;
}

static void
raise_failure(const ShuttleDdl *ddl, const ShuttleOutsideRun *runs, int nruns, const char *hint)
{
	for (int i = 0; i < nruns; i++)
	{
		if (runs[i].ok)
			continue;
		ereport(ERROR,
				(errcode(shuttle_outside_sqlstate(&runs[i])),
				 errmsg("%s on storage node \"%s\" failed: %s", ddl->name, runs[i].name, runs[i].error),
				 errhint("%s", hint)));
	}
}

/* Runs a statement on servers, each in a transaction of its own. */
static void
run_outside(const ShuttleDdl *ddl, const List *servers, const char *sql, const char *hint)
{
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, list_length(servers));
	const ListCell *cell;
	int			nruns = 0;

	foreach(cell, servers)
		runs[nruns++] = run_on(lfirst_oid(cell));
	shuttle_outside_run(sql, GetUserId(), runs, nruns, 0);
	raise_failure(ddl, runs, nruns, hint);
}

/* ---- CREATE INDEX */

/* Nodes keep the functions of an index that then fails. */
static void
make_needed(const ShuttleDdl *ddl, List *servers, const List *needed)
{
	const ListCell *cell;

	foreach(cell, needed)
		run_outside(ddl, servers, lfirst(cell), REPEAT);
}

/* What follows the name of the table in the definition of an index. */
static const char *
definition_behind_table(const char *table, const char *definition)
{
	const char *place = strstr(definition, psprintf(" ON %s ", table));

	if (place == NULL)
		elog(ERROR, "unexpected definition of an index: %s", definition);
	return place + strlen(" ON  ") + strlen(table);
}

/* The index that a table has now; NULL: none. */
static const ShuttleNodePart *
find_new_index(const List *before, const List *now)
{
	const ListCell *cell;

	foreach(cell, now)
	{
		const ShuttleNodePart *part = lfirst(cell);
		bool		is_new = part->kind == SHUTTLE_PART_INDEX;
		const ListCell *inner;

		foreach(inner, before)
			is_new &= ((const ShuttleNodePart *) lfirst(inner))->oid != part->oid;
		if (is_new)
			return part;
	}
	return NULL;
}

/* Makes the index for an empty table with the same columns. Functions run as the owner of the
 * table, whoever makes the index. */
static TabletIndex
make_temporary_index(const ShuttleDdl *ddl, const IndexStmt *original)
{
	IndexStmt  *statement = (IndexStmt *) copyObject((Node *) original);
	char	   *name = get_rel_name(ddl->relid);
	char	   *table = psprintf("pg_temp.%s", quote_identifier(name));
	TabletIndex result;
	Oid			relid;
	const ShuttleNodePart *index;

	(void) shuttle_local_run(psprintf("CREATE TABLE %s (LIKE %s)", table, shuttle_local_name(ddl->relid)));
	(void) shuttle_local_run_as_superuser(psprintf("ALTER TABLE %s OWNER TO %s", table, shuttle_local_owner_name(ddl->relid)));
	CommandCounterIncrement();
	statement->relation = makeRangeVar("pg_temp", name, -1);
	relid = RangeVarGetRelid(statement->relation, NoLock, false);
	shuttle_ddl_run_here(ddl, (Node *) statement);
	CommandCounterIncrement();
	index = find_new_index(NIL, shuttle_table_text_parts(relid));
	result.name = get_rel_name(index->oid);
	result.definition = definition_behind_table(table, index->definition);
	result.needed = shuttle_needed_objects_texts(relid, shuttle_table_servers(ddl->relid));
	return result;
}

/* What core would make of the statement, found without a lock on the table. */
static TabletIndex
try_index(const ShuttleDdl *ddl, const IndexStmt *statement)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	TabletIndex index;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();					/* only a subtransaction's abort undoes the
								 * statements */
	{
		index = make_temporary_index(ddl, statement);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(cxt);
		CurrentResourceOwner = owner;
		ReThrowError(error);
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	return index;
}

/* Gets a lock that keeps out writers without having others wait behind us, if it can. */
static void
wait_for_writers(Oid relid)
{
	for (int waited_ms = 0; waited_ms < WRITERS_LIMIT_MS; waited_ms += WRITERS_PAUSE_MS)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConditionalLockRelationOid(relid, ShareLock))
			return;
		pg_usleep(WRITERS_PAUSE_MS * 1000L);
	}
}

/* Drops what tablets have got; those without it are no error. */
static void
drop_tablet_indexes(ShuttleOutsideRun *runs, int nruns, const char *schema, char **names)
{
	for (int i = 0; i < nruns; i++)
	{
		runs[i] = run_on(runs[i].serverid);
		runs[i].sql = psprintf("DROP INDEX CONCURRENTLY IF EXISTS %s.%s", schema, names[i]);
	}
	shuttle_outside_run(NULL, GetUserId(), runs, nruns, 0);
}

/*
 * Each tablet gets its index while it is written. Then the index of the table, made in the
 * usual way, finds them: that takes a moment only.
 */
static void
make_tablet_indexes(const ShuttleDdl *ddl, bool is_unique, const TabletIndex *index)
{
	const char *schema = quote_identifier(get_namespace_name(get_rel_namespace(ddl->relid)));
	List	   *tablets = find_inheritance_children(ddl->relid, NoLock);
	int			ntablets = list_length(tablets);
	ShuttleOutsideRun *runs = palloc0_array(ShuttleOutsideRun, ntablets);
	ShuttleOutsideRun *undo = palloc0_array(ShuttleOutsideRun, ntablets);
	char	  **names = palloc0_array(char *, ntablets);
	bool		ok = true;

	for (int i = 0; i < ntablets; i++)
	{
		Oid			tablet = list_nth_oid(tablets, i);

		names[i] = pstrdup(quote_identifier(makeObjectName(shuttle_tablet_remote_name(tablet), index->name, NULL)));
		runs[i] = run_on(GetForeignServerIdByRelId(tablet));
		runs[i].sql = psprintf("CREATE %sINDEX CONCURRENTLY %s ON %s %s", is_unique ? "UNIQUE " : "",
							   names[i], shuttle_tablet_text(tablet), index->definition);
	}
	shuttle_outside_run(NULL, GetUserId(), runs, ntablets, 0);
	for (int i = 0; i < ntablets; i++)
	{
		undo[i] = runs[i];
		ok &= runs[i].ok;
	}
	if (!ok)
		drop_tablet_indexes(undo, ntablets, schema, names);
	raise_failure(ddl, runs, ntablets, "No tablet has kept an index; the statement can be repeated.");
}

/* Core has made it here; now the copies get it. */
static void
create_on_copies(const ShuttleDdl *ddl, IndexStmt *statement)
{
	List	   *before = shuttle_table_text_parts(ddl->relid);
	MemoryContext statement_cxt = CurrentMemoryContext;
	const ShuttleNodePart *index;

	shuttle_ddl_run_here(ddl, (Node *) statement);
	(void) MemoryContextSwitchTo(statement_cxt);
	PushActiveSnapshot(GetTransactionSnapshot());
	index = find_new_index(before, shuttle_table_text_parts(ddl->relid));
	if (index != NULL)
	{
		make_needed(ddl, shuttle_layout_nodes(), shuttle_needed_objects_texts(ddl->relid, shuttle_layout_nodes()));
		run_outside(ddl, shuttle_layout_nodes(),
					psprintf("CREATE %sINDEX CONCURRENTLY %s ON %s %s", statement->unique ? "UNIQUE " : "",
							 index->name, shuttle_local_name(ddl->relid),
							 definition_behind_table(shuttle_local_name(ddl->relid), index->definition)),
					"The index is on this server: shuttle.check() tells which storage nodes lack it.");
	}
	PopActiveSnapshot();
}

static bool
index_exists(const ShuttleDdl *ddl, const IndexStmt *statement)
{
	return statement->idxname != NULL &&
		OidIsValid(get_relname_relid(statement->idxname, get_rel_namespace(ddl->relid)));
}

void
shuttle_ddl_create_index(const ShuttleDdl *ddl)
{
	IndexStmt  *statement = copyObject(castNode(IndexStmt, ddl->pstmt->utilityStmt));
	bool		is_distributed = shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_DISTRIBUTED;
	ShuttleDdl	named = *ddl;
	ListCell   *cell;

	statement->relation->inh = false;

	/*
	 * core refuses to name the default one for a partitioned table, which it
	 * is here only
	 */
	if (is_distributed && statement->tableSpace != NULL &&
		get_tablespace_oid(statement->tableSpace, true) == MyDatabaseTableSpace &&
		!OidIsValid(GetDefaultTablespace(RELPERSISTENCE_PERMANENT, false)))
		statement->tableSpace = NULL;
	if (statement->unique && is_distributed && shuttle_ddl_global_is(ddl->relid, statement->indexParams))
	{
		shuttle_ddl_refuse_of_partition(ddl->relid, "a unique index without the distribution column");
		LockRelationOid(ddl->relid, AccessExclusiveLock);
		shuttle_ddl_changes_note(ddl->relid);
		shuttle_ddl_global_index(ddl, statement);
		return;
	}
	if (statement->concurrent)
	{
		named.name = "CREATE INDEX CONCURRENTLY";
		PreventInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, named.name);
		foreach(cell, is_distributed ? shuttle_table_servers(ddl->relid) : shuttle_layout_nodes())
			shuttle_node_check_may_define(lfirst_oid(cell));
		if (!is_distributed)
		{
			create_on_copies(&named, statement);
			return;
		}
		statement->concurrent = false;
		if (!index_exists(ddl, statement))
		{
			TabletIndex index = try_index(&named, statement);

			make_needed(&named, shuttle_table_servers(ddl->relid), index.needed);
			make_tablet_indexes(&named, statement->unique, &index);
			wait_for_writers(ddl->relid);
		}
	}
	shuttle_ddl_changes_note(ddl->relid);
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

/* Core does not drop partitioned indexes concurrently. They go as by DROP INDEX; core refuses
 * CASCADE and several names as it does elsewhere. */
void
shuttle_ddl_drop_index(const ShuttleDdl *ddl)
{
	DropStmt   *statement = copyObject(castNode(DropStmt, ddl->pstmt->utilityStmt));

	if (shuttle_table_kind(ddl->relid) == SHUTTLE_TABLE_DISTRIBUTED &&
		list_length(statement->objects) == 1 && statement->behavior != DROP_CASCADE)
	{
		PreventInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, "DROP INDEX CONCURRENTLY");
		statement->concurrent = false;
	}
	shuttle_ddl_run_here(ddl, (Node *) statement);
}

/* ---- REINDEX and VACUUM */

/* The options of a statement, as the user wrote them. */
static char *
options_text(const List *options)
{
	StringInfoData text;
	const ListCell *cell;

	initStringInfo(&text);
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		appendStringInfo(&text, "%s%s", text.len == 0 ? " (" : ", ", option->defname);
		if (option->arg != NULL)
			appendStringInfo(&text, IsA(option->arg, Integer) ? " %s" : " '%s'", defGetString(option));
	}
	appendStringInfoString(&text, text.len == 0 ? "" : ")");
	return text.data;
}

void
shuttle_ddl_reindex(const ShuttleDdl *ddl)
{
	const ReindexStmt *statement = castNode(ReindexStmt, ddl->pstmt->utilityStmt);
	bool		is_index = ddl->targetid != ddl->relid;

	PreventInTransactionBlock(ddl->context == PROCESS_UTILITY_TOPLEVEL, "REINDEX");
	run_outside(ddl, shuttle_table_servers(ddl->relid),
				psprintf("REINDEX%s %s %s", options_text(statement->params), is_index ? "INDEX" : "TABLE",
						 shuttle_local_name(ddl->targetid)),
				REPEAT);
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

/* Partitions that are distributed are vacuumed by their nodes, others here. */
static List *
with_partitions(const List *relations)
{
	List	   *all = NIL;
	const ListCell *cell;

	foreach(cell, relations)
	{
		VacuumRelation *relation = lfirst_node(VacuumRelation, cell);
		ShuttleTableKind kind;
		Oid			relid = shuttle_ddl_find(relation->relation, &kind);
		ListCell   *inner;

		foreach(inner, kind == SHUTTLE_TABLE_PARTITIONED ? shuttle_partitions_all(relid, NoLock) : NIL)
		{
			Oid			member = lfirst_oid(inner);

			if (shuttle_table_kind(member) != SHUTTLE_TABLE_PARTITIONED)
				all = lappend(all, makeVacuumRelation(makeRangeVar(get_namespace_name(get_rel_namespace(member)),
																   get_rel_name(member), -1), InvalidOid, relation->va_cols));
		}
		if (kind != SHUTTLE_TABLE_PARTITIONED)
			all = lappend(all, relation);
	}
	return all;
}

/* ONLY, since 18, leaves out nothing of a distributed table. */
static void
ignore_only(const VacuumStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rels)
	{
		RangeVar   *name = lfirst_node(VacuumRelation, cell)->relation;
		ShuttleTableKind kind;

		if (OidIsValid(shuttle_ddl_find(name, &kind)) && kind == SHUTTLE_TABLE_DISTRIBUTED)
			name->inh = true;
	}
}

/* Core vacuums tables of this server, and analyzes distributed ones. It begins
 * new transactions, so the context is another one afterwards. */
void
shuttle_ddl_vacuum(const ShuttleDdl *ddl)
{
	VacuumStmt *others = copyObject(castNode(VacuumStmt, ddl->pstmt->utilityStmt));
	VacuumStmt *ours = copyObject(others);
	char	   *options = options_text(others->options);
	List	   *relations = others->rels;
	MemoryContext statement_cxt = CurrentMemoryContext;
	ListCell   *cell;

	ignore_only(others);
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
	foreach(cell, with_partitions(relations))
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
		run_outside(&one, shuttle_table_servers(one.relid),
					psprintf("VACUUM%s %s", options, shuttle_local_name(one.relid)), REPEAT);
		ours->rels = lappend(ours->rels, relation);
	}
	if (others->rels != NIL)
		shuttle_ddl_run_here(ddl, (Node *) others);
	(void) MemoryContextSwitchTo(statement_cxt);
	if (has_analyze(others))
		shuttle_ddl_run_here(ddl, (Node *) ours);
}
