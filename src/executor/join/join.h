/*-------------------------------------------------------------------------
 * join.h
 *	  The batched join at run time: Look Ahead and the batches of outer rows.
 *
 * Files: look_ahead.c is the plan node, look_ahead_batch.c fills its batches,
 * look_ahead_links.c finds the scans below the inner side that it feeds, and
 * look_ahead_params.c sets the join's parameters from a buffered outer row.
 * served_scan.c, key_set.c, key_range.c and key_cache.c hold what a scan gets
 * for the keys of a batch; transport_*.c send the requests; routed_append.c
 * visits only the partitions that a key is routed to.
 *
 * In: outer rows, and a plan that planner/join or planner/place made.
 * Out: the same outer rows in the same order, and scans whose rows are here.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_JOIN_H
#define SHUTTLE_EXECUTOR_JOIN_JOIN_H

#include "executor/ahead/row_need.h"
#include "executor/join/served_scan.h"
#include "executor/kinds.h"
#include "explain/shuttle_explain.h"

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
extern Node *shuttle_look_ahead_create_state(CustomScan *plan);
extern void shuttle_look_ahead_register(void);

/* How many nodes this session has begun to run or explain, ever. */
extern uint64 shuttle_look_aheads_begun(void);

/* Behind ExecutorStart: links each Look Ahead with its scans (look_ahead_links.c).
 * begun: shuttle_look_aheads_begun() before it. */
extern void shuttle_look_aheads_link(QueryDesc *query, int eflags, uint64 begun);

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

/* Undoes all links, before the first row; scans then ask key by key (look_ahead_links.c). */
extern void shuttle_look_ahead_unlink(LookAheadState *look);

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

/* ---- parameters (look_ahead_params.c) */

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

#endif							/* SHUTTLE_EXECUTOR_JOIN_JOIN_H */
