/*-------------------------------------------------------------------------
 * follow.c
 *	  Which statements on databases and roles nodes follow, and how.
 *
 * A node gets a comment with each database and role that it is given. Later
 * statements act there only on what has the comment: a database or role that only has
 * the same name, such as the node's own superuser, is left alone.
 *
 * Statements on roles, and renaming, are part of the transaction. Databases are
 * created and dropped outside of it.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/shuttle_settings.h"
#include "cluster/shuttle_cluster.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/layout.h"
#include "tablets/common/local_sql.h"
#include "tablets/follow/follow.h"

#define UNDONE "The statement is undone everywhere."

/* What runs a statement here. */
typedef struct LocalStatement
{
	ProcessUtility_hook_type run;
	PlannedStmt *pstmt;
	const char *query;
	bool		is_read_only;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *env;
	DestReceiver *dest;
	QueryCompletion *completion;
} LocalStatement;

static void
run_here(void *arg)
{
	const LocalStatement *local = arg;

	local->run(local->pstmt, local->query, local->is_read_only, local->context, local->params,
			   local->env, local->dest, local->completion);
}

/* The name of a statement that nodes follow by the settings; else NULL. */
static const char *
followed_name(Node *statement)
{
	bool		databases = shuttle_settings.follow_databases;
	bool		roles = shuttle_settings.follow_roles;

	switch (nodeTag(statement))
	{
		case T_CreatedbStmt:
			return databases ? "CREATE DATABASE" : NULL;
		case T_DropdbStmt:
			return databases ? "DROP DATABASE" : NULL;
		case T_RenameStmt:
			if (castNode(RenameStmt, statement)->renameType == OBJECT_DATABASE)
				return databases ? "ALTER DATABASE ... RENAME" : NULL;
			return roles && castNode(RenameStmt, statement)->renameType == OBJECT_ROLE ?
				"ALTER ROLE ... RENAME" : NULL;
		case T_CreateRoleStmt:
			return roles ? "CREATE ROLE" : NULL;
		case T_AlterRoleStmt:
			return roles ? "ALTER ROLE" : NULL;
		case T_DropRoleStmt:
			return roles ? "DROP ROLE" : NULL;
		case T_GrantRoleStmt:
			return roles ? "GRANT" : NULL;
		default:
			return NULL;
	}
}

static void
follow(const ShuttleFollowed *followed, Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CreatedbStmt:
			shuttle_follow_create_database(followed, castNode(CreatedbStmt, statement));
			break;
		case T_DropdbStmt:
			shuttle_follow_drop_database(followed, castNode(DropdbStmt, statement));
			break;
		case T_RenameStmt:
			if (castNode(RenameStmt, statement)->renameType == OBJECT_DATABASE)
				shuttle_follow_rename_database(followed, castNode(RenameStmt, statement));
			else
				shuttle_follow_rename_role(followed, castNode(RenameStmt, statement));
			break;
		case T_CreateRoleStmt:
			shuttle_follow_create_role(followed, castNode(CreateRoleStmt, statement));
			break;
		case T_AlterRoleStmt:
			shuttle_follow_alter_role(followed, castNode(AlterRoleStmt, statement));
			break;
		case T_DropRoleStmt:
			shuttle_follow_drop_role(followed, castNode(DropRoleStmt, statement));
			break;
		default:
			shuttle_follow_grant_role(followed, castNode(GrantRoleStmt, statement));
	}
}

void
shuttle_follow_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS)
{
	LocalStatement local = {run, pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc};
	ShuttleFollowed followed = {
		.name = followed_name(pstmt->utilityStmt),
		.is_toplevel = context == PROCESS_UTILITY_TOPLEVEL,
		.run = run_here,
		.arg = &local,
	};

	if (followed.name != NULL && OidIsValid(shuttle_extension_table(SHUTTLE_TABLE_TABLES)))
		followed.servers = shuttle_layout_nodes();
	if (followed.servers != NIL)
	{
		follow(&followed, copyObject(pstmt->utilityStmt));
		return;
	}
	run_here(&local);
	if (followed.name != NULL)
		ereport(NOTICE,
				(errmsg("%s was run on this server only: this database has no storage nodes", followed.name)));
}

