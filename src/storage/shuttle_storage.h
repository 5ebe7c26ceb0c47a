/*-------------------------------------------------------------------------
 * shuttle_storage.h
 *	  Door of the storage room: connections to storage nodes, requests to
 *	  them and the rows of their answers.  The only room that knows libpq.
 *
 * One ShuttleNode is one connection: one for each (server, user mapping) of
 * the session.  All its traffic is pipelined.  A transaction starts on a node
 * in the packet of the first request and ends with the local one; savepoints
 * follow the local nesting level.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_STORAGE_H
#define SHUTTLE_STORAGE_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "base/shuttle_counters.h"

typedef struct ShuttleNode ShuttleNode;
typedef struct ShuttleRequest ShuttleRequest;
typedef struct ShuttleRow ShuttleRow;
typedef struct ShuttleDecoder ShuttleDecoder;

/* ---- connections (connection.c) */

/*
 * Returns the node of a server for a local user, and begins to connect
 * without waiting if there is no connection.  The node lives as long as the
 * session; its connection may be replaced by a new one between transactions.
 * Errors: no user mapping, no password where one is required, bad options.
 * A failed connect is raised by the first wait for it, with the node's name.
 */
extern ShuttleNode *shuttle_node_get(Oid serverid, Oid userid);

/* True where the user has a mapping for the server, or everybody has. */
extern bool shuttle_node_has_mapping(Oid serverid, Oid userid);

/* Name of the foreign server, for messages; lives as long as the node. */
extern const char *shuttle_node_name(const ShuttleNode *node);

/* True where the node's transaction wrote something, or may have. */
extern bool shuttle_node_wrote(const ShuttleNode *node);

/* True while the current local transaction has used the server. */
extern bool shuttle_node_in_use(Oid serverid);

/*
 * Closes the session's idle connections to the server (InvalidOid: to all), and
 * returns how many.  One that the transaction uses stays, with a warning.
 */
extern int	shuttle_node_disconnect(Oid serverid);

/*
 * DISCARD on all connections of the session.  ALL must be outside of a
 * transaction block, and is not waited for; a part (sql) belongs to the
 * transaction.  Errors: those of nodes.
 */
extern void shuttle_discard_all(void);
extern void shuttle_discard_part(const char *sql);

/* Registers transaction and invalidation callbacks and asks for shared memory;
 * called by _PG_init. */
extern void shuttle_storage_init(void);

/* Installs the hooks that must run around those of all other rooms. */
extern void shuttle_snapshot_init(void);

/* ---- what is seen of nodes (node_list.c, node_totals.c) */

typedef enum ShuttleNodeState
{
	SHUTTLE_NODE_CONNECTING,
	SHUTTLE_NODE_IDLE,
	SHUTTLE_NODE_IN_TRANSACTION,
	SHUTTLE_NODE_LOST			/* in a transaction that has not ended */
} ShuttleNodeState;

/* One connection of a session. */
typedef struct ShuttleNodeInfo
{
	Oid			serverid;
	Oid			userid;			/* local user */
	int			pid;			/* of the session */
	int			node_pid;		/* of its process on the node; 0: not known */
	int			version;		/* as server_version_num; 0: not known */
	ShuttleNodeState state;
	TimestampTz since;			/* when connecting began */
	double		least_trip_ms;	/* round trips; negative: not measured */
	double		mean_trip_ms;
	char		address[128];	/* address and port; empty: not known */
} ShuttleNodeInfo;

/*
 * The connections in this database: of all sessions where the library is
 * preloaded by shared_preload_libraries, else of this one.  List of
 * ShuttleNodeInfo in the current context.
 */
extern List *shuttle_node_list(void);

