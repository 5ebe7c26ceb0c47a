/*-------------------------------------------------------------------------
 * follow_roles.c
 *	  CREATE, ALTER, RENAME and DROP ROLE, and memberships of roles, on nodes.
 *
 * The statement runs here, under the user's rights; then nodes make the role as
 * it is here now, in the same transaction. They are sent attributes that differ
 * only, because some need a superuser even to be repeated. A password goes there as
 * this server has stored it, as a parameter: it is in no text.
 *
 * Settings of roles (ALTER ROLE ... SET) and privileges stay here.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/shuttle_compat_catalog.h"
#include "tablets/common/local_sql.h"
#include "tablets/follow/follow.h"

/* What the role has here now: SQL values for the query of a node. */
static const char *const attributes_query =
"SELECT format('(rolsuper, %L::pg_catalog.bool, ''SUPERUSER''), (rolinherit, %L, ''INHERIT''), (rolcreaterole, %L, ''CREATEROLE''),"
" (rolcreatedb, %L, ''CREATEDB''), (rolcanlogin, %L, ''LOGIN''), (rolreplication, %L, ''REPLICATION''), (rolbypassrls, %L, ''BYPASSRLS'')',"
" rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls),"
" rolconnlimit::text, CASE WHEN isfinite(rolvaliduntil) THEN (rolvaliduntil AT TIME ZONE 'UTC')::text || '+00' ELSE rolvaliduntil::text END"
" FROM pg_roles WHERE oid = $1";

/* Adds statements that give a node's role the attributes that it has here. */
static void
add_attributes(StringInfo body, const char *name)
{
	char	  **row = linitial(shuttle_local_rows(attributes_query, get_role_oid(name, false)));
	const char *role = quote_identifier(name);

	appendStringInfo(body, " SELECT pg_catalog.string_agg(CASE WHEN wanted THEN ' ' ELSE ' NO' END || word, '') INTO t"
					 " FROM pg_catalog.pg_roles, LATERAL (VALUES %s) AS a (has, wanted, word) WHERE rolname = %s AND has <> wanted;"
					 " IF t IS NOT NULL THEN EXECUTE %s || t; END IF;",
					 row[0], quote_literal_cstr(name), quote_literal_cstr(psprintf("ALTER ROLE %s", role)));
	appendStringInfo(body, " IF (SELECT rolconnlimit <> %s FROM pg_catalog.pg_roles WHERE rolname = %s) THEN ALTER ROLE %s CONNECTION LIMIT %s; END IF;",
					 row[1], quote_literal_cstr(name), role, row[1]);
	if (row[2] != NULL)
		appendStringInfo(body, " IF (SELECT rolvaliduntil IS DISTINCT FROM %s::pg_catalog.timestamptz FROM pg_catalog.pg_roles WHERE rolname = %s)"
						 " THEN ALTER ROLE %s VALID UNTIL %s; END IF;",
						 quote_literal_cstr(row[2]), quote_literal_cstr(name), role, quote_literal_cstr(row[2]));
}

/* Adds a statement that sets a role's password, if the statement sets it, and returns
 * what is stored of it here; else NULL. */
static char *
add_password(StringInfo body, const char *name, const List *options)
{
	const ListCell *cell;
	bool		is_set = false;
	bool		is_null = true;
	HeapTuple	tuple;
	Datum		value;
	char	   *verifier;

	foreach(cell, options)
		is_set |= strcmp(lfirst_node(DefElem, cell)->defname, "password") == 0;
	if (!is_set)
		return NULL;
	tuple = SearchSysCache1(AUTHNAME, CStringGetDatum(name));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for role %s", name);
	value = SysCacheGetAttr(AUTHNAME, tuple, Anum_pg_authid_rolpassword, &is_null);
	verifier = is_null ? NULL : TextDatumGetCString(value);
	ReleaseSysCache(tuple);
	if (verifier == NULL)
		appendStringInfo(body, " ALTER ROLE %s PASSWORD NULL;", quote_identifier(name));
	else
		appendStringInfo(body, " EXECUTE %s || pg_catalog.quote_literal(pg_catalog.current_setting('pg_shuttle.verifier'));",
						 quote_literal_cstr(psprintf("ALTER ROLE %s PASSWORD ", quote_identifier(name))));
	return verifier;
}

/* Adds a GRANT or REVOKE for each pair of roles (names) that the node has: followed ones, and
 * PostgreSQL's own. */
static void
add_members(StringInfo body, const List *granted, const List *members, const char *format)
{
	const ListCell *cell;
	const ListCell *inner;

	foreach(cell, granted)
	{
		const char *role = lfirst(cell);
		char	   *has = strncmp(role, "pg_", 3) == 0 ?
			psprintf("EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = %s)", quote_literal_cstr(role)) :
			shuttle_follow_is_ours(true, role);

		foreach(inner, members)
		{
			const char *member = lfirst(inner);

			appendStringInfo(body, " IF %s AND %s THEN ", has, shuttle_follow_is_ours(true, member));
			appendStringInfo(body, format, quote_identifier(role), quote_identifier(member));
			appendStringInfoString(body, "; END IF;");
		}
	}
}

