/*-------------------------------------------------------------------------
 * node_owners.c
 *	  Whether what nodes have already belongs to roles that may change it.
 *
 * Schemas, types and functions are made on a node that lacks them. What it has may be from a role of
 * that node, who knew the name: CREATE OR REPLACE leaves it to its owner, who can give a function another
 * body later, or a domain a check. The remote user, a superuser perhaps, would run that code. Who owns
 * the schema can drop it, and make another one. Other objects of the same name count, too, and who can make some (CREATE): another
 * function may fit the arguments better, and a type of a function's name is a cast.
 *
 * A role that can become the remote user, or a superuser, gains nothing by it. What counts are roles that can log in, with
 * all that they are members of. The database's owner does not count, unless the remote user is a superuser or the
 * like (SHUTTLE_REMOTE_POWER): he can drop the whole database.
 *
 * For a table itself its schema's owner counts alone: he could put another table in its place, with a
 * trigger. The schema's owner here can do that here; so the role of that name may own it there, again
 * unless the remote user is a superuser or the like. A foreign table's own table belongs to a role of the node:
 * this role may own the schema in any case.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "tablets/common/table_text.h"
#include "tablets/rights/node_owners.h"
#include "tablets/rights/user_code.h"

/* Since 16 a member may be one who can neither become a role nor has its rights. */
#define CAN_BECOME "CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END"

/* The oid of an object, or NULL. To look for a name in a schema without USAGE is an error. */
#define IS(wanted, find) "CASE WHEN kind = '" wanted "' AND pg_catalog.has_schema_privilege(s.oid, 'USAGE') THEN pg_catalog." find "(name)::pg_catalog.oid END"

/* Holders are owners, and for what is used by name, the schema's owner and those who can create there; 0 is PUBLIC. */
#define QUERY \
"WITH named(kind, schema, name, friend) AS (VALUES %s)," \
" base AS MATERIALIZED (SELECT datdba, oid AS database, " SHUTTLE_REMOTE_POWER " = '' AS is_plain FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())," \
" login AS MATERIALIZED (SELECT r.oid, r.rolname FROM pg_catalog.pg_roles AS r, base WHERE rolcanlogin AND NOT (is_plain AND r.oid = datdba)" \
" AND pg_catalog.has_database_privilege(r.oid, database, 'CONNECT') AND NOT pg_catalog.pg_has_role(r.oid, current_user, 'USAGE')" \
" AND NOT pg_catalog.pg_has_role(r.oid, current_user, " CAN_BECOME ")" \
" AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS s WHERE s.rolsuper AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')))," \
" found AS (SELECT kind, name, friend, s.oid AS schema, nspowner, nspacl, o.owner FROM named JOIN pg_catalog.pg_namespace AS s ON nspname = schema CROSS JOIN LATERAL (" \
"SELECT nspowner WHERE kind IN ('schema', 'place')" \
" UNION SELECT proowner FROM pg_catalog.pg_proc WHERE kind = 'schema' AND friend IS NULL AND pronamespace = s.oid" \
" UNION SELECT typowner FROM pg_catalog.pg_type WHERE kind = 'schema' AND friend IS NULL AND typnamespace = s.oid" \
" UNION SELECT oprowner FROM pg_catalog.pg_operator WHERE kind = 'schema' AND friend IS NULL AND oprnamespace = s.oid" \
" UNION SELECT typowner FROM pg_catalog.pg_type WHERE oid = " IS("type", "to_regtype") \
" UNION SELECT u.owner FROM pg_catalog.pg_proc AS p LEFT JOIN pg_catalog.pg_type AS t ON typnamespace = pronamespace AND typname = proname" \
" JOIN pg_catalog.pg_proc AS every ON every.pronamespace = p.pronamespace AND every.proname = p.proname," \
" LATERAL (VALUES (typowner), (every.proowner)) AS u(owner) WHERE p.oid = " IS("function", "to_regprocedure") \
" UNION SELECT u.owner FROM pg_catalog.pg_operator AS p JOIN pg_catalog.pg_operator AS every ON every.oprnamespace = p.oprnamespace AND every.oprname = p.oprname" \
" LEFT JOIN pg_catalog.pg_proc AS f ON f.oid = every.oprcode, LATERAL (VALUES (every.oprowner), (proowner)) AS u(owner)" \
" WHERE p.oid = " IS("operator", "to_regoperator") ") AS o(owner))," \
" holder AS (SELECT DISTINCT kind, name, friend, CASE g.rolname WHEN 'pg_database_owner' THEN datdba ELSE h.oid END AS oid FROM base CROSS JOIN found CROSS JOIN LATERAL (" \
"SELECT owner UNION SELECT nspowner WHERE friend IS NULL" \
" UNION SELECT grantee FROM pg_catalog.aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND friend IS NULL) AS h(oid)" \
" LEFT JOIN pg_catalog.pg_roles AS g ON g.oid = h.oid)" \
" SELECT pg_catalog.format('%%s %%s', CASE kind WHEN 'place' THEN 'schema' ELSE kind END, name), login.rolname::text FROM holder JOIN login ON holder.oid = 0 OR pg_catalog.pg_has_role(login.oid, holder.oid, 'MEMBER')" \
" CROSS JOIN base LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = holder.oid WHERE NOT (is_plain OR kind = 'place') OR r.rolname IS DISTINCT FROM friend ORDER BY 1, 2 LIMIT 1"

