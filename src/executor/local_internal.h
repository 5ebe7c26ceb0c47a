/*-------------------------------------------------------------------------
 * local_internal.h
 *	  One index scan that is looked ahead for: what its keys are
 *	  (local_scan.c) and which pages they lead to (local_tree.c).
 *-------------------------------------------------------------------------
 */
#ifndef LOCAL_INTERNAL_H
#define LOCAL_INTERNAL_H

#include "access/nbtree.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"

#include "executor/look_ahead_internal.h"

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

#endif							/* LOCAL_INTERNAL_H */
