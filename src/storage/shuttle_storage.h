/*-------------------------------------------------------------------------
 * shuttle_storage.h
 *	  Door of the storage room: connections to storage nodes, requests to
 *	  them and the rows of their answers. The only room that uses libpq.
 *
 * A ShuttleNode is one connection; a session has one for each server and user
 * mapping. All its traffic is pipelined. BEGIN goes to a node in the packet of
 * its first request; its transaction ends with the local one, and savepoints
 * follow the local nest level.
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

/* Called by _PG_init: registers transaction and syscache callbacks, requests
 * shared memory. */
extern void shuttle_storage_init(void);

/* Installs the hooks that must run outside those of all other rooms. */
extern void shuttle_storage_init_outermost(void);

/* ---- calls of rooms above (node_error.c) */

/* What a node's error says; NULL: nothing. */
typedef struct ShuttleErrorNames
{
	int			sqlstate;
	const char *message;
	const char *detail;
	const char *hint;
	const char *schema;
	const char *table;
	const char *constraint;
	const char *node;			/* whose error it is */
	Oid			userid;			/* the role whose request failed; InvalidOid:
								 * unknown */
} ShuttleErrorNames;

/* Each room sets its own when it starts; NULL: none. */
typedef struct ShuttleStorageCalls
{
	/*
	 * Before the local commit, when nodes have answered COMMIT or PREPARE
	 * TRANSACTION; may raise an error.
	 */
	void		(*check_commit) (void);

	/*
	 * Before a node's error is raised: replaces names of the node's objects
	 * by those that users know, in memory of the current context, and leaves
	 * out a detail that the user may not see.
	 */
	void		(*name_objects) (ShuttleErrorNames *names);

	/*
	 * True while a statement of our own runs here, whose settings are no wish
	 * of the user.
	 */
	bool		(*runs_own_statement) (void);

	/*
	 * The role for whose statement requests are sent now, which decides what
	 * their errors may show. NULL: it is always the current user.
	 */
	Oid			(*acting_user) (void);

	/*
	 * The same for an error that SQL of ours raises on purpose: says what it
	 * stands for. sql: the request's; NULL: unknown.
	 */
	void		(*translate_error) (ShuttleErrorNames *names, const char *sql);
} ShuttleStorageCalls;

extern ShuttleStorageCalls shuttle_storage_calls;

/* ---- connections (connection.c, nodes.c, discard.c) */

/*
 * Returns the node of a server for a local user, and starts to connect if it
 * has no connection; never waits. The node lives as long as the session; its
 * connection may be replaced between transactions. Errors: no user mapping, no
 * password though one is required, bad options. The first wait for the node
 * raises a failed connect, with the node's name.
 */
extern ShuttleNode *shuttle_connection_get(Oid serverid, Oid userid);

/* True if the user, or PUBLIC, has a mapping for the server. */
extern bool shuttle_node_has_mapping(Oid serverid, Oid userid);

/* The foreign server's name, for messages; lives as long as the node. */
extern const char *shuttle_node_name(const ShuttleNode *node);

/* True if the node's transaction wrote, or may have written. */
extern bool shuttle_node_wrote(const ShuttleNode *node);

/* True if the current local transaction has a transaction on the server. */
extern bool shuttle_node_in_use(Oid serverid);

/* Closes the session's idle connections to the server (InvalidOid: to all) and
 * returns their number. Warns of a connection that the transaction uses. */
extern int	shuttle_connection_end_idle(Oid serverid);

/*
 * DISCARD on all connections of the session. ALL: only outside a transaction
 * block; not waited for. Other forms (sql) are part of the transaction. Errors:
 * those of nodes.
 */
extern void shuttle_discard_all(void);
extern void shuttle_discard_part(const char *sql);

/* ---- views of nodes (connection_slots.c, node_totals.c) */

typedef enum ShuttleNodeState
{
	SHUTTLE_NODE_CONNECTING,
	SHUTTLE_NODE_IDLE,
	SHUTTLE_NODE_IN_TRANSACTION,
	SHUTTLE_NODE_LOST			/* broke inside a transaction that has not
								 * ended */
} ShuttleNodeState;

