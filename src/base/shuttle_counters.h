/*-------------------------------------------------------------------------
 * shuttle_counters.h
 *	  Counters of requests to storage nodes, as plain numbers, for EXPLAIN only:
 *	  the view shuttle.node_stats counts by ShuttleNodeTotal.
 *
 * A scan, a join or a write owns one ShuttleCounters. Whoever talks to a node
 * adds to the owner's counters and, through shuttle_count(), to the session's.
 * Labels and units are in explain/explain_output.c.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_COUNTERS_H
#define SHUTTLE_COUNTERS_H

typedef enum ShuttleCounter
{
	SHUTTLE_READ_REQUESTS,		/* statements and pages asked for by reads */
	SHUTTLE_ROWS_SCANNED,		/* rows scanned by nodes; DIST only */
	SHUTTLE_ROWS_RETURNED,		/* rows that nodes sent */
	SHUTTLE_READ_TIME_US,		/* waited for answers of reads */
	SHUTTLE_WRITE_REQUESTS,		/* rows sent to be written */
	SHUTTLE_FLUSH_REQUESTS,		/* statements that sent them */
	SHUTTLE_FLUSH_TIME_US,		/* waited for their answers */
	SHUTTLE_BYTES_SENT,
	SHUTTLE_BYTES_RECEIVED,
	SHUTTLE_SNAPSHOT_RETRIES,	/* times that snapshots of nodes did not fit */
	SHUTTLE_SNAPSHOT_TIME_US,	/* spent on trying again */
	SHUTTLE_NCOUNTERS
} ShuttleCounter;

typedef struct ShuttleCounters
{
	int64		value[SHUTTLE_NCOUNTERS];
} ShuttleCounters;

/* Totals of this session. */
extern ShuttleCounters shuttle_counters_of_session;

/* True while EXPLAIN (ANALYZE, DIST) runs a plan: each read is then sent with
 * queries that count the rows scanned. */
extern bool shuttle_counters_want_rows_scanned;

/* Owner of our own requests, made once per session and table, which belong to
 * no statement. */
extern ShuttleCounters shuttle_counters_own;

/* Called each time something was counted; NULL: nobody wants to know. */
extern void (*shuttle_counted) (void);

/* Adds n to the owner's counter (owner may be NULL) and to the session's. */
static inline void
shuttle_count(ShuttleCounters *owner, ShuttleCounter counter, int64 n)
{
	if (owner != NULL)
		owner->value[counter] += n;
	if (owner == &shuttle_counters_own)
		return;
	shuttle_counters_of_session.value[counter] += n;
	if (shuttle_counted != NULL)
		shuttle_counted();
}

#endif							/* SHUTTLE_COUNTERS_H */
