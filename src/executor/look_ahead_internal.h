/*-------------------------------------------------------------------------
 * look_ahead_internal.h
 *	  What Look Ahead, served scans, key sets and transports share.
 *
 * A LookAhead owns batches; a batch owns, for each served scan, one key set;
 * a key set is split into ranges, and a range is what one request asks for.
 *-------------------------------------------------------------------------
 */
#ifndef LOOK_AHEAD_INTERNAL_H
#define LOOK_AHEAD_INTERNAL_H

#include "foreign/fdwapi.h"
#include "lib/ilist.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "storage/buffile.h"

#include "base/shuttle_counters.h"
#include "executor/executor_internal.h"
#include "explain/shuttle_explain.h"
#include "storage/shuttle_storage.h"

typedef struct ShuttleKeySet ShuttleKeySet;
typedef struct ShuttleKeyCache ShuttleKeyCache;
typedef struct ShuttleBatch ShuttleBatch;
typedef struct ShuttleRange ShuttleRange;
typedef struct ShuttleServedScan ShuttleServedScan;
typedef struct ShuttleChannel ShuttleChannel;
typedef struct ShuttleAnswer ShuttleAnswer;
typedef struct ShuttleRoutedAppend ShuttleRoutedAppend;
typedef struct ShuttleLocalScan ShuttleLocalScan;
typedef struct ShuttleLocalKeys ShuttleLocalKeys;
typedef struct LookAheadState LookAheadState;

/* ---- keys (key_set.c) */

/* Special results of looking for a key. */
#define SHUTTLE_KEY_UNKNOWN		(-1)	/* not in the set */
#define SHUTTLE_KEY_EMPTY		(-2)	/* a NULL that no row can match */
#define SHUTTLE_KEY_CACHED		(-10)	/* and less: an entry of key_cache.c */

/* One column of a key: one entry of a foreign scan's fdw_exprs. */
typedef struct ShuttleKeyColumn
{
	ExprState  *expr;
	int			param;			/* the expression is this PARAM_EXEC; -1: not */
	Oid			type;
	int16		length;
	bool		by_value;
	char		align;
	bool		scalar;			/* the same for every outer row */
	bool		as_text;		/* cannot be unnested: travels as text[] */
	bool		null_is_empty;	/* with a NULL here the scan has no rows */
	FmgrInfo	output;			/* of the type, or of its array */
} ShuttleKeyColumn;

/* What keys consist of, and room for the one evaluated last. */
typedef struct ShuttleKeyShape
{
	int			ncolumns;
	ShuttleKeyColumn *columns;
	bool		allocates;		/* evaluating it may take memory */
	ExprContext *econtext;		/* by-reference values live in its memory */
	Datum	   *values;
	bool	   *nulls;
	uint32		hash;
} ShuttleKeyShape;

/*
 * What a request asks for: keys [first, first + nkeys) of its set.
 *
 *	UNSENT --send--> SENT --read to the end--> LOADED
 *	SENT --lost--> UNSENT
 *	SENT --failed, not fenced--> UNSENT, and fenced from then on
 *	SENT --failed, or too big--> SPLIT into two ranges that are UNSENT
 *	SENT --too big, one key--> SPOOLED
 */
typedef enum ShuttleRangeState
{
	SHUTTLE_RANGE_UNSENT,
	SHUTTLE_RANGE_SENT,
	SHUTTLE_RANGE_LOADED,
	SHUTTLE_RANGE_SPOOLED
} ShuttleRangeState;

struct ShuttleRange
{
	int			first;
	int			nkeys;
	bool		fenced;			/* sent with conditions behind the keys */
	ShuttleRangeState state;
	ShuttleAnswer *answer;		/* while SENT */
	MemoryContext rows_cxt;		/* rows; child of the set's context */
	HeapTuple  *rows;
	int		   *next;			/* next row of the same key, or -1 */
	int			nrows;
	int			rows_size;
	BufFile    *spool;			/* rows of a key that is too big for memory */
	int			spool_rows;
	bool		was_evicted;	/* loaded before, and dropped for another one */
};

