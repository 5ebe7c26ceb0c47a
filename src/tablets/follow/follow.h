/*-------------------------------------------------------------------------
 * follow.h
 *	  Databases and roles of this server, which storage nodes follow.
 *
 * follow.c				which statements, and which nodes; statements for nodes that
 *						act only on what has our mark
 * follow_databases.c	CREATE DATABASE, DROP DATABASE, ALTER DATABASE ... RENAME
 * follow_roles.c		CREATE, ALTER, RENAME and DROP ROLE, and memberships
 *
 * In: a utility statement. Out: the same here, and on the storage nodes of the
 * database in which it is run.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_TABLETS_FOLLOW_FOLLOW_H
#define SHUTTLE_TABLETS_FOLLOW_FOLLOW_H

#include "nodes/parsenodes.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_utility.h"

/* A statement that nodes follow. */
typedef struct ShuttleFollowed
{
	const char *name;			/* of the statement, for messages */
	bool		is_toplevel;
	List	   *servers;		/* storage nodes, never empty */
	void		(*run) (void *arg); /* runs the statement here */
	void	   *arg;
} ShuttleFollowed;

/* ---- follow.c */

/* Runs a statement, here and on nodes. Errors: those of both. */
extern void shuttle_follow_run(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

/* The comment by which nodes know what they have got from this server, as a literal. */
extern char *shuttle_follow_mark(void);

/* An SQL condition on a node: it has got the database or the role from this server. */
extern char *shuttle_follow_is_ours(bool is_role, const char *name);

/* A query of what tells PostgreSQL servers apart. */
#define SHUTTLE_FOLLOW_SERVER \
	"(SELECT system_identifier FROM pg_catalog.pg_control_system())::pg_catalog.text || ' ' ||" \
	" (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::pg_catalog.int8::pg_catalog.text"

/*
 * Runs the body of a PL/pgSQL block on nodes, in the transaction.
 * verifier: what current_setting('pg_shuttle.verifier') returns in the body, or NULL.
 * Neither is in a message. Errors: those of nodes, with the node's name.
 */
extern void shuttle_follow_on_nodes(const List *servers, const char *body, const char *verifier);

/* ---- follow_databases.c */

/* The words of CREATE DATABASE for the locale of a database here; NULL: there is none. */
extern char *shuttle_follow_locale(const char *name);

extern void shuttle_follow_create_database(const ShuttleFollowed *followed, const CreatedbStmt *statement);
extern void shuttle_follow_drop_database(const ShuttleFollowed *followed, const DropdbStmt *statement);
extern void shuttle_follow_rename_database(const ShuttleFollowed *followed, const RenameStmt *statement);

/* ---- follow_roles.c */

extern void shuttle_follow_create_role(const ShuttleFollowed *followed, const CreateRoleStmt *statement);
extern void shuttle_follow_alter_role(const ShuttleFollowed *followed, const AlterRoleStmt *statement);
extern void shuttle_follow_rename_role(const ShuttleFollowed *followed, const RenameStmt *statement);
extern void shuttle_follow_drop_role(const ShuttleFollowed *followed, const DropRoleStmt *statement);
extern void shuttle_follow_grant_role(const ShuttleFollowed *followed, const GrantRoleStmt *statement);

#endif							/* SHUTTLE_TABLETS_FOLLOW_FOLLOW_H */
