/*-------------------------------------------------------------------------
 * foreign_truncate.c
 *	  TRUNCATE of foreign tables.
 *
 * It runs on the session's one connection to the node, so it sees the
 * transaction's own changes and never waits for its locks. Core calls us per
 * server; all servers are sent their TRUNCATE first, and waited for at the end
 * of the statement. AFTER triggers fire before that, so with such triggers
 * each server is waited for.
 *
 * Memory: requests belong to the statement's context.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "executor/fdw/fdw.h"
#include "executor/outbox.h"
#include "executor/shuttle_executor.h"
#include "executor/write/write.h"
#include "storage/shuttle_storage.h"
#include "tablets/shuttle_tablets.h"

/* The running TRUNCATE statement. */
typedef struct Truncation
{
	const TruncateStmt *statement;
	MemoryContext cxt;
	bool		has_looked;		/* fires_after is known */
	bool		fires_after;	/* there may be AFTER triggers */
	List	   *requests;		/* sent and not waited for */
} Truncation;

static Truncation *current = NULL;	/* NULL: none */

static void exec_foreign_truncate(List *rels, DropBehavior behavior,
								  bool restart_seqs);

void
shuttle_foreign_truncate_fill(FdwRoutine *routine)
{
	routine->ExecForeignTruncate = exec_foreign_truncate;
}

static bool
has_after_trigger(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	bool		has = rel->trigdesc != NULL && rel->trigdesc->trig_truncate_after_statement;

	table_close(rel, NoLock);
	return has;
}

/* With CASCADE we do not look which tables are reached. */
static bool
may_fire_after(const TruncateStmt *statement)
{
	ListCell   *cell;

	if (statement->behavior == DROP_CASCADE)
		return true;
	foreach(cell, statement->relations)
	{
		const RangeVar *name = lfirst_node(RangeVar, cell);
		Oid			relid = RangeVarGetRelid(name, AccessShareLock, false);
		List	   *tables = name->inh ? find_all_inheritors(relid, AccessShareLock, NULL) :
			list_make1_oid(relid);
		ListCell   *inner;

		foreach(inner, tables)
		{
			if (has_after_trigger(lfirst_oid(inner)))
				return true;
		}
	}
	return false;
}

/* Checked once per statement, after core has locked the tables. */
static bool
waits_for_each(Truncation *truncation)
{
	if (!truncation->has_looked)
		truncation->fires_after = may_fire_after(truncation->statement);
	truncation->has_looked = true;
	return truncation->fires_after;
}

static ShuttleRequest *
send_truncate(ShuttleNode *node, const char *sql, MemoryContext cxt)
{
	ShuttleStatement statement = {
		.sql = sql,
		.effect = SHUTTLE_WRITES,
		.size = SHUTTLE_SIZE_CERTAIN,
		.excludes_cursors = true,
	};

	return shuttle_request_send(node, &statement, cxt);
}

static void
wait_for_truncate(ShuttleRequest *request)
{
	(void) shuttle_request_finish(request);
	shuttle_request_close(request);
}

/* Waits for it when all of the statement are sent. */
static void
truncate_together(ShuttleNode *node, const char *sql)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(current->cxt);

	current->requests = lappend(current->requests, send_truncate(node, sql, current->cxt));
	MemoryContextSwitchTo(old_cxt);
}

static void
check_truncatable(Relation rel)
{
	shuttle_reference_write_refuse(RelationGetRelid(rel));
	if (!shuttle_remote_option_bool(shuttle_remote_options(RelationGetRelid(rel)),
									"truncatable", true))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" does not allow truncates",
						RelationGetRelationName(rel))));
}

/*
 * The name of a table on the node. For tablets it is their table's, once:
 * foreign keys of a node are between tables, and allow TRUNCATE only of both.
 * The table on the node has no other tablets.
 */
static char *
remote_name(Relation rel, List **parents)
{
	Oid			relid = RelationGetRelid(rel);
	StringInfoData name;

	initStringInfo(&name);
	if (shuttle_table_kind(relid) == SHUTTLE_TABLE_TABLET)
	{
		Oid			parent = get_partition_parent(relid, false);

		if (list_member_oid(*parents, parent))
			return NULL;
		*parents = lappend_oid(*parents, parent);
		return quote_qualified_identifier(get_namespace_name(get_rel_namespace(parent)),
										  get_rel_name(parent));
	}
	shuttle_remote_append_table(&name, rel);
	return name.data;
}

/* All tables are of one server. */
static void
exec_foreign_truncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	StringInfoData sql;
	Oid			serverid = InvalidOid;
	ShuttleNode *node;
	List	   *parents = NIL;
	ListCell   *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "TRUNCATE ");
	foreach(cell, rels)
	{
		Relation	rel = lfirst(cell);
		char	   *name;

		check_truncatable(rel);
		name = remote_name(rel, &parents);
		if (name != NULL)
			appendStringInfo(&sql, "%s%s", foreach_current_index(cell) > 0 ? ", " : "", name);
		serverid = GetForeignServerIdByRelId(RelationGetRelid(rel));
	}
	appendStringInfoString(&sql, restart_seqs ? " RESTART IDENTITY" : " CONTINUE IDENTITY");
	appendStringInfoString(&sql, behavior == DROP_CASCADE ? " CASCADE" : " RESTRICT");

	node = shuttle_connection_get(serverid, GetUserId());
	shuttle_outbox_before_read(node, NULL);
	if (current == NULL || waits_for_each(current))
		wait_for_truncate(send_truncate(node, sql.data, CurrentMemoryContext));
	else
		truncate_together(node, sql.data);
	pfree(sql.data);
}

void
shuttle_foreign_truncate_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	Truncation	truncation = {.cxt = CurrentMemoryContext};
	Truncation *outer = current;
	ListCell   *cell;

	truncation.statement = castNode(TruncateStmt, pstmt->utilityStmt);
	current = &truncation;
	PG_TRY();
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		current = outer;
	}
	PG_END_TRY();

	foreach(cell, truncation.requests)
		wait_for_truncate(lfirst(cell));
}