/* One connection of a session. */
typedef struct ShuttleNodeInfo
{
	Oid			serverid;
	Oid			userid;			/* local user */
	int			pid;			/* the session's */
	int			node_pid;		/* its backend on the node; 0: unknown */
	int			version;		/* as server_version_num; 0: unknown */
	ShuttleNodeState state;
	TimestampTz since;			/* when connecting began */
	double		least_trip_ms;	/* round trips; negative: not measured */
	double		mean_trip_ms;
	char		address[128];	/* address and port; empty: unknown */
	uint32		timeline;		/* 0: not asked, or a standby */
	bool		is_standby;		/* if the version is known */
} ShuttleNodeInfo;

/* The connections of all sessions in this database, or only of this one if the
 * library is not preloaded. List of ShuttleNodeInfo in the current context. */
extern List *shuttle_connection_slots_list(void);

/* The order is that of the columns of shuttle.node_counts(). */
typedef enum ShuttleNodeTotal
{
	SHUTTLE_NODE_REQUESTS,		/* statements and pages */
	SHUTTLE_NODE_ROWS_READ,
	SHUTTLE_NODE_ROWS_WRITTEN,	/* by the node's command tags */
	SHUTTLE_NODE_BYTES_SENT,
	SHUTTLE_NODE_BYTES_RECEIVED,
	SHUTTLE_NODE_WAIT_US,		/* time spent waiting for the node */
	SHUTTLE_NODE_ERRORS,		/* failed requests and connections */
	SHUTTLE_NODE_CONNECTS,
	SHUTTLE_NODE_RECONNECTS,	/* connects after the session's first */
	SHUTTLE_NODE_PREPARES,		/* transactions prepared */
	SHUTTLE_NODE_COMMITS,		/* transactions that wrote or locked */
	SHUTTLE_NODE_ROLLBACKS,
	SHUTTLE_NODE_RECOVERIES,	/* prepared ones that recovery finished */
	SHUTTLE_NODE_CALLS,			/* executed by the node */
	SHUTTLE_NODE_CALLS_RETURNED,	/* executed here: the node gave them up,
									 * or they need keys of others */
	SHUTTLE_NODE_RETAKES,		/* snapshots that did not fit to others */
	SHUTTLE_NODE_FENCES,		/* raised by who reads this node first */
	SHUTTLE_NODE_WINDOW_US,		/* waits for commits on several nodes */
	SHUTTLE_NNODE_TOTALS
} ShuttleNodeTotal;

/* Adds to a total of a server. */
extern void shuttle_node_totals_add(Oid serverid, ShuttleNodeTotal total, int64 n);

/* ---- round trips (round_trip.c) */

/* The shortest recent round trip to a server, in milliseconds; negative:
 * unknown. Never connects or raises. */
extern double shuttle_round_trip_ms(Oid serverid);

/* Adds an answer's round trip. Never raises. */
extern void shuttle_round_trip_add(Oid serverid, double ms);

/* ---- requests (request.c, request_read.c, request_answer.c, request_pages.c) */

/*
 * What a request does on its node; decides the kind of the node's transaction.
 */
typedef enum ShuttleEffect
{
	SHUTTLE_READS,				/* needs one snapshot per statement */
	SHUTTLE_READS_TO_LOCK,		/* in the transaction that will lock its rows */
	SHUTTLE_MAY_WRITE,			/* reads a view, whose functions may write:
								 * READ WRITE */
	SHUTTLE_LOCKS,				/* SELECT ... FOR UPDATE and the like */
	SHUTTLE_WRITES
} ShuttleEffect;

/* How a read's answer is transferred. */
typedef enum ShuttleSize
{
	SHUTTLE_SIZE_CERTAIN,		/* at most estimated_rows: no cursor */
	SHUTTLE_SIZE_ESTIMATED		/* if small by estimate, held back up to a
								 * limit; else read through a cursor */
} ShuttleSize;

/* Limits of an answer's pages; 0: the setting of the same name. */
typedef struct ShuttlePageLimits
{
	int			fetch_limit;	/* rows per page */
	int			fetch_size_limit_kb;	/* size per page */
	int			fetch_ahead_kb; /* pages requested and not read */
} ShuttlePageLimits;

