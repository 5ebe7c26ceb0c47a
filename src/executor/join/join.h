/*-------------------------------------------------------------------------
 * join.h
 *	  The batched join at run time: Look Ahead and the batches of outer
 *	  rows.
 *
 * look_ahead.c, look_ahead_plan.c	the plan node, and its plan's layout
 * look_ahead_batch.c, outer_rows.c	fill its batches, copy outer rows
 * look_ahead_links.c	finds the scans of the inner side that it serves
 * look_ahead_siblings.c	has those below the same Append begin together
 * correlated.c	has initplans of the inner side executed again before a batch
 * served_scan.c	a foreign scan that takes its rows from a batch
 * key_set.c, key_range.c, key_cache.c	distinct keys, their requests, and
 *			answers kept for later batches
 * batch_sql.c		wraps a SELECT for many keys
 * transport_engine.c, transport_guest.c, guest_trip.c	send requests over our
 *			connections or postgres_fdw's, and time the latter
 * copied_joins.c	when plans may read copies of reference tables
 * routed_append.c	visits only the partitions that a key is routed to
 *
 * In: outer rows, and a plan that planner/join or planner/finished_plan made. Out: the
 * same outer rows in the same order, and scans whose rows are here.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_JOIN_H
#define SHUTTLE_EXECUTOR_JOIN_JOIN_H

#include "base/shuttle_utility.h"
#include "executor/facts/row_need.h"
#include "executor/join/served_scan.h"
#include "executor/prefetch/pace.h"
#include "explain/shuttle_explain.h"

/* ---- joins with copies of reference tables (copied_joins.c) */

/* Plans a query again that must not read copies now. Before the executor starts. */
extern void shuttle_copied_join_start(QueryDesc *query);

/* Notes a running statement that changes a reference table. */
extern void shuttle_copied_joins_start_change(QueryDesc *query, int eflags);

/* The same for COPY and TRUNCATE, which it runs. */
extern void shuttle_copied_joins_run_change(ProcessUtility_hook_type run, SHUTTLE_UTILITY_PARAMETERS);

extern void shuttle_copied_joins_end_transaction(void);

/* ---- copies of outer rows (outer_rows.c) */

typedef struct ShuttleOuterRows
{
	bool		as_values;		/* copies are Datums; else minimal tuples */
	int			natts;
	int16	   *lengths;		/* attlen of each by-reference column */
	int			nreferences;
	int		   *references;		/* the by-reference columns, from 0 */
} ShuttleOuterRows;

/* Describes a node's rows; returns the slot type for their copies. */
extern const TupleTableSlotOps *shuttle_outer_rows_init(ShuttleOuterRows *rows,
														PlanState *outer);

/* Copies a row into the current context. */
extern void *shuttle_outer_row_copy(const ShuttleOuterRows *rows,
									TupleTableSlot *slot);

/* Stores a copy in a slot; the copy must outlive the slot's content. */
extern void shuttle_outer_row_store(const ShuttleOuterRows *rows, void *row,
									TupleTableSlot *slot);

/* ---- Look Ahead (look_ahead.c, look_ahead_plan.c) */

/* The key of the only child with a served scan that an outer row is routed to.
 * scan < 0: there are several, or none. */
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
	void	  **rows;			/* copies (outer_rows.c) */
	int		   *keys;			/* at row * ncolumns + a scan's column: its
								 * key in sets, from 0, or SHUTTLE_KEY_*; only
								 * scans below no routed append */
	ShuttleKeySet **sets;		/* for each scan; NULL: no key yet */
	int		   *route_keys;		/* at row * nappends + append: key in routes */
	ShuttleRoutedKey *routed_keys;	/* likewise: the key of its child */
	ShuttleRoutes **routes;		/* for each routed append */
	ShuttleLocalKeys **locals;	/* for each local scan; NULL: no prefetching */
	Size		bytes;
};

/* A parameter, and the column of Look Ahead's rows that sets it. */
typedef struct ShuttleBinding
{
	int			param;
	AttrNumber	column;
	Oid			type;
} ShuttleBinding;

