/*-------------------------------------------------------------------------
 * storage_internal.h
 *	  What the files of the storage room share.
 *
 * A node's commands stand in one queue, oldest first: sent ones, which wait
 * for their answers, then those that are not sent yet (while the node connects
 * or settles after a cancel).  A packet is a run of commands up to a Sync; the
 * node skips the rest of a packet behind an error.  Reading answers (the pump)
 * neither allocates from the server nor raises: it stores what happened, and
 * whoever waits raises it (traps 34, 35a).
 *
 * Memory: a node and its commands live in node->cxt for the session; requests
 * in contexts of their owners.  PGresults belong to a command; what the pump
 * keeps of an error is malloc'd and counted.
 *-------------------------------------------------------------------------
 */
#ifndef STORAGE_INTERNAL_H
#define STORAGE_INTERNAL_H

#include <poll.h>

#include "lib/ilist.h"
#include "libpq-fe.h"
#include "portability/instr_time.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "base/shuttle_compat.h"
#include "base/shuttle_counters.h"
#include "base/shuttle_wait_events.h"
#include "storage/shuttle_storage.h"

typedef struct ShuttleCommand ShuttleCommand;
typedef struct ShuttlePage ShuttlePage;
typedef struct ShuttlePrepared ShuttlePrepared;
typedef struct ShuttleStore ShuttleStore;

/* ---- errors of nodes (node_error.c) */

/* The first error of a transaction, shared by all requests that it failed. */
typedef struct ShuttleNodeError
{
	int			nholders;
	PGresult   *result;
	char	   *sql;			/* malloc'd; NULL if memory was short */

	/* Of a request that nobody waited for. */
	char	   *origin;			/* malloc'd: context of its statement; or NULL */
	int			level;			/* nest level that it belongs to */
	int			nraised_inside; /* at deeper ones */
} ShuttleNodeError;

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

/* How a host that is gone without a word is found (connect_options.c, peer.c). */
typedef struct PeerLimits
{
	int			keepalives_idle_s;	/* as both ends are told */
	int			keepalives_interval_s;
	int			keepalives_count;
	int			silence_limit_ms;	/* for what was sent and not acknowledged;
									 * 0: the kernel sees to it */
	TimestampTz next_look;
	TimestampTz silent_since;	/* 0: it is not */
} PeerLimits;

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
	PeerLimits	peer;
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

	/* requests and cursors */
	dlist_head	requests;		/* all that are alive, as they were sent */
	int			nunawaited;		/* of these, such that nobody waits for */
	bool		repeat_due;		/* such are to be sent again */
	CursorSlot *cursors;
	int			ncursors;
};

/* ---- commands (pipeline.c) */

typedef enum CommandKind
{
	COMMAND_CONTROL,			/* SAVEPOINT, SET, ...: only checked */
	COMMAND_BEGIN,
	COMMAND_COMMIT,
	COMMAND_PREPARE_TRANSACTION,
	COMMAND_FINISH,				/* COMMIT, behind the local one */
	COMMAND_ROLLBACK,			/* also to a savepoint, after an abort */
	COMMAND_GUARD,				/* SAVEPOINT in front of a request sent ahead */
	COMMAND_RECOVER,			/* ROLLBACK to that */
	COMMAND_SETTINGS,			/* of a connection, before it is used */
	COMMAND_LOOK,				/* does the node hold something prepared */
	COMMAND_PREPARE,
	COMMAND_CLOSE_PREPARED,
	COMMAND_STATEMENT,			/* a request's statement as it is */
	COMMAND_DECLARE,			/* its cursor */
	COMMAND_FETCH,				/* a page of that */
	COMMAND_SCANNED,			/* counters before or behind a request */
	COMMAND_SYNC
} CommandKind;