typedef enum ShuttleNodeTotal
{
	SHUTTLE_NODE_REQUESTS,		/* statements and pages */
	SHUTTLE_NODE_ROWS_READ,
	SHUTTLE_NODE_ROWS_WRITTEN,	/* as the node counts them */
	SHUTTLE_NODE_BYTES_SENT,
	SHUTTLE_NODE_BYTES_RECEIVED,
	SHUTTLE_NODE_WAIT_US,		/* the session waited for the node */
	SHUTTLE_NODE_ERRORS,		/* of requests, and connections that failed */
	SHUTTLE_NODE_CONNECTS,
	SHUTTLE_NODE_RECONNECTS,	/* of these, in place of an earlier one */
	SHUTTLE_NODE_PREPARES,		/* transactions prepared */
	SHUTTLE_NODE_COMMITS,		/* of transactions that wrote or locked */
	SHUTTLE_NODE_ROLLBACKS,
	SHUTTLE_NODE_RECOVERIES,	/* prepared ones that a recovery finished */
	SHUTTLE_NNODE_TOTALS
} ShuttleNodeTotal;

typedef struct ShuttleNodeTotals
{
	Oid			serverid;
	TimestampTz since;
	int64		value[SHUTTLE_NNODE_TOTALS];
} ShuttleNodeTotals;

/*
 * What was asked of the servers of this database, by all sessions or by this
 * one as above.  Servers that were dropped may be among them.  List of
 * ShuttleNodeTotals in the current context.
 */
extern List *shuttle_node_totals(void);

/* Begins to count anew for a server (InvalidOid: for all of the database). */
extern void shuttle_node_totals_reset(Oid serverid);

/* ---- how far servers are (round_trip.c) */

/*
 * The shortest of the last round trips to a server, in milliseconds: of this
 * session, or what another one found; negative if nobody knows.  Never
 * connects.
 */
extern double shuttle_round_trip_ms(Oid serverid);

/* Takes a round trip to a server of stock postgres_fdw, where no connection of
 * ours sees it. */
extern void shuttle_round_trip_note(Oid serverid, double ms);

/* ---- requests (request.c) */

/* What a request does on its node; decides the kind of its transaction. */
typedef enum ShuttleEffect
{
	SHUTTLE_READS,				/* needs one snapshot a statement */
	SHUTTLE_MAY_WRITE,			/* reads, but a view may write: READ WRITE */
	SHUTTLE_LOCKS,				/* SELECT ... FOR UPDATE and the like */
	SHUTTLE_WRITES
} ShuttleEffect;

/* How the answer of a read travels. */
typedef enum ShuttleSize
{
	SHUTTLE_SIZE_CERTAIN,		/* at most estimated_rows: sent as it is */
	SHUTTLE_SIZE_ESTIMATED		/* held back with a limit where it is small by
								 * estimate, else read through a cursor */
} ShuttleSize;

/* Bounds of the pages of an answer; 0: the setting of the same name. */
typedef struct ShuttlePageLimits
{
	int			fetch_limit;	/* rows of a page */
	int			fetch_size_limit_kb;	/* size of a page */
	int			fetch_ahead_kb; /* pages asked for and not read */
} ShuttlePageLimits;

typedef struct ShuttleStatement
{
	const char *sql;			/* parameters are $1 .. $nparams */
	int			nparams;
	const char *const *values;	/* texts; NULL is SQL's NULL */
	ShuttleEffect effect;
	ShuttleSize size;
	double		estimated_rows;
	double		row_goal;		/* rows that the plan will take; 0: all */
	bool		whole;			/* without a goal: all rows are sure to be
								 * read, and may be locked at once */
	bool		keep;			/* its rows may be read again, and the node's
								 * be others by then: all stay here */
	ShuttlePageLimits limits;
	bool		ahead;			/* asked before it is needed: an error of it
								 * must not spoil the node's transaction */
	uint64		snapshot;		/* from shuttle_snapshot_number() */
	int			nest_level;		/* transaction nest level that it belongs to,
								 * where that is not the current one; 0: it is */
	int			row_bytes;		/* mean size by estimate; 0: not known */
	const ShuttleDecoder *decoder;	/* reads the rows, and outlives the
									 * request; NULL: rows have to be texts */
	int			ncolumns;		/* that rows must have; 0: the decoder looks */
	bool		tag_only;		/* reads, and is answered without rows */
	bool		looks;			/* writes, and has to look for rows */
	bool		custom_plan;	/* the node has to plan it for its values */
	ShuttleCounters *counters;	/* owner's, or NULL; outlives the request */
} ShuttleStatement;