typedef struct ShuttleStatement
{
	const char *sql;			/* parameters are $1 .. $nparams */
	int			nparams;
	const char *const *values;	/* texts; NULL is SQL's NULL */
	const int  *lengths;		/* of values in binary format, -1: it is a
								 * text; NULL: all are */
	ShuttleEffect effect;
	ShuttleSize size;
	double		estimated_rows;
	double		row_goal;		/* rows that the plan is expected to take; 0:
								 * all */
	bool		whole;			/* row_goal is 0, and all rows will surely be
								 * read: the node may lock them at once */
	bool		may_stop;		/* the plan may stop before the last row:
								 * without a row_goal, pages ahead follow
								 * those read */
	bool		keep;			/* keep all rows here for a rescan: on the
								 * node they may change */
	ShuttlePageLimits limits;
	bool		speculative;	/* sent before it is needed: its error must
								 * not spoil the node's transaction */
	uint64		snapshot;		/* from shuttle_snapshot_number() */
	int			nest_level;		/* transaction nest level it belongs to; 0:
								 * the current one */
	int			row_bytes;		/* estimated mean size; 0: unknown */
	const ShuttleDecoder *decoder;	/* reads the rows; must outlive the
									 * request. NULL: rows come as texts */
	int			ncolumns;		/* expected; 0: the decoder checks */
	bool		tag_only;		/* reads, and returns no rows */
	bool		looks;			/* writes rows that it has to search */
	bool		is_transaction; /* all that the local transaction does with
								 * nodes: needs no BEGIN. If it writes,
								 * shuttle_node_commit_behind_send() follows */
	bool		custom_plan;	/* the node must use a custom plan */
	bool		excludes_cursors;	/* the node refuses it for a table that an
									 * open cursor reads: those that are not
									 * used any more are closed before */
	bool		changes_tables; /* DDL: what the node has prepared is not used
								 * until the transaction ends */
	uint32		types_hash;		/* of the types that parameters without casts
								 * and, if there is no decoder, the answer's
								 * columns have here; 0: there are none */
	bool		packet_goes_on; /* the caller sends more at once: a request,
								 * or a COMMIT behind this one */
	ShuttleCounters *counters;	/* NULL or the owner's; must outlive the
								 * request */
} ShuttleStatement;

typedef enum ShuttleStatus
{
	SHUTTLE_ROW,				/* a row was returned */
	SHUTTLE_END,				/* no more rows; the command is complete */
	SHUTTLE_PENDING,			/* nothing has arrived yet (wait was false) */
	SHUTTLE_FAILED,				/* speculative, and failed on the node:
								 * nothing is raised, the node's transaction
								 * is unharmed; send it again without
								 * speculative to raise the error */
	SHUTTLE_LOST				/* speculative, and skipped by the node after
								 * an earlier request's error: send it again
								 * if needed */
} ShuttleStatus;

/* One row of an answer; lives until the next fetch. Values are texts, unless
 * the statement has a decoder; each is terminated by a NUL. */
struct ShuttleRow
{
	int			ncolumns;
	char	  **values;			/* NULL is SQL's NULL */
	int		   *lengths;		/* bytes, without the NUL */
	bool		in_binary;		/* values are in binary format */
};

/*
 * Adds a statement to the node's pipeline and sends what the socket takes;
 * never waits. *statement is copied or sent. Returns a request owned by owner:
 * if owner is reset or deleted, or the (sub)transaction aborts, the request is
 * abandoned (see close). Errors: ERRCODE_CONNECTION_FAILURE if the connection
 * is known to be lost.
 */
extern ShuttleRequest *shuttle_request_send(ShuttleNode *node,
											const ShuttleStatement *statement,
											MemoryContext owner);

/*
 * Returns the next row of an answer. Never blocks if wait is false. Errors: the
 * node's error with its SQLSTATE, message, detail and hint; its context names
 * the node and the SQL, never parameter values. ERRCODE_CONNECTION_FAILURE if
 * the connection broke. Waits honour cancel and timeouts.
 */
extern ShuttleStatus shuttle_request_fetch(ShuttleRequest *request, bool wait,
										   ShuttleRow *row);

/* Changes the row goal for later pages of a cursor: rows still to be taken; 0:
 * all. */
extern void shuttle_request_set_goal(ShuttleRequest *request, double row_goal);

/*
 * For requests with a row goal that are read in turns. is_used_up: the next
 * fetch has to request more rows. ask_soon: requests more rows now if half of
 * the received ones are read.
 */
