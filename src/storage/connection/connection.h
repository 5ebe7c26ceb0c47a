/*-------------------------------------------------------------------------
 * connection.h
 *	  One connection of a session to each storage node, and what is known of it.
 *
 * Files: nodes.c lists a session's nodes; connection.c opens and closes; connect_options.c makes libpq's
 * options; host_names.c looks names up without blocking; host_liveness.c
 * notices hosts that are gone; idle.c ends idle connections; session_name.c
 * names our sessions on nodes; round_trip.c measures the distance;
 * node_list.c, node_totals.c and shared_memory.c serve the views.
 *
 * In: a server and a user mapping. Out: a ShuttleNode that is ready to send.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_CONNECTION_H
#define SHUTTLE_STORAGE_CONNECTION_CONNECTION_H

#include "base/shuttle_compat.h"
#include "storage/connection/node.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- nodes.c */
extern dlist_head shuttle_nodes;	/* all nodes of the session */

/* NULL: the session has no such node. */
extern ShuttleNode *shuttle_nodes_find(NodeKey key);

/* Adds a node, which is not connected; name: its server's. */
extern ShuttleNode *shuttle_nodes_add(NodeKey key, const char *name);

/* The user's mapping for a server, or the public one.  Errors: there is none. */
extern Oid	shuttle_nodes_mapping(Oid serverid, Oid userid);

/* A wait for the node begins, and for those named since the last one. */
extern void shuttle_wait_begin(ShuttleNode *node);

/* The next wait is for one more node. */
extern void shuttle_wait_also_for(ShuttleNode *node);

/* True for nodes of the last wait. */
extern bool shuttle_wait_is_for(const ShuttleNode *node);

/* ---- connection.c */

/* Begins to connect.  Errors: options, password rule. */
extern void shuttle_connection_start(ShuttleNode *node);

/*
 * Goes on with a connection that was made with the session's options and is idle,
 * and sets *conn to NULL, unless the node has one.  Errors: no mapping, out of
 * memory.
 */
extern void shuttle_connection_adopt(Oid serverid, Oid userid, PGconn **conn);

/* Takes the next step of a connect, if the socket is ready for it or time is
 * up; failures are kept in the node. */
extern void shuttle_connection_poll(ShuttleNode *node);

/* Gives up a connection that is of no use any more; never raises.  detail may
 * be NULL. */
extern void shuttle_connection_lost(ShuttleNode *node, const char *detail);

/*
 * The same for one that broke.  Where nothing of the transaction was done, its
 * requests are sent again over another one.  said: the node gave the reason.
 */
extern void shuttle_connection_broke(ShuttleNode *node, const char *detail,
									 bool said);

/* A server or a mapping was altered: its connections are made anew when their
 * transactions have ended.  A callback of the server. */
extern void shuttle_connection_options_changed(Datum arg, int cacheid, uint32 hash);

/* Ends a connection; never raises. */
extern void shuttle_connection_close(ShuttleNode *node);

/* Reads what is there, and so sees a connection that has ended; never raises. */
extern void shuttle_connection_check(ShuttleNode *node);

/* Replaces a connection that died idle.  Errors: as for shuttle_node_get(). */
extern void shuttle_connection_revive(ShuttleNode *node);

/* ---- connect_options.c */

typedef struct ConnectOptions
{
	const char **keywords;		/* end with NULL, as libpq wants them */
	const char **values;
	int			noptions;
	int			connect_timeout_s;	/* 0: none */
} ConnectOptions;

/*
 * Collects libpq's options of the node's server and mapping, and fills the
 * flags of the node that come from options.  Names of hosts are resolved.
 * userid: whose rights count; mapped: whose mapping it is, InvalidOid: PUBLIC's.
 * sends_ahead: messages may be sent while the node is busy with others.
 * Errors: password rule (2F003), as postgres_fdw.
 */
extern ConnectOptions *shuttle_connect_options(ShuttleNode *node, Oid userid,
											   Oid mapped, bool sends_ahead);

/* Checks a new connection by the password rule; false: not allowed. */
extern bool shuttle_connect_allowed(const ShuttleNode *node);
extern void shuttle_connect_fail_password(ShuttleNode *node);

/* Raises if the user may not use a connection that is already there. */
extern void shuttle_connect_check_user(ShuttleNode *node, Oid userid);

/* ---- session_name.c */

/*
 * The application_name for a new connection.  option: the server's, or NULL.
 * Remembers in the node whether transactions add theirs.
 */
extern char *shuttle_session_name_begin(ShuttleNode *node, const char *option);

/* The name by which a transaction on the node says whose it is; NULL where the
 * user's name stays. */
extern char *shuttle_session_name_now(const ShuttleNode *node);

/* Who this session is to nodes, in its transaction: what %x stands for there. */
extern void shuttle_session_identity(char *to, int room);

/* ---- host_names.c */

/*
 * Adds hostaddr for names of hosts, so that libpq need not look them up:
 * that would block.  Waits, and honours cancel.  host, port: lists as libpq
 * takes them; changed so that they have an entry for each address.
 */
extern void shuttle_host_names_resolve(const char **host, const char **hostaddr,
									   const char **port);

/* Forgets what was resolved, after a failed connect. */
extern void shuttle_host_names_forget(void);

/* ---- idle.c */

/* A node became idle, or is in use (again). */
extern void shuttle_idle_begin(ShuttleNode *node);
extern void shuttle_idle_end(ShuttleNode *node);

#endif							/* SHUTTLE_STORAGE_CONNECTION_CONNECTION_H */
