/*-------------------------------------------------------------------------
 * user_code.h
 *	  Whether code that users wrote may run on a node.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_RIGHTS_USER_CODE_H
#define SHUTTLE_TABLETS_RIGHTS_USER_CODE_H

#include "tablets/common/refusal.h"

/*
 * A query of what the remote user, or a role that he can become, may do beyond his
 * databases; or empty. Before 16, CREATEROLE lets a role take all of that.
 */
#define SHUTTLE_REMOTE_POWER \
	"(SELECT CASE WHEN pg_catalog.bool_or(rolsuper) THEN 'superuser'" \
	" WHEN pg_catalog.bool_or(rolname = 'pg_execute_server_program') THEN 'runs programs'" \
	" WHEN pg_catalog.bool_or(rolname = 'pg_write_server_files') THEN 'writes files'" \
	" WHEN pg_catalog.bool_or(rolname = 'pg_read_server_files') THEN 'reads files'" \
	" WHEN pg_catalog.bool_or(rolcreaterole) AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 < 160000" \
	" THEN 'makes roles' ELSE '' END" \
	" FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(session_user, oid, 'MEMBER')" \
	" OR pg_catalog.pg_has_role(current_user, oid, 'MEMBER'))"
#define SHUTTLE_REMOTE_POWER_HINT \
	"Let the user mapping lead to a role that is no superuser and may not run programs or use files there."

/*
 * Statements that come before those which bring code of authors (OIDs of roles) to nodes:
 * they raise an error where the remote user can do more than an author may. relid: the table that
 * the code is for, or InvalidOid.
 * Errors: ERRCODE_INSUFFICIENT_PRIVILEGE if an author has no USAGE on a server, or could reach
 * others' tables there (reach.h).
 */
extern List *shuttle_user_code_guard(const List *authors, const List *servers, Oid relid);

/* Why code of authors may not run on the servers; asks these. NULL: it may. */
extern ShuttleRefusal *shuttle_user_code_refuse(const List *authors, const List *servers, Oid relid);

/* Who wrote a function: its owner; NIL: a superuser. */
extern List *shuttle_user_code_author(Oid routine);

#endif							/* SHUTTLE_TABLETS_RIGHTS_USER_CODE_H */