static List *
role_names(const List *roles)
{
	List	   *names = NIL;
	const ListCell *cell;

	foreach(cell, roles)
		names = lappend(names, get_rolespec_name(lfirst_node(RoleSpec, cell)));
	return names;
}

/* Adds the memberships that options of CREATE ROLE, or ALTER GROUP, name. */
static void
add_memberships(StringInfo body, const char *name, const List *options, bool is_drop)
{
	List	   *self = list_make1(unconstify(char *, name));
	const ListCell *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "addroleto") == 0)
			add_members(body, role_names((List *) option->arg), self, "GRANT %s TO %s");
		else if (strcmp(option->defname, "rolemembers") == 0)
			add_members(body, self, role_names((List *) option->arg), is_drop ? "REVOKE %s FROM %s" : "GRANT %s TO %s");
		else if (strcmp(option->defname, "adminmembers") == 0)
			add_members(body, self, role_names((List *) option->arg), "GRANT %s TO %s WITH ADMIN OPTION");
	}
}

void
shuttle_follow_create_role(const ShuttleFollowed *followed, const CreateRoleStmt *statement)
{
	const char *role = quote_identifier(statement->role);
	StringInfoData body;
	char	   *verifier;

	followed->run(followed->arg);
	CommandCounterIncrement();
	initStringInfo(&body);
	appendStringInfo(&body, "IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = %s) THEN"
					 " RAISE EXCEPTION USING ERRCODE = 'duplicate_object', MESSAGE = %s,"
					 " HINT = 'Drop it there, or set shuttle.follow_roles to off to create it on this server only.'; END IF;"
					 " CREATE ROLE %s; COMMENT ON ROLE %s IS %s;",
					 quote_literal_cstr(statement->role), quote_literal_cstr(psprintf("role \"%s\" already exists", statement->role)),
					 role, role, shuttle_follow_mark());
	add_attributes(&body, statement->role);
	verifier = add_password(&body, statement->role, statement->options);
	add_memberships(&body, statement->role, statement->options, false);
	shuttle_follow_on_nodes(followed->servers, body.data, verifier);
}

void
shuttle_follow_alter_role(const ShuttleFollowed *followed, const AlterRoleStmt *statement)
{
	char	   *name = get_rolespec_name(statement->role);
	StringInfoData body;
	char	   *verifier;

	followed->run(followed->arg);
	CommandCounterIncrement();
	initStringInfo(&body);
	appendStringInfo(&body, "IF %s THEN", shuttle_follow_is_ours(true, name));
	add_attributes(&body, name);
	verifier = add_password(&body, name, statement->options);
	add_memberships(&body, name, statement->options, statement->action < 0);
	appendStringInfoString(&body, " END IF;");
	shuttle_follow_on_nodes(followed->servers, body.data, verifier);
}

void
shuttle_follow_rename_role(const ShuttleFollowed *followed, const RenameStmt *statement)
{
	followed->run(followed->arg);
	shuttle_follow_on_nodes(followed->servers,
							psprintf("IF %s THEN ALTER ROLE %s RENAME TO %s; END IF;",
									 shuttle_follow_is_ours(true, statement->subname),
									 quote_identifier(statement->subname), quote_identifier(statement->newname)),
							NULL);
}

void
shuttle_follow_drop_role(const ShuttleFollowed *followed, const DropRoleStmt *statement)
{
	StringInfoData body;
	ListCell   *cell;

	initStringInfo(&body);
	foreach(cell, statement->roles)
	{
		const char *name = lfirst_node(RoleSpec, cell)->rolename;

		if (name != NULL)
			appendStringInfo(&body, " IF %s THEN DROP ROLE %s; END IF;", shuttle_follow_is_ours(true, name),
							 quote_identifier(name));
	}
	followed->run(followed->arg);
	shuttle_follow_on_nodes(followed->servers, body.data, NULL);
}

void
shuttle_follow_grant_role(const ShuttleFollowed *followed, const GrantRoleStmt *statement)
{
	char	   *options = shuttle_role_options(statement);
	List	   *granted = NIL;
	List	   *members = role_names(statement->grantee_roles);
	StringInfoData body;
	ListCell   *cell;

	foreach(cell, statement->granted_roles)
		granted = lappend(granted, lfirst_node(AccessPriv, cell)->priv_name);
	followed->run(followed->arg);
	initStringInfo(&body);
	if (statement->is_grant)
		add_members(&body, granted, members, psprintf("GRANT %%s TO %%s%s", options));
	else
		add_members(&body, granted, members, psprintf("REVOKE %s%%s FROM %%s%s", options,
													  statement->behavior == DROP_CASCADE ? " CASCADE" : ""));
	shuttle_follow_on_nodes(followed->servers, body.data, NULL);
}