/* The distinct keys of one scan in one batch, in order of first appearance. */
struct ShuttleKeySet
{
	MemoryContext cxt;
	ShuttleKeyShape *shape;
	ShuttleServedScan *scan;	/* that asks for them; NULL: nobody */
	int			nkeys;
	int			size;
	Datum	  **values;			/* for each column, size values */
	bool	  **nulls;
	uint32	   *hashes;
	int		   *head;			/* first row of each key in its range, or -1 */
	int		   *tail;
	int		   *entries;		/* of the cache, for each key; -1: none. NULL:
								 * none at all */
	bool		repaired;		/* asks for what was lost in the cache, too */
	int		   *slots;			/* hash table: key + 1, or 0 */
	int			nslots;			/* a power of 2 */
	int			nranges;
	ShuttleRange **ranges;		/* in order of their first key */
};

/* Makes room for a shape's columns. */
extern void shuttle_key_shape_init(ShuttleKeyShape *shape, int ncolumns,
								   EState *estate);

/* Fills in what an expression says of a column; the rest is the caller's. */
extern void shuttle_key_shape_describe(ShuttleKeyShape *shape, int column,
									   Expr *expr, PlanState *parent);

extern ShuttleKeySet *shuttle_key_set_create(ShuttleKeyShape *shape,
											 int expected, MemoryContext cxt);

/* Evaluates the key under the parameters as they are set now, and
 * finds it in the set, or adds it.  Returns its ordinal from 0. */
extern int	shuttle_key_set_find(ShuttleKeySet *set, bool add);

/* The same for the key that was evaluated last, by any set of its shape. */
extern int	shuttle_key_set_find_evaluated(ShuttleKeySet *set, bool add);

/* Has a key of the set taken for the one that was evaluated last. */
extern void shuttle_key_set_evaluate_as(const ShuttleKeySet *set, int key);

/* Remembers the cache's entry of a key. */
extern void shuttle_key_set_remember(ShuttleKeySet *set, int key, int entry);

/* The keys [first, first + nkeys) of one column as an array. */
extern Datum shuttle_key_set_array(const ShuttleKeySet *set, int column,
								   int first, int nkeys);

/* Name of the type that a column's parameter has in a request. */
extern const char *shuttle_key_column_type(const ShuttleKeyColumn *column);

/* ---- answers in memory (key_range.c) */

/* Cuts the set into ranges of at most limit keys. */
extern void shuttle_ranges_create(ShuttleKeySet *set, int limit);

/* Does so for keys that came later, from first on, and sends their ranges. */
extern void shuttle_ranges_add(ShuttleKeySet *set, int first, int limit);

/* Sends one range, without waiting for its answer. */
extern void shuttle_range_send(ShuttleKeySet *set, ShuttleRange *range,
							   bool ahead);

/* Closes answers and files of a set whose context is about to go. */
extern void shuttle_ranges_close(ShuttleKeySet *set);

/* Has the rows of a key here; returns the range that holds it. */
extern ShuttleRange *shuttle_range_load(ShuttleKeySet *set, int key);

/* Reads a spooled row; NULL at the end.  Position 0 rewinds. */
extern HeapTuple shuttle_range_spooled_row(ShuttleRange *range, int row);

/* ---- answers for later batches (key_cache.c) */

/* Called before each batch but the first: gives scans their caches, where they
 * may have some, and gives them up where they do not pay. */
extern void shuttle_key_caches_begin(LookAheadState *look);

/*
 * As shuttle_key_set_find(), but a key that an earlier batch has asked for is
 * left out: the result names its entry then, SHUTTLE_KEY_CACHED or less.
 */
extern int	shuttle_key_cache_collect(ShuttleServedScan *scan,
									  ShuttleKeySet *set);

/* The entry of the key that was evaluated last, or SHUTTLE_KEY_UNKNOWN. */
extern int	shuttle_key_cache_find(ShuttleServedScan *scan);

/* The rows of an entry; false where they are not here. */
extern bool shuttle_key_cache_get(const ShuttleServedScan *scan, int key,
								  ShuttleRange **range, int *row);

/*
 * Has the current batch ask for the keys whose entries have turned out to be
 * without rows, of its rows from the one that was handed out last on.
 */
extern void shuttle_key_cache_repair(ShuttleServedScan *scan,
									 ShuttleBatch *batch);

/* Keeps what a batch, which is about to go, was answered. */
extern void shuttle_key_cache_keep(ShuttleServedScan *scan, ShuttleKeySet *set);

/* ---- transports (transport_guest.c, transport_engine.c) */

