/*-------------------------------------------------------------------------
 * move_table_rights.c
 *	  Whose an ordinary table on a node is, and whose code a move would run.
 *
 * The caller of a move is often a superuser, and so is his remote user on the new node. Three rules keep
 * the owners of foreign tables from getting these rights:
 *
 * - The owner of a foreign table chooses by its options which table it means. That table has to be his
 *	  on the node, too.
 * - Functions in checks, generated columns, indexes, statistics and domains are called while the table is
 *	  made and filled on the new node, and can run with the rights of the caller's remote user. They have to
 *	  belong to roles that have these rights. So does their schema: its owner can drop a function in it,
 *	  and make another one of that name.
 * - The table gets its owner and privileges with the last commit. Whoever had them while it is half copied
 *	  could give it triggers, which fire for the rows that come.
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "tablets/common/local_sql.h"
#include "tablets/common/node_statements.h"
#include "tablets/move/move_table.h"

#define OWNER_QUERY \
"SELECT (SELECT pg_has_role(session_user, relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s))::text"

/* What the table on the old node names: a query, for the new one, of what has these names there. */
#define ROOTS_QUERY \
"WITH t AS (SELECT * FROM pg_class WHERE oid = to_regclass(%s)), part(classid, objid) AS (" \
"SELECT 'pg_class'::regclass, oid FROM t UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM t JOIN pg_index ON indrelid = t.oid" \
" UNION ALL SELECT 'pg_constraint'::regclass, c.oid FROM t JOIN pg_constraint AS c ON conrelid = t.oid" \
" UNION ALL SELECT 'pg_attrdef'::regclass, d.oid FROM t JOIN pg_attrdef AS d ON adrelid = t.oid" \
" UNION ALL SELECT 'pg_statistic_ext'::regclass, e.oid FROM t JOIN pg_statistic_ext AS e ON stxrelid = t.oid)" \
" SELECT string_agg(DISTINCT CASE refclassid WHEN 'pg_proc'::regclass THEN format('(%%L::regclass, to_regprocedure(%%L)::oid)', 'pg_proc', refobjid::regprocedure)" \
" WHEN 'pg_type'::regclass THEN format('(%%L::regclass, to_regtype(%%L)::oid)', 'pg_type', refobjid::regtype)" \
" ELSE format('(%%L::regclass, to_regoperator(%%L)::oid)', 'pg_operator', refobjid::regoperator) END, ', ')" \
" FROM part JOIN pg_depend AS d USING (classid, objid) WHERE refclassid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass)"

/* The first function or domain of these and of what they need that is of a role without the rights of the remote user. */
#define STRANGER_QUERY \
"WITH RECURSIVE used(classid, objid) AS (SELECT classid::oid, objid FROM (VALUES %s) AS root(classid, objid) WHERE objid IS NOT NULL" \
" UNION SELECT n.* FROM used, LATERAL (SELECT refclassid, refobjid FROM pg_depend WHERE classid = used.classid AND objid = used.objid" \
" UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE used.classid = 'pg_type'::regclass AND contypid = used.objid" \
" UNION ALL SELECT 'pg_class'::regclass, typrelid FROM pg_type WHERE used.classid = 'pg_type'::regclass AND oid = used.objid AND typrelid <> 0) AS n(classid, objid)" \
" WHERE n.classid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass))," \
" found(classid, objid, schema, owner) AS (SELECT classid, objid, pronamespace, proowner FROM used JOIN pg_proc ON classid = 'pg_proc'::regclass AND oid = objid" \
" UNION ALL SELECT classid, objid, typnamespace, typowner FROM used JOIN pg_type ON classid = 'pg_type'::regclass AND oid = objid AND typtype = 'd')" \
" SELECT pg_describe_object(classid, objid, 0), rolname, current_user FROM found JOIN pg_namespace AS n ON n.oid = schema" \
" CROSS JOIN LATERAL (VALUES (owner), (nspowner)) AS either(role) JOIN pg_roles AS named ON named.oid = role" \
" CROSS JOIN LATERAL (SELECT CASE rolname WHEN 'pg_database_owner' THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE role END) AS who(one)" \
" WHERE NOT pg_has_role(one, current_user, 'USAGE') ORDER BY 1, 2 LIMIT 1"

void
shuttle_move_check_owner(const ShuttleMove *move)
{
	Oid			relid = linitial_oid(move->relids);
	Oid			owner = shuttle_local_owner(relid);
	char	  **row;

	if (owner == GetUserId() || superuser_arg(owner))
		return;
	row = shuttle_node_row(shuttle_connection_get(move->source, owner),
						   psprintf(OWNER_QUERY, quote_literal_cstr(move->remote)), 1, 0);
	if (row[0] == NULL || strcmp(row[0], "true") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("foreign table \"%s\" cannot be moved", get_rel_name(relid)),
				 errdetail("Table %s of storage node \"%s\" does not belong to the remote user of \"%s\", who owns the foreign table.",
						   move->remote, GetForeignServer(move->source)->servername, GetUserNameFromId(owner, false)),
				 errhint("Let the foreign table belong to the role whose remote user owns that table.")));
}

void
shuttle_move_check_code(const ShuttleMove *move)
{
	Oid			relid = linitial_oid(move->relids);
	char	   *roots = shuttle_node_row(shuttle_connection_get(move->source, GetUserId()),
										 psprintf(ROOTS_QUERY, quote_literal_cstr(move->remote)), 1, 0)[0];
	List	   *strangers = roots == NULL ? NIL :
		shuttle_node_rows(shuttle_connection_get(move->target, GetUserId()), psprintf(STRANGER_QUERY, roots), 3, InvalidOid);
	char	  **row;

	if (strangers == NIL)
		return;
	row = linitial(strangers);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("foreign table \"%s\" cannot be moved", get_rel_name(relid)),
			 errdetail("It needs %s, which role \"%s\" of storage node \"%s\" can change, and which could run with the rights of role \"%s\" there.",
					   row[0], row[1], GetForeignServer(move->target)->servername, row[2]),
			 errhint("Let a superuser own it there, and its schema.")));
}