#define CHECK_BODY \
"DECLARE what text; who text; BEGIN SELECT * INTO what, who FROM (%s) AS replaced;" \
" IF what IS NOT NULL THEN RAISE insufficient_privilege USING MESSAGE = pg_catalog.format('role %%I can replace %%s on the storage node', who, what)," \
" DETAIL = pg_catalog.format('Code of this role could run with the rights of remote user %%I.', current_user), HINT = %s; END IF; END"

char *
shuttle_node_owners_object(const char *kind, const char *schema, const char *name)
{
	return psprintf("(%s, %s, %s, NULL)", quote_literal_cstr(kind), quote_literal_cstr(schema), quote_literal_cstr(name));
}

/* kind: 'schema', or 'place' where the friend counts in any case. */
static char *
schema_object(const char *kind, const char *schema, const char *friend)
{
	return psprintf("(%s, %s, %s, %s)", quote_literal_cstr(kind), quote_literal_cstr(schema),
					quote_literal_cstr(quote_identifier(schema)), quote_literal_cstr(friend));
}

static Oid
database_owner(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	owner = ((Form_pg_database) GETSTRUCT(tuple))->datdba;
	ReleaseSysCache(tuple);
	return owner;
}

/* Its name, and its owner: a snapshot need not have a schema that names are found in. Who owns the database owns its
 * schema "public". */
static char *
read_schema(Oid schema, Oid *owner)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist", schema)));
	name = pstrdup(NameStr(((Form_pg_namespace) GETSTRUCT(tuple))->nspname));
	*owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	if (*owner == ROLE_PG_DATABASE_OWNER)
		*owner = database_owner();
	return name;
}

char *
shuttle_node_owners_schema(Oid schema)
{
	Oid			owner;
	char	   *name = read_schema(schema, &owner);

	return schema_object("schema", name, GetUserNameFromId(owner, false));
}

char *
shuttle_node_owners_query(const List *objects)
{
	StringInfoData rows;
	const ListCell *cell;

	initStringInfo(&rows);
	foreach(cell, objects)
		appendStringInfo(&rows, "%s%s", rows.len == 0 ? "" : ", ", (const char *) lfirst(cell));
	return psprintf(QUERY, rows.data);
}

char *
shuttle_node_owners_text(const List *objects)
{
	return psprintf("DO %s", quote_literal_cstr(psprintf(CHECK_BODY, shuttle_node_owners_query(objects),
														 quote_literal_cstr(SHUTTLE_NODE_OWNERS_HINT))));
}

List *
shuttle_node_owners_schema_texts(Oid schema)
{
	Oid			owner;
	char	   *name = read_schema(schema, &owner);

	return list_make2(shuttle_table_text_schema(name),
					  shuttle_node_owners_text(list_make1(schema_object("schema", name, GetUserNameFromId(owner, false)))));
}

char *
shuttle_node_owners_place_text(const char *schema, const char *owner)
{
	return shuttle_node_owners_text(list_make1(schema_object("place", schema, owner)));
}
