/*-------------------------------------------------------------------------
 * key_set.h
 *	  The distinct keys of a batch, the requests for ranges of them, and answers
 *	  kept for later batches.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_JOIN_KEY_SET_H
#define SHUTTLE_EXECUTOR_JOIN_KEY_SET_H

#include "nodes/execnodes.h"
#include "storage/buffile.h"

#include "executor/executor_types.h"

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

#endif							/* SHUTTLE_EXECUTOR_JOIN_KEY_SET_H */