/* What the outer side may raise after its first row. */
typedef enum ShuttleOuterErrors
{
	SHUTTLE_RAISES_NOTHING,
	SHUTTLE_RAISES_VALUES,		/* errors of expressions that hold no
								 * resources */
	SHUTTLE_RAISES_REQUESTS,	/* also errors of requests before which scans
								 * can pause */
	SHUTTLE_RAISES_ANYTHING
} ShuttleOuterErrors;

struct LookAheadState
{
	CustomScanState css;		/* must be first */
	TupleTableSlot *slot;		/* the row returned last */
	ShuttleOuterRows rows;		/* how outer rows are copied */
	bool		linked;
	bool		projects;		/* has a target list or conditions, with
								 * subqueries */

	/* what it looks ahead for (look_ahead_links.c) */
	int			nbindings;
	ShuttleBinding *bindings;
	ParamExecData *saved;		/* room for nbindings */
	int			nscans;
	ShuttleServedScan **scans;
	int			ncolumns;		/* scans below no routed append */
	int		   *columns;		/* each scan's column in batches' keys; -1:
								 * none */
	int			nappends;
	ShuttleRoutedAppend **appends;
	int			batch_size;		/* outer rows */
	int			most_in_flight; /* batches */
	bool		may_stretch;	/* batches may be larger if the cache has most
								 * of their keys */
	bool		locks_late;		/* one batch at a time: keys or outer rows are
								 * locked, and perhaps not all are wanted */
	ShuttleRowNeed *need;		/* outer rows needed (row_need.h); NULL: all */
	double		row_goal;		/* outer rows expected to be taken; 0: all */
	double		min_rows;		/* fewest outer rows taken, if there are as
								 * many */
	bool		once;			/* it is never rescanned */
	int			nlocals;
	ShuttleLocalScan **locals;
	bool		fixed_slot;		/* rows are always returned in slot */
	bool		shares;			/* several Look Aheads use its scans in turn */
	bool		may_fail;		/* computing keys may fail */
	bool		waits;			/* one of its scans waits for an initplan */
	List	   *correlated;		/* inner sides and SubPlans to rescan before a
								 * run's first batch (correlated.c) */
	struct ShuttleSiblings *siblings;	/* below the same Append; NULL: none */

	/* the run */
	MemoryContext cxt;			/* parent of the batches' contexts */
	dlist_head	batches;		/* oldest first */
	ShuttleBatch *current;
	int			position;		/* rows of current returned so far */
	int			nbatches;		/* in the list */
	int			next_size;		/* outer rows of the next batch */
	int			stretch;		/* times batch_size that a batch may have */
	int64		rows_pulled;	/* from the outer side, in this run */
	int64		rows_taken;		/* by the join, in this run */
	int64		told_bytes;		/* memory last reported to EXPLAIN */
	bool		ran_before;		/* this is not the first run */
	bool		cached;			/* its scans have caches */
	bool		cache_closed;	/* not used any more: few keys repeat, or
								 * memory is short */
	int64		cache_lookups;	/* keys looked up */
	MemoryContext cache_cxt;	/* of its scans' caches */
	Size		cache_bytes;	/* of the rows that they keep */
	bool		outer_done;
	bool		out_of_turn;	/* it sends a batch before it is asked for a
								 * row */
	bool		judged;			/* errors has been determined */
	ShuttleOuterErrors errors;	/* of the outer side; not used if all rows
								 * will be read */
	ErrorData  *stopped;		/* error or pause that stopped reading ahead */
	ShuttlePace pace;
	MemoryContext probe_cxt;

	ShuttleLookAheadNumbers numbers;
};

/* The batch whose row was returned last, or NULL. */
static inline ShuttleBatch *
shuttle_look_ahead_current(const LookAheadState *look)
{
	return look->position > 0 ? look->current : NULL;
}
extern Node *shuttle_look_ahead_create_state(CustomScan *plan);
extern void shuttle_look_ahead_register(void);

