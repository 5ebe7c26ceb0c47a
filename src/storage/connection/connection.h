/*-------------------------------------------------------------------------
 * connection.h
 *	  The session's connections to storage nodes.
 *
 * Files: nodes.c lists the session's nodes; connection.c opens and closes
 * connections; connect_options.c makes libpq's options; host_names.c looks up
 * hosts without blocking; host_race.c connects to the first of several hosts,
 * in the order of host_order.c, and tells by host_failure.c whether to try again;
 * epoch.c knows old primaries; pause.c holds up new transactions;
 * host_liveness.c detects dead hosts; idle.c closes
 * idle connections; session_name.c sets application_name; round_trip.c
 * measures round trips; discard.c runs DISCARD; connection_slots.c, node_totals.c and
 * shared_memory.c serve the views; helper_process.c runs calls that block;
 * primary_link.c has a standby's session ask the primary server.
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

/* NULL if the session has no such node. */
extern ShuttleNode *shuttle_nodes_find(NodeKey key);

/* Adds a node without a connection. name: the server's. */
extern ShuttleNode *shuttle_nodes_add(NodeKey key, const char *name);

/* The user's mapping for a server, or PUBLIC's. Errors: there is none. */
extern Oid	shuttle_nodes_mapping(Oid serverid, Oid userid);

/* Begins a wait for the node, and for the nodes added to it before. */
extern void shuttle_node_wait_begin(ShuttleNode *node);

/* Adds a node to the next wait. */
extern void shuttle_node_wait_also_for(ShuttleNode *node);

/* True if the last wait is for this node. */
extern bool shuttle_node_wait_is_for(const ShuttleNode *node);

/* ---- connection.c */

/* Starts to connect. Errors: options, password rule. */
extern void shuttle_connection_start(ShuttleNode *node);

/*
 * Makes *conn, an idle connection with the session's options, the node's, and
 * sets *conn to NULL. Does nothing if the node has a connection. Errors: no
 * mapping, out of memory.
 */
extern void shuttle_connection_adopt(Oid serverid, Oid userid, PGconn **conn);

/* Continues to connect if the socket is ready or the time is up. Failures are
 * kept in the node. */
extern void shuttle_connection_poll(ShuttleNode *node);

/* Closes a connection that is no longer usable; never raises. detail may be
 * NULL. */
extern void shuttle_connection_lost(ShuttleNode *node, const char *detail);

/* True if the connection has worked a short while ago, so that it is not expected to be dead. */
extern bool shuttle_connection_is_fresh(const ShuttleNode *node);

/*
 * Closes a broken connection. If the node's transaction can be repeated, its
 * requests are sent again on a new connection. said: the node gave the reason.
 */
extern void shuttle_connection_broke(ShuttleNode *node, const char *detail,
									 bool said);

/* The answer to SHUTTLE_EPOCH_SQL arrived. Leaves an old primary; never raises. */
extern void shuttle_connection_take_epoch(ShuttleNode *node, const PGresult *result);

/* Closes a connection to an old primary, as if it had broken. is_new: it has just
 * been made. Never raises. */
extern void shuttle_connection_leave_old(ShuttleNode *node, bool is_new);

/* Syscache callback: a server or a user mapping was altered. Its connections
 * are replaced after their transactions. */
extern void shuttle_connection_options_changed(Datum arg, int cacheid, uint32 hash);

/* Closes a connection; never raises. */
extern void shuttle_connection_close(ShuttleNode *node);

/* Reads what has arrived, and so notices a connection that the node has closed;
 * never raises. */
extern void shuttle_connection_check(ShuttleNode *node);

/* Replaces a connection that died idle. repeats: what comes next is sent again if it turns out to
 * be dead, so one that has worked just now is not looked at. Errors: as for shuttle_connection_get(). */
extern void shuttle_connection_revive(ShuttleNode *node, bool repeats);

/* ---- connect_options.c */

#define SHUTTLE_MOST_HOSTS 128

/* One address of a server. Empty strings stand for libpq's defaults. */
typedef struct ConnectHost
{
	const char *host;
	const char *hostaddr;
	const char *port;
	bool		unknown;		/* its name was not found */
	uint32		hash;			/* of all this */
} ConnectHost;

typedef struct ConnectOptions
{
	const char **keywords;
	const char **values;
	int			noptions;
	int			connect_timeout_s;	/* for each host; 0: none */
	ConnectHost *hosts;
	int			nhosts;			/* 0: hosts are among the options */
	const char *role;			/* target_session_attrs, or NULL */
	bool		shuffle;		/* load_balance_hosts */
} ConnectOptions;

/*
 * Collects libpq's options of the node's server and mapping, sets the node's
 * fields that come from options, and resolves host names. userid: whose rights
 * are checked; mapped: whose mapping is used, InvalidOid: PUBLIC's.
 * pipelined: requests may be sent while the node works on earlier ones.
 * Errors: password rule (2F003), as postgres_fdw.
 */
extern ConnectOptions *shuttle_connect_options(ShuttleNode *node, Oid userid,
											   Oid mapped, bool pipelined);

/* True if the password rule allows a new connection. */
extern bool shuttle_connect_allowed(const ShuttleNode *node);
extern void shuttle_connect_fail_password(ShuttleNode *node);

/* Raises an error if the user may not use the existing connection. */
extern void shuttle_connect_check_user(ShuttleNode *node, Oid userid);

/* ---- session_name.c */

/* The application_name for a new connection. option: the server's, or NULL.
 * Notes in the node whether transactions add their identity. */
extern char *shuttle_session_name_begin(ShuttleNode *node, const char *option);

/* The application_name for a new transaction on the node; NULL: not changed. */
extern char *shuttle_session_name_now(const ShuttleNode *node);

/* Writes what %x stands for: the identity of this session and transaction. */
extern void shuttle_session_identity(char *to, int room);

/* ---- host_names.c */

/*
 * Sets options->hosts, one for each address of each host; names are looked up
 * here, since libpq's own look-up would block. Waits, with several names at most
 * connect_timeout_s for each, and honours cancel. host, hostaddr, port: lists as
 * libpq takes them, or NULL. Sets none if the lists are wrong or too long: libpq
 * then gets them as they are.
 */
extern void shuttle_host_names_resolve(ConnectOptions *options, const char *host,
									   const char *hostaddr, const char *port);

/* Forgets resolved addresses, after a failed connect. */
extern void shuttle_host_names_forget(void);

/* ---- idle.c */

/* A node became idle, or is used again. */
extern void shuttle_idle_begin(ShuttleNode *node);
extern void shuttle_idle_end(ShuttleNode *node);

#endif							/* SHUTTLE_STORAGE_CONNECTION_CONNECTION_H */
