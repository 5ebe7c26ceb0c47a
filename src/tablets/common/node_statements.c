/*-------------------------------------------------------------------------
 * node_statements.c
 *	  Statements on nodes, in the local transaction: DDL, and queries of catalogs.
 *
 * All DDL statements of all nodes are sent before the first answer is read, so
 * they cost one round trip. The commit is the transaction's: over several
 * nodes it is two-phase.
 *
 * Memory: the list and its requests belong to the context that is current when
 * the list is made.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_compat_catalog.h"
#include "storage/shuttle_node_session.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/shuttle_tablets.h"

typedef struct NodeStatement
{
	Oid			serverid;
	char	   *sql;
} NodeStatement;

struct ShuttleNodeStatements
{
	MemoryContext cxt;
	bool		needs_usage;
	List	   *statements;		/* of NodeStatement */
};

ShuttleNodeStatements *
shuttle_node_statements_create(void)
{
	ShuttleNodeStatements *statements = palloc0_object(ShuttleNodeStatements);

	statements->cxt = CurrentMemoryContext;
	return statements;
}

ShuttleNodeStatements *
shuttle_node_definitions_create(void)
{
	ShuttleNodeStatements *statements = shuttle_node_statements_create();

	statements->needs_usage = true;
	return statements;
}

/* Code of users runs there with the rights of the mapping's role. */
bool
shuttle_node_may_define(Oid serverid)
{
	return object_aclcheck(ForeignServerRelationId, serverid, GetUserId(), ACL_USAGE) == ACLCHECK_OK;
}

void
shuttle_node_check_may_define(Oid serverid)
{
	const char *name;

	if (shuttle_node_may_define(serverid))
		return;
	name = GetForeignServer(serverid)->servername;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for foreign server %s", name),
			 errhint("You need GRANT USAGE ON FOREIGN SERVER %s TO %s to make or change objects there.",
					 quote_identifier(name), quote_identifier(GetUserNameFromId(GetUserId(), false)))));
}

void
shuttle_node_statements_add(ShuttleNodeStatements *statements, Oid serverid,
							const char *sql)
{
	MemoryContext old_cxt = MemoryContextSwitchTo(statements->cxt);
	NodeStatement *statement = palloc_object(NodeStatement);

	if (statements->needs_usage)
		shuttle_node_check_may_define(serverid);
	statement->serverid = serverid;
	statement->sql = pstrdup(sql);
	statements->statements = lappend(statements->statements, statement);
	MemoryContextSwitchTo(old_cxt);
}

void
shuttle_node_statements_add_all(ShuttleNodeStatements *statements,
								const List *serverids, const char *sql)
{
	ListCell   *cell;

	foreach(cell, serverids)
		shuttle_node_statements_add(statements, lfirst_oid(cell), sql);
}

void
shuttle_node_statements_add_texts(ShuttleNodeStatements *statements,
								  const List *serverids, const List *texts)
{
	const ListCell *cell;

	foreach(cell, texts)
		shuttle_node_statements_add_all(statements, serverids, lfirst(cell));
}

static ShuttleRequest *
send_statement(const NodeStatement *statement, MemoryContext owner)
{
	ShuttleStatement request = {
		.sql = statement->sql,
		.effect = SHUTTLE_WRITES,
		.size = SHUTTLE_SIZE_CERTAIN,
		.excludes_cursors = true,
		.changes_tables = true,
	};

	return shuttle_request_send(shuttle_connection_get(statement->serverid, GetUserId()),
								&request, owner);
}

static void
run_statements(ShuttleNodeStatements *statements)
{
	List	   *requests = NIL;
	ListCell   *cell;

	foreach(cell, statements->statements)
		requests = lappend(requests, send_statement(lfirst(cell), statements->cxt));
	foreach(cell, requests)
	{
		(void) shuttle_request_finish(lfirst(cell));
		shuttle_request_close(lfirst(cell));
	}
	statements->statements = NIL;
}

/* Nodes that do the same say the same. PG_FINALLY: what they said before an error is shown. */
void
shuttle_node_statements_run(ShuttleNodeStatements *statements)
{
	shuttle_notices_hold();
	PG_TRY();
	{
		run_statements(statements);
	}
	PG_FINALLY();
	{
		shuttle_notices_release_once();
	}
	PG_END_TRY();
}

/* ---- queries */

/* What is read of an answer, and of whom. */
typedef struct NodeRows
{
	const ShuttleNode *node;
	int			nrequired;
	List	   *rows;
} NodeRows;

pg_noreturn static void
refuse_answer(const ShuttleNode *node, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("storage node \"%s\" gave an answer that was not expected", shuttle_node_name(node)),
			 errdetail("%s", detail)));
}

static void
take_row(void *arg, const ShuttleRow *row)
{
	NodeRows   *answer = arg;
	char	  **values = palloc0_array(char *, row->ncolumns);

	for (int i = 0; i < row->ncolumns; i++)
	{
		if (row->values[i] != NULL)
			values[i] = pstrdup(row->values[i]);
		else if (i < answer->nrequired)
			refuse_answer(answer->node, psprintf("It has no value in column %d.", i + 1));
	}
	answer->rows = lappend(answer->rows, values);
}

/* The query with the OID on the node of the table, or tablet, by its name, in the place of $1. */
static char *
name_table(const char *sql, Oid relid)
{
	char	   *name = get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE ? shuttle_tablet_text(relid) : shuttle_local_name(relid);
	char	   *table = psprintf("pg_catalog.to_regclass(%s)", quote_literal_cstr(name));
	StringInfoData text;
	const char *place;

	initStringInfo(&text);
	while ((place = strstr(sql, "$1")) != NULL)
	{
		appendBinaryStringInfo(&text, sql, place - sql);
		appendStringInfoString(&text, table);
		sql = place + strlen("$1");
	}
	appendStringInfoString(&text, sql);
	return text.data;
}

List *
shuttle_node_rows_with_nulls(ShuttleNode *node, const char *sql, int ncolumns, int nrequired, Oid relid)
{
	NodeRows	answer = {.node = node,.nrequired = nrequired};

	shuttle_query(node, OidIsValid(relid) ? name_table(sql, relid) : sql, SHUTTLE_LOCKS, ncolumns, take_row, &answer);
	return answer.rows;
}

List *
shuttle_node_rows(ShuttleNode *node, const char *sql, int ncolumns, Oid relid)
{
	return shuttle_node_rows_with_nulls(node, sql, ncolumns, ncolumns, relid);
}

char	  **
shuttle_node_row(ShuttleNode *node, const char *sql, int ncolumns, int nrequired)
{
	List	   *rows = shuttle_node_rows_with_nulls(node, sql, ncolumns, nrequired, InvalidOid);

	if (list_length(rows) != 1)
		refuse_answer(node, psprintf("It has %d rows.", list_length(rows)));
	return linitial(rows);
}