/*
 * How a range of keys reaches the inner side.  open: once a scan, and does
 * not talk to the node.  send: does not wait; the SELECT is fenced where
 * shuttle_served_scan_fences() says so.  next: one row and the ordinal
 * of its key, from 0, within the answer; the tuple is allocated in the
 * current context.  close_answer: also before the end; never waits.
 * explain: prints what EXPLAIN shows beside the counters; may be NULL.
 */
typedef struct ShuttleTransport
{
	bool		is_engine;
	ShuttleChannel *(*open) (ShuttleServedScan *scan);
	ShuttleAnswer *(*send) (ShuttleChannel *channel, ShuttleKeySet *set,
							int first, int nkeys, bool ahead);
	ShuttleStatus (*next) (ShuttleAnswer *answer, bool wait,
						   int *ordinal, HeapTuple *tuple);
	void		(*close_answer) (ShuttleAnswer *answer);
	void		(*close) (ShuttleChannel *channel);
	void		(*explain) (const ShuttleChannel *channel, ExplainState *es);
} ShuttleTransport;

extern const ShuttleTransport shuttle_guest_transport;
extern const ShuttleTransport shuttle_engine_transport;
extern const ShuttleTransport shuttle_fake_transport;

/* The transport for the server of a scan, or NULL if it is not remote
 * (server_kind.c). */
extern const ShuttleTransport *shuttle_transport_for(Oid serverid);

/* ---- SQL of a batch (batch_sql.c) */

/*
 * Wraps a parameterised SELECT so that it runs for arrays of keys; the answer
 * has the key's ordinal, from 1, in front of the SELECT's columns.
 * The parameters keep their numbers: an array for each column of the key, the
 * value itself where it is the same for all keys.
 * fenced: conditions see the rows of a key and no others, as they do where the
 * SELECT stands alone; a table without an index is then read for each key.
 */
extern char *shuttle_batch_sql(const ShuttleServedScan *scan, bool fenced);

/* ---- served scans (served_scan.c) */

struct ShuttleServedScan
{
	FdwRoutine	routine;		/* must be first: fdwroutine points here */
	FdwRoutine *original;
	ForeignScanState *node;
	LookAheadState *look;		/* the one under way, where several share it */
	int			index;			/* among the scans of its Look Ahead */

	const ShuttleTransport *transport;
	ShuttleChannel *channel;
	const char *sql;			/* the scan's own SELECT */
	List	   *attributes;		/* of its columns, as postgres_fdw lists them */
	ShuttleTargetScan *target;	/* NULL: it does not read rows to be changed */
	ShuttleKeyShape key;
	ShuttleRoutedAppend *append;	/* that decides if a row comes here; or
									 * NULL */

	Bitmapset  *params;			/* that the key depends on */
	bool		conditional;	/* may not be executed for the next row */
	bool		waits;			/* for an initplan: no keys in this batch */
	bool		by_position;	/* may trust the position of Look Ahead */
	bool		one_row;		/* one row a key is enough */
	bool		locks;			/* the request locks rows */
	bool		repeatable;		/* an answer may be used by later batches */
	bool		may_fail;		/* by what it computes on the node */
	bool		fenced;			/* a request failed that was not */
	ShuttleKeyCache *cache;		/* NULL: none (yet) */
	int			request_limit;	/* keys */
	double		rows_per_key;	/* estimate, then as seen */
	double		bytes_per_key;	/* as seen; 0: not known yet */
	double		keys_per_row;	/* distinct keys of an outer row, as seen */

	/* the scan under way */
	bool		started;
	ShuttleRange *range;		/* NULL: no rows (left) */
	int			row;
	MemoryContext alone_cxt;	/* of a key that was not asked for ahead */
	ShuttleKeySet *alone_set;	/* that key, or NULL */

	ShuttleCounters counters;
};

/* Puts a served scan in the place of a foreign scan's callbacks. */
extern ShuttleServedScan *shuttle_served_scan_create(ForeignScanState *node,
													 LookAheadState *look,
													 const ShuttleTransport *transport,
													 bool one_row);

/*
 * Lets one more Look Ahead use a served scan, if its keys are the same; the
 * one that is asked for its next row takes the scan.
 */
extern bool shuttle_served_scan_can_share(const ForeignScanState *node,
										  const LookAheadState *look);
extern ShuttleServedScan *shuttle_served_scan_share(ForeignScanState *node,
													LookAheadState *look);
