/*-------------------------------------------------------------------------
 * user_code.c
 *	  Whether code that users wrote may run on a node.
 *
 * The rule: what a role wrote that is no superuser here goes to a node only if the role
 * has USAGE on the server, the remote user there is an ordinary one, and all tables there are
 * of owners whose privileges the role has (reach.c). His code can do there what the remote user may, and cannot
 * get more: the remote user is who has logged in, so RESET ROLE, SET SESSION AUTHORIZATION,
 * and SECURITY DEFINER functions that were sent there lead to that user again, and
 * roles that he is a member of are looked at with him.
 *
 * A superuser, or a member of pg_execute_server_program, could be had to run programs
 * on the node. Nobody here has that right but superusers.
 *
 * Code are functions in SQL and PL/pgSQL, and checks of domains that are not immutable:
 * functions of PostgreSQL's own that are volatile run any SQL (query_to_xml()). Elsewhere
 * such functions do not get to nodes.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "storage/shuttle_storage.h"
#include "tablets/common/node_statements.h"
#include "tablets/common/refusal.h"
#include "tablets/rights/reach.h"
#include "tablets/rights/user_code.h"

static char *
refused(Oid author)
{
	return psprintf("code of role \"%s\" must not run on storage nodes", GetUserNameFromId(author, false));
}

static ShuttleRefusal *
refuse_author(Oid author, Oid serverid)
{
	const char *server = GetForeignServer(serverid)->servername;

	if (object_aclcheck(ForeignServerRelationId, serverid, author, ACL_USAGE) == ACLCHECK_OK)
		return NULL;
	return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE, refused(author),
						   psprintf("It has no USAGE on foreign server \"%s\".", server),
						   psprintf("It needs GRANT USAGE ON FOREIGN SERVER %s TO %s.", quote_identifier(server),
									quote_identifier(GetUserNameFromId(author, false))));
}

/* Asks the node whom a role's mapping leads to. */
static ShuttleRefusal *
refuse_remote_user(Oid author, Oid serverid, Oid user)
{
	ShuttleNode *node = shuttle_connection_get(serverid, user);
	char	   *power = shuttle_node_row(node, "SELECT " SHUTTLE_REMOTE_POWER, 1, 1)[0];

	if (*power == '\0')
		return NULL;
	return shuttle_refusal(ERRCODE_INSUFFICIENT_PRIVILEGE, refused(author),
						   psprintf("The remote user on \"%s\": %s.", shuttle_node_name(node), power), SHUTTLE_REMOTE_POWER_HINT);
}

static bool
has_own_mapping(Oid user, Oid serverid)
{
	return SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(user), ObjectIdGetDatum(serverid));
}

/* Others' tables on a server that is locked, and the author's own remote user, if it may be another one than that of the current user. */
static ShuttleRefusal *
refuse_others(Oid author, Oid serverid, Oid relid)
{
	ShuttleRefusal *refusal = shuttle_reach_refuse_code(author, serverid, relid);

	if (refusal == NULL && author != GetUserId() &&
		(has_own_mapping(author, serverid) || has_own_mapping(GetUserId(), serverid)))
		refusal = refuse_remote_user(author, serverid, author);
	return refusal;
}

List *
shuttle_user_code_guard(const List *authors, const List *servers, Oid relid)
{
	const ListCell *author;
	const ListCell *server;

	if (authors == NIL)
		return NIL;
	foreach(author, authors)
	{
		foreach(server, servers)
		{
			if (lfirst_oid(author) == GetUserId())
				shuttle_node_check_may_define(lfirst_oid(server));
			shuttle_refusal_raise(refuse_author(lfirst_oid(author), lfirst_oid(server)));
		}
	}
	shuttle_reach_lock(servers, true);
	foreach(author, authors)
	{
		foreach(server, servers)
			shuttle_refusal_raise(refuse_others(lfirst_oid(author), lfirst_oid(server), relid));
	}
	return list_make1(psprintf("DO %s",
							   quote_literal_cstr(psprintf("DECLARE power text := " SHUTTLE_REMOTE_POWER "; BEGIN IF power <> '' THEN"
														   " RAISE insufficient_privilege USING MESSAGE = %s,"
														   " DETAIL = format('The remote user %%I: %%s.', session_user, power), HINT = %s; END IF; END",
														   quote_literal_cstr(refused(linitial_oid(authors))),
														   quote_literal_cstr(SHUTTLE_REMOTE_POWER_HINT)))));
}

ShuttleRefusal *
shuttle_user_code_refuse(const List *authors, const List *servers, Oid relid)
{
	ShuttleRefusal *refusal = NULL;
	const ListCell *author;
	const ListCell *server;

	if (authors == NIL)
		return NULL;
	foreach(author, authors)
	{
		foreach(server, servers)
		{
			refusal = refuse_author(lfirst_oid(author), lfirst_oid(server));
			if (refusal != NULL)
				return refusal;
		}
	}
	shuttle_reach_lock(servers, true);
	foreach(author, authors)
	{
		foreach(server, servers)
		{
			refusal = refuse_others(lfirst_oid(author), lfirst_oid(server), relid);
			if (refusal == NULL)
				refusal = refuse_remote_user(lfirst_oid(author), lfirst_oid(server), GetUserId());
			if (refusal != NULL)
				return refusal;
		}
	}
	return NULL;
}

List *
shuttle_user_code_author(Oid routine)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(routine));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", routine);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return superuser_arg(owner) ? NIL : list_make1_oid(owner);
}
