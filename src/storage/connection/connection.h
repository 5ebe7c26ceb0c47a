/*-------------------------------------------------------------------------
 * connection.h
 *	  One connection of a session to each storage node, and what is known of it.
 *
 * Files: connection.c opens and closes; connect_options.c makes libpq's
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

#include "lib/ilist.h"
#include "libpq-fe.h"
#include "portability/instr_time.h"
#include "utils/hsearch.h"

#include "base/shuttle_compat.h"
#include "storage/shuttle_storage.h"
#include "storage/storage_types.h"

/* ---- nodes (connection.c) */

typedef enum NodeState
{
	NODE_CLOSED,				/* no connection */
	NODE_CONNECTING,			/* shuttle_wait_until() drives it on */
	NODE_READY,
	NODE_LOST					/* broke inside a transaction: of no use until
								 * that has ended */
} NodeState;

/* The kind of transaction that is open on a node. */
typedef enum NodeTransaction
{
	TRANSACTION_NONE,
	TRANSACTION_CLEAN,			/* REPEATABLE READ READ ONLY for one snapshot
								 * of a local READ COMMITTED transaction; can
								 * be replaced at any time */
	TRANSACTION_CURRENT,		/* READ COMMITTED: wrote, or locked rows */
	TRANSACTION_FIXED			/* isolation of the local one: REPEATABLE READ
								 * or SERIALIZABLE */
} NodeTransaction;

/* Why a connection is not there; texts have room of their own, since the pump
 * may not allocate. */
typedef struct NodeFailure
{
	int			sqlstate;
	char		message[256];
	char		detail[1024];
	char		hint[256];
} NodeFailure;

/* What a node has to do when the local transaction commits. */
typedef enum CommitPart
{
	COMMIT_AT_ONCE,				/* COMMIT before the local one */
	COMMIT_PREPARED_FIRST,		/* PREPARE TRANSACTION, and COMMIT PREPARED
								 * behind the local one */
	COMMIT_LAST,				/* COMMIT when all others have agreed */
	COMMIT_BEHIND				/* COMMIT behind the local one: keeps locks */
} CommitPart;

typedef enum TwoPhaseState
{
	TWO_PHASE_NONE,				/* not asked to, or the node refused */
	TWO_PHASE_ASKED,			/* no answer yet: it may be */
	TWO_PHASE_DONE
} TwoPhaseState;
#define SHUTTLE_GID_SIZE 200	/* as core's GIDSIZE */

typedef enum CursorState
{
	CURSOR_FREE,
	CURSOR_USED,				/* by a request */
	CURSOR_UNWANTED				/* its request is gone: close it when open */
} CursorState;

/* A cursor's number in this array makes its name. */
typedef struct CursorSlot
{
	CursorState state;
	bool		answered;		/* the DECLARE was */
	int			level;			/* it ends when this level rolls back */
	uint64		packet;			/* that declares it */
} CursorSlot;

typedef struct NodeKey
{
	Oid			serverid;
	Oid			umid;
} NodeKey;

/* The shortest of the last round trips. */
typedef struct RoundTrip
{
	int64		nanswers;
	double		now_ms;			/* shortest of the last answers */
	double		before_ms;		/* shortest of as many before these */
	double		told_ms;		/* to other sessions */
} RoundTrip;

/* How a host that is gone without a word is found (connect_options.c, host_liveness.c). */
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

struct ShuttleNode
{
	dlist_node	link;			/* in shuttle_nodes */
	NodeKey		key;
	Oid			userid;			/* who asked for it last */
	MemoryContext cxt;
	char	   *name;

	/* connection */
	NodeState	state;
	PGconn	   *conn;
	PostgresPollingStatusType polling;	/* what PQconnectPoll waits for */
	TimestampTz connect_deadline;	/* 0: none */
	HostLiveness liveness;
	bool		keep;			/* option keep_connections */
	bool		pooled;			/* each transaction may have another session */
	bool		needs_password; /* option password_required */
	bool		has_password;	/* the mapping gives one */
	bool		scram_passthrough;
	bool		used_password;	/* the node asked for it */
	bool		exempt;			/* the user who connected, from that rule */
	bool		invalidated;	/* options changed: connect anew when idle */
	bool		names_transaction;	/* application_name tells it */
	char		name_before[NAMEDATALEN];	/* text in front of that */
	char		name_behind[NAMEDATALEN];
	char		farewell[128];	/* said while nothing was asked */
	uint32		server_hash;
	uint32		mapping_hash;
	NodeFailure failure;
	struct IdleSocket *idle_socket; /* in idle.c's list; NULL: not in it */
	volatile bool ended_idle;	/* idle.c ended the connection, still to be
								 * closed */

	/* what the wait set knows */
	int			set_position;	/* -1: not in the set */
	uint32		set_events;
	bool		readable;
	bool		flush_pending;
	uint64		wait_number;	/* of the last wait for it */

	/* queue */
	dlist_head	commands;
	ShuttleCommand *unsent;		/* first one that is not sent; NULL: none */
	int			nunsent_syncs;	/* whole packets among those */
	uint64		packet;			/* number of the packet being made */
	bool		unsynced;		/* its Sync is missing */
	bool		adding_ahead;	/* what is added now is sent ahead */
	bool		adding_repeatable;
	int			nin_flight;		/* commands sent and not answered, no Syncs */
	bool		timing;			/* next answer tells a round trip */
	instr_time	sent_at;
	RoundTrip	round_trip;