extern void shuttle_served_scan_take(ShuttleServedScan *scan,
									 LookAheadState *look, int index);

/* True where the scan's key depends on an initplan that was not executed yet,
 * and need not be for a row to come.  look: whose next row it is. */
extern bool shuttle_served_scan_waits(ShuttleServedScan *scan,
									  const LookAheadState *look);

/* Executes the initplans that the scan's key depends on; not for one that
 * waits. */
extern void shuttle_served_scan_settle(ShuttleServedScan *scan);

/* True where a request for so many keys is to be fenced: one key asks as the
 * scan itself would. */
static inline bool
shuttle_served_scan_fences(const ShuttleServedScan *scan, int nkeys)
{
	return nkeys == 1 || scan->fenced || scan->one_row;
}

/* Which of its Look Ahead's scans a served scan is. */
extern int	shuttle_served_scan_index(const PlanState *node);

/* True where the callbacks of a scan node were replaced. */
extern bool shuttle_is_served_scan(const ForeignScanState *node);

/* Forgets where in a batch the scan stands; the batch is about to go. */
extern void shuttle_served_scan_forget(ShuttleServedScan *scan);

/* True where an expression contains the PARAM_EXEC parameter. */
extern bool shuttle_expression_uses_param(Node *expression, int param);

/* ---- round trips of guests (guest_trip.c) */

/* Has the first rows of the scans of stock postgres_fdw timed that nothing
 * serves, at and below a node. */
extern bool shuttle_guest_trip_walker(PlanState *node, void *context);

/* ---- routed append (routed_append.c) */

/*
 * Stands where an Append stood whose children are chosen by run-time pruning,
 * and visits only the children that the current row's key is routed to.
 */
struct ShuttleRoutedAppend
{
	CustomScanState css;		/* must be first */
	AppendState *append;		/* NULL where nothing was left to append */
	LookAheadState *look;		/* NULL: the Append runs as it is */
	int			index;			/* among the routed appends of its Look Ahead */
	ShuttleKeyShape shape;		/* the parameters that pruning depends on */
	bool		by_position;	/* may trust the position of Look Ahead */
	bool		through_append; /* switched off: the Append runs as it is, and
								 * only keys are routed */
	bool	   *served;			/* for each child: is it a served scan */
	Bitmapset  *changed;		/* parameters that changed in any rescan */

	/* the scan under way */
	bool		started;
	const Bitmapset *route;
	int			child;			/* being read; < 0: at the end */
	Bitmapset  *own_route;		/* of a key that no batch has routed */
};

/* Where the keys of one batch go. */
typedef struct ShuttleRoutes
{
	ShuttleKeySet *set;
	int			size;
	const Bitmapset **children; /* for each key of the set */
} ShuttleRoutes;

extern void shuttle_routed_append_register(void);
extern bool shuttle_is_routed_append(const PlanState *node);

/* Lets a routed append choose by the routes of a Look Ahead, if pruning at
 * run time decides by nothing but the parameters that it sets.  Several may
 * take it in turn, as they take served scans. */
extern bool shuttle_routed_append_link(ShuttleRoutedAppend *node,
									   LookAheadState *look, bool by_position);
extern void shuttle_routed_append_take(ShuttleRoutedAppend *node,
									   LookAheadState *look, int index);

/* Empty routes of a batch; they live in its context. */
extern ShuttleRoutes *shuttle_routes_create(ShuttleRoutedAppend *node,
											int expected, MemoryContext cxt);

/* Routes the key under the parameters as they are set now; returns its
 * number among the keys of these routes. */
extern int	shuttle_routes_find(ShuttleRoutedAppend *node,
								ShuttleRoutes *routes);

/* ---- run-time pruning where rows are checked again (own_pruning.c) */

/* Called when a node begins, before its children do. */
extern void shuttle_own_pruning(EState *estate);

/* ---- copies of outer rows (outer_rows.c) */

typedef struct ShuttleOuterRows
{
	bool		as_values;		/* else as minimal tuples */
	int			natts;
	int16	   *lengths;		/* of by-reference columns, as attlen */
	int			nreferences;
	int		   *references;		/* these columns, from 0 */
} ShuttleOuterRows;

/* Describes the rows of a node; returns what slots of their copies are. */
extern const TupleTableSlotOps *shuttle_outer_rows_init(ShuttleOuterRows *rows,
														PlanState *outer);