extern bool shuttle_request_is_used_up(ShuttleRequest *request);
extern void shuttle_request_ask_soon(ShuttleRequest *request);

/* Waits until a fetch from one of the requests would not wait. The time is
 * counted for the first request of the list. */
extern void shuttle_request_wait_any(ShuttleRequest *const *requests, int nrequests);

/*
 * State of a request, without waiting or raising. SHUTTLE_END: the whole answer
 * is here; SHUTTLE_PENDING: it is outstanding; SHUTTLE_FAILED: none will come.
 */
extern ShuttleStatus shuttle_request_look(const ShuttleRequest *request);

/* True if a fetch would not wait; sends and reads what is possible now. Errors:
 * out of memory. */
extern bool shuttle_request_is_answered(ShuttleRequest *request);

/* True if a fetch would return rows without a request, a wait or an error. */
extern bool shuttle_request_has_rows(ShuttleRequest *request);

/* Waits until the command is complete and returns the row count of its tag.
 * Rows can still be fetched. */
extern uint64 shuttle_request_finish(ShuttleRequest *request);

/* Restarts reading at the first row. Returns false if not all pages are still
 * here, so the statement must be sent again. */
extern bool shuttle_request_rewind(ShuttleRequest *request);

/*
 * Frees a request; its outstanding answer is dropped when it arrives, an open
 * cursor is closed with the next packet. Never waits. Errors: the local
 * transaction has lost the node; the request is freed.
 */
extern void shuttle_request_close(ShuttleRequest *request);

/* ---- where a statement belongs (snapshot.c, transaction.c) */

/*
 * Number of the local snapshot that a query runs under: equal for all
 * executions under it, larger for a snapshot whose number is first asked for
 * later. snapshot: registered or active, so a copy made by the server.
 */
extern uint64 shuttle_snapshot_number(Snapshot snapshot);

/* Depth of nested executor runs. */
extern int	shuttle_snapshot_run_depth(void);

/*
 * Sets the nest level of later statements without one of their own; 0: the
 * current one. A savepoint's callback sets it while it sends earlier writes,
 * and resets it when it ends, also by an error.
 */
extern void shuttle_transaction_set_level(int nest_level);

/* ---- commits over several nodes (two_phase.c, cluster_calls.c) */

/* A server, and the user whose mapping is used. */
typedef struct ShuttleServerUser
{
	Oid			serverid;
	Oid			userid;
} ShuttleServerUser;

/* What a prepared transaction wrote on a node. */
typedef struct ShuttlePreparedPart
{
	Oid			serverid;
	uint64		system;			/* the node's system identifier; 0: unknown */
	uint64		xid;			/* full, of the node; 0: unknown */
	bool		over;			/* it is known to have ended there */
} ShuttlePreparedPart;

/* What the cluster room does for commits and waits. */
typedef struct ShuttleCommitMethods
{
	/* True if the local transaction made a permanent change on this server. */
	bool		(*wrote_here) (void);

	/*
	 * Before a write is sent, and before nodes commit writes. not_atomic:
	 * they are on several nodes, and one of them does not prepare. Errors:
	 * this server is a standby, and may not write now.
	 */
	void		(*check_standby) (bool not_atomic);

	/* Nodes are about to commit writes: warns of what is not atomic. */
	void		(*warn) (void);

	/* Returns the name by which nodes prepare the local transaction. */
	char	   *(*name) (void);

	/*
	 * Writes the commit record, which decides. client_decides: the local
	 * transaction is about to be prepared.
	 */
	void		(*record) (const char *name, List *servers, bool client_decides);

	/*
	 * All nodes have prepared, and said by which identifiers. Returns true if
	 * the transaction is committed now, by another server than this one.
	 * Errors: it is not, or may not be.
	 */
	bool		(*decide) (const char *name, const ShuttlePreparedPart *parts, int nparts);

	/*
	 * The local transaction has failed: true if such a server may have
	 * committed it. Never raises.
	 */
	bool		(*may_have_committed) (void);

	/*
	 * After the local commit: true if this server's standbys have it. Neither
	 * allocates nor raises.
	 */
	bool		(*is_safe) (void);

	/*
	 * A prepared transaction has ended. in_doubt: it may not have ended on
	 * all nodes. Neither allocates nor raises.
	 */
	void		(*in_doubt) (bool in_doubt);

	/*
	 * Prefix of all names by which transactions of this database are
	 * prepared; NULL: there are none.
	 */
	char	   *(*prefix) (void);

	/* A server that the user connected to still has a prepared transaction. */
	void		(*recover) (Oid serverid, Oid userid);

	/*
	 * Finishes what an earlier run of this server left prepared on a server.
	 * Returns false if some of it may have committed elsewhere and is not
	 * finished. Errors: cancel and the like.
	 */
	bool		(*recover_now) (Oid serverid, Oid userid);

	/* All servers of our wrapper, a list of OIDs. */
	List	   *(*servers) (void);

	/* True if other query nodes are registered. */
	bool		(*has_peers) (void);

	/*
	 * The session has waited for a while. waited: the ShuttleServerUsers with
	 * outstanding requests. Errors: ERRCODE_T_R_DEADLOCK_DETECTED; cancel and
	 * the like.
	 */
	void		(*look_for_deadlock) (List *waited);
} ShuttleCommitMethods;

