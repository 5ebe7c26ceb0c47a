/*-------------------------------------------------------------------------
 * shuttle_explain.h
 *	  Door of the explain room: the DIST option of EXPLAIN and the printing
 *	  of counters.  It sees plain numbers, never the state of plan nodes.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXPLAIN_H
#define SHUTTLE_EXPLAIN_H

#include "base/shuttle_compat_explain.h"
#include "base/shuttle_counters.h"

/* What one scan, join or write asked of its nodes. */
typedef struct ShuttleExplainNumbers
{
	const ShuttleCounters *counters;
	bool		reads;			/* show the counters of reads */
	bool		writes;			/* show the counters of writes */
	bool		looks;			/* of a write: rows scanned as well */
	bool		engine;			/* rows scanned and bytes are known */
	const char *node_name;		/* storage node, for VERBOSE */
} ShuttleExplainNumbers;

/* What one Look Ahead did, over all its loops. */
typedef struct ShuttleLookAheadNumbers
{
	int64		batches;
	int64		keys;			/* of outer rows, NULL keys left out */
	int64		distinct_keys;	/* asked for */
	int64		hits;			/* keys that an earlier batch asked for */
	bool		caches;			/* looks for such keys */
	int64		largest_batch;	/* outer rows */
	int64		most_in_flight; /* batches */
	int64		served;			/* scans whose guess was right */
	int64		alone;			/* scans that asked for their key alone */
	int64		peak_bytes;		/* memory of batches */
	bool		asks;			/* asks storage nodes for keys */
	bool		prefetches;		/* has pages of local tables read ahead */
	int64		prefetched_pages;	/* whose read it started */
	int64		prefetch_pauses;	/* times that it did not pay */
} ShuttleLookAheadNumbers;

/* Registers the option and its hooks; called by _PG_init. */
extern void shuttle_explain_init(void);

/* True where es belongs to an EXPLAIN (DIST), or shuttle.explain_dist is on
 * and es prints an executed plan. */
extern bool shuttle_explain_dist(ExplainState *es);

/* True while an EXPLAIN is running, and in functions that it calls. */
extern bool shuttle_explain_is_open(void);

/*
 * Prints a node's counters if DIST is wanted and the plan was executed; times
 * only where EXPLAIN measures them (TIMING).  VERBOSE names the storage node.
 */
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

/* Core is about to print lines of a table of here, and may have called it foreign
 * in the line in front of them. */
extern void shuttle_explain_call_local(ExplainState *es);

/* Stand around what a node prints of each of the tables that it writes. */
extern void shuttle_explain_begin_tables(ExplainState *es);
extern void shuttle_explain_end_tables(ExplainState *es);
extern void shuttle_explain_begin_table(ExplainState *es, const char *operation,
										const char *name);
extern void shuttle_explain_end_table(ExplainState *es);

/*
 * Tells the explain room that memory was taken (or, negative, given back), in
 * bytes, for the peak that the summary shows.  What an error gives back need
 * not be told: the sum belongs to one EXPLAIN and ends with it.
 */
extern void shuttle_explain_memory(int64 change);

#endif							/* SHUTTLE_EXPLAIN_H */