/* Copies a row into the current context. */
extern void *shuttle_outer_row_copy(const ShuttleOuterRows *rows,
									TupleTableSlot *slot);

/* Has a slot show a copy, which must outlive that. */
extern void shuttle_outer_row_store(const ShuttleOuterRows *rows, void *row,
									TupleTableSlot *slot);

/* ---- Look Ahead (look_ahead.c) */

/* The key of the one child that an outer row is routed to and that is asked
 * for it; scan < 0: there are several, or none. */
typedef struct ShuttleRoutedKey
{
	int			scan;
	int			key;
} ShuttleRoutedKey;

/* Outer rows whose keys were asked for together. */
struct ShuttleBatch
{
	dlist_node	link;
	MemoryContext cxt;
	int			nrows;
	int			size;
	void	  **rows;			/* copies; see outer_rows.c */
	int		   *keys;			/* row * ncolumns + column of a scan: ordinal
								 * of its key; of scans that nothing routes to */
	ShuttleKeySet **sets;		/* one a scan; NULL: no key of it yet */
	int		   *route_keys;		/* row * nappends + append: its route */
	ShuttleRoutedKey *routed_keys;	/* the same for the key of its child */
	ShuttleRoutes **routes;		/* one a routed append */
	ShuttleLocalKeys **locals;	/* one a local scan; NULL: no prefetching */
	Size		bytes;
};

/* A parameter and the column of Look Ahead's rows that it is set from. */
typedef struct ShuttleBinding
{
	int			param;
	AttrNumber	column;
	Oid			type;
} ShuttleBinding;

/* Whether prefetching pays, which changes as the run goes on; the states are
 * explained in local_prefetch.c. */
typedef enum ShuttlePaceState
{
	SHUTTLE_PACE_WATCH,
	SHUTTLE_PACE_PROBE,
	SHUTTLE_PACE_AHEAD
} ShuttlePaceState;

/* How long it took to read pages that were not in shared buffers. */
#define SHUTTLE_PROBE_READS 8

typedef struct ShuttleProbe
{
	int			nreads;
	double		read_us[SHUTTLE_PROBE_READS];	/* of each */
	double		total_us;		/* of all */
} ShuttleProbe;

typedef struct ShuttlePace
{
	ShuttlePaceState state;
	int			rows_left;		/* until the next turn */
	int			window;			/* rows of this WATCH */
	int64		pages_read;		/* by the session, before this WATCH */
	int			patience;		/* rows of the next WATCH, if it does not pay */
	int			stretch;		/* rows between this PROBE and the next */
	bool		probe_due;		/* when the batch was handed out */
	int64		started;		/* reads, for the batch */
	int			nprobes;
	ShuttleProbe probe;			/* reads of PROBE */
	double		work_us;		/* least work beside them, per scan */
	ShuttleProbe ahead;			/* reads of AHEAD that were asked for before */
} ShuttlePace;

/* What may be raised by the outer side, once its first row is there. */
typedef enum ShuttleOuterErrors
{
	SHUTTLE_RAISES_NOTHING,
	SHUTTLE_RAISES_VALUES,		/* errors of expressions that hold nothing */
	SHUTTLE_RAISES_REQUESTS,	/* also of requests that scans can wait with */
	SHUTTLE_RAISES_ANYTHING
} ShuttleOuterErrors;

struct LookAheadState
{
	CustomScanState css;		/* must be first */
	TupleTableSlot *slot;		/* the row handed out last */
	ShuttleOuterRows rows;		/* how they are kept */
	bool		linked;
	bool		projects;		/* owns subqueries: target list or conditions */

	/* what it looks ahead for; set by linking */
	int			nbindings;
	ShuttleBinding *bindings;
	ParamExecData *saved;		/* room for nbindings */
	int			nscans;
	ShuttleServedScan **scans;
	int			ncolumns;		/* scans that nothing routes to */
	int		   *columns;		/* of batches' keys, for each scan; -1: none */
	int			nappends;
	ShuttleRoutedAppend **appends;
	int			batch_size;		/* outer rows */
	int			most_in_flight; /* batches */
	bool		may_stretch;	/* batches whose keys are mostly known */
	bool		locks_late;		/* one batch at a time: its keys or its outer
								 * rows are locked, and not all of them may be
								 * wanted */
	ShuttleRowNeed *need;		/* rows that surely are; NULL: all */
	double		row_goal;		/* outer rows that will be taken; 0: all */
	double		sure;			/* that surely are, or else all of them */
	bool		once;			/* it is never started again */
	int			nlocals;
	ShuttleLocalScan **locals;
	bool		fixed_slot;		/* rows come out in slot only */
	bool		shares;			/* its scans with others, in turn */
	bool		may_fail;		/* its keys are computed by expressions */
	bool		waits;			/* one of its scans does; see there */