typedef enum ShuttleStatus
{
	SHUTTLE_ROW,				/* here is a row */
	SHUTTLE_END,				/* no more rows; the command is complete */
	SHUTTLE_PENDING,			/* nothing has arrived yet (wait was false) */
	SHUTTLE_FAILED,				/* sent ahead, and the node refused it:
								 * nothing is raised, the node's transaction
								 * is as it was before; ask again without
								 * ahead to have the error raised */
	SHUTTLE_LOST				/* sent ahead, and an earlier request's error
								 * made the node skip this one: send it again
								 * if it is needed */
} ShuttleStatus;

/*
 * One row of an answer; lives until the next fetch.  Values are texts, unless
 * the statement named a decoder; a NUL stands behind each.
 */
struct ShuttleRow
{
	int			ncolumns;
	char	  **values;			/* NULL is SQL's NULL */
	int		   *lengths;		/* bytes, without the NUL */
	bool		in_binary;		/* in the binary formats of their types */
};

/*
 * A number for the local snapshot that a query runs under: equal for all
 * executions under it, larger for one that asks for the first time later.
 * snapshot: registered or active, so one of the server's copies.
 */
extern uint64 shuttle_snapshot_number(Snapshot snapshot);

/* How many runs of plans, one within the other, have not returned. */
extern int	shuttle_snapshot_run_depth(void);

/*
 * Puts a statement into the node's pipeline and sends what the socket takes;
 * never waits.  Everything of *statement is copied or sent.
 * Returns a request owned by owner: when owner is reset or deleted, or the
 * (sub)transaction aborts, the request is abandoned (see close).
 * Errors: ERRCODE_CONNECTION_FAILURE if the connection is known to be gone.
 */
extern ShuttleRequest *shuttle_request_send(ShuttleNode *node,
											const ShuttleStatement *statement,
											MemoryContext owner);

/*
 * Says which transaction nest level statements without one of their own belong to
 * from now on.  0: the current one.  A savepoint's callback sets this while it sends
 * in front of it, and sets it back when it ends, also by an error.
 */
extern void shuttle_transaction_set_level(int nest_level);

/*
 * Gives the next row of an answer.  wait = false never blocks.
 * Errors: the node's error with its SQLSTATE, message, detail and hint, and
 * as context the node's name and the SQL (never values of parameters);
 * ERRCODE_CONNECTION_FAILURE if the connection broke.  Cancel and timeouts
 * are honoured while waiting.
 */
extern ShuttleStatus shuttle_request_fetch(ShuttleRequest *request, bool wait,
										   ShuttleRow *row);

/*
 * Changes row_goal of a request that is read by a cursor, for later pages: so
 * many more rows will be taken; 0: all.
 */
extern void shuttle_request_set_goal(ShuttleRequest *request, double row_goal);

/*
 * Of requests that are read by turns, under a row goal: the first is used up, and
 * will have to ask for more when it is read; the others ask now where they have
 * given half of what they had.
 */
extern bool shuttle_request_is_used_up(ShuttleRequest *request);
extern void shuttle_request_ask_soon(ShuttleRequest *request);

/* Waits until a fetch of one of the requests would not have to wait; the time
 * counts as that of the first. */
extern void shuttle_request_wait_any(ShuttleRequest *const *requests, int nrequests);

/*
 * What became of a request, without waiting or raising.  SHUTTLE_END: all of its
 * answer is here, SHUTTLE_PENDING: it is on its way, SHUTTLE_FAILED: none comes.
 */
extern ShuttleStatus shuttle_request_look(const ShuttleRequest *request);

/* True where a fetch need neither ask nor wait, nor raises anything. */
extern bool shuttle_request_has_rows(ShuttleRequest *request);

/*
 * Waits until the command is complete and returns its row count as the node
 * tells it; rows not fetched yet stay to be fetched.
 */
extern uint64 shuttle_request_finish(ShuttleRequest *request);

/*
 * Gives a request that writes, and whose answer has not come, to another owner,
 * since whoever sent it goes on without waiting.  No statement counts it any
 * more; where it has to be sent again, that is done ahead of what was sent behind
 * it.  Whoever finishes it has its error, or meets it with another request of the
 * node before.
 * origin: where the statement stood, as GetErrorContextStack() tells it; shown
 * with its errors in place of the context of whoever meets them.  May be NULL.
 */