/* ---- statements for nodes */

char *
shuttle_follow_mark(void)
{
	return quote_literal_cstr(psprintf("pg_shuttle %llx", (unsigned long long) GetSystemIdentifier()));
}

char *
shuttle_follow_is_ours(bool is_role, const char *name)
{
	return psprintf("EXISTS (SELECT FROM pg_catalog.%s AS o WHERE o.%s = %s"
					" AND pg_catalog.shobj_description(o.oid, '%s') = %s)",
					is_role ? "pg_roles" : "pg_database", is_role ? "rolname" : "datname",
					quote_literal_cstr(name), is_role ? "pg_authid" : "pg_database",
					shuttle_follow_mark());
}

static void
take_server(void *arg, const ShuttleRow *row)
{
	*(char **) arg = pstrdup(shuttle_row_text(row, 0));
}

/* Roles belong to a whole server: of several nodes on one server only one is told, and
 * none that is on this server, which has run the statement. */
static List *
one_of_each_server(const List *servers)
{
	List	   *known = list_make1(shuttle_local_text("SELECT " SHUTTLE_FOLLOW_SERVER, InvalidOid));
	List	   *chosen = NIL;
	const ListCell *cell;

	foreach(cell, servers)
	{
		char	   *server = "";
		bool		is_known = false;
		ListCell   *inner;

		shuttle_query(shuttle_connection_get(lfirst_oid(cell), GetUserId()), "SELECT " SHUTTLE_FOLLOW_SERVER,
					  SHUTTLE_READS, 1, take_server, &server);
		foreach(inner, known)
			is_known |= strcmp(lfirst(inner), server) == 0;
		if (is_known)
			continue;
		known = lappend(known, server);
		chosen = lappend_oid(chosen, lfirst_oid(cell));
	}
	return chosen;
}

/* An error's context would have the text of the statement that failed, and so a password's
 * verifier. The block catches errors, cancels too, and raises them without it. */
static char *
block_text(const char *node, const char *body)
{
	char	   *right = psprintf("The remote user of storage node \"%s\" must have the right to do this.", node);
	char	   *block = psprintf("DECLARE t text; d text; h text; BEGIN %s"
								 " EXCEPTION WHEN query_canceled OR OTHERS THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;"
								 " RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM || %s,"
								 " DETAIL = coalesce(nullif(d, ''), '%s'), HINT = CASE WHEN h <> '' THEN h WHEN SQLSTATE = '42501' THEN %s"
								 " ELSE 'shuttle.follow_databases and shuttle.follow_roles say what storage nodes follow.' END; END",
								 body, quote_literal_cstr(psprintf(" (on storage node \"%s\")", node)), UNDONE,
								 quote_literal_cstr(right));

	return psprintf("DO %s", quote_literal_cstr(block));
}

static ShuttleRequest *
send(ShuttleNode *node, const char *sql, const char *const *values)
{
	ShuttleStatement statement = {
		.sql = sql,
		.nparams = values == NULL ? 0 : 1,
		.values = values,
		.effect = SHUTTLE_WRITES,
		.size = SHUTTLE_SIZE_CERTAIN,
		.estimated_rows = 1,
		.ncolumns = values == NULL ? 0 : 1,
	};

	return shuttle_request_send(node, &statement, CurrentMemoryContext);
}

void
shuttle_follow_on_nodes(const List *servers, const char *body, const char *verifier)
{
	List	   *requests = NIL;
	ListCell   *cell;

	foreach(cell, one_of_each_server(servers))
	{
		ShuttleNode *node = shuttle_connection_get(lfirst_oid(cell), GetUserId());

		if (verifier != NULL)
			requests = lappend(requests, send(node, "SELECT pg_catalog.set_config('pg_shuttle.verifier', $1, true)", &verifier));
		requests = lappend(requests, send(node, block_text(shuttle_node_name(node), body), NULL));
	}
	foreach(cell, requests)
	{
		(void) shuttle_request_finish(lfirst(cell));
		shuttle_request_close(lfirst(cell));
	}
}
