/*-------------------------------------------------------------------------
 * prefetch.h
 *	  Prefetching of pages for local index scans below a nested loop.
 *
 * Files: local_scan.c prepares the keys of an index scan; local_tree.c finds
 * the index and table pages of a key; local_prefetch.c prefetches them while a
 * Look Ahead's batch is joined, and stops if all pages are cached anyway.
 *
 * In: the outer rows of a batch. Out: PrefetchBuffer() calls; no result
 * depends on them.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H
#define SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H

#include "access/nbtree.h"

#include "executor/join/join.h"
#include "executor/prefetch/pace.h"


/* ---- local index scans (local_prefetch.c) */

/* Adds an index scan of the inner side if its pages can be prefetched. */
extern void shuttle_local_claim(LookAheadState *look, PlanState *node,
								const Bitmapset *bound_between, bool one_row);

/* Called when all scans are added; the node's memory contexts exist. */
extern void shuttle_local_start(LookAheadState *look);

/*
 * begin_batch allocates keys if the batch is to be prefetched for. collect
 * evaluates a row's keys; the nest parameters are set from it. end_batch: the
 * batch was joined or given up.
 */
extern void shuttle_local_begin_batch(LookAheadState *look, ShuttleBatch *batch);
extern void shuttle_local_collect(LookAheadState *look, ShuttleBatch *batch,
								  int row);
extern void shuttle_local_end_batch(LookAheadState *look,
									const ShuttleBatch *batch);

/* Prefetches, before the row at look->position is returned. */
extern void shuttle_local_advance(LookAheadState *look, ShuttleBatch *batch);

/* Changes state; see shuttle_local_count_row(). */
extern void shuttle_local_turn(LookAheadState *look, TupleTableSlot *row);

/* Called for each row before it is returned. */
static inline void
shuttle_local_count_row(LookAheadState *look, TupleTableSlot *row)
{
	if (look->nlocals > 0 && --look->pace.rows_left <= 0)
		shuttle_local_turn(look, row);
}

/* A key's value that changes from row to row. */
typedef struct ShuttleLocalValue
{
	ExprState  *expr;
	bool		toastable;
} ShuttleLocalValue;

/* A condition on an index column. */
typedef struct ShuttleLocalKey
{
	ScanKeyData key;			/* copy of the scan's key */
	int			value;			/* index of its value; -1: a constant */
	bool		is_start;		/* equality that the search starts with; no
								 * entries behind match */
} ShuttleLocalKey;

struct ShuttleLocalScan
{
	Relation	index;
	Relation	heap;
	bool		index_only;
	bool		backward;
	bool		exact;			/* keys decide which index tuples match */
	bool		one_row;		/* the first match is enough */
	int			index_limit;	/* index pages in flight at most */
	int			heap_limit;		/* table pages in flight at most */

	int			nvalues;
	ShuttleLocalValue *values;
	int			nkeys;
	ShuttleLocalKey *keys;
	Bitmapset  *others;			/* parameters set by other nodes */
	ExprContext *econtext;		/* comparisons run in its memory */

	BTScanInsertData start;		/* start of the search */
	int			start_values[INDEX_MAX_KEYS];	/* -1: a constant */

	BlockNumber *blocks;		/* table pages of one key */
	int			nblocks;		/* size of blocks */
};

/* ---- an index scan and its keys (local_scan.c) */

/*
 * Prepares an index scan; NULL if its pages cannot be found: not a btree, a
 * temporary table, no key to start a search with. look: the Look Ahead that
 * sets its parameters; nodes above set the others. bound_between: parameters
 * set by nodes in between, which may not be used.
 */
extern ShuttleLocalScan *shuttle_local_scan_create(LookAheadState *look,
												   PlanState *node,
												   const Bitmapset *bound_between,
												   bool one_row);

/* Evaluates a key's values in the current memory context, with the parameters
 * as set now. False if the key finds nothing. */
extern bool shuttle_local_scan_evaluate(ShuttleLocalScan *scan, Datum *values);

/* ---- pages (local_tree.c) */

/*
 * The leaf page where a key's entries begin, or InvalidBlockNumber. Reads the
 * pages above it. Leaves nothing pinned or locked. probe: measures reads; may
 * be NULL.
 */
extern BlockNumber shuttle_local_tree_leaf(ShuttleLocalScan *scan,
										   const Datum *values,
										   ShuttleProbe *probe);

/* Reads the leaf and sets scan->blocks to the table pages of the key's entries;
 * returns their number. */
extern int	shuttle_local_tree_blocks(ShuttleLocalScan *scan, BlockNumber leaf,
									  const Datum *values, ShuttleProbe *probe);

/* Reads and releases a page, timed. */
extern void shuttle_local_tree_touch(Relation rel, BlockNumber block,
									 ShuttleProbe *probe);

#endif							/* SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H */
