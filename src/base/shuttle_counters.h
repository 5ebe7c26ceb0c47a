/*-------------------------------------------------------------------------
 * shuttle_counters.h
 *	  What was asked of storage nodes, as plain numbers.
 *
 * A scan, a join or a write owns one ShuttleCounters; whoever talks to a node
 * adds to the owner's and, through shuttle_count(), to the session's totals
 * at the same time.  Labels and units are in explain/counters.c.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COUNTERS_H
#define SHUTTLE_COUNTERS_H

typedef enum ShuttleCounter
{
	SHUTTLE_READ_REQUESTS,		/* statements and pages asked for by reads */
	SHUTTLE_ROWS_SCANNED,		/* rows that nodes looked at; DIST only */
	SHUTTLE_ROWS_RETURNED,		/* rows that nodes sent */
	SHUTTLE_READ_TIME_US,		/* waited for answers of reads */
	SHUTTLE_WRITE_REQUESTS,		/* rows sent to be written */
	SHUTTLE_FLUSH_REQUESTS,		/* statements that carried them */
	SHUTTLE_FLUSH_TIME_US,		/* waited for their answers */
	SHUTTLE_BYTES_SENT,
	SHUTTLE_BYTES_RECEIVED,
	SHUTTLE_NCOUNTERS
} ShuttleCounter;

typedef struct ShuttleCounters
{
	int64		value[SHUTTLE_NCOUNTERS];
} ShuttleCounters;

/* Everything that this session asked since it began. */
extern ShuttleCounters shuttle_session_counters;

/*
 * True while EXPLAIN (ANALYZE, DIST) runs a plan: storage then sends the
 * queries around each read that tell how many rows a node looked at.
 */
extern bool shuttle_count_rows_scanned;

/* The owner of what is asked once a session and table for our own sake, and is
 * no part of any statement. */
extern ShuttleCounters shuttle_own_counters;

/* Adds n to the owner's counter (owner may be NULL) and to the session's. */
static inline void
shuttle_count(ShuttleCounters *owner, ShuttleCounter counter, int64 n)
{
	if (owner != NULL)
		owner->value[counter] += n;
	if (owner == &shuttle_own_counters)
		return;
	shuttle_session_counters.value[counter] += n;
}

#endif							/* SHUTTLE_COUNTERS_H */