/* Number of Look Aheads this session has ever started (BeginCustomScan). */
extern uint64 shuttle_look_aheads_begun(void);

/*
 * After ExecutorStart: links each Look Ahead with its scans
 * (look_ahead_links.c). begun: shuttle_look_aheads_begun() before
 * ExecutorStart.
 */
extern void shuttle_look_aheads_link(QueryDesc *query, int eflags, uint64 begun);

/* Prepares a completely linked node to look ahead. */
extern void shuttle_look_ahead_start(LookAheadState *look);

/*
 * Sets how many outer rows are expected to be taken; 0: all. min_rows: how many
 * are taken at least, if there are as many; INFINITY: all. once: the node is
 * never rescanned. need: computes the rows needed at run time; NULL: all. If a
 * key might lock more than one row, the node stops looking ahead.
 */
extern void shuttle_look_ahead_set_goal(LookAheadState *look, double rows,
										const ShuttleNeedStep *need,
										double min_rows, bool once);

/* Makes scans that several Look Aheads share take their rows from this one. */
extern void shuttle_look_ahead_take_shared(LookAheadState *look);

/* Removes all links, before the first row; scans then ask for each key alone
 * (look_ahead_links.c). */
extern void shuttle_look_ahead_unlink(LookAheadState *look);

/* ---- initplans of inner sides (correlated.c) */

/* Notes that keys use an initplan of a node below an inner side or SubPlan with values
 * from further above. Returns false if they cannot be collected. */
extern bool shuttle_correlated_add(LookAheadState *look, PlanState *root);

/* Has these initplans executed again, if their values have changed. */
extern void shuttle_correlated_renew(const LookAheadState *look);

/* ---- batches of outer rows (look_ahead_batch.c) */

/*
 * True if another batch may be sent before the first is joined. With a row goal
 * no more rows are read ahead than were taken already: the number of batches in
 * flight grows only after their size has.
 */
extern bool shuttle_look_ahead_batch_may_fill(LookAheadState *look);

/* Reads outer rows and sends requests for their keys. The loop's parameters are
 * unchanged afterwards. Returns false if there was no outer row left. */
extern bool shuttle_look_ahead_batch_fill(LookAheadState *look);

/* Clears all slots that point into a batch, and frees it. */
extern void shuttle_look_ahead_batch_drop(LookAheadState *look, ShuttleBatch *batch);

/* Reports the batches' memory to EXPLAIN; called at peaks and after them. */
extern void shuttle_look_ahead_batches_tell_memory(LookAheadState *look);

/* ---- Look Aheads below the same Append (look_ahead_siblings.c) */

typedef struct ShuttleSiblings ShuttleSiblings;

/* At an Append or MergeAppend: tells the Look Aheads of its children of each
 * other. */
extern void shuttle_look_ahead_siblings_link(PlanState *node);

/* Has the others send their first batches. The Look Ahead has sent its own. */
extern void shuttle_look_ahead_siblings_begin(LookAheadState *look);

/* ---- rows that may not be needed, and their errors (read_ahead.c) */

/* The next outer row for a batch, or NULL at the end or if look->stopped is set
 * to an error that must wait. */
extern TupleTableSlot *shuttle_read_ahead_outer(LookAheadState *look,
												const ShuttleBatch *batch);

/* False if reading one more row may raise an error that cannot be kept back. */
extern bool shuttle_read_ahead_is_allowed(LookAheadState *look);

/* A row is needed: lets reading go on after a pause. */
extern void shuttle_read_ahead_go_on(LookAheadState *look);

/* Raises the error in look->stopped, if any. */
extern void shuttle_read_ahead_raise_stopped(LookAheadState *look);

/*
 * Makes the scans at and below a node pause before each request that may fail.
 */
extern bool shuttle_read_ahead_pause_walker(PlanState *node, void *context);

#endif							/* SHUTTLE_EXECUTOR_JOIN_JOIN_H */