	/* what is shown of it */
	struct SharedSlot *slot;	/* NULL: none */
	TimestampTz connected_at;
	bool		was_connected;	/* in this session */
	char		address[128];
	bool		trip_counts;	/* the one being timed */
	double		least_trip_ms;	/* since it was connected; negative: none */
	double		sum_trips_ms;
	int64		ntrips;
	int64		counts[SHUTTLE_NNODE_TOTALS];	/* not told yet */
	bool		counted;		/* there are such */
	bool		entry_missing;	/* nobody to be told */
	TimestampTz counted_since;

	/* errors */
	ShuttleNodeError *error;	/* failed the current transaction */
	bool		ahead_failed;	/* a request sent ahead failed */
	uint64		ahead_packet;	/* that one's packet */
	bool		recovery_due;	/* that packet was read to its end */
	int			nahead;			/* packets sent ahead and not answered */

	/* transaction */
	NodeTransaction transaction;
	uint64		generation;		/* counts transactions */
	uint64		snapshot;		/* local one that a clean transaction shows */
	uint64	   *readers;		/* numbers of snapshots that have read the
								 * node in this transaction; those not in use
								 * any more may be missing */
	int			nreaders;
	int			readers_size;
	uint64		first_packet;	/* that of BEGIN */
	bool		begun;			/* whose answer was read: it has begun */
	bool		can_repeat;		/* nothing of the local transaction was
								 * answered, or asked to commit: with another
								 * connection, it can be sent again */
	bool		begin_again;	/* its first request failed by a prepared
								 * statement that was out of date: nothing was
								 * done, and the next one begins again */
	int			read_only_level;	/* from which on it is READ ONLY by the
									 * local one's word; 0: it is not */
	bool		must_wait;		/* its COMMIT has to be waited for */
	bool		commit_pending; /* one that is waited for */
	bool		committed;		/* its tag was COMMIT */
	bool		commit_unknown; /* its answer did not come */
	bool		commit_writes;	/* what was asked to be committed had written */
	bool		wrote;			/* or may have: not only read or locked */
	bool		two_phase;		/* option: it may be asked to prepare */
	int			max_prepared;	/* its max_prepared_transactions; -1: not
								 * known */
	CommitPart	part;
	bool		part_asked;		/* an answer to that is to be checked */
	TwoPhaseState two_phase_state;
	char		gid[SHUTTLE_GID_SIZE];	/* of what it was asked to prepare */
	ShuttleCommand *finish[2];	/* made, and not in the queue yet */
	char	   *look_sql;		/* by which a new connection asks what was
								 * left prepared; NULL: it does not */
	bool		left_prepared;	/* and the answer */
	bool		finish_missing; /* it had nothing to finish any more */
	bool		finish_pending;
	bool		finished;
	int			level;			/* 1 + open savepoints */
	int			begun_level;	/* nest level at which it began */
	int			used_level;		/* lowest one at which the local transaction
								 * used the node; 0: not yet */
	int			wanted_level;	/* lowest one at which it began a plan that
								 * may use it; 0: none */
	bool		settling;		/* after a cancel: nothing goes out until the
								 * ROLLBACK's own tag was seen */
	bool		settle_failed;	/* the late cancel hit it */
	bool		settle_again;	/* so it is to be sent again */
	uint64		settle_packet;	/* that of the ROLLBACK; 0: none */
	int			settle_tries;
	int			settle_level;	/* level rolled back; 1: whole transaction */
	TimestampTz timeout_deadline;	/* the node's statement_timeout is for
									 * this; 0: not set, -1: not known */
	long		timeout_ms;		/* and this long */
	int			lock_timeout;	/* the node's; 0: not set, -1: not known */
	bool		fast_start;		/* the node's cursor_tuple_fraction is low */

	/* prepared statements (prepared.c) */
	HTAB	   *prepared;
	dlist_head	prepared_lru;	/* least recently used first */
	int			nprepared;
	uint64		prepared_number;
	HTAB	   *seen_texts;		/* hashes of texts used once */
	uint32	   *seen_order;		/* the same in a ring; what follows is the
								 * oldest */
	int			next_seen;

	/* answers that may come in binary (answer_format.c) */
	uint64	   *binary_keys;	/* a table of them; NULL: none yet */

	/* cancel (cancel.c) */
	dlist_node	cancel_link;	/* in the list of nodes to be cancelled */
	bool		cancelled;		/* the node was told to */

	/* requests and cursors */
	dlist_head	requests;		/* all that are alive, as they were sent */
	int			nunawaited;		/* of these, such that nobody waits for */
	bool		repeat_due;		/* such are to be sent again */
	CursorSlot *cursors;
	int			ncursors;
};

/* ---- connection.c */
extern dlist_head shuttle_nodes;	/* all nodes of the session */

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

/* Ends a connection; never raises. */
extern void shuttle_connection_close(ShuttleNode *node);

/* Reads what is there, and so sees a connection that has ended; never raises. */
extern void shuttle_connection_check(ShuttleNode *node);

/* Replaces a connection that died idle.  Errors: as for shuttle_node_get(). */
extern void shuttle_connection_revive(ShuttleNode *node);

/* Raises why a node has no connection. */
pg_noreturn extern void shuttle_connection_raise(ShuttleNode *node);

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
