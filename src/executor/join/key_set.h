/*-------------------------------------------------------------------------
 * key_set.h
 *	  The distinct keys of a batch, the requests for ranges of them, and
 *	  answers kept for later batches.
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
#define SHUTTLE_KEY_EMPTY		(-2)	/* has a NULL with which no row
										 * matches */
#define SHUTTLE_KEY_CACHED		(-10)	/* or less: an entry of key_cache.c */

/* One column of a key: one entry of a foreign scan's fdw_exprs. */
typedef struct ShuttleKeyColumn
{
	ExprState  *expr;
	int			param;			/* id if the expression is a PARAM_EXEC; else
								 * -1 */
	Oid			type;
	int16		length;
	bool		by_value;
	char		align;
	bool		scalar;			/* the same for every outer row */
	bool		as_text;		/* cannot be unnested: travels as text[] */
	bool		null_is_empty;	/* with a NULL here the scan has no rows */
	FmgrInfo	output;			/* output function of what is sent */
} ShuttleKeyColumn;

/* The columns of a key, and the values of the key evaluated last. */
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
 * One request: keys [first, first + nkeys) of its set.
 *
 *	UNSENT --send--> SENT --read to the end--> LOADED
 *	SENT --answer lost--> UNSENT
 *	SENT --failed, not fenced--> UNSENT; later requests are fenced
 *	SENT --failed fenced, or too big--> SPLIT into two UNSENT ranges
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
	bool		fenced;			/* sent with the SELECT's conditions fenced
								 * (batch_sql.c) */
	ShuttleRangeState state;
	ShuttleAnswer *answer;		/* while SENT */
	MemoryContext rows_cxt;		/* rows; child of the set's context */
	HeapTuple  *rows;
	int		   *next;			/* next row of the same key, or -1 */
	int			nrows;
	int			rows_size;
	BufFile    *spool;			/* temporary file, if one key's rows exceed
								 * work_mem */
	int			spool_rows;
	bool		was_evicted;	/* was loaded, and dropped to make room */
};

/* The distinct keys of one scan in one batch, by first appearance. */
struct ShuttleKeySet
{
	MemoryContext cxt;
	ShuttleKeyShape *shape;
	ShuttleServedScan *scan;	/* asks for the keys; NULL: nobody does */
	int			nkeys;
	int			size;
	Datum	  **values;			/* for each column, size values */
	bool	  **nulls;
	uint32	   *hashes;
	int		   *head;			/* first row of each key in its range, or -1 */
	int		   *tail;
	int		   *entries;		/* each key's cache entry, or -1; NULL: no key
								 * has one */
	bool		repaired;		/* keys of lost cache entries were added */
	int		   *slots;			/* hash table: key + 1, or 0 */
	int			nslots;			/* a power of 2 */
	int			nranges;
	ShuttleRange **ranges;		/* in order of their first key */
};

/* Makes room for a shape's columns. */
extern void shuttle_key_shape_init(ShuttleKeyShape *shape, int ncolumns,
								   EState *estate);

/* Sets a column's fields that follow from its expression; the caller sets
 * scalar, as_text, null_is_empty and output. */
extern void shuttle_key_shape_describe(ShuttleKeyShape *shape, int column,
									   Expr *expr, PlanState *parent);
extern ShuttleKeySet *shuttle_key_set_create(ShuttleKeyShape *shape,
											 int expected, MemoryContext cxt);

/* Evaluates the key with the current parameters and finds it in the set, or
 * adds it. Returns its ordinal from 0, or SHUTTLE_KEY_*. */
extern int	shuttle_key_set_find(ShuttleKeySet *set, bool add);

/* The same for the key evaluated last, by any set of the same shape. */
extern int	shuttle_key_set_find_evaluated(ShuttleKeySet *set, bool add);

/* Makes a key of the set the one "evaluated last". */
extern void shuttle_key_set_evaluate_as(const ShuttleKeySet *set, int key);

/* Stores a key's cache entry. */
extern void shuttle_key_set_remember(ShuttleKeySet *set, int key, int entry);

/* The keys [first, first + nkeys) of one column as an array. */
extern Datum shuttle_key_set_array(const ShuttleKeySet *set, int column,
								   int first, int nkeys);

/* Name of the type that a column's parameter has in a request. */
extern const char *shuttle_key_column_type(const ShuttleKeyColumn *column);

/* ---- answers in memory (key_range.c) */

/* Cuts the set into ranges of at most limit keys. */
extern void shuttle_key_ranges_create(ShuttleKeySet *set, int limit);

/* The same for the keys from first on, added later; sends their ranges. */
extern void shuttle_key_ranges_add(ShuttleKeySet *set, int first, int limit);

/* Sends one range, without waiting for its answer. */
extern void shuttle_key_range_send(ShuttleKeySet *set, ShuttleRange *range,
								   bool speculative);

/* Closes a set's answers and files before its context is deleted. */
extern void shuttle_key_ranges_close(ShuttleKeySet *set);

/* Waits for the rows of a key; returns the range that holds them. */
extern ShuttleRange *shuttle_key_range_load(ShuttleKeySet *set, int key);

/* Reads a spooled row; NULL at the end.  Position 0 rewinds. */
extern HeapTuple shuttle_key_range_spooled_row(ShuttleRange *range, int row);

/* ---- answers for later batches (key_cache.c) */

/* Called before each batch but the first: gives scans caches if their answers
 * may be reused, and closes the caches if few keys repeat. */
extern void shuttle_key_caches_begin(LookAheadState *look);

/* As shuttle_key_set_find(), but does not add a key that an earlier batch has
 * asked for: returns its cache entry then, SHUTTLE_KEY_CACHED or less. */
extern int	shuttle_key_cache_collect(ShuttleServedScan *scan,
									  ShuttleKeySet *set);

/* The cache entry of the key evaluated last, or SHUTTLE_KEY_UNKNOWN. */
extern int	shuttle_key_cache_find(ShuttleServedScan *scan);

/* The rows of a cache entry; false if it has none. */
extern bool shuttle_key_cache_get(const ShuttleServedScan *scan, int key,
								  ShuttleRange **range, int *row);

/* Makes the current batch ask for the keys of cache entries that have no rows,
 * for its rows from the current one on. */
extern void shuttle_key_cache_repair(ShuttleServedScan *scan,
									 ShuttleBatch *batch);

/* Keeps the answers of a batch that is about to be freed. */
extern void shuttle_key_cache_keep(ShuttleServedScan *scan, ShuttleKeySet *set);

#endif							/* SHUTTLE_EXECUTOR_JOIN_KEY_SET_H */