	/* the run */
	MemoryContext cxt;			/* parent of the batches' contexts */
	dlist_head	batches;		/* the first is the one handed out now */
	ShuttleBatch *current;
	int			position;		/* rows of it handed out */
	int			nbatches;		/* in the list */
	int			next_size;		/* outer rows of the next batch */
	int			stretch;		/* that so many times the usual may be */
	int64		rows_pulled;	/* from the outer, in this run */
	int64		rows_taken;		/* by the join, in this run */
	int64		told_bytes;		/* of memory, to EXPLAIN */
	bool		ran_before;		/* this is not the first run */
	bool		cached;			/* caches have begun */
	bool		cache_closed;	/* nothing is looked up, as few keys repeat */
	int64		cache_lookups;	/* of keys */
	MemoryContext cache_cxt;	/* of its scans' caches */
	Size		cache_bytes;	/* of the rows that they keep */
	bool		outer_done;
	bool		judged;			/* errors is known; else nothing is */
	ShuttleOuterErrors errors;	/* nothing where all rows are sure to be read */
	ErrorData  *stopped;		/* by what reading further ahead has raised */
	ShuttlePace pace;
	MemoryContext probe_cxt;

	ShuttleLookAheadNumbers numbers;
};

/* The batch whose row was handed out last, or NULL. */
static inline ShuttleBatch *
shuttle_look_ahead_current(const LookAheadState *look)
{
	return look->position > 0 ? look->current : NULL;
}

extern bool shuttle_is_look_ahead(const PlanState *node);
extern Node *shuttle_look_ahead_create_state(CustomScan *plan);
extern void shuttle_look_ahead_register(void);

/* How many nodes this session has begun to run or explain, ever. */
extern uint64 shuttle_look_aheads_begun(void);

/* Tells each Look Ahead its goal when a plan is first run (row_goal.c). */
extern void shuttle_row_goal_init(void);

/* Makes a node whose links are complete ready to look ahead. */
extern void shuttle_look_ahead_start(LookAheadState *look);

/*
 * Tells how many outer rows will be taken; 0: all.
 * sure: that will be taken for sure, or else all of them; INFINITY: all.
 * once: the node is never run again.
 * need: what says so while it runs; NULL: all.  Where a key might lock more
 * than one row, nothing is looked ahead for.
 */
extern void shuttle_look_ahead_set_goal(LookAheadState *look, double rows,
										const ShuttleNeedStep *need,
										double sure, bool once);

/* Undoes all links, before the first row; scans then ask key by key (link.c). */
extern void shuttle_look_ahead_unlink(LookAheadState *look);

/* Has a scan node do without its Look Ahead (served_scan.c). */
extern void shuttle_served_scan_remove(ShuttleServedScan *scan);

/* ---- batches of outer rows (look_ahead_batch.c) */

/*
 * True where one more batch may be sent before the first is joined.  With a
 * row goal no more rows are read ahead than were taken already: so the batches
 * in flight ramp up once the batches have their full size.
 */
extern bool shuttle_batch_may_fill(LookAheadState *look);

/*
 * Reads outer rows, and has their keys asked for.  The loop's parameters are
 * put back.  Returns false if there was no outer row left.
 */
extern bool shuttle_batch_fill(LookAheadState *look);

/* Frees a batch; first of all, no slot may point into it. */
extern void shuttle_batch_drop(LookAheadState *look, ShuttleBatch *batch);

/* Tells EXPLAIN what the batches hold, at its peaks and after them. */
extern void shuttle_batches_tell_memory(LookAheadState *look);

/* ---- what may fail (attempt.c) */

/* True where an expression is more than a parameter or constant. */
extern bool shuttle_computes_value(Node *expression);

/* Says if a subtransaction can begin, and end, now: beside parallel workers not always. */
extern bool shuttle_can_begin_subtransaction(void);

/* Installs the hook that this needs. */
extern void shuttle_attempt_init(void);