extern void shuttle_request_leave(ShuttleRequest *request, MemoryContext owner,
								  const char *origin);

/* Starts reading the answer again from its first row, without asking again
 * where all pages are still here.  Returns false where it must be sent anew. */
extern bool shuttle_request_rewind(ShuttleRequest *request);

/* Frees a request; an answer that is still on its way is dropped when it
 * comes, an open cursor is closed with the next packet.  Never waits.
 * Errors: the local transaction has lost the node; the request is freed. */
extern void shuttle_request_close(ShuttleRequest *request);

/* ---- commits over several nodes (two_phase.c) */

/* A server, and whose mapping of it is used. */
typedef struct ShuttleServerUser
{
	Oid			serverid;
	Oid			userid;
} ShuttleServerUser;

/* What the cluster room does for commits, and for waits. */
typedef struct ShuttleCommitMethods
{
	/* True where the local transaction wrote something that has to last. */
	bool		(*wrote_here) (void);

	/* Nodes are about to commit what was written: says what is not atomic. */
	void		(*warn) (void);

	/* Returns a name for the local transaction, for nodes to prepare it by. */
	char	   *(*name) (void);

	/* Writes the record that decides. */
	void		(*record) (const char *name, List *servers);

	/*
	 * A transaction was prepared, and is over; in_doubt: it may not be on
	 * nodes.  Neither allocates nor raises.
	 */
	void		(*in_doubt) (bool in_doubt);

	/*
	 * What all names begin with that transactions of this database are
	 * prepared by; NULL where there are none.
	 */
	char	   *(*prefix) (void);

	/* Something was left prepared on a server that a user has connected to. */
	void		(*recover) (Oid serverid, Oid userid);

	/*
	 * The session has waited for a while.  waited: of ShuttleServerUser,
	 * where something is under way.  Errors: ERRCODE_T_R_DEADLOCK_DETECTED;
	 * cancel and the like.
	 */
	void		(*look_for_deadlock) (List *waited);
} ShuttleCommitMethods;

/* True where the transaction, as it is now, would have nodes prepare it. */
extern bool shuttle_commit_is_two_phase(void);

extern void shuttle_commit_set_methods(const ShuttleCommitMethods *methods);

/* ---- statements of administrators (outside_transaction.c) */

/* A connection that is kept between runs; see shuttle_side_create(). */
typedef struct ShuttleSide ShuttleSide;

typedef void (*ShuttleRowCallback) (void *arg, const ShuttleRow *row);

/*
 * In front of a SELECT of ours: the defaults of a remote user can make it wait
 * for serializable transactions of others.
 */
#define SHUTTLE_RUN_AT_ONCE "SET TRANSACTION NOT DEFERRABLE; "

typedef struct ShuttleOutsideRun
{
	Oid			serverid;		/* set by the caller, as are the next two */
	const char *name;
	bool		ok;				/* true at first */

	/* may be set by the caller */
	const char *sql;			/* in place of the one for all */
	Oid			userid;			/* whose mapping it is, if not the caller's */
	ShuttleSide *side;			/* its connection; a mapping that may not be
								 * used is then told in the result */
	bool		by_public;		/* on a side: PUBLIC's mapping, with that
								 * user's rights */
	bool		lasts;			/* the session may go on with its connection;
								 * the text is one of ours */
	ShuttleRowCallback row;		/* takes rows, which are then not in result;
								 * must not raise; NULL is an empty text */
	void	   *row_arg;
	int			ncolumns;		/* of these rows */

	char	   *status;			/* command tag of the last statement */
	int64		nrows;			/* it returned or changed; -1: none of both */
	char	   *result;			/* its first rows, as JSON; NULL: none */
	char		sqlstate[6];	/* if not ok */
	char	   *error;
} ShuttleOutsideRun;

/*
 * Runs sql on all the servers at once, outside of the transaction, on new
 * connections by the user's mappings, and waits for all of them, at most
 * limit_ms (0: without limit); who is late has failed.
 * Errors: no mapping and the password rule, if there is no side; cancel and
 * timeouts.  What nodes raise, and connections that fail, are told in the results.
 */
extern void shuttle_outside_run(const char *sql, Oid userid, ShuttleOutsideRun *results,
								int nresults, int limit_ms);

