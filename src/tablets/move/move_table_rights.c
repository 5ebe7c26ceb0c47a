/*-------------------------------------------------------------------------
 * move_table_rights.c
 *	  Whose an ordinary table on a node is that moves.
 *
 * The caller of a move is often a superuser, and so is his remote user on the new node. The owner of a foreign
 * table chooses by its options which table it means. That table has to be his on the node, too.
 *
 * The session on the node may have run code of that owner, who can set search_path for what follows.
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
"SELECT (SELECT pg_catalog.pg_has_role(session_user, relowner, 'USAGE') FROM pg_catalog.pg_class" \
" WHERE oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%s))::pg_catalog.text"

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