/*
 * Does something in a subtransaction of its own; an error ends it and is
 * forgotten, but for one that has another cause, such as a cancel.
 * Returns false if there was one, and where no subtransaction is possible.
 */
extern bool shuttle_attempt(void (*work) (void *arg), void *arg);

/* The same where a subtransaction is possible; returns the error, or NULL. */
extern ErrorData *shuttle_attempt_error(void (*work) (void *arg), void *arg);

/* ---- what may be read ahead (outer_effects.c) */

/* True where reading a row of an outer side ahead of its turn does something
 * that shows: a volatile function is called, a row is locked or written. */
extern bool shuttle_outer_shows_effects(PlanState *outer);

/* ---- errors of outer rows (outer_errors.c, read_ahead.c) */

/* What an outer side may raise after its first row, which it has returned.
 * once: it is not run again when something was raised. */
extern ShuttleOuterErrors shuttle_outer_errors(PlanState *outer, bool once);

/* The same of a whole run of a node. */
extern ShuttleOuterErrors shuttle_run_errors(PlanState *node, bool once);

/*
 * What the value of an expression may raise; a SubPlan has its plan's errors.
 * Every function that is not known to hold nothing while it is under way may
 * raise anything.
 */
extern ShuttleOuterErrors shuttle_expression_errors(Node *expression,
													PlanState *node, bool once);

/*
 * The next outer row for a batch, or NULL: at the end, or where look->stopped
 * says what keeps it from being read ahead.
 */
extern TupleTableSlot *shuttle_read_outer(LookAheadState *look,
										  const ShuttleBatch *batch);

/* False where one more row would be read that may raise what cannot wait. */
extern bool shuttle_may_read_ahead(LookAheadState *look);

/* A row is needed: goes on where reading ahead had to wait for that. */
extern void shuttle_read_on(LookAheadState *look);

/* Raises what reading ahead was stopped by, if anything. */
extern void shuttle_raise_stopped(LookAheadState *look);

/* Has the scans at and below a node pause before they ask for more, where their
 * requests may fail. */
extern bool shuttle_pause_walker(PlanState *node, void *context);

/* ---- parameters (bindings.c) */

/* Adds the binding of a parameter to a column of the node's rows. */
extern void shuttle_look_ahead_bind(LookAheadState *look, int param,
									const Var *var);

/* The binding of a parameter, or NULL if the node does not set it. */
extern const ShuttleBinding *shuttle_look_ahead_binding(const LookAheadState *look,
														int param);

/* True where an expression uses a parameter that the node sets. */
extern bool shuttle_look_ahead_binds(const LookAheadState *look,
									 Node *expression);

/* Lends the parameters that the node sets: save, set from rows, restore. */
extern void shuttle_look_ahead_save_params(LookAheadState *look);
extern void shuttle_look_ahead_set_params(LookAheadState *look,
										  TupleTableSlot *row);
extern void shuttle_look_ahead_restore_params(LookAheadState *look);

/* ---- local index scans (local_prefetch.c) */

/* Takes an index scan of the inner side, if its pages can be asked for. */
extern void shuttle_local_claim(LookAheadState *look, PlanState *node,
								const Bitmapset *bound_between, bool one_row);

/* Called when links are complete; the node's contexts are there. */
extern void shuttle_local_start(LookAheadState *look);

/* A batch begins: room for keys, where it is to be looked ahead for.  Its row
 * was pulled, and the parameters are set from it.  It was handed out, or is
 * given up. */
extern void shuttle_local_begin_batch(LookAheadState *look, ShuttleBatch *batch);
extern void shuttle_local_collect(LookAheadState *look, ShuttleBatch *batch,
								  int row);
extern void shuttle_local_end_batch(LookAheadState *look,
									const ShuttleBatch *batch);

/* Asks for pages, before the row at look->position is handed out. */
extern void shuttle_local_advance(LookAheadState *look, ShuttleBatch *batch);

/* Decides what comes next; see shuttle_local_count_row(). */
extern void shuttle_local_turn(LookAheadState *look, TupleTableSlot *row);

/* Called with each row, before it is handed out. */
static inline void
shuttle_local_count_row(LookAheadState *look, TupleTableSlot *row)
{
	if (look->nlocals > 0 && --look->pace.rows_left <= 0)
		shuttle_local_turn(look, row);
}

#endif							/* LOOK_AHEAD_INTERNAL_H */
