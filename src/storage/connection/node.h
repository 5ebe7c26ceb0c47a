/*-------------------------------------------------------------------------
 * node.h
 *	  ShuttleNode: a session's connection to one storage node, and its
 *	  state.
 *
 * Each part is defined in the folder that serves it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_NODE_H
#define SHUTTLE_STORAGE_CONNECTION_NODE_H

#include "libpq-fe.h"

#include "storage/connection/epoch.h"
#include "storage/request/node_queue.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/node_transaction.h"

typedef enum NodeState
{
	NODE_CLOSED,				/* no connection */
	NODE_CONNECTING,			/* shuttle_wait_until() continues it */
	NODE_READY,
	NODE_LOST					/* broke inside a transaction: unusable until
								 * that has ended */
} NodeState;

/*
 * Why there is no connection. Arrays, since reading answers must not allocate.
 */
typedef struct NodeFailure
{
	int			sqlstate;
	char		message[256];
	char		detail[1024];
	char		hint[256];
} NodeFailure;

typedef struct NodeKey
{
	Oid			serverid;
	Oid			umid;
} NodeKey;

/* How a silent host is detected (connect_options.c, host_liveness.c). */
typedef struct HostLiveness
{
	int			keepalives_idle_s;	/* set at both ends */
	int			keepalives_interval_s;
	int			keepalives_count;
	int			silence_limit_ms;	/* for unacknowledged data; 0: left to the
									 * kernel */
	TimestampTz next_look;
	TimestampTz silent_since;	/* 0: not silent */
} HostLiveness;

/* Options of the server and the user mapping (connect_options.c). */
typedef struct NodeOptions
{
	bool		keep;			/* keep_connections */
	bool		pooled;			/* shuttle_pooler: each transaction may get
								 * another server session */
	bool		two_phase;		/* shuttle_two_phase: the node may be asked to
								 * prepare */
	bool		holds_tablets;	/* shuttle_holds_tablets: a node of
								 * distributed tables, whose name users may
								 * not have seen */
	bool		needs_password; /* password_required */
	bool		has_password;	/* the mapping has a password */
	bool		scram_passthrough;
	bool		exempt;			/* the connecting user needs no password */
	uint32		server_hash;	/* syscache hash values, for invalidations */
	uint32		mapping_hash;
} NodeOptions;

/* The connection (connection.c, idle.c, session_name.c). */
typedef struct NodeConnection
{
	NodeState	state;
	PGconn	   *conn;			/* NULL while connecting */
	struct HostRace *race;		/* while connecting; else NULL */
	uint32		host;			/* hash of the host in use; 0: unknown */
	bool		used_password;	/* the node asked for the password */
	bool		invalidated;	/* options changed, or a large message:
								 * reconnect when idle */
	bool		paused;			/* the session waits: the node is paused */
	bool		names_transaction;	/* application_name shows the transaction */
	char		name_before[NAMEDATALEN];	/* text before the transaction's
											 * part */
	char		name_behind[NAMEDATALEN];
	char		farewell[128];	/* why the node closes the connection; empty:
								 * not told */
	NodeFailure failure;
	struct IdleSocket *idle_socket; /* in idle.c's list; NULL: not in it */
	volatile bool ended_idle;	/* idle.c shut the socket down; to be closed */
	TimestampTz used_at;		/* start of the last statement whose
								 * transaction it took part in; 0: none */
} NodeConnection;

/* What the views show of the node (connection_slots.c, node_totals.c). */
typedef struct NodeShown
{
	struct SharedSlot *slot;	/* NULL: none */
	TimestampTz connected_at;
	bool		was_connected;	/* in this session */
	char		address[128];
	bool		trip_counts;	/* the round trip being measured counts */
	double		least_trip_ms;	/* since connecting; negative: none */
	double		sum_trips_ms;
	int64		ntrips;
	int64		counts[SHUTTLE_NNODE_TOTALS];	/* not yet in shared memory */
	bool		counted;		/* some counts are not 0 */
	bool		entry_missing;	/* shared memory has no room for the server */
	TimestampTz counted_since;
} NodeShown;

struct ShuttleNode
{
	dlist_node	link;			/* in shuttle_nodes */
	NodeKey		key;
	Oid			userid;			/* last user of the node */
	MemoryContext cxt;
	char	   *name;
	NodeOptions options;
	NodeConnection connection;
	HostLiveness liveness;
	NodeEpoch	epoch;
	NodeSocket	socket;
	NodeQueue	queue;
	NodeShown	shown;
	NodeErrors	errors;
	NodeTransaction transaction;
	NodeCommit	commit;
	NodeRollback rollback;
	NodePrepared prepared;
	NodeRequests requests;
	uint64	   *binary_keys;	/* answers that may be binary
								 * (answer_format.c); NULL: none yet */
};

#endif							/* SHUTTLE_STORAGE_CONNECTION_NODE_H */
