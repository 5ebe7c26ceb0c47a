/*-------------------------------------------------------------------------
 * pace.h
 *	  When prefetching of local pages pays: the part of a Look Ahead's state
 *	  that local_prefetch.c serves.
 *-------------------------------------------------------------------------
 */
#ifndef SHUTTLE_EXECUTOR_PREFETCH_PACE_H
#define SHUTTLE_EXECUTOR_PREFETCH_PACE_H

/* Whether prefetching pays, which changes as the run goes on; the states are
 * explained in local_prefetch.c. */
typedef enum ShuttlePaceState
{
	SHUTTLE_PACE_WATCH,
	SHUTTLE_PACE_PROBE,
	SHUTTLE_PACE_PREFETCH
} ShuttlePaceState;

/* Times of reading pages that were not in shared buffers. */
#define SHUTTLE_PROBE_READS 8

typedef struct ShuttleProbe
{
	int			nreads;
	double		read_us[SHUTTLE_PROBE_READS];	/* each read's time */
	double		total_us;		/* their sum */
} ShuttleProbe;

typedef struct ShuttlePace
{
	ShuttlePaceState state;
	int			rows_left;		/* outer rows until the next check */
	int			window;			/* outer rows of this WATCH */
	int64		pages_read;		/* session's reads before this WATCH */
	int			patience;		/* outer rows of the next WATCH, if
								 * prefetching does not pay */
	int			stretch;		/* outer rows between this PROBE and the next */
	bool		probe_due;		/* PROBE when this batch is used up */
	int64		started;		/* reads started for this batch */
	int			nprobes;
	ShuttleProbe probe;			/* reads during PROBE */
	double		work_us;		/* least CPU time of finding a page */
	ShuttleProbe prefetched;	/* reads of prefetched pages */
} ShuttlePace;

#endif							/* SHUTTLE_EXECUTOR_PREFETCH_PACE_H */