/* True if nodes would prepare the transaction if it were committed now. */
extern bool shuttle_two_phase_is_needed(void);

extern void shuttle_cluster_set_methods(const ShuttleCommitMethods *methods);

/* ---- statements of our own, outside the transaction (outside_transaction.c,
 * outside_connection.c) and in it (query.c) */

/* A connection kept between runs; see shuttle_outside_side_create(). */
typedef struct ShuttleSide ShuttleSide;

typedef void (*ShuttleRowCallback) (void *arg, const ShuttleRow *row);

/* Prefix of our statements: code of roles that runs on nodes can have changed the path of the
 * remote user. */
#define SHUTTLE_RUN_SAFELY "SET LOCAL search_path = pg_catalog, pg_temp; "

/* Prefix of our SELECTs: by the remote user's defaults they could also wait for
 * serializable transactions. */
#define SHUTTLE_RUN_AT_ONCE "SET TRANSACTION NOT DEFERRABLE; " SHUTTLE_RUN_SAFELY

/* The run's parameter, for its statement. The node shows nobody the value of a setting, but shows texts
 * of statements in pg_stat_activity and pg_stat_statements. */
#define SHUTTLE_RUN_PARAMETER "pg_catalog.current_setting('pg_shuttle.parameter')"

typedef struct ShuttleOutsideRun
{
	Oid			serverid;		/* set by the caller, as are the next two */
	const char *name;
	bool		ok;				/* set to true by the caller */

	/* optional */
	const char *sql;			/* replaces the common text */
	const char *parameter;		/* a secret that sql, of one transaction then,
								 * reads by SHUTTLE_RUN_PARAMETER */
	Oid			userid;			/* whose mapping is used; 0: the common user's */
	ShuttleSide *side;			/* its connection; errors of the mapping are
								 * then in the result */
	bool		by_public;		/* with side: use PUBLIC's mapping with this
								 * user's rights */
	bool		lasts;			/* the session may take over the connection;
								 * sql must be ours */
	ShuttleRowCallback row;		/* takes the rows, which are then not in
								 * result; must not raise; NULL is an empty
								 * text */
	void	   *row_arg;
	int			ncolumns;		/* of the callback's rows */
	void		(*look) (void *arg);	/* called each second until it has
										 * ended; an error ends all runs */
	void	   *look_arg;

	char	   *status;			/* command tag of the last statement */
	int64		nrows;			/* returned or changed; -1: neither */
	char	   *result;			/* first rows, as JSON; NULL: none */
	char		sqlstate[6];	/* if not ok */
	char	   *error;
} ShuttleOutsideRun;

