/*-------------------------------------------------------------------------
 * prefetch.h
 *	  Pages of local index scans, read ahead of a nested loop.
 *
 * Files: local_scan.c says what the keys of an index scan are;
 * local_tree.c which pages of the index and the table a key leads to;
 * local_prefetch.c asks the kernel for them, while a Look Ahead's batch lasts,
 * and stops where all pages are cached anyway.
 *
 * In: the outer rows of a batch. Out: hints to the kernel; no answer depends
 * on them.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H
#define SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H

#include "access/nbtree.h"

#include "executor/join/join.h"

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

/* A value that a key depends on and that changes from row to row. */
typedef struct ShuttleLocalValue
{
	ExprState  *expr;
	bool		toastable;
} ShuttleLocalValue;

/* A condition on an index column. */
typedef struct ShuttleLocalKey
{
	ScanKeyData key;			/* as the scan has it */
	int			value;			/* that it compares with; -1: a constant */
	bool		is_start;		/* equality that the search starts with */
} ShuttleLocalKey;

struct ShuttleLocalScan
{
	Relation	index;
	Relation	heap;
	bool		index_only;
	bool		backward;
	bool		exact;			/* keys tell which index tuples match */
	bool		one_row;		/* the first match is enough */
	int			index_limit;	/* pages of the index being read at a time */
	int			heap_limit;		/* pages of the table being read at a time */

	int			nvalues;
	ShuttleLocalValue *values;
	int			nkeys;
	ShuttleLocalKey *keys;
	Bitmapset  *others;			/* parameters that are set elsewhere */
	ExprContext *econtext;		/* comparisons run in its memory */

	BTScanInsertData start;		/* where in the index a scan starts */
	int			start_values[INDEX_MAX_KEYS];	/* -1: a constant */

	BlockNumber *blocks;		/* pages of the table for one key */
	int			nblocks;		/* room there */
};

/*
 * Prepares an index scan; NULL where nothing can be said of its pages: not a
 * btree, a temporary table, no key that the search could start with.
 * look: its parameters are bound; others that the scan takes are set by nodes
 * above.  bound_between: parameters that may not be used.
 */
extern ShuttleLocalScan *shuttle_local_scan_create(LookAheadState *look,
												   PlanState *node,
												   const Bitmapset *bound_between,
												   bool one_row);

/*
 * Evaluates the values of a key in the current memory context, under the
 * parameters as they are set now.  False where the key leads nowhere.
 */
extern bool shuttle_local_scan_evaluate(ShuttleLocalScan *scan, Datum *values);

/* ---- pages (local_tree.c) */

/*
 * The leaf page where a key's entries begin, or InvalidBlockNumber.  Pages on
 * the way are read.  Nothing is pinned or locked afterwards.
 * probe: times reads; may be NULL.
 */
extern BlockNumber shuttle_local_tree_leaf(ShuttleLocalScan *scan,
										   const Datum *values,
										   ShuttleProbe *probe);

/* Pages of the table that a key's entries on its leaf page point to; their
 * number, and the pages themselves in scan->blocks.  Reads the leaf. */
extern int	shuttle_local_tree_blocks(ShuttleLocalScan *scan, BlockNumber leaf,
									  const Datum *values, ShuttleProbe *probe);

/* Reads a page and lets it go again, timed. */
extern void shuttle_local_tree_touch(Relation rel, BlockNumber block,
									 ShuttleProbe *probe);

#endif							/* SHUTTLE_EXECUTOR_PREFETCH_PREFETCH_H */