/*
 * The same while the session waits for nodes.  beside: of ShuttleServerUser; as soon
 * as one of these sends anything, the rest have failed, and it returns false.
 */
extern bool shuttle_outside_run_beside(const char *sql, Oid userid, ShuttleOutsideRun *results,
									   int nresults, int limit_ms, List *beside);

/*
 * A connection for runs that belong together, made by the first of them and
 * again by the next one where it has failed; closed when the current context is
 * reset or deleted.
 */
extern ShuttleSide *shuttle_side_create(void);

/*
 * Ends a side whose runs last: the session goes on with its connection, if it has
 * none to the server yet.  Errors: out of memory.
 */
extern void shuttle_side_end(ShuttleSide *side, Oid serverid, Oid userid);

/* Adds to what is counted of a server. */
extern void shuttle_node_totals_add(Oid serverid, ShuttleNodeTotal total, int64 n);

/* ---- rows in and out (row_values.c) */

/*
 * A decoder turns a row of an answer into values of desc's columns.
 * attributes: list of int, for each column of the answer from first_column
 * on the attribute number it belongs to (SelfItemPointerAttributeNumber for
 * ctid), as postgres_fdw's retrieved_attrs.
 * rel: for the context of conversion errors; may be NULL.
 */
extern ShuttleDecoder *shuttle_decoder_create(TupleDesc desc, List *attributes,
											  int first_column, Relation rel,
											  MemoryContext owner);

/*
 * Has the context of a conversion error made by the caller, which calls
 * errcontext() for the attribute that the value belongs to.
 */
typedef void (*ShuttleColumnContext) (void *arg, AttrNumber attribute);
extern void shuttle_decoder_set_context(ShuttleDecoder *decoder,
										ShuttleColumnContext add_context,
										void *arg);

/*
 * Has the caller compute columns that are no part of the answer, behind those
 * that are: in the memory that the row's values live in.
 */
typedef void (*ShuttleRowFinish) (void *arg, Datum *values, bool *nulls);
extern void shuttle_decoder_set_finish(ShuttleDecoder *decoder,
									   ShuttleRowFinish finish, void *arg);

/* Decodes into a tuple allocated in the current context. */
extern HeapTuple shuttle_decoder_tuple(ShuttleDecoder *decoder,
									   const ShuttleRow *row);

/*
 * Decodes into an empty slot of desc's columns, without making a tuple; its
 * values live until the decoder's next row.  Only where the decoder is virtual:
 * where no attribute is one of a row's header, which a tuple is needed for.
 */
extern bool shuttle_decoder_is_virtual(const ShuttleDecoder *decoder);
extern void shuttle_decoder_store(ShuttleDecoder *decoder,
								  const ShuttleRow *row,
								  TupleTableSlot *slot);

/* A column of type bigint, and one of any type in a row of texts.
 * Errors: 08P01 where it is NULL; 22P03, 22P02 and 22003 where it is no number. */
extern int64 shuttle_row_int64(const ShuttleRow *row, int column);
extern char *shuttle_row_text(const ShuttleRow *row, int column);

/* What the texts of a type depend on; each includes those in front of it. */
typedef enum ShuttlePrintNeed
{
	SHUTTLE_PRINT_ANYHOW,
	SHUTTLE_PRINT_DATES,		/* ISO dates */
	SHUTTLE_PRINT_ALL
} ShuttlePrintNeed;

extern ShuttlePrintNeed shuttle_print_need(Oid type);

/* Begins, and ends, output under the settings that values travel with
 * (ISO dates, extra_float_digits 3, ...), where these are needed and not what is set;
 * returns the GUC nest level, or 0. */
extern int	shuttle_transmission_begin(ShuttlePrintNeed need);
extern void shuttle_transmission_end(int nestlevel);

/*
 * A statement of our own about a server, run to its end on the same
 * connection: rows of ncolumns are handed to the callback as texts.  For IMPORT
 * FOREIGN SCHEMA, ANALYZE and remote estimates.
 */
extern void shuttle_query(ShuttleNode *node, const char *sql,
						  ShuttleEffect effect, int ncolumns,
						  ShuttleRowCallback callback, void *arg);

#endif							/* SHUTTLE_STORAGE_H */