/* For errcode(), of a run that failed. */
static inline int
shuttle_outside_sqlstate(const ShuttleOutsideRun *run)
{
	const char *state = run->sqlstate;

	return MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

/*
 * Runs sql on all servers in parallel, outside the transaction, on new
 * connections by the user's mappings, and waits for all, at most limit_ms (0:
 * no limit); servers that are late have failed. Errors: cancel and timeouts;
 * without a side also no mapping and the password rule. Errors of nodes and of
 * connecting are in the results.
 */
extern void shuttle_outside_run(const char *sql, Oid userid, ShuttleOutsideRun *results,
								int nresults, int limit_ms);

/*
 * The same while the session waits for the nodes in beside, a list of
 * ShuttleServerUser. As soon as one of them sends anything, the unfinished runs
 * fail and it returns false.
 */
extern bool shuttle_outside_run_beside(const char *sql, Oid userid, ShuttleOutsideRun *results,
									   int nresults, int limit_ms, List *beside);

/* A connection for a series of runs, opened by the first one and again after a
 * failure; closed when the current context is reset or deleted. */
extern ShuttleSide *shuttle_outside_side_create(void);

/* Ends a side whose runs set lasts: the session takes over its connection if it
 * has none to the server. Errors: out of memory. */
extern void shuttle_outside_side_end(ShuttleSide *side, Oid serverid, Oid userid);

/*
 * Runs a statement of our own on the node's connection, for IMPORT FOREIGN
 * SCHEMA, ANALYZE and remote estimates. The callback gets rows of ncolumns
 * texts.
 */
extern void shuttle_query(ShuttleNode *node, const char *sql,
						  ShuttleEffect effect, int ncolumns,
						  ShuttleRowCallback callback, void *arg);

/* ---- rows in and out (row_values.c) */

/*
 * A decoder turns an answer's row into values of desc's columns. attributes:
 * for each column of the answer from first_column on, its attribute number
 * (SelfItemPointerAttributeNumber for ctid), as postgres_fdw's retrieved_attrs.
 * rel, node: for the context of conversion errors; may be NULL. A request whose
 * statement has the decoder sets its node.
 */
extern ShuttleDecoder *shuttle_row_decoder_create(TupleDesc desc, List *attributes,
												  int first_column, Relation rel,
												  const ShuttleNode *node,
												  MemoryContext owner);

/* The types that a request expects, for ShuttleStatement: of all columns of a row,
 * or of a decoder's rows (0 if it is NULL). */
extern uint32 shuttle_row_types_hash(TupleDesc desc);
extern uint32 shuttle_row_decoder_types_hash(const ShuttleDecoder *decoder);

/* Lets the caller add the context of a conversion error: it calls errcontext()
 * for the value's attribute. */
typedef void (*ShuttleColumnContext) (void *arg, AttrNumber attribute);
extern void shuttle_row_decoder_set_context(ShuttleDecoder *decoder,
											ShuttleColumnContext add_context,
											void *arg);

/* Lets the caller compute columns that the answer lacks, in the memory context
 * of the row's values. */
typedef void (*ShuttleRowFinish) (void *arg, Datum *values, bool *nulls);
extern void shuttle_row_decoder_set_finish(ShuttleDecoder *decoder,
										   ShuttleRowFinish finish, void *arg);

/* Decodes into a tuple allocated in the current context. */
extern HeapTuple shuttle_row_decoder_tuple(ShuttleDecoder *decoder,
										   const ShuttleRow *row);

/*
 * Decodes into an empty slot of desc's columns, without a tuple; the values
 * live until the decoder's next row. Only if the decoder is virtual, that is,
 * fills no system column.
 */
extern bool shuttle_row_decoder_is_virtual(const ShuttleDecoder *decoder);
extern void shuttle_row_decoder_store(ShuttleDecoder *decoder,
									  const ShuttleRow *row,
									  TupleTableSlot *slot);

/* A column of type bigint, or of any type in a row of texts. Errors: 08P01 if
 * it is NULL; 22P03, 22P02, 22003 if it is not a number. */
extern int64 shuttle_row_int64(const ShuttleRow *row, int column);
extern char *shuttle_row_text(const ShuttleRow *row, int column);

/* Which settings a type's output depends on; each includes the ones before. */
typedef enum ShuttlePrintNeed
{
	SHUTTLE_PRINT_ANYHOW,
	SHUTTLE_PRINT_DATES,		/* ISO dates */
	SHUTTLE_PRINT_ALL
} ShuttlePrintNeed;

extern ShuttlePrintNeed shuttle_row_print_need(Oid type);

/* Sets the GUCs for transmission (ISO dates, extra_float_digits 3, ...) if
 * needed and not set; returns the GUC nest level, or 0. End resets them. */
extern int	shuttle_row_transmission_begin(ShuttlePrintNeed need);
extern void shuttle_row_transmission_end(int nestlevel);

#endif							/* SHUTTLE_STORAGE_H */
