/*-------------------------------------------------------------------------
 * shuttle_node_session.h
 *	  Of a node's session, what matters if a node executes more than our own
 *	  statements: its version, and the messages that it sends; and its use
 *	  again.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_NODE_SESSION_H
#define SHUTTLE_NODE_SESSION_H

#include "storage/shuttle_storage.h"

/* The server's version, as server_version_num; 0: not connected yet.
 * (connection.c) */
extern int	shuttle_connection_version(const ShuttleNode *node);

/* As shuttle_connection_get(), of a node that it has returned for the user, whose mapping has
 * not changed since. (connection.c) */
extern void shuttle_connection_use(ShuttleNode *node, Oid userid);

/* The number by which nodes know this server in names of its sessions: the system identifier, unless
 * it has shuttle.query_node_name; and that of a query node with another name. (session_name.c) */
extern uint64 shuttle_session_server(void);
extern uint64 shuttle_session_server_named(const char *name);

/* The same in SQL, on any server. */
#define SHUTTLE_SESSION_SERVER_SQL \
	"(SELECT CASE WHEN COALESCE(pg_catalog.current_setting('shuttle.query_node_name', true), '') OPERATOR(pg_catalog.=) ''" \
	" THEN c.system_identifier ELSE pg_catalog.hashtextextended(pg_catalog.current_setting('shuttle.query_node_name')" \
	" COLLATE pg_catalog.\"C\", c.system_identifier) END FROM pg_catalog.pg_control_system() AS c)"

/* Keeps messages that come from now on until the next call, which shows them as
 * messages of this server, or drops them. (notices.c) */
extern void shuttle_notices_hold(void);

/* False if there were more than are kept. */
extern bool shuttle_notices_are_kept(void);
extern void shuttle_notices_release(bool show);

/* The same; what several nodes say alike is shown once, as a message of this server. */
extern void shuttle_notices_release_once(void);

#endif							/* SHUTTLE_NODE_SESSION_H */
