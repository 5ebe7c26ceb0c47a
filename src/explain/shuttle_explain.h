/*-------------------------------------------------------------------------
 * shuttle_explain.h
 *	  Door of the explain room: the DIST option of EXPLAIN and the printing
 *	  of counters. It sees plain numbers, never the state of plan nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXPLAIN_H
#define SHUTTLE_EXPLAIN_H

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"

/* Requests of one scan, join or write. */
typedef struct ShuttleExplainNumbers
{
	const ShuttleCounters *counters;
	bool		reads;			/* show the counters of reads */
	bool		writes;			/* show the counters of writes */
	bool		looks;			/* for a write: show rows scanned as well */
	bool		engine;			/* our connection: rows scanned and bytes are
								 * known */
	const char *node_name;		/* storage node, for VERBOSE */
} ShuttleExplainNumbers;

/* What one Look Ahead did, over all its loops. */
typedef struct ShuttleLookAheadNumbers
{
	int64		batches;
	int64		keys;			/* keys of outer rows, without NULL keys */
	int64		distinct_keys;	/* distinct keys sent */
	int64		hits;			/* keys answered by the key cache */
	bool		caches;			/* has a key cache */
	int64		largest_batch;	/* outer rows */
	int64		most_in_flight; /* batches */
	int64		served;			/* scans whose guess was right */
	int64		alone;			/* scans that asked for their key alone */
	int64		peak_bytes;		/* memory of batches */
	bool		asks;			/* asks storage nodes for keys */
	bool		prefetches;		/* has pages of local tables read ahead */
	int64		prefetched_pages;	/* pages whose read it started */
	int64		prefetch_pauses;	/* times that prefetching did not pay */
} ShuttleLookAheadNumbers;

/* Registers the option and its hooks; called by _PG_init. */
extern void shuttle_explain_init(void);

/* True if es belongs to an EXPLAIN (DIST), or if shuttle.explain_dist is on and
 * es prints an executed plan. */
extern bool shuttle_dist_is_wanted(ExplainState *es);

/* True while an EXPLAIN is running, and in functions that it calls. */
extern bool shuttle_dist_explain_is_open(void);

/* Prints a plan node's counters with DIST, if the plan was executed; times only
 * with TIMING. VERBOSE adds the storage node's name. */
extern void shuttle_explain_counters(ExplainState *es,
									 const ShuttleExplainNumbers *numbers);

/*
 * Prints a Look Ahead's numbers if the plan was executed (ANALYZE); the memory
 * of its batches only with DIST.
 */
extern void shuttle_explain_look_ahead(ExplainState *es,
									   const ShuttleLookAheadNumbers *numbers);

/* Prints one property of a plan node of ours, in every format. */
extern void shuttle_explain_text(ExplainState *es, const char *label,
								 const char *value);

/* Prints a property of several lines (char *): indented in text, else a list. */
extern void shuttle_explain_lines(ExplainState *es, const char *label, List *lines);

/* Removes "Foreign " from the last line, where core prints it for a local table
 * of a ModifyTable. */
extern void shuttle_explain_call_local(ExplainState *es);

/* Open and close the groups for the tables that a node writes. */
extern void shuttle_explain_begin_tables(ExplainState *es);
extern void shuttle_explain_end_tables(ExplainState *es);
extern void shuttle_explain_begin_table(ExplainState *es, const char *operation,
										const char *name);
extern void shuttle_explain_end_table(ExplainState *es);

/*
 * Adds memory taken (or, negative, freed), in bytes, to the peak that the
 * summary shows. Memory freed by an error need not be reported: the sum ends
 * with its EXPLAIN.
 */
extern void shuttle_dist_count_memory(int64 change);

#endif							/* SHUTTLE_EXPLAIN_H */
