/*-------------------------------------------------------------------------
 * node.h
 *	  A session's connection to one storage node, and all that is known of it.
 *
 * ShuttleNode has one part for each topic, defined in the folder that serves it.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_CONNECTION_NODE_H
#define SHUTTLE_STORAGE_CONNECTION_NODE_H

#include "libpq-fe.h"

#include "storage/request/node_queue.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"
#include "storage/transaction/node_transaction.h"

typedef enum NodeState
{
	NODE_CLOSED,				/* no connection */
	NODE_CONNECTING,			/* shuttle_wait_until() drives it on */
	NODE_READY,
	NODE_LOST					/* broke inside a transaction: of no use until
								 * the transaction has ended */
} NodeState;

/* Why there is no connection.  The texts are arrays, since reading answers must
 * not allocate. */
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

/* The shortest of the last round trips (round_trip.c). */
typedef struct RoundTrip
{
	int64		nanswers;
	double		now_ms;			/* shortest of the last answers */
	double		before_ms;		/* shortest of as many before these */
	double		told_ms;		/* to other sessions */
} RoundTrip;

/* How a host that is gone without a word is noticed (connect_options.c,
 * host_liveness.c). */
typedef struct HostLiveness
{
	int			keepalives_idle_s;	/* as both ends are told */
	int			keepalives_interval_s;
	int			keepalives_count;
	int			silence_limit_ms;	/* for what was sent and not acknowledged;
									 * 0: the kernel sees to it */
	TimestampTz next_look;
	TimestampTz silent_since;	/* 0: it is not */
} HostLiveness;

/* Options of the server and the user mapping (connect_options.c). */
typedef struct NodeOptions
{
	bool		keep;			/* keep_connections */
	bool		pooled;			/* shuttle_pooler: each transaction may get
								 * another session */
	bool		two_phase;		/* shuttle_two_phase: it may be asked to
								 * prepare */
	bool		needs_password; /* password_required */
	bool		has_password;	/* the mapping gives one */
	bool		scram_passthrough;
	bool		exempt;			/* the connecting user needs no password */
	uint32		server_hash;	/* of the options when it was connected */
	uint32		mapping_hash;
} NodeOptions;

/* The connection (connection.c, idle.c, session_name.c). */
typedef struct NodeConnection
{
	NodeState	state;
	PGconn	   *conn;
	PostgresPollingStatusType polling;	/* what PQconnectPoll waits for */
	TimestampTz deadline;		/* of connecting; 0: none */
	bool		used_password;	/* the node asked for it */
	bool		invalidated;	/* options changed: connect anew when idle */
	bool		names_transaction;	/* application_name tells the transaction */
	char		name_before[NAMEDATALEN];	/* text in front of the
											 * transaction */
	char		name_behind[NAMEDATALEN];
	char		farewell[128];	/* what the node said while nothing was asked */
	NodeFailure failure;
	struct IdleSocket *idle_socket; /* in idle.c's list; NULL: not in it */
	volatile bool ended_idle;	/* idle.c ended the connection, which is still
								 * to be closed */
} NodeConnection;

/* What the views show of the node (node_list.c, node_totals.c). */
typedef struct NodeShown
{
	struct SharedSlot *slot;	/* NULL: none */
	TimestampTz connected_at;
	bool		was_connected;	/* in this session */
	char		address[128];
	bool		trip_counts;	/* the round trip being measured */
	double		least_trip_ms;	/* since it was connected; negative: none */
	double		sum_trips_ms;
	int64		ntrips;
	int64		counts[SHUTTLE_NNODE_TOTALS];	/* not told yet */
	bool		counted;		/* there are counts to be told */
	bool		entry_missing;	/* shared memory has no room for the server */
	TimestampTz counted_since;
} NodeShown;

struct ShuttleNode
{
	dlist_node	link;			/* in shuttle_nodes */
	NodeKey		key;
	Oid			userid;			/* who asked for it last */
	MemoryContext cxt;
	char	   *name;
	NodeOptions options;
	NodeConnection connection;
	HostLiveness liveness;
	NodeSocket	socket;
	NodeQueue	queue;
	RoundTrip	round_trip;
	NodeShown	shown;
	NodeErrors	errors;
	NodeTransaction transaction;
	NodeCommit	commit;
	NodeRollback rollback;
	NodePrepared prepared;
	NodeRequests requests;
	uint64	   *binary_keys;	/* answers that may come in binary
								 * (answer_format.c); NULL: none yet */
};

#endif							/* SHUTTLE_STORAGE_CONNECTION_NODE_H */
