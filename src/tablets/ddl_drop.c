/*-------------------------------------------------------------------------
 * ddl_drop.c
 *	  Drops on nodes what a statement has dropped here.
 *
 * The server calls us for each relation that it drops, however the statement
 * reached it. Behind the statement nodes drop the tables of that name. A tablet
 * cannot be dropped without its table.
 *
 * Memory: the list lives as long as the statement.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "tablets/ddl.h"
#include "tablets/tablets_internal.h"

/* A relation of ours that the statement has dropped. */
typedef struct DroppedTable
{
	Oid			relid;
	ShuttleTableKind kind;
	Oid			parent;			/* of a tablet */
	Oid			serverid;		/* of a tablet */
	char	   *short_name;		/* for messages */
	char	   *name;			/* with its schema, quoted */
	List	   *servers;		/* of a table, known behind the statement */
} DroppedTable;

static List *dropped = NIL;		/* of DroppedTable */
static MemoryContext statement_cxt = NULL;	/* of the running statement */

void
shuttle_ddl_drop_note(ObjectAccessType access, Oid classid, Oid objectid, int subid)
{
	ShuttleTableKind kind;
	MemoryContext old_cxt;
	DroppedTable *table;

	if (access != OAT_DROP || classid != RelationRelationId || subid != 0 ||
		statement_cxt == NULL || shuttle_local_is_running())
		return;
	kind = shuttle_table_kind(objectid);
	if (kind == SHUTTLE_TABLE_OTHER)
		return;
	old_cxt = MemoryContextSwitchTo(statement_cxt);
	table = palloc0_object(DroppedTable);
	table->relid = objectid;
	table->kind = kind;
	table->short_name = get_rel_name(objectid);
	table->name = shuttle_local_name(objectid);
	if (kind == SHUTTLE_TABLE_TABLET)
	{
		table->parent = get_partition_parent(objectid, true);
		table->serverid = GetForeignServerIdByRelId(objectid);
	}
	dropped = lappend(dropped, table);
	MemoryContextSwitchTo(old_cxt);
}

/* A table's tablets are dropped before it, so it has none any more. */
static List *
servers_of(const DroppedTable *table)
{
	List	   *servers = NIL;
	ListCell   *cell;

	foreach(cell, dropped)
	{
		const DroppedTable *tablet = lfirst(cell);

		if (tablet->parent == table->relid)
			servers = list_append_unique_oid(servers, tablet->serverid);
	}
	return servers;
}

static void
refuse_tablet(const DroppedTable *tablet)
{
	const char *parent = get_rel_name(tablet->parent);

	if (parent != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot drop tablet \"%s\" of distributed table \"%s\"",
						tablet->short_name, parent),
				 errhint("Drop the table, or bring it back with shuttle.local_table().")));
}

static void
drop_on_nodes(bool cascade)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();
	List	   *servers = NIL;
	ListCell   *cell;

	foreach(cell, dropped)
		servers = list_concat_unique_oid(servers, ((DroppedTable *) lfirst(cell))->servers);
	foreach(cell, servers)
	{
		StringInfoData names;
		ListCell   *inner;

		initStringInfo(&names);
		foreach(inner, dropped)
		{
			const DroppedTable *table = lfirst(inner);

			if (list_member_oid(table->servers, lfirst_oid(cell)))
				appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ", table->name);
		}
		shuttle_node_statements_add(statements, lfirst_oid(cell),
									psprintf("DROP TABLE %s%s", names.data,
											 cascade ? " CASCADE" : ""));
	}
	shuttle_node_statements_run(statements);
}

static void
finish_drops(bool cascade)
{
	ListCell   *cell;

	foreach(cell, dropped)
	{
		DroppedTable *table = lfirst(cell);

		if (table->kind == SHUTTLE_TABLE_TABLET)
		{
			refuse_tablet(table);
			continue;
		}
		table->servers = servers_of(table);
		shuttle_table_forget(table->relid);
	}
	if (dropped != NIL)
		drop_on_nodes(cascade);
}

static bool
is_cascade(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropStmt:
			return castNode(DropStmt, statement)->behavior == DROP_CASCADE;
		case T_DropOwnedStmt:
			return castNode(DropOwnedStmt, statement)->behavior == DROP_CASCADE;
		default:
			return false;
	}
}

void
shuttle_ddl_drop_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	List	   *outer_dropped = dropped;
	MemoryContext outer_cxt = statement_cxt;

	dropped = NIL;
	statement_cxt = CurrentMemoryContext;
	PG_TRY();					/* the list outlives the statement */
	{
		run(SHUTTLE_UTILITY_ARGUMENTS);
		finish_drops(is_cascade(pstmt->utilityStmt));
	}
	PG_FINALLY();
	{
		dropped = outer_dropped;
		statement_cxt = outer_cxt;
	}
	PG_END_TRY();
}