struct ShuttleCommand
{
	dlist_node	link;			/* in node->commands */
	CommandKind kind;
	bool		sent;
	bool		ahead;			/* behind the savepoint of its packet; Sync:
								 * of a packet sent ahead */
	bool		repeatable;		/* sent ahead, and of use if sent again */
	bool		ignore_error;
	bool		prepared_earlier;	/* not by a command of its own packet */
	bool		dropped;		/* its answer is of no interest any more */
	bool		in_binary;		/* STATEMENT, FETCH: values are asked for so */
	int			nrows_asked;	/* FETCH */
	bool		behind_end;		/* FETCH: of no more rows, as was seen since */
	int			spared_level;	/* must not be hit by a cancel for the sake of
								 * this level or one inside; 0: may be */
	int			cursor;			/* DECLARE: its slot */
	uint64		packet;
	uint64		generation;
	char	   *sql;			/* in node->cxt; NULL: the request's, or none */
	ShuttleRequest *request;	/* NULL: none, or it is gone */
	ShuttlePrepared *prepared;
	PGresult   *result;
	bool		begun;			/* libpq knows how to give its rows */
	int64		nrows;			/* of its answer, so far */
	int			tag_bytes;		/* of the answer's command tag */
	uint64		naffected;		/* as that says */
	bool		tells_rows;		/* and these are the rows of the answer */
};

/* ---- requests (request.c) */

/* How the values of the next answers are asked for. */
typedef enum RequestFormat
{
	FORMAT_TEXT,
	FORMAT_UNDECIDED,			/* texts, until the first answer tells types */
	FORMAT_BINARY
} RequestFormat;

typedef enum RequestMode
{
	REQUEST_WHOLE,				/* sent as it is */
	REQUEST_HELD,				/* with a limit; more rows: a cursor */
	REQUEST_CURSOR
} RequestMode;

typedef enum RequestState
{
	REQUEST_UNSENT,				/* has to be sent (again) by a cursor */
	REQUEST_OPEN,				/* answers are to come */
	REQUEST_DONE,				/* all answers are here, or read */
	REQUEST_FAILED,
	REQUEST_SKIPPED				/* because of another one's error */
} RequestState;

struct ShuttleRequest
{
	dlist_node	link;			/* in node->requests */
	ShuttleNode *node;
	MemoryContext cxt;
	MemoryContextCallback callback;
	RequestMode mode;
	RequestState state;

	/* what was asked; copied, for it may have to be sent again */
	char	   *sql;
	char	   *sent_sql;		/* with a limit or a DECLARE around it */
	int			nparams;
	char	  **values;
	ShuttleEffect effect;
	uint64		snapshot;
	bool		ahead;
	bool		repeats;		/* UNSENT: as it was sent before */
	bool		being_sent;		/* again, or that failed */
	double		estimated_rows;
	double		row_goal;
	bool		whole;			/* see ShuttleStatement */
	bool		keep;			/* the same */
	int			row_bytes;
	bool		is_narrow;		/* no row can be wide, by the columns' types */
	ShuttlePageLimits limits;	/* none is 0 */
	const ShuttleDecoder *decoder;	/* NULL: texts are wanted */
	int			ncolumns;		/* that it must have; 0: not known */
	bool		tag_only;
	bool		custom_plan;
	bool		looks;
	ShuttleCounters *counters;
	int			level;			/* nest level of its owner */
	int			nest_level;		/* at which it is to be sent; 0: the current */
	int			sent_level;		/* nest level at which it was sent */
	uint64		generation;		/* of the node's transaction */
	bool		unawaited;		/* see shuttle_request_leave() */
	char	   *origin;			/* the same */

	/* format of values (answer_format.c) */
	RequestFormat format;
	bool		format_checked; /* the first answer was compared with it */
	bool		refused_binary; /* it has to be texts */
	uint64		format_key;

	/* answers */
	dlist_head	pages;			/* ShuttlePages: parts of the answer */
	ShuttlePage *reading;		/* the one being read; NULL: the first */
	int			row;			/* next one of that */
	bool		flowing;		/* rows of the incomplete page can be read */
	bool		stored_part;	/* such rows are in the store */
	ShuttleStore *store;		/* rows that had to get out of the way; they
								 * come before those of pages */
	bool		handed_out;		/* a row was */
	bool		forgot;			/* rows that were handed out are gone */
	uint64		naffected;
	ShuttleNodeError *error;
	bool		own_error;		/* error is of this request, sent ahead */
	int64		scanned_before;
	int			nscanned_asked; /* counters asked for and not answered */

	/* pages of a cursor */
	int			cursor;			/* slot; -1: none */
	int			page_rows;
	int			window;			/* pages asked for and not read at most, if
								 * fetch_ahead allows so many */
	int			nrefills;		/* times that rows beyond the goal were wanted */
	int			npages_asked;	/* and not answered */
	int			npages_here;	/* complete ones in pages */
	int64		bytes_here;		/* memory of pages */
	bool		being_read;		/* its owner has asked for a row */
	bool		at_end;			/* the cursor is */
	bool		stalled;		/* the reader waits, and the window grew */
	bool		reads_ahead;	/* the reader does not need the rows yet */
	int64		nrows_asked;	/* by FETCHes since the cursor was opened */
	bool		outgrown;		/* there were more rows than estimated */
	int64		nrows_seen;
	int64		nbytes_seen;	/* of the wire */
	int64		memory_seen;	/* bytes that the same took here */
	int64	   *width;			/* of the largest row of late, in bytes of the
								 * wire; 0: none was seen.  The decoder's, for
								 * all requests of a scan, or own_width */
	int64		own_width;

	ShuttleRow	current;
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

/* ---- shared_memory.c */

extern void shuttle_shared_memory_init(void);

/* ---- node_list.c */

/* The state of a connection changed; never raises. */
extern void shuttle_node_show(ShuttleNode *node);
extern void shuttle_node_show_ended(ShuttleNode *node);

/* It knows now where it leads to. */
extern void shuttle_node_note_address(ShuttleNode *node);

/* ---- node_totals.c */

static inline void
shuttle_node_count(ShuttleNode *node, ShuttleNodeTotal total, int64 n)
{
	node->counts[total] += n;
	node->counted = true;
}

/* Makes sure that the server is counted for.  Errors: none expected. */
extern void shuttle_node_totals_enter(ShuttleNode *node);

/* Tells what was counted; never raises. */
extern void shuttle_node_totals_tell(ShuttleNode *node);

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

/* ---- helper_process.c */

/*
 * Runs work in a child process, for calls that block and know no limit; its
 * output is read from the returned descriptor.  Returns false if there can be
 * no child.  Never raises.
 */
typedef struct HelperProcess
{
	pid_t		pid;
	int			fd;
} HelperProcess;

extern bool shuttle_helper_start(HelperProcess *helper,
								 void (*work) (void *arg, int fd), void *arg);

/* Ends a child, with force if it still runs; never raises. */
extern void shuttle_helper_end(HelperProcess *helper);

/* ---- idle.c */

/* A node became idle, or is in use (again). */
extern void shuttle_idle_begin(ShuttleNode *node);
extern void shuttle_idle_end(ShuttleNode *node);

/* ---- round_trip.c */

/* Adds an answer's time, and tells other sessions.  Never raises. */
extern void shuttle_round_trip_add(RoundTrip *trip, Oid serverid, double ms);

/* In milliseconds; negative: not known. */
extern double shuttle_round_trip_shortest(const RoundTrip *trip);

/* Its part of shared memory. */
extern Size shuttle_round_trip_memory_size(void);
extern void shuttle_round_trip_set_up_memory(void);

/* ---- pipeline.c */

/* Adds a command; returns NULL where memory is short, else never fails. */
extern ShuttleCommand *shuttle_pipeline_try(ShuttleNode *node, CommandKind kind,
											const char *sql);

/* Adds a command.  sql is copied.  Errors: out of memory. */
extern ShuttleCommand *shuttle_pipeline_add(ShuttleNode *node, CommandKind kind,
											const char *sql);

/* The two halves of that: a command that is in no queue yet, and its adding,
 * which cannot fail. */
extern ShuttleCommand *shuttle_pipeline_make(ShuttleNode *node, CommandKind kind,
											 const char *sql);
extern void shuttle_pipeline_append(ShuttleNode *node, ShuttleCommand *command);

/* Ends the packet and sends what can be sent; false: memory is short.  Never
 * raises. */
extern bool shuttle_pipeline_sync(ShuttleNode *node);

/* The same, and raises where memory is short. */
extern void shuttle_pipeline_end_packet(ShuttleNode *node);

/* Sends what can be sent; never raises. */
extern void shuttle_pipeline_send(ShuttleNode *node);

/* True where the next packet has to wait for an answer to those before. */
extern bool shuttle_pipeline_is_held(const ShuttleNode *node);

/*
 * Reads the answers that are here; never raises, sends or allocates from the
 * server.  Stops behind a packet whose failure makes a recovery due.
 */
extern void shuttle_pipeline_read(ShuttleNode *node);

/* Drops a command that is not in the queue any more; unlinks one that is. */
extern void shuttle_command_free(ShuttleNode *node, ShuttleCommand *command);
extern void shuttle_pipeline_unlink(ShuttleNode *node, ShuttleCommand *command);

/* Forgets all commands; their requests fail. */
extern void shuttle_pipeline_clear(ShuttleNode *node);

/* True for command tags that tell how many rows were sent; counts of what was
 * written may differ from the rows returned. */
extern bool shuttle_tag_tells_rows(const char *tag);

/* What is told of a connection whose node keeps no protocol. */
#define SHUTTLE_NO_ANSWER "The node's answer is not what the protocol has."

/* ---- recovery.c */

/* Sends and reads what can be sent and read now, recoveries included.
 * Errors: out of memory. */
extern void shuttle_pipeline_progress(ShuttleNode *node);

/* Adds the settings of a transaction, where the session is a pool's. */
extern void shuttle_pipeline_add_local_settings(ShuttleNode *node);

/* Has the node's transaction set something. */
extern void shuttle_pipeline_add_local_setting(ShuttleNode *node, const char *name,
											   const char *value);

/* Puts a new connection's settings in front of what waits to be sent. */
extern void shuttle_pipeline_settings(ShuttleNode *node);

/* Adds the packets that make them, behind what is there. */
extern void shuttle_pipeline_add_settings(ShuttleNode *node);

/* ---- node_error.c */

extern ShuttleNodeError *shuttle_node_error_create(PGresult *result,
												   const char *sql);

/* Adds where the request's statement stood; never raises. */
extern void shuttle_node_error_place(ShuttleNodeError *error,
									 const ShuttleRequest *request);
extern ShuttleNodeError *shuttle_node_error_hold(ShuttleNodeError *error);
extern void shuttle_node_error_release(ShuttleNodeError **error);
pg_noreturn extern void shuttle_node_error_raise(ShuttleNode *node,
												 ShuttleNodeError *error,
												 const char *sql);

/* SQLSTATE of a result, 0 if it has none. */
extern int	shuttle_result_sqlstate(const PGresult *result);

/* ---- notices.c */

/* libpq's receiver of notices; arg is a node.  Never raises. */
extern void shuttle_notice_receive(void *arg, const PGresult *result);

/* Some are there to be shown. */
extern bool shuttle_notices_waiting;

/* Shows them. */
extern void shuttle_notices_show(void);

/*
 * Warns of a node where nothing may be raised (trap 27): the client's encoding may lack
 * a character of its name, which then has question marks.
 */
extern void shuttle_warn_of_node(const ShuttleNode *node, void (*warn) (const char *name));

/* ---- prepared.c */

/*
 * The prepared statement for a request's text, or NULL where it is to be sent
 * as it is.  Adds the commands that prepare it, and those that close others.
 */
extern ShuttlePrepared *shuttle_prepared_use(ShuttleNode *node,
											 ShuttleRequest *request,
											 bool *earlier);
extern const char *shuttle_prepared_name(const ShuttlePrepared *prepared);
extern const char *shuttle_prepared_sql(const ShuttlePrepared *prepared);

/* True if a text was prepared by an earlier transaction, and not used in this
 * one: it may be out of date. */
extern bool shuttle_prepared_is_untried(ShuttleNode *node, const char *sql);

/* What the pump says of a statement.  Returns true where it failed because it
 * was prepared for what the node's tables were then; it is forgotten. */
extern bool shuttle_prepared_answer(ShuttleNode *node, ShuttleCommand *command,
									bool failed);

/* A command is freed without an answer. */
extern void shuttle_prepared_release(ShuttleCommand *command);

/* The connection is gone, and its statements with it. */
extern void shuttle_prepared_clear(ShuttleNode *node);

/* ---- wait.c */

typedef bool (*ShuttleCondition) (void *arg);

/*
 * Drives all connections on until condition(arg) holds.
 * node, event: what is waited for, as others see it.
 * Errors: cancel, timeouts, out of memory; never an error of a node.
 */
extern void shuttle_wait_until(ShuttleNode *node, ShuttleWaitEvent event,
							   ShuttleCondition condition, void *arg);

/* The next wait is for one more node. */
extern void shuttle_wait_also_for(ShuttleNode *node);

/* True for nodes of the last wait. */
extern bool shuttle_wait_is_for(const ShuttleNode *node);

/* poll(), for those who may not raise; shown as a wait for the event. */
extern int	shuttle_poll(ShuttleWaitEvent event, struct pollfd *sockets,
						 int nsockets, int limit_ms);

/* A socket was opened, replaced or closed. */
extern void shuttle_wait_set_changed(void);

/* ---- peer.c */

/* The longest wait until one has to look at the node's host; -1: no limit. */
extern long shuttle_peer_wait_ms(const ShuttleNode *node);

/* Gives up a connection whose host has not answered for too long; looks now
 * and then only.  Never raises. */
extern void shuttle_peer_look(ShuttleNode *node, TimestampTz now);

/* ---- cancel.c */

/* Cancels what runs on nodes; waits for all together, at most until deadline;
 * never raises.  Nodes that could not be reached are marked by false. */
extern void shuttle_cancel(ShuttleNode **nodes, bool *done, int nnodes,
						   TimestampTz deadline);

/* ---- transaction.c */

/* The nesting level that what is sent now belongs to. */
extern int	shuttle_transaction_level(void);

/* Remembers that a plan of the current nesting level may use the node. */
extern void shuttle_transaction_want(ShuttleNode *node);

/*
 * Puts in front of a request what its transaction needs: BEGIN, or COMMIT and
 * BEGIN, savepoints, timeouts.  Waits only where an open answer has to get out
 * of the way.  Errors: that of the node's transaction, lost connections.
 */
extern void shuttle_transaction_prepare(ShuttleNode *node, ShuttleEffect effect,
										uint64 snapshot, int nest_level,
										bool fast_start);

/* True where the node is in a transaction of the current local one. */
extern bool shuttle_transaction_is_open(const ShuttleNode *node);

/* Waits until nothing that was sent ahead can still spoil the transaction. */
extern void shuttle_transaction_settle_ahead(ShuttleNode *node);

/* The node's transaction has ended, in the node or with its connection. */
extern void shuttle_transaction_forget(ShuttleNode *node);

/* ---- snapshot.c */

/* The node is read under the local snapshot of that number. */
extern void shuttle_snapshot_note_reader(ShuttleNode *node, uint64 number);

/* True where a statement that is on the stack has read the node in its present
 * transaction, or a STABLE function that it called. */
extern bool shuttle_snapshot_is_needed(const ShuttleNode *node);

/* ---- transaction_end.c */

extern void shuttle_transaction_end_init(void);

/* ---- transaction_abort.c */

/* Rolls all nodes back to what was before a level; 1 is the transaction.  Never
 * raises. */
extern void shuttle_transaction_roll_back_all(int level);

/* Sends ROLLBACK, or ROLLBACK TO the savepoint of a level.
 * cancelled: what ran there was, so nothing else goes out before the answer.
 * Never raises. */
extern void shuttle_transaction_roll_back(ShuttleNode *node, int level,
										  bool cancelled);

/*
 * Cancels a COMMIT that is waited for, a second at most.  Behind that it was answered,
 * or the connection is lost and commit_unknown set; never raises.
 */
extern void shuttle_transaction_stop_commit(ShuttleNode *node);

/*
 * A read-only transaction may end while answers are unread that nobody wants:
 * they would stand in front of the COMMIT, and a statement that still runs
 * could hold it up for long.  Answers that do not come soon are cancelled, and
 * the transaction is rolled back.  Errors: cancel and the like.
 */
extern void shuttle_transaction_leave_unread(ShuttleNode *node);

/* Waits a while for the end of the last transaction; closes the connection
 * where that does not come.  Errors: cancel and the like. */
extern void shuttle_transaction_await_rollback(ShuttleNode *node);

/* The packet of a ROLLBACK [TO] was answered; never raises. */
extern void shuttle_transaction_settled(ShuttleNode *node);

/* Reads what is on its way until condition holds, the connection is gone, or
 * deadline is over; never raises.  Returns whether the condition holds. */
extern bool shuttle_transaction_wait_quietly(ShuttleNode *node,
											 bool (*condition) (const ShuttleNode *node),
											 TimestampTz deadline);

/* ---- two_phase.c */

/* A node is about to be written to.  Errors: it can't take part in a commit
 * together with another one that was. */
extern void shuttle_two_phase_check_writer(ShuttleNode *node);

/* Decides what part each node has in the commit.  Returns true where some are
 * to be prepared.  Errors: one that can't be. */
extern bool shuttle_two_phase_plan(bool in_worker);

/* Names the transaction; asks a node to prepare it; writes the commit record.
 * Errors: those of the local server. */
extern void shuttle_two_phase_name(void);
extern void shuttle_two_phase_send(ShuttleNode *node);
extern void shuttle_two_phase_record(void);

/* Waits for the node's answer.  Errors: the node did not prepare it. */
extern void shuttle_two_phase_check(ShuttleNode *node);

/* A connection is to be made: has it ask whether something of ours was left
 * prepared on the node. */
extern void shuttle_two_phase_look(ShuttleNode *node);

/* Some have answered so. */
extern bool shuttle_left_prepared;

/* Has that finished.  Errors: cancel and the like. */
extern void shuttle_two_phase_recover(void);

/* The answer to PREPARE TRANSACTION, or to what came behind the local commit;
 * runs in the pump. */
extern void shuttle_two_phase_answer(ShuttleNode *node,
									 const ShuttleCommand *command, bool failed);

/* The local transaction has committed: so do all that are prepared.  Waits, for
 * a while; neither allocates nor raises. */
extern void shuttle_two_phase_finish(void);

/* The local transaction has failed: rolls back what is prepared.  Never waits
 * or raises. */
extern void shuttle_two_phase_undo(void);

/* The local transaction is over. */
extern void shuttle_two_phase_forget(ShuttleNode *node);

/* True where a look for deadlocks makes sense: the session has a transaction on
 * a node that may hold locks. */
extern bool shuttle_deadlock_can_look(void);

/* Looks for one.  Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and the like. */
extern void shuttle_deadlock_look_now(void);

#endif							/* STORAGE_INTERNAL_H */
